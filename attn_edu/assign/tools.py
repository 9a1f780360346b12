"""nbgrader on demand, beside the environment rather than in it.

Installed in the usual way it would add its menus to the JupyterLab of everybody who shares the
environment. So the extra `assign` of pyproject.toml goes to a folder of its own, which only the
commands that need it look into. Where the environment has an nbgrader already, that one is used.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from attn_edu.cli.environment import ROOT, installed, one_at_a_time

OLDEST = (0, 9, 3)  # the first nbgrader for JupyterLab 4.2
FOLDER = Path(sys.prefix) / "share" / "attn_edu" / "nbgrader"


class ToolsError(RuntimeError):
    """nbgrader is missing and could not be installed; the message says what to do."""


def pins() -> list[str]:
    """What is installed: nbgrader and what it needs beyond the course, in exact versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project["optional-dependencies"]["assign"]


def of_the_environment() -> bool:
    """Whether the environment itself has an nbgrader that is new enough."""
    numbers = re.findall(r"\d+", installed("nbgrader") or "")[:3]
    return tuple(map(int, numbers)) >= OLDEST


def path() -> list[Path]:
    """What has to be on Python's path for nbgrader; it is installed first where it is missing.

    Raises:
        ToolsError: it could not be installed.
    """
    if of_the_environment():
        return []
    if not _is_whole():
        FOLDER.parent.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(FOLDER.with_suffix(".lock")):
            if not _is_whole():  # another command may have installed it meanwhile
                _install()
                (FOLDER / "installed.txt").write_text(_wanted(), "utf-8")
    return [FOLDER]


def _wanted() -> str:
    return "\n".join([sys.version, *pins()])


def _is_whole() -> bool:
    stamp = FOLDER / "installed.txt"
    return stamp.is_file() and stamp.read_text("utf-8") == _wanted()


def _install() -> None:
    print("Installing nbgrader (once, 65 MB) ...", file=sys.stderr, flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--quiet", "--no-deps", "--upgrade", "--target", FOLDER, *pins()],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ToolsError(
            f"nbgrader could not be installed:\n{done.stderr.strip()}\n\n"
            "It needs the network once. Without one, install what the extra `assign` of "
            "pyproject.toml names in some other way."
        )


def activate() -> None:
    """Make ``import nbgrader`` work in this process. The environment's own packages come first.

    Raises:
        ToolsError: it is missing and could not be installed.
    """
    sys.path += [str(folder) for folder in path() if str(folder) not in sys.path]


def main(arguments: list[str]) -> int:
    """Run a command of nbgrader's own, with the words that it takes."""
    places = [str(folder) for folder in path()]
    here = {"PYTHONPATH": os.pathsep.join([*places, *filter(None, [os.getenv("PYTHONPATH")])])}
    return subprocess.call(
        [sys.executable, "-m", "nbgrader", *arguments], env={**os.environ, **here}
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
