"""What the models refuse: sizes below 1, unknown names."""

from collections.abc import Collection
from numbers import Integral


def check_positive(name: str, value: int) -> None:
    """Refuse what is no integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name}: got {value!r}; accepted is an integer of at least 1.")


def check_one_of(name: str, value: str, accepted: Collection[str]) -> None:
    """Refuse an unknown name."""
    if value not in accepted:
        raise ValueError(f"{name}: got {value!r}; accepted are {', '.join(map(repr, accepted))}.")
