"""Which words of a submission an instructor is told to look at."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attn_edu.assign.mentions import mentions
from attn_edu.assign.notebook import IMPORTS, assignment
from attn_edu.course import chapters


def note(tmp_path, *cells):
    path = tmp_path / "graded.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(IMPORTS), *cells]), path)
    return mentions(path)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("from attn_edu.attention import split_heads", "attn_edu.attention"),
        ("from attn_edu.exercises import solution", "attn_edu.exercises"),
        ("from attn_edu.exercises.grading import grade as g", "attn_edu.exercises.grading"),
        ("mime = 'application/vnd.attn-edu.result+json'", "attn-edu.result"),
        ("sys.modules['x'] = 3", "sys.modules"),
        ("frame = sys._getframe()", "_getframe"),
        ("while frame: frame = frame.f_back", "f_back"),
        ("grade.__code__ = other.__code__", "__code__"),
        ("get_ipython().events", "get_ipython"),
        ("setattr (torch, 'sum', 1)", "setattr"),
        ("exec('a = 1')", "exec"),
        ("import gc", "gc"),
        ("torch.isclose = lambda *a: True", "torch.isclose"),
        ("torch.nn.functional.elu=3", "torch.nn.functional.elu"),
    ],
)
def test_a_name_that_no_exercise_needs_is_told_with_its_cell(code, name, tmp_path):
    assert note(tmp_path, new_code_cell("a = 1"), new_code_cell(code)) == (
        f"worth a look, cell 3: {name}"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import torch.nn.functional as F\nimport sys, warnings",
        "layer.eval()\nvariables = retrieval(3)",
        "assert torch.pi == 3",
        "d = dict(gc_=1)",
        "from attn_edu.exercises.grading import grade\n\ngrade('02.scores', 'scores', points=2)",
    ],
)
def test_ordinary_code_is_not(code, tmp_path):
    assert note(tmp_path, new_code_cell(code)) == ""


def test_nor_are_texts_nor_what_the_instructor_wrote(tmp_path):
    assert note(tmp_path, new_markdown_cell("I looked at sys.modules")) == ""
    for chapter in (one for one in chapters() if one.exercises):
        path = tmp_path / "assigned.ipynb"
        nbformat.write(assignment(chapter, dict.fromkeys(chapter.exercises, 7), ".."), path)
        assert mentions(path) == "", chapter.number


def test_several_are_one_line(tmp_path):
    cells = [new_code_cell("import gc, inspect"), new_code_cell("import gc, ctypes, atexit")]
    expected = "worth a look, cell 2, 3: gc, inspect, ctypes and 1 more"
    assert note(tmp_path, *cells) == expected
