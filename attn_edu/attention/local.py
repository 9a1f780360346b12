"""Attention to what is near: a sliding window, and blocks.

Both are softmax attention under a mask, `sliding_window_mask` or `block_mask`. Computed that way
they save nothing: every score is computed, and most are hidden afterwards. Here the scores of what
is far are never computed, so time and memory grow with ``n · window``.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_edu.attention.dot_product import check_inputs, scaled_dot_product_attention
from attn_edu.attention.fused import is_moderate
from attn_edu.attention.masks import _check_size
from attn_edu.attention.stretches import Stretches

BLOCK = 32  # queries that share one stretch of keys; twice as many where gradients are wanted
EDGE = 256  # the same near the ends of the sequence
ALIGNED = 16  # numbers that a processor takes at once: stretches of keys are a multiple of it
FEW = 128**2  # scores; up to here the formula itself is as fast as torch's fused kernel


def sliding_window_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    window: int,
    causal: bool = True,
    mask: Tensor | None = None,
) -> Tensor:
    """Each query attends to itself and its neighbours (Beltagy et al., 2020, *Longformer*).

    The definition, in time that grows with n²::

        near = sliding_window_mask(n, window, causal=causal)
        scaled_dot_product_attention(query, key, value, mask=near & mask)

    The same in time that grows with n · window: a few neighbouring queries attend together to one
    stretch of keys, which holds all that one of them may see. The stretches overlap; they are
    views, so no key is copied.

    Args:
        query: ``(…, n, d)``; the leading axes of all four tensors broadcast.
        key: ``(…, n, d)``.
        value: ``(…, n, d_value)``.
        window: a query sees itself and the ``window - 1`` positions before it, and without
            ``causal`` also the ``window - 1`` after it. At least 1; larger than ``n`` is allowed.
        causal: whether the positions after the query are hidden.
        mask: boolean, broadcastable to ``(…, n, n)``, ``True`` = may attend; ``(…, 1, n)`` for
            padding. It hides what the window would show, and never the other way round.

    Returns:
        ``(…, n, d_value)``; zeros for a query that may attend to nothing, and the rest as
        `scaled_dot_product_attention`. Long sequences have no second derivative on a CPU.

    Raises:
        ValueError: a window below 1, unequal numbers of queries and keys, or what
            `scaled_dot_product_attention` refuses.
        TypeError: an argument is not a tensor.

    Example:
        >>> x = torch.zeros(2, 100, 8)
        >>> sliding_window_attention(x, x, x, window=16).shape
        torch.Size([2, 100, 8])
    """
    _check_size("window", window)
    lead, scale, n = _check(query, key, value, mask)
    before = min(window, n) - 1
    after = 0 if causal else before
    rows, columns = _windows(n, before, after, 2 * BLOCK if _trains(query, key, value) else BLOCK)

    def near(i: Tensor, j: Tensor) -> Tensor:
        return (i - j <= before) & (j - i <= after)

    return _attend(query, key, value, lead, scale, rows, columns, near, mask)


def block_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    block: int,
    causal: bool = False,
    mask: Tensor | None = None,
) -> Tensor:
    """Each query attends to its own block (Liu et al., 2018, *Generating Wikipedia*).

    The definition, in time that grows with n²::

        same = block_mask(n, block, causal=causal)
        scaled_dot_product_attention(query, key, value, mask=same & mask)

    Args:
        query: ``(…, n, d)``; the leading axes of all four tensors broadcast.
        key: ``(…, n, d)``.
        value: ``(…, n, d_value)``.
        block: the length of a block, at least 1; the last block is shorter when ``block`` does not
            divide ``n``.
        causal: whether the positions after the query are hidden as well.
        mask: as in `sliding_window_attention`.

    Returns:
        ``(…, n, d_value)``, as `sliding_window_attention`.

    Raises:
        ValueError, TypeError: as `sliding_window_attention`, and for a block below 1.
    """
    _check_size("block", block)
    lead, scale, n = _check(query, key, value, mask)
    block = max(1, min(block, n))
    whole = n - n % block
    rest = (slice(whole, n),) if whole < n else ()
    blocks = Stretches(n, start=0, count=n // block, length=block, step=block, edges=rest)

    def near(i: Tensor, j: Tensor) -> Tensor:
        return i >= j

    return _attend(query, key, value, lead, scale, blocks, blocks, near if causal else None, mask)


def _windows(n: int, before: int, after: int, size: int) -> tuple[Stretches, Stretches]:
    """Stretches of ``size`` queries, and of the keys that they may see."""
    spare = -(size + before + after) % min(ALIGNED, size)
    start = before + spare  # the first query whose stretch of keys begins inside the sequence
    length = start + size + after
    count = max(0, (n - length) // size + 1)
    start = start if count else 0
    end = start + count * size
    parts = [(i, min(i + EDGE, start)) for i in range(0, start, EDGE)]
    parts += [(i, min(i + EDGE, n)) for i in range(end, n, EDGE)]
    edges = tuple(slice(i, j) for i, j in parts)
    seen = tuple(slice(max(0, i - before), min(n, j + after)) for i, j in parts)
    return (
        Stretches(n, start, count, length=size, step=size, edges=edges),
        Stretches(n, 0, count, length=length, step=size, edges=seen),
    )


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lead: torch.Size,
    scale: float,
    rows: Stretches,
    columns: Stretches,
    near: Callable[[Tensor, Tensor], Tensor] | None,
    mask: Tensor | None,
) -> Tensor:
    """From each stretch of queries to its stretch of keys, where ``near(i, j)`` and the mask."""
    seen = _near(near, rows, columns, query.device)
    if mask is not None:
        of_mask = rows.of_mask(mask, columns)
        seen = [m if s is None else s & m for s, m in zip(seen, of_mask)]
        # What plays no part is set to 0 first: a weight of 0 times NaN would still be NaN.
        blind = rows.join([~s.any(dim=-1, keepdim=True) for s in seen])  # (…, n, 1)
        unseen = columns.add_up([s.sum(dim=-2)[..., None] for s in seen]) == 0  # (…, n, 1)
        query = torch.where(blind, 0, query)
        key, value = torch.where(unseen, 0, key), torch.where(unseen, 0, value)

    attend, d_value = scaled_dot_product_attention, value.shape[-1]
    many = query.numel() and rows.count * rows.length * columns.length > FEW
    if many and is_moderate(query, key, value, scale):
        attend = _fused
        query, key, value = _same_width(query, key, value)
    query, key, value = (x.expand(*lead, -1, -1) for x in (query, key, value))
    equal, *edges = zip(rows.of(query), columns.of(key), columns.of(value), seen)
    *tensors, visible = equal
    outputs = [attend(*tensors, mask=visible, scale=scale)]
    for *tensors, visible in edges:
        outputs.append(scaled_dot_product_attention(*tensors, mask=visible, scale=scale))
    return rows.join([output[..., :d_value] for output in outputs])


def _near(near, rows: Stretches, columns: Stretches, device) -> list[Tensor | None]:
    """For each stretch, who is near whom. One answer holds for all that are of equal length."""
    if near is None:
        return [None] * (1 + len(rows.edges))
    positions = torch.arange(rows.n, device=device)[:, None]  # (n, 1)
    (i, j), *edges = zip(rows.of(positions), columns.of(positions))
    return [near(i[:1], j[:1].mT)] + [near(i, j.mT) for i, j in edges]


def _fused(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None, scale: float
) -> Tensor:
    """torch's kernel takes four axes, ``(heads, count, length, d)``: one sample after the other."""
    if mask is not None:
        mask = mask[(None,) * (query.ndim - mask.ndim)]
    if query.ndim == 3:
        mask = None if mask is None else mask[None]
        return _fused(query[None], key[None], value[None], mask=mask, scale=scale)[0]
    if query.ndim == 4:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    samples = [_samples(x, len(query)) for x in (query, key, value, mask)]
    outputs = [_fused(q, k, v, mask=m, scale=scale) for q, k, v, m in zip(*samples)]
    return torch.stack(outputs) if len(outputs) > 1 else outputs[0].unsqueeze(0)


def _samples(x: Tensor | None, count: int) -> Sequence[Tensor | None]:
    if x is None or len(x) == 1:
        return [x if x is None else x.squeeze(0)] * count
    return x.unbind()


def _trains(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def _same_width(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Filled up with zeros, which add nothing to a score: the kernel wants one width."""
    width = max(query.shape[-1], value.shape[-1])
    filled = [
        F.pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x
        for x in (query, key, value)
    ]
    return [x if x.stride(-1) == 1 else x.contiguous() for x in filled]


def _check(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[torch.Size, float, int]:
    lead, scale = check_inputs(query, key, value, mask=mask)
    n = query.shape[-2]
    if key.shape[-2] != n:
        raise ValueError(
            f"key: got {tuple(key.shape)} for a query of {tuple(query.shape)}; local attention "
            "needs as many keys as queries (axis -2), for near and far to mean something."
        )
    return lead, scale, n
