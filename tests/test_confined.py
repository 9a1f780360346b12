"""The course where it may not write, and where there is no network: chapter 02, and exercises."""

import os
import subprocess
import sys

import pytest

from attn_edu.cli.environment import ROOT

from .chapters.loading import code_cells

# Whoever asks the network ends the run, also where an error would have been caught.
NO_NETWORK = """
import os, socket
def refused(*given, **named):
    os.write(2, b"the network was asked")
    os._exit(70)
for name in ("getaddrinfo", "gethostbyname", "create_connection"):
    setattr(socket, name, refused)
socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refused
"""
# root may write wherever it likes, so that the folders of the reader and of the course refuse here
NO_WRITING = f"""
import builtins, io, os
OURS = tuple(map(os.path.abspath, ({str(ROOT)!r}, os.getcwd())))
def refuse(path):
    if not isinstance(path, int) and os.path.abspath(os.fsdecode(path)).startswith(OURS):
        raise PermissionError(13, "cannot be written", str(path))
def guard(function):
    def guarded(path, mode="r", *given, **named):
        flags = os.O_WRONLY | os.O_RDWR | os.O_CREAT
        if mode & flags if isinstance(mode, int) else {{*mode}} & {{*"wax+"}}:
            refuse(path)
        return function(path, mode, *given, **named)
    return guarded
def changing(function):
    def guarded(*paths, **named):
        [refuse(path) for path in paths if isinstance(path, str | bytes | os.PathLike)]
        return function(*paths, **named)
    return guarded
builtins.open = io.open = guard(io.open)
os.open = guard(os.open)
for name in ("mkdir", "rename", "replace", "remove", "unlink", "symlink", "link"):
    setattr(os, name, changing(getattr(os, name)))
"""
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
