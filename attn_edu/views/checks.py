"""What a view accepts: each check returns the value or says what was got and what is accepted."""

from __future__ import annotations

import math

import numpy as np


def as_array(values, name: str) -> np.ndarray:
    """A float array of its own from a tensor, an array or nested lists: float64 stays, else 32."""
    if hasattr(values, "detach"):  # a torch tensor; torch itself is not imported here
        values = values.detach().cpu()
        own = str(values.dtype) in ("torch.float64", "torch.float32")
        values = (values if own else values.float()).numpy()
    try:
        array = np.array(values)
        return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        message = f"{name} must be a tensor, an array or lists of numbers, got {kind}"
        raise TypeError(message) from error


def as_mask(mask, shape: tuple[int, ...]) -> np.ndarray:
    """A boolean array that broadcasts to ``shape``; True = may attend."""
    array = np.array(mask.detach().cpu().numpy() if hasattr(mask, "detach") else mask)
    if array.dtype != np.bool_:
        raise TypeError(f"mask must be boolean (True = may attend), got dtype {array.dtype}")
    try:
        fits = np.broadcast_shapes(array.shape, shape) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"mask of shape {array.shape} does not broadcast to {tuple(shape)}")
    return array


def as_words(tokens, n: int, name: str = "tokens") -> list[str]:
    """Labels as strings: the given ones, or positions 0..n-1."""
    if tokens is None:
        return [str(i) for i in range(n)]
    if isinstance(tokens, str):
        raise TypeError(f"{name} must be a sequence of {n} words, got one string: use .split()")
    labels = [str(t) for t in tokens]
    if len(labels) != n:
        raise ValueError(f"{name} must name each of the {n} positions, got {len(labels)} words")
    return labels


def as_positive(value, name: str) -> float:
    """A positive, finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number, got {type(value).__name__}") from error
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return number


def as_count(value, name: str) -> int:
    """A whole number of at least 1."""
    number = _whole(value, name)
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return number


def as_index(value, count: int, name: str) -> int:
    """A position 0..count-1."""
    number = _whole(value, name)
    if not 0 <= number < count:
        raise ValueError(f"{name} must be 0 to {count - 1}, got {value}")
    return number


def _whole(value, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}")
    return int(value)


def one_of(value, accepted: tuple[str, ...], name: str) -> str:
    """One of a few names."""
    if value not in accepted:
        raise ValueError(f"{name} must be one of {accepted}, got {value!r}")
    return value
