"""Promises that an attention should keep, each measured on one `Implementation`.

A property returns how far the promise is broken: 0 where it is kept. It raises `NotOffered` where
the implementation offers nothing of the kind. `PROPERTIES` collects them by name.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .implementations import LONGEST, WIDTH, Implementation, NotOffered

KEPT = 1e-9  # in float64: a change that is smaller is rounding

PROPERTIES: dict[str, Callable[[Callable[..., Tensor]], float]] = {}


@dataclass(frozen=True)
class Finding:
    """``holds``: None where it cannot be asked; ``measured``: how far it is broken."""

    holds: bool | None
    measured: float | None
    note: str


def measured_by(function):
    PROPERTIES[function.__name__] = function
    return function


def find(one: Implementation, name: str) -> Finding:
    """Measure one property of one implementation.

    Raises:
        MissingPeerError: it is not installed.
    """
    property_ = PROPERTIES[name]
    if name in one.not_promised:
        return Finding(None, None, one.not_promised[name])
    try:
        broken = property_(one.attend)
    except NotOffered as reason:
        return Finding(None, None, str(reason))
    told = property_.__doc__.splitlines()[0]
    if math.isnan(broken):
        return Finding(False, None, f"NaN: {told}")
    return Finding(broken <= KEPT, broken, told)


def sentences(batch: int = 2, n: int = LONGEST) -> Tensor:
    """``(batch, n, d)``, always the same."""
    draw = torch.Generator().manual_seed(batch * n)
    return torch.randn(batch, n, WIDTH, generator=draw, dtype=torch.float64)


def farthest(got: Tensor, wanted: Tensor) -> float:
    """The largest difference; NaN where one of them has a NaN and the other has not."""
    unlike = got.isnan() != wanted.isnan()
    if unlike.any():
        return math.nan
    return (got - wanted).nan_to_num(0).abs().max().item()


@measured_by
def causal(attend) -> float:
    """No output depends on a later position: by derivative, and by changing the last ones."""
    x = sentences(1)
    jacobian = torch.autograd.functional.jacobian(lambda x: attend(x, causal=True), x)
    influence = jacobian.abs().amax(dim=(0, 2, 3, 5))  # (n, n)
    changed, before = x.clone(), attend(x, causal=True)
    changed[:, -1] *= 8
    moved = farthest(attend(changed, causal=True)[:, :-1], before[:, :-1])
    return max(influence.triu(1).max().item(), moved)


@measured_by
def batch_independent(attend) -> float:
    """A sample gets the same whatever other samples are in its batch."""
    x = sentences()
    changed = x.clone()
    changed[1] *= 30
    return farthest(attend(changed)[0], attend(x)[0])


@measured_by
def padding_unseen(attend) -> float:
    """A padded sample gets what it gets alone."""
    x, length = sentences(), LONGEST - 3
    padded = attend(x, lengths=[length, LONGEST])[0, :length]
    return farthest(padded, attend(x[:1, :length])[0])


@measured_by
def nothing_invented(attend) -> float:
    """Equal words give that word, at a length that nothing divides: no padding of its own."""
    x = sentences(1, 1).expand(1, LONGEST - 1, WIDTH).contiguous()
    return farthest(attend(x), x)


@measured_by
def blind_rows_are_zero(attend) -> float:
    """A sample of nothing but padding gets zeros, and finite gradients."""
    x = sentences().requires_grad_()
    output = attend(x, lengths=[0, LONGEST])
    (gradient,) = torch.autograd.grad(output.sum(), x)
    if not gradient.isfinite().all():
        return math.nan
    return output[0].abs().max().item()


@measured_by
def blind_rows_see_no_future(attend) -> float:
    """With causal and padding at once, a query that sees nothing takes nothing from later ones."""
    x = sentences(1)
    changed = x.clone()
    changed[:, -1] *= 8
    before, after = (attend(y, causal=True, lengths=[0]) for y in (x, changed))
    return farthest(after[:, :-1], before[:, :-1])


@measured_by
def last_queries(attend) -> float:
    """The last two positions, asked alone over all keys, get what they get in the whole pass."""
    x = sentences()
    return farthest(attend(x, causal=True, query=x[:, -2:]), attend(x, causal=True)[:, -2:])


@measured_by
def hidden_nan_stays_hidden(attend) -> float:
    """NaN in padding changes no real position: the share of them that becomes NaN."""
    x, length = sentences(), LONGEST - 3
    dirty = x.clone()
    dirty[0, length:] = math.nan
    clean, got = (attend(y, lengths=[length, LONGEST])[0, :length] for y in (x, dirty))
    spoilt = got.isnan().double().mean().item()
    return spoilt or farthest(got, clean)


@measured_by
def seen_nan_is_shown(attend) -> float:
    """A query of NaN gets NaN, in float32 too: the share of its outputs that hide it."""
    hidden = []
    for dtype in (torch.float64, torch.float32):
        x = sentences(1).to(dtype)
        query = x.clone()
        query[:, 2] = math.nan
        try:
            output = attend(x, query=query)
        except NotOffered:  # where the query cannot be another, all three are NaN
            output = attend(query)
        hidden.append(1 - output[:, 2].isnan().double().mean().item())
    return max(hidden)


@measured_by
def window_as_asked(attend) -> float:
    """A window of 3 shows the last word 3 positions: how many more, or fewer, it has."""
    x = sentences(1)
    jacobian = torch.autograd.functional.jacobian(lambda x: attend(x, window=3)[0, -1], x)
    return abs(int((jacobian.abs().amax(dim=(0, 1, 3)) > 0).sum()) - 3)


@measured_by
def mask_not_ignored(attend) -> float:
    """A mask that is accepted has an effect (1: it has none)."""
    x = sentences()
    with_mask, without = attend(x, lengths=[LONGEST - 3, LONGEST]), attend(x)
    return float(farthest(with_mask, without) == 0)
