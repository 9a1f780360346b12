"""The conditions around a notebook's cells: each catches what it is there for."""

import re
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from attn_edu.cli.environment import ROOT
from attn_edu.cli.notebooks import IGNORE_OUTPUT


def shown(source, text="", tags=()):
    outputs = [new_output("stream", text=text)] if text else []
    tags = {"tags": list(tags)} if tags else {}
    return new_code_cell(source, outputs=outputs, execution_count=1, metadata=tags)


@pytest.fixture
def run(tmp_path):
    """Runs cells under the conditions; returns what passed and what failed, and the whole text."""

    def ran(*cells, seconds=60):
        nbformat.write(new_notebook(cells=cells), tmp_path / "chapter.ipynb")
        options = ["-p", "tests.notebooks.conditions", "-p", "no:cacheprovider", "-rA"]
        nbval = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={seconds}"]
        command = [sys.executable, "-m", "pytest", *options, *nbval, tmp_path / "chapter.ipynb"]
        text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
        text = re.sub(r"\x1b\[[\d;]*m", "", text)
        found = re.findall(r"^(PASSED|FAILED) \S+::([\w ]+?)(?: - .*)?$", text, re.MULTILINE)
        states = {state: [cell for s, cell in found if s == state] for state in dict(found)}
        return states.get("PASSED", []), states.get("FAILED", []), text

    return ran


def test_a_cell_that_shows_or_asserts_something_else_the_second_time_fails(run):
    passed, failed, text = run(
        shown("rows = [1]"),
        shown("rows.append(2)\nprint(rows)", "[1, 2]\n"),
        shown("steady = 3\nprint(steady)", "3\n"),
        shown("print(rows); assert 'late' not in vars()", tags=["training", IGNORE_OUTPUT]),
        shown("print(rows[-1])", "2\n"),
        shown("late = 5"),
    )
    assert sorted(failed) == ["Cell 1 again", "Cell 3 again"], text
    below = [f"Cell {n}" for n in range(6)] + [f"Cell {n} again" for n in (0, 2, 4, 5)]
    assert sorted(passed) == sorted(["Confined", "Peak", *below])


def test_the_peak_is_shown_and_above_the_limit_it_fails(run):
    _, failed, text = run(shown("few = 1"))
    assert failed == []
    (megabytes,) = re.findall(r"=== peak MB of each notebook: ch (\d+)$", text, re.MULTILINE)
    assert 30 < int(megabytes) < 300
    _, failed, text = run(shown("much = b'1' * 1_250_000_000"))
    assert failed == ["Peak"], text
    assert re.search(r"AssertionError: 1[23]\d{8}$", text, re.MULTILINE), text


def test_writing_in_the_course_fails(run):
    write = "from pathlib import Path\nPath({!r}, 'a.txt').touch()"
    _, failed, text = run(shown(write.format(str(ROOT))), shown(write.format(".")))
    assert sorted(failed) == ["Cell 0", "Cell 0 again", "Cell 1", "Cell 1 again"], text
    assert not (ROOT / "a.txt").exists()


def test_asking_the_network_ends_the_kernel(run):
    ask = "import urllib.request\ntry: urllib.request.urlopen('http://localhost:9')\nexcept: pass"
    _, failed, text = run(shown("print(1)", "1\n"), shown(ask), seconds=3)
    assert "Cell 1" in failed and "Cell 0" not in failed, text
