"""Pieces of a sequence that may overlap, as views: what local attention is computed on."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Stretches:
    """``count`` pieces of one length at equal steps, and single ones at the edges.

    Attributes:
        n: length of the sequence.
        start: where the first of the equal pieces begins.
        count: how many they are; there may be none.
        length: how long each is; they overlap when it is more than ``step``.
        step: how far apart they begin.
        edges: the single pieces.
    """

    n: int
    start: int
    count: int
    length: int
    step: int
    edges: tuple[slice, ...] = ()

    def of(self, x: Tensor) -> tuple[Tensor, ...]:
        """Views of ``x``, ``(…, n, d)``: ``(…, count, length, d)``, then one for each edge.

        Their gradients are added up in one buffer; torch's own way would make one for each view.
        """
        return _Cut.apply(x, self)

    def add_up(self, pieces: Sequence[Tensor]) -> Tensor:
        """The way back, to ``(…, n, d)``: what lies in several pieces is added up."""
        equal, *single = pieces
        total = equal.new_zeros(*equal.shape[:-3], self.n, equal.shape[-1])
        for edge, piece in zip(self.edges, single):
            total[..., edge, :] += piece
        for first in range(0, self.length if self.count else 0, self.step):
            part = equal[..., first : first + self.step, :]  # of all pieces: these do not overlap
            _views(total, self.start + first, self.count, part.shape[-2], self.step).add_(part)
        return total

    def join(self, pieces: Sequence[Tensor]) -> Tensor:
        """The way back where the pieces cover everything once."""
        equal, *single = pieces
        early = sum(edge.start < self.start for edge in self.edges)
        return torch.cat([*single[:early], equal.flatten(-3, -2), *single[early:]], dim=-2)

    def of_mask(self, mask: Tensor, columns: "Stretches") -> tuple[Tensor, ...]:
        """Views of ``mask``, ``(…, n, n)``: ``(…, count, length, columns.length)``, then edges."""
        mask = mask.expand(*mask.shape[:-2], self.n, self.n)
        equal = mask.new_empty(*mask.shape[:-2], 0, self.length, columns.length)
        if self.count:  # each piece of rows by each piece of columns; the pairs are a diagonal
            rows = _views(mask, self.start, self.count, self.length, self.step)
            both = _views(rows.mT, columns.start, columns.count, columns.length, columns.step)
            equal = both.diagonal(dim1=-4, dim2=-3).movedim(-1, -3).mT
        return equal, *(mask[..., i, j] for i, j in zip(self.edges, columns.edges))


class _Cut(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, stretches: Stretches) -> tuple[Tensor, ...]:
        place = stretches.start, stretches.count, stretches.length, stretches.step
        return _views(x, *place), *(x[..., edge, :] for edge in stretches.edges)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.stretches = inputs[1]

    @staticmethod
    def backward(ctx, *gradients):
        return ctx.stretches.add_up(gradients), None


def _views(x: Tensor, start: int, count: int, length: int, step: int) -> Tensor:
    """``(…, n, d)`` -> ``(…, count, length, d)``."""
    if count == 0:
        return x.new_empty(*x.shape[:-2], 0, length, x.shape[-1])
    covered = x.narrow(-2, start, (count - 1) * step + length)
    return covered.unfold(-2, length, step).mT
