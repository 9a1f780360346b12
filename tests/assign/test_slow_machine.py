"""Outputs that arrive long after their cell has ended do not end a notebook."""

import subprocess
import sys

GRADE = """
import time
from attn_edu.assign import tools
tools.activate()
from attn_edu.assign.preprocessors import Run
from nbformat.v4 import new_code_cell, new_notebook

class Slow(Run):
    def process_message(self, message, cell, index):
        time.sleep(0.1)
        return super().process_message(message, cell, index)

cells = [new_code_cell("for i in range(60): display(i)"), new_code_cell("7")]
notebook, _ = Slow().preprocess(new_notebook(cells=cells), {"metadata": {}})
for cell in notebook.cells:
    print(len(cell.outputs), cell.outputs[-1].output_type)
"""


def test_late_outputs_are_waited_for(nbgrader):
    done = subprocess.run([sys.executable, "-c", GRADE], capture_output=True, text=True)
    assert done.stdout.split("\n") == ["60 display_data", "1 execute_result", ""], done.stderr
