"""Self-attention, measured: the package behind the notebooks.

Submodules are loaded when they are first used: ``import attn_edu`` costs nothing.
"""

import importlib

__version__ = "0.1.0"

_SUBMODULES = frozenset(
    {
        "attention",
        "costs",
        "course",
        "datasets",
        "exercises",
        "figures",
        "matmul",
        "models",
        "training",
        "views",
        "widgets",
    }
)


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_SUBMODULES})
