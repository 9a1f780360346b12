"""Say what to install where a package is missing that only a part of the course needs."""

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec


def first_missing(*packages: str) -> str | None:
    """The first of these packages that is not installed; ``None`` if all are."""
    return next((name for name in packages if find_spec(name) is None), None)


@contextlib.contextmanager
def needed(what: str, *packages: str, instead: str = "") -> Iterator[None]:
    """Around imports: a missing package of these is named, with the command that installs it.

    Args:
        what: what needs them, "attn_edu.figures".
        packages: their names, as imported and as installed.
        instead: a sentence on what works without.

    Raises:
        ModuleNotFoundError: one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in packages:
            raise
        message = f"{what} needs the package {missing}: pip install {missing}. {instead}".strip()
        raise ModuleNotFoundError(message, name=missing) from None
