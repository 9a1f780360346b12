"""`assign` and `grade` on the command line: what they say where nothing can be done."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from attn_edu.assign import folder, running, texts, tools
from attn_edu.cli import COMMANDS, assign, grade
from attn_edu.cli.environment import ROOT
from attn_edu.course import chapters


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    """As if nbgrader were nowhere, and pip could not bring it."""
    monkeypatch.setattr(tools, "FOLDER", tmp_path / "tools")
    monkeypatch.setattr(tools, "installed", lambda name: None)
    failed = subprocess.CompletedProcess([], 1, "", "no route to host")
    monkeypatch.setattr(subprocess, "run", lambda *words, **options: failed)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "which chapters?"),
        (["77"], "no chapter is called '77'"),
        (["00"], "chapter 00 has no exercises to assign"),
        (["02", "nothing"], "no chapter is called 'nothing'"),
    ],
)
def test_a_chapter_that_cannot_be_assigned(names, words, capsys, tmp_path):
    assert assign.main([*names, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "chapters with exercises are 01, 02, 03" in said
    assert not (tmp_path / "out").exists()


def test_chapters_by_any_of_their_names_once_and_in_order():
    chosen = folder.chosen(["03", "2", "02_single_head", "rnn_limits"])
    assert [chapter.number for chapter in chosen] == ["01", "02", "03"]


@pytest.mark.parametrize("command", [assign.main, grade.main])
def test_without_nbgrader_and_network_it_says_what_to_do(command, no_network, capsys):
    assert command(["02"]) == 1
    said = capsys.readouterr().err
    assert "no route to host" in said
    assert "extra `assign` of pyproject.toml" in said


def test_pip_is_asked_for_the_pins_in_a_folder_of_its_own_and_once(monkeypatch, tmp_path):
    asked = []

    def run(words, **options):
        asked.append(words)
        tools.FOLDER.mkdir(exist_ok=True)
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(tools, "FOLDER", tmp_path / "tools")
    monkeypatch.setattr(tools, "installed", lambda name: None)
    monkeypatch.setattr(subprocess, "run", run)
    assert tools.path() == tools.path() == [tmp_path / "tools"]
    (words,) = asked
    assert words[:4] == [sys.executable, "-m", "pip", "install"]
    assert "--no-deps" in words
    assert words[words.index("--target") + 1] == tmp_path / "tools"
    assert words[-len(tools.pins()) :] == tools.pins()
    assert all("==" in pin for pin in tools.pins())


@pytest.mark.parametrize(
    ("version", "own"), [("0.9.6", True), ("0.10.0", True), ("0.9.2", False), (None, False)]
)
def test_an_nbgrader_of_the_environment_is_used_if_it_is_new_enough(version, own, monkeypatch):
    monkeypatch.setattr(tools, "installed", lambda name: version)
    assert tools.of_the_environment() == own


def test_jupyterlab_does_not_see_nbgrader():
    """Its folder is on no path that Jupyter searches for extensions."""
    from jupyter_core.paths import jupyter_config_path, jupyter_path

    places = [*jupyter_path("labextensions"), *jupyter_config_path()]
    assert not any(str(tools.FOLDER) in place for place in places)
    assert str(tools.FOLDER) not in sys.path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "is no folder of assignments"),
        (["course"], "nothing was handed in: put notebooks into"),
        (["course", "05"], "no assignment is called '05'; there are 02_single_head"),
    ],
)
def test_a_folder_that_cannot_be_graded(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tools, "activate", lambda: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "course" / "source" / "02_single_head").mkdir(parents=True)
    (tmp_path / "course" / "nbgrader_config.py").touch()
    assert grade.main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "place",
    [
        "ann/02_single_head.ipynb",
        "ann/2/02_single_head.ipynb",
        "ann/02_single_head/02_single_head/02_single_head.ipynb",
        "02_single_head/02_single_head.ipynb",
    ],
)
def test_a_notebook_in_another_place_is_not_passed_over_in_silence(place, tmp_path, capsys):
    (tmp_path / "source" / "02_single_head").mkdir(parents=True)
    (tmp_path / "nbgrader_config.py").touch()
    right = tmp_path / "submitted" / "bob" / "02_single_head" / "02_single_head.ipynb"
    copy = right.parent / ".ipynb_checkpoints" / "02_single_head.ipynb"
    wrong = tmp_path / "submitted" / place
    for path in (right, copy, wrong):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert running.misplaced(tmp_path) == [wrong]
    shutil.rmtree(tmp_path / "submitted" / "bob")
    if "ann/02_single_head/" not in place:  # there a notebook is missed under its own name
        assert grade.main([str(tmp_path)]) == 2
        assert f"in another place: {wrong}" in capsys.readouterr().err


@pytest.mark.parametrize(("graded_at", "done"), [(-60, False), (60, True)])
def test_a_second_submission_counts_from_when_it_came_whatever_its_date(graded_at, done, tmp_path):
    name = "02_single_head"
    for step, end in (("autograded", "ipynb"), ("feedback", "html"), ("submitted", "ipynb")):
        path = tmp_path / step / "ann" / name / f"{name}.{end}"
        path.parent.mkdir(parents=True)
        path.touch()
    graded = tmp_path / "autograded" / "ann" / name / f"{name}.ipynb"
    os.utime(graded, times=(0, graded.stat().st_ctime + graded_at))
    os.utime(path, times=(0, 1))  # saved in 1970, unpacked now
    assert running._is_graded(tmp_path, "ann", name) is done


def test_the_command_tells_them_and_ends_with_1(tmp_path, monkeypatch, capsys):
    row = running.Graded("bob", "02_single_head", 2.0, 12.0)
    monkeypatch.setattr(tools, "activate", lambda: None)
    monkeypatch.setattr(running, "grade_all", lambda *given, **options: [row])
    assert grade.main([str(tmp_path)]) == 0
    wrong = tmp_path / "submitted" / "02_single_head.ipynb"
    wrong.parent.mkdir()
    wrong.touch()
    capsys.readouterr()
    assert grade.main([str(tmp_path)]) == 1
    assert f"lies in no STUDENT/ASSIGNMENT/: {wrong}" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tools, "activate", lambda: None)
    file = tmp_path / "file"
    file.touch()
    assert assign.main(["02", "--out", str(file / "course")]) == 1
    assert str(file) in capsys.readouterr().err

    def open_elsewhere(*given, **options):
        raise PermissionError(13, "Permission denied", "grades.csv")

    monkeypatch.setattr(running, "grade_all", open_elsewhere)
    assert grade.main([str(tmp_path)]) == 1
    assert "grades.csv" in capsys.readouterr().err


def test_a_copy_that_would_give_an_answer_away_is_not_left_to_be_handed_out(tmp_path, monkeypatch):
    from attn_edu.assign import notebook
    from attn_edu.assign.leaks import LeakError

    chapter = next(one for one in chapters() if one.number == "01")
    release = tmp_path / "release" / chapter.file / f"{chapter.file}.ipynb"

    class Careless:
        """Releases the instructor's copy as it is."""

        def generate_assignment(self, name):
            release.parent.mkdir(parents=True)
            shutil.copy(tmp_path / "source" / name / release.name, release)
            return {"success": True}

    monkeypatch.setattr(folder, "api", lambda _: Careless())
    monkeypatch.setattr(folder, "draws", lambda *_: dict.fromkeys(chapter.exercises, 31_415))
    with pytest.raises(LeakError, match="01_rnn_limits"):
        folder.assign([chapter], tmp_path, chapters_at="..")
    assert not release.exists()
    assert not (tmp_path / "handout" / f"{chapter.file}.zip").exists()
    assert notebook.grade_id is not None


