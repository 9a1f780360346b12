"""Random inputs of the cases: the same ones in every check, others in every draw of a grade."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import torch
from torch import Generator, Tensor

_draw: ContextVar[int] = ContextVar("draw", default=0)
_APART = 1_000_003  # between the seeds of two draws: more than any seed of a case


@contextlib.contextmanager
def drawn(draw: int) -> Iterator[None]:
    """Inside, the functions below give the numbers of that draw. Draw 0 is the one of `check`."""
    token = _draw.set(draw)
    try:
        yield
    finally:
        _draw.reset(token)


def _generator(seed: int) -> Generator:
    return torch.Generator().manual_seed(seed + _APART * _draw.get())


def normal(*shape: int, seed: int, size: float = 1.0) -> Tensor:
    """Normally distributed numbers with standard deviation ``size``, in float64."""
    return size * torch.randn(*shape, generator=_generator(seed), dtype=torch.float64)


def coin(*shape: int, seed: int, chance: float = 0.6) -> Tensor:
    """Booleans, each `True` with the given chance."""
    return torch.rand(*shape, generator=_generator(seed)) < chance


def tokens(*shape: int, vocabulary: int, seed: int) -> Tensor:
    """Whole numbers from 0 to ``vocabulary`` - 1."""
    return torch.randint(vocabulary, shape, generator=_generator(seed))


def more(count: int, *ranges: range, seed: int = 0) -> list[tuple[int, ...]]:
    """Further tuples of whole numbers, one of each range, for exercises about numbers.

    In draw 0 there are none: the cases of `check` are written down.
    """
    if _draw.get() == 0:
        return []
    generator = _generator(seed)

    def one_of(numbers: range) -> int:
        return numbers[int(torch.randint(len(numbers), (), generator=generator))]

    return [tuple(map(one_of, ranges)) for _ in range(count)]
