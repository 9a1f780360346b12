"""The commands lab, test and bench: what they would run, and when they stop."""

import json
import os
import subprocess
import sys

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook, new_output

from attn_edu.cli import bench, checks, environment, lab, lock


@pytest.fixture
def commands(monkeypatch):
    """Every command that the checks would run; `fails` holds the modules whose run fails."""
    ran, fails = [], {}

    def call(command, **options):
        ran.append(command)
        return next((code for word, code in fails.items() if word in command), 0)

    monkeypatch.setattr(subprocess, "call", call)
    return ran, fails


def test_all_checks_run_in_order_and_pytest_comes_last(commands, monkeypatch):
    monkeypatch.setattr(checks, "javascript", lambda: ["node", "--test", "a.test.mjs"])
    assert checks.main([]) == 0
    ran, _ = commands
    assert "ruff" in ran[0]
    assert "--test" in ran[1]
    assert {"pytest", "--nbval", "tests/browser", "notebooks", "tests"} <= set(ran[-1])
    assert "-ptests.notebooks.conditions" in ran[-1]
    assert len(ran) == 3


def test_first_failure_stops_with_its_code(commands):
    ran, fails = commands
    fails["ruff"] = 3
    assert checks.main([]) == 3
    assert len(ran) == 1


def test_one_stage_alone_with_options_for_pytest(commands):
    assert checks.main(["unit", "-k", "rotary"]) == 0
    ((*_, ignored, option, word),) = commands[0]
    assert (ignored, option, word) == ("--ignore=tests/browser", "-k", "rotary")
    assert "--nbval" not in commands[0][0]


def test_unknown_stage_is_told(commands, capsys):
    assert checks.main(["flavour"]) == 2
    assert "style, javascript" in capsys.readouterr().err


def test_node_is_found_without_one_of_the_system(monkeypatch):
    monkeypatch.setattr(checks.shutil, "which", lambda name: None)
    shown = subprocess.check_output([checks.node(), "--version"], text=True)
    assert shown.startswith("v")


def test_lab_trusts_the_notebooks_and_passes_options_on(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(lab, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(lab, "ask_nothing_of_the_network", lambda: None)
    output = new_output("display_data", {"text/html": "<script></script>"})
    notebook = new_notebook(cells=[new_code_cell("view", outputs=[output])])
    nbformat.write(notebook, tmp_path / "a.ipynb")
    handed = []
    monkeypatch.setattr(os, "execv", lambda path, words: handed.extend(words) or sys.exit(0))
    monkeypatch.setattr(os, "chdir", lambda path: None)
    with pytest.raises(SystemExit):
        lab.main(["--no-browser", "--port=9999"])
    assert handed[:4] == [sys.executable, "-m", "jupyterlab", "notebooks/00_start_here.ipynb"]
    assert handed[-2:] == ["--no-browser", "--port=9999"]
    signed = nbformat.read(tmp_path / "a.ipynb", 4)
    assert NotebookNotary().check_signature(signed)


def test_signatures_lie_inside_the_environment():
    inside = environment.variables()["JUPYTER_DATA_DIR"]
    assert inside.startswith(sys.prefix)


def test_bench_runs_each_module_that_has_a_main(tmp_path, monkeypatch, capsys):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "fast.py").write_text("def main():\n    print('measured')\n")
    (tmp_path / "bench" / "helper.py").write_text("print('only imported')\n")
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.delitem(sys.modules, "bench", raising=False)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(environment.ROOT))])
    assert bench.main([]) == 0
    shown = capsys.readouterr().out
    assert "=== bench/fast.py\nmeasured" in shown
    assert "=== bench/helper.py" not in shown
    assert bench.main(["missing"]) == 2
    assert bench.main(["fast", "helper", "word"]) == 2


def test_bench_hands_words_on_to_a_single_module(tmp_path, monkeypatch, capsys):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "words.py").write_text("def main(words=()):\n    print(*words)\n")
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    for name in ("bench", "bench.words"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(environment.ROOT))])
    assert bench.main(["words", "some", "--quick"]) == 0
    assert "=== bench/words.py\nsome --quick\n" in capsys.readouterr().out


@pytest.mark.parametrize(("ci", "outcome"), [("", "1 skipped"), ("true", "1 error")])
def test_without_chromium_browser_tests_are_skipped_but_fail_on_ci(ci, outcome, tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    command += ["tests/browser/test_chapters.py", "-k", "saved_page and 00"]
    env = {**os.environ, "PATH": str(tmp_path), "CHROMIUM": "", "CI": ci}
    ran = subprocess.run(command, cwd=environment.ROOT, env=env, capture_output=True, text=True)
    assert outcome in ran.stdout
    assert "apt install chromium" in ran.stdout
    assert (ran.returncode != 0) == bool(ci)


def test_jupyterlab_does_not_ask_for_news_and_own_defaults_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    lab.ask_nothing_of_the_network()
    (path,) = tmp_path.rglob("overrides.json")
    assert path.parent == tmp_path / "share/jupyter/lab/settings"
    quiet = json.loads(path.read_text("utf-8"))["@jupyterlab/apputils-extension:notification"]
    assert quiet == {"fetchNews": "false", "checkForUpdates": False}
    path.write_text("{}", "utf-8")
    lab.ask_nothing_of_the_network()
    assert path.read_text("utf-8") == "{}"


@pytest.mark.parametrize("given", [["--help"], ["torch"]])
def test_lock_takes_no_arguments_and_writes_nothing_then(given, monkeypatch, tmp_path, capsys):
    path = tmp_path / "requirements.lock"
    monkeypatch.setattr(lock, "LOCK", path)
    assert lock.main(given) == 2
    assert given[0] in capsys.readouterr().err
    assert not path.exists()