def test_one_exercise_is_one(tmp_path, monkeypatch, capsys):
    made = [
        folder.Assigned(chapter, 2, tmp_path, tmp_path, tmp_path / "handed.zip")
        for chapter in folder.chosen(["02", "11"])
    ]
    monkeypatch.setattr(tools, "activate", lambda: None)
    monkeypatch.setattr(folder, "assign", lambda *given, **options: made)
    assert assign.main(["02", "11"]) == 0
    said = capsys.readouterr().out
    assert "02_single_head: 4 exercises, 2 points" in said
    assert ": 1 exercise, 2 points" in said


def test_what_nbgrader_refuses_is_told(tmp_path, monkeypatch):
    class Refusing:
        def generate_assignment(self, name):
            return {"success": False, "log": "[ERROR] no", "error": "Traceback"}

    monkeypatch.setattr(folder, "api", lambda _: Refusing())
    chapter = next(one for one in chapters() if one.number == "11")
    with pytest.raises(folder.AssignError, match=r"11_\w+: \[ERROR\] no"):
        folder.assign([chapter], tmp_path, chapters_at="..")


def test_both_are_commands_and_stand_in_usage_and_makefile():
    assert {"assign", "grade"} <= set(COMMANDS)
    shown = subprocess.run(
        [sys.executable, "-m", "attn_edu"], cwd=ROOT, capture_output=True, text=True
    ).stdout
    assert "\n  assign " in shown and "\n  grade " in shown


def make(*words):
    if shutil.which("make") is None:
        missing = "make is missing: its own rules cannot be asked; the commands behind it are above"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-n", *words]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=outer)
    return " ".join(run.stdout.split())


def test_make_hands_chapters_and_folder_on():
    assert make("assign", "CHAPTERS=02 03") == (
        'python3 -m attn_edu assign 02 03 --out "assignments"'
    )
    assert make("grade", "DIR=a b", "ARGS=--again") == 'python3 -m attn_edu grade "a b" --again'
    assert f"{assign.DEFAULT}/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_the_texts_name_what_is_there(tmp_path):
    said = texts.for_the_instructor(["02_single_head", "03_multi_head"])
    assert "- `03_multi_head`" in said
    assert [line[:2] for line in said.splitlines() if line[:1].isdigit()] == [
        "1.", "2.", "3.", "4.", "5."
    ]  # fmt: skip
    assert max(map(len, said.splitlines())) <= 110
    readme = texts.for_the_student(chapters()[2])
    assert "make lab" in readme and "nbgrader is not needed" in readme
    assert readme.isascii()  # for every editor


def test_a_zip_has_the_same_bytes_for_the_same_content(tmp_path):
    (tmp_path / "a.ipynb").write_text("{}", "utf-8")
    for name in ("one.zip", "two.zip"):
        folder._zip(tmp_path / name, tmp_path / "a.ipynb", "hello")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.read("a/README.txt") == b"hello"
