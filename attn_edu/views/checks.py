"""What a view accepts: each check returns the value or says what was got and what is accepted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real

import numpy as np

from attn_edu.labels import as_label


def as_array(values, name: str) -> np.ndarray:
    """A float array of its own from a tensor, an array or nested lists: float64 stays, else 32."""
    try:
        array = _plain(values)
        real = array.dtype.kind in "fiub" or (
            array.dtype.kind == "O" and all(isinstance(x, Real) for x in array.flat)
        )
        if not real:
            raise TypeError(f"{array.dtype} is no dtype of real numbers")
        return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        kind = type(values).__name__
        message = f"{name} must be a tensor, an array or lists of numbers, got {kind}: {error}"
        raise TypeError(message) from error


def _plain(values) -> np.ndarray:
    """An array of its own from whatever holds numbers; torch itself is not imported here."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().to_dense().resolve_neg()
        own = str(values.dtype) in ("torch.float64", "torch.float32", "torch.bool")
        return np.array((values if own or values.is_complex() else values.float()).numpy())
    try:
        return np.array(values)
    except (TypeError, RuntimeError):  # lists of tensors that numpy does not read
        if not isinstance(values, list | tuple):
            raise
        return np.array([_plain(value) for value in values])


def as_boolean(mask, name: str = "mask") -> np.ndarray:
    """A boolean array of its own; True = may attend."""
    try:
        array = _plain(mask)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(mask).__name__
        message = f"{name} must be boolean (True = may attend), got {kind}: {error}"
        raise TypeError(message) from error
    if array.dtype != np.bool_:
        got = getattr(mask, "dtype", array.dtype)
        raise TypeError(f"{name} must be boolean (True = may attend), got dtype {got}")
    return array


def as_mask(mask, shape: tuple[int, ...]) -> np.ndarray:
    """A boolean array that broadcasts to ``shape``; True = may attend."""
    array = as_boolean(mask)
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
    tokens = tokens.tolist() if hasattr(tokens, "tolist") else tokens  # arrays and tensors
    if isinstance(tokens, str):
        raise TypeError(f"{name} must be a sequence of {n} words, got one string: use .split()")
    if isinstance(tokens, bytes | set | frozenset) or not isinstance(tokens, Iterable):
        raise TypeError(f"{name} must be a sequence of {n} words, got {type(tokens).__name__}")
    labels = [as_label(str(t)) for t in tokens]
    if len(labels) != n:
        raise ValueError(f"{name} must name each of the {n} positions, got {len(labels)} words")
    return labels


def as_title(title) -> str | None:
    """A caption, or None."""
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string or None, got {type(title).__name__}")
    return title and as_label(title)


def as_positive(value, name: str) -> float:
    """A positive, finite number."""
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        number = math.inf
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
