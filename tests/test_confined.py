"""The course where it may not write, and where there is no network: chapter 02, and exercises.

All chapters run so in the notebooks stage: tests/notebooks/conditions.py.
"""

import os
import subprocess
import sys

import pytest

from attn_edu.cli.environment import ROOT

from .chapters.loading import code_cells
from .confined import NO_NETWORK, NO_WRITING

EXERCISES = """
from attn_edu.exercises import check, exercises, hint, progress, solution
assert check("02.scores", lambda query, key: query @ key.mT).passed
assert "hint 1 of" in str(hint("02.scores")) and "hint 2 of" in str(hint("02.scores"))
for one in exercises():
    assert check(one.id, one.reference).passed, one.id
    str(solution(one.id))
count = len(exercises())
assert str(progress()).startswith(f"{count} of {count}")  # for as long as this session lasts
"""


def run(cells, folder, *, before=""):
    """The cells in a fresh Python in a folder; what it printed, and what it said of errors."""
    code = "\n".join([before, *cells])
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture
def chapter():
    return ["def display(*shown): print(*map(repr, shown))", *code_cells("02_single_head")]


@pytest.mark.parametrize("what", ["chapter", "exercises"])
def test_without_a_network(what, chapter, tmp_path):
    ran = run(chapter if what == "chapter" else [EXERCISES], tmp_path, before=NO_NETWORK)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_asking_the_network_would_be_noticed(tmp_path):
    asks = "try: urllib.request.urlopen('http://localhost:9')\nexcept OSError: pass"
    assert run(["import urllib.request", asks], tmp_path, before=NO_NETWORK).returncode == 70


@pytest.mark.parametrize("what", ["chapter", "exercises"])
def test_in_a_folder_that_cannot_be_written(what, chapter, tmp_path):
    ran = run(chapter if what == "chapter" else [EXERCISES], tmp_path, before=NO_WRITING)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "writes",
    [
        "open('a.txt', 'w')",
        "import pathlib; pathlib.Path('a.txt').write_text('a')",
        f"import pathlib; pathlib.Path({str(ROOT)!r}, 'a.txt').touch()",
        "import os; os.mkdir('a')",
    ],
)
def test_writing_would_be_noticed(writes, tmp_path):
    assert "cannot be written: 'a" in run([writes], tmp_path, before=NO_WRITING).stderr.replace(
        f"{ROOT}/", ""
    )
