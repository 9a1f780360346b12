"""What nbgitpuller makes of a chapter that both sides changed a lot: it merges lines, not cells.

It needs what `hub/README.md` has installed; the skip says what is missing.
"""

import copy
import json
import random
import subprocess

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from attn_edu.course import chapters
from tests.hub import needs

ROUNDS = 4


def pull(upstream, copy_of_student):
    from nbgitpuller.pull import GitPuller

    for _ in GitPuller(upstream.as_uri(), str(copy_of_student), branch="main").pull():
        pass


def commit(upstream, message):
    subprocess.run(["git", "add", "-A"], cwd=upstream, check=True)
    who = ["-c", "user.name=instructor", "-c", "user.email=instructor@example.org"]
    subprocess.run(["git", *who, "commit", "-qm", message], cwd=upstream, check=True)


def run_and_marked(notebook, draw, mark):
    """As a student leaves it: every cell run, half of the prints other, a cell of theirs."""
    notebook = copy.deepcopy(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=7):
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
            if output.output_type == "stream" and draw.random() < 0.5:
                output.text += "another number\n"
    notebook.cells.insert(draw.randint(1, len(notebook.cells)), new_code_cell(f"# {mark}"))
    return notebook


def revised(notebook, draw):
    """As the course publishes it next: three cells moved, added, taken away or rewritten."""
    notebook = copy.deepcopy(notebook)
    cells = notebook.cells
    for _ in range(3):
        at, change = draw.randrange(len(cells)), draw.choice(["text", "add", "delete", "move"])
        if change == "text":
            cells[at].source += "\nIn other words."
        elif change == "add":
            cells.insert(at, new_markdown_cell("A new paragraph."))
        elif change == "delete":
            del cells[at]
        else:
            cells.insert(draw.randrange(len(cells)), cells.pop(at))
    return notebook


@pytest.mark.filterwarnings("ignore")
def test_after_large_changes_on_both_sides_all_of_the_students_is_there(tmp_path):
    needs.a_hub()
    originals = {one.file: nbformat.read(one.notebook, as_version=4) for one in chapters()}
    upstream = tmp_path / "upstream"
    subprocess.run(["git", "init", "-q", "-b", "main", upstream], check=True)
    twice = 0
    for number in range(ROUNDS):
        draw, student = random.Random(number), tmp_path / f"student-{number}"
        for file, notebook in originals.items():
            nbformat.write(notebook, upstream / f"{file}.ipynb")
        commit(upstream, f"before {number}")
        pull(upstream, student)
        for file, notebook in originals.items():
            marked = run_and_marked(notebook, draw, f"mine in {file}")
            nbformat.write(marked, student / f"{file}.ipynb")
            nbformat.write(revised(notebook, draw), upstream / f"{file}.ipynb")
        commit(upstream, f"after {number}")
        pull(upstream, student)
        for file in originals:
            merged = json.loads((student / f"{file}.ipynb").read_text("utf-8"))
            sources = ["".join(cell["source"]) for cell in merged["cells"]]
            assert any(f"# mine in {file}" in source for source in sources)
            ids = [cell["id"] for cell in merged["cells"]]
            twice += len(set(ids)) < len(ids)
    merges = ROUNDS * len(originals)
    print(f"{twice} of {merges} merged chapters have a cell twice")
    assert 0 < twice < merges / 3  # hub/README.md says so
