"""Open the course in JupyterLab, its notebooks trusted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.sign import NotebookNotary

from attn_edu.cli.environment import ROOT
from attn_edu.course import NOTEBOOKS, chapters


def trust() -> int:
    """Sign the course's notebooks, so that their pictures move at once; returns how many."""
    notary = NotebookNotary()
    files = sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in files:
        notary.sign(nbformat.read(path, as_version=4))
    return len(files)


def ask_nothing_of_the_network() -> None:
    """Let JupyterLab neither fetch news nor look for updates, nor ask whether it may.

    These are defaults of the environment; the reader's own settings go before them.
    """
    path = Path(sys.prefix) / "share/jupyter/lab/settings/overrides.json"
    if path.exists() or not os.access(sys.prefix, os.W_OK):
        return
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"@jupyterlab/apputils-extension:notification": quiet}), "utf-8")


def main(arguments: list[str]) -> int:
    trust()
    ask_nothing_of_the_network()
    start = chapters()[0].notebook.relative_to(ROOT).as_posix()
    command = [sys.executable, "-m", "jupyterlab", start, f"--ServerApp.root_dir={ROOT}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container one is root
    command += arguments
    if os.name == "posix":
        os.chdir(ROOT)
        os.execv(command[0], command)
    return subprocess.call(command, cwd=ROOT)
