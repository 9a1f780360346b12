"""Run chapters as Colab would: its versions, no clone, each in an empty folder.

An environment of its own inside the course's gets what Colab has. Then each chapter runs as it
stands, set-up cell included; only the address that the cell installs from is that of a wheel made
here. What the cell must not touch is compared before and after.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode

from attn_edu.cli.environment import ROOT, installed, quiet_variables
from attn_edu.cli.notebooks import TIMEOUT, assembled, faults
from attn_edu.colab import TAG, VARIABLE
from attn_edu.course import Chapter, chapters, find, repository

FOLDER = Path(sys.prefix) / "colab"
KERNEL = "colab"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
PINS = [  # googlecolab/backend-info, August 2026
    "numpy==2.0.2; python_version < '3.13'",
    "numpy>=2.1,<2.4; python_version >= '3.13'",
    "plotly==5.24.1",
    "ipywidgets==7.7.1",
    "ipython==7.34.0",
    "ipykernel==6.17.1",
    "jupyter-client==7.4.9",
    "traitlets==5.7.1",
    "safetensors",
    "tqdm",
]
# Stands for Colab's own package: it writes down what was asked of it. anywidget reads `_widgets`.
STAND_IN = """\
import os
from pathlib import Path


class _widgets:
    _installed_url = None


def enable_custom_widget_manager():
    _widgets._installed_url = "https://example.org/manager.min.js"
    Path(os.environ["ATTN_EDU_ASKED"]).write_text("enable_custom_widget_manager")
"""


class ColabError(RuntimeError):
    """The check cannot be made, or found a fault; the message says which."""


def pip(*words: object) -> str:
    """Run pip of the environment that stands for Colab's; returns what it printed.

    Raises:
        ColabError: pip failed.
    """
    command = [PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input", *words]
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if ran.returncode:
        raise ColabError(f"pip {' '.join(map(str, words))} failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def ensure(torch: str) -> None:
    """Make the environment, once for each set of versions, and take the course out of it."""
    pins, stamp = [f"torch=={torch}", *PINS], FOLDER / "pins"
    if not (stamp.is_file() and stamp.read_text("utf-8").split("\n") == pins):
        print("Installing the versions of Colab (once, 1 GB) ...", flush=True)
        venv.create(FOLDER, clear=True, with_pip=True)
        pip("install", "--quiet", *pins)
        kernel = [PYTHON, "-m", "ipykernel", "install", "--prefix", FOLDER, "--name", KERNEL]
        subprocess.run([str(word) for word in kernel], check=True, capture_output=True)
        stamp.write_text("\n".join(pins), "utf-8")
    pip("uninstall", "--quiet", "--yes", "attn-edu", "anywidget", "psygnal")


def wheel(folder: Path) -> Path:
    """The course as one file, as pip makes it from the archive of the repository."""
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (path,) = folder.glob("*.whl")
    return path


def stand_in(folder: Path) -> None:
    """Write what the set-up cell imports and only Colab has."""
    package = folder / "google" / "colab"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "output.py").write_text(STAND_IN, "utf-8")


def prepared(chapter: Chapter, course: Path) -> NotebookNode:
    """The chapter, its set-up cell installing `course` instead of what is published."""
    notebook = assembled(chapter)
    (cell,) = (c for c in notebook.cells if TAG in c.metadata.get("tags", []))
    if cell.source.count(repository().archive) != 1:
        raise ColabError(f"{chapter.file}: the set-up cell does not name the repository")
    cell.source = cell.source.replace(repository().archive, str(course))
    return notebook


def run(chapter: Chapter, course: Path, asked: Path) -> list[str]:
    """Run a chapter as Colab would; returns its faults.

    Args:
        course: the wheel.
        asked: the folder of the stand-in, which notes there what the cell asked of it.
    """
    notebook, note = prepared(chapter, course), asked / "asked"
    note.unlink(missing_ok=True)
    own = {VARIABLE: "check", "PYTHONPATH": str(asked), "ATTN_EDU_ASKED": str(note)}
    with tempfile.TemporaryDirectory() as empty:
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name=KERNEL,
            extra_arguments=["--IPKernelApp.log_level=40"],
            resources={"metadata": {"path": empty}},
        )
        try:
            client.execute(env={**os.environ, **quiet_variables(), **own})
        except (CellExecutionError, DeadKernelError) as error:
            return [str(error)]
    found = faults(notebook)
    if not note.is_file():
        found.append("the set-up cell did not ask for custom widgets")
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("make colab-check", description=__doc__)
    parser.add_argument("chapters", nargs="*", help="numbers; all if none")
    parser.add_argument("--torch", default=installed("torch"), help="default: the one here")
    options = parser.parse_args(arguments)
    try:
        chosen = [find(name) for name in options.chapters] or chapters()
    except KeyError as error:
        parser.error(error.args[0])
    paths = [str(FOLDER / "share" / "jupyter"), os.environ.get("JUPYTER_PATH", "")]
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, paths))
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            ensure(options.torch)
            course = wheel(folder)
        except ColabError as error:
            print(error, file=sys.stderr)
            return 1
        stand_in(folder)
        before = set(pip("freeze").splitlines())
        for chapter in chosen:
            start = time.perf_counter()
            found = run(chapter, course, folder)
            print(f"{chapter.file}: {time.perf_counter() - start:.0f} s", *found, sep="\n  ")
            sys.stdout.flush()
            failed |= bool(found)
        gone = sorted(before - set(pip("freeze").splitlines()))
    if gone:
        print("The set-up cell touched what Colab has:", *gone, sep="\n  ")
    return 1 if failed or gone else 0
