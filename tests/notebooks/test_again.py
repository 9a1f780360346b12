"""The second run of each cell: going up, in the same kernel, and a change is a failure."""

import re
import subprocess
import sys

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

from attn_edu.cli.environment import ROOT
from attn_edu.cli.notebooks import IGNORE_OUTPUT


def shown(source, text="", tags=()):
    outputs = [new_output("stream", text=text)] if text else []
    tags = {"tags": list(tags)} if tags else {}
    return new_code_cell(source, outputs=outputs, execution_count=1, metadata=tags)


def test_a_cell_that_shows_something_else_the_second_time_fails(tmp_path):
    cells = [
        shown("rows = [1]"),
        shown("rows.append(2)\nprint(rows)", "[1, 2]\n"),
        shown("steady = 3\nprint(steady)", "3\n"),
        shown("taught = 1", tags=["training", IGNORE_OUTPUT]),
        shown("print(rows[-1])", "2\n"),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "chapter.ipynb")
    plugins = ["-p", "tests.notebooks.again", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plugins, "--nbval", "--nbval-current-env", "-rA"]
    run = subprocess.run(
        [*command, tmp_path / "chapter.ipynb"], cwd=ROOT, capture_output=True, text=True
    )
    found = re.findall(r"^(PASSED|FAILED) \S+::Cell (\d(?: again)?)", run.stdout, re.MULTILINE)
    passed = {"0", "1", "2", "3", "4", "4 again", "2 again", "0 again"}
    assert {cell: state for state, cell in found} == {
        **dict.fromkeys(passed, "PASSED"),
        "1 again": "FAILED",
    }, run.stdout
