"""The same attention by torch's fused kernel, which never holds the ``(n_query, n_key)`` weights.

On a CPU, ``F.scaled_dot_product_attention`` falls back without a word to code that does hold them:
for tensors of other than four axes, for values of another width than the keys, for a last axis that
is not contiguous. It also turns a boolean mask into numbers of four bytes each. The functions here
keep to the cases that stay small.
"""

import math
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None, scale: float
) -> Tensor:
    """``softmax(scale · query keyᵀ) value``, with memory that grows as the output does.

    Arguments are not checked: `scaled_dot_product_attention` does that, and calls this function for
    long sequences. Numbers must be moderate (see `is_moderate`), at hidden keys too. On a CPU
    torch's kernel has no second derivative.

    Args:
        query: ``(…, n_query, d)``; the leading axes of all four tensors broadcast.
        key: ``(…, n_key, d)``.
        value: ``(…, n_key, d_value)``.
        mask: boolean, broadcastable to ``(…, n_query, n_key)``; ``True`` = may attend.
        scale: the factor on every score.

    Returns:
        ``(…, n_query, d_value)``. A query that may attend to nothing gets zeros.
    """
    masks = () if mask is None else (mask,)
    lead = torch.broadcast_shapes(*(x.shape[:-2] for x in (query, key, value, *masks)))
    query, key, value = (_four_axes(x.expand(*lead, -1, -1)) for x in (query, key, value))
    if mask is not None:
        mask = mask.expand(*mask.shape[:-1], key.shape[-2])
        one_for_all = mask.shape[:-2].numel() == 1
        mask = _four_axes(mask if one_for_all else mask.expand(*lead, -1, -1))

    d, d_value = query.shape[-1], value.shape[-1]
    if d_value > d:
        parts = [_attend(query, key, part, mask, scale) for part in value.split(d, dim=-1)]
        output = torch.cat(parts, dim=-1)
    else:
        output = _attend(query, key, value, mask, scale)
    return output.reshape(*lead, *output.shape[-2:])


def is_moderate(query: Tensor, key: Tensor, value: Tensor, scale: float) -> bool:
    """Whether all numbers are known to be finite, and small enough for every score to be so.

    No score is larger than the norms of all queries and of all keys multiplied (Cauchy, Schwarz).
    """
    try:
        query, key, value = map(_norm, (query, key, value))
    except RuntimeError:  # under vmap, and without numbers (meta), nobody can look
        return False
    return query * key * abs(scale) < 1e30 and value < math.inf


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Four axes, ``d_value <= d``."""
    batch, n_heads, n_query, d = query.shape
    d_value = value.shape[-1]
    if d_value == d:
        return _rows(query, key, value, mask, scale)
    outputs = []  # narrower values are filled up with zeros, one head at a time
    for b, h in product(range(batch), range(n_heads)):
        one = (slice(b, b + 1), slice(h, h + 1))
        own = None if mask is None else mask.expand(batch, n_heads, -1, -1)[one]
        filled = F.pad(value[one], (0, d - d_value))  # (1, 1, n_key, d)
        outputs.append(_rows(query[one], key[one], filled, own, scale)[..., :d_value].clone())
    return torch.cat(outputs).view(batch, n_heads, n_query, d_value)


def _rows(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Four axes, ``d_value = d``. Under a mask of its own, a few queries at a time."""
    if mask is None or mask.shape[-2] == 1:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    if _is_causal(mask):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale)
    heads, masks = query.shape[:2].numel(), mask.shape[:2].numel()
    step = min(256, max(16, heads * query.shape[-1] // (2 * masks)))  # numbers: half the output's
    outputs = []
    for start in range(0, query.shape[-2], step):
        rows = slice(start, start + step)
        seen = mask[..., rows, :].flatten(0, 2).any(dim=0).nonzero()  # (keys that are seen, 1)
        if len(seen) == 0:
            outputs.append(torch.zeros_like(query[..., rows, :]))
            continue
        keys = slice(seen[0].item(), seen[-1].item() + 1)  # under a causal mask: half the work
        part = query[..., rows, :], key[..., keys, :], value[..., keys, :]
        own = mask[..., rows, keys]
        outputs.append(F.scaled_dot_product_attention(*part, attn_mask=own, scale=scale))
    return torch.cat(outputs, dim=-2)


def _is_causal(mask: Tensor) -> bool:
    """Whether one square mask for all hides the future and nothing else."""
    *lead, n_query, n = mask.shape
    if lead != [1, 1] or n_query != n:
        return False
    whole = torch.int64 if n % 8 == 0 and mask.is_contiguous() else torch.bool  # 8 at a time
    return all(
        rows.view(whole).equal(torch.ones_like(rows).tril(256 * i).view(whole))
        for i, rows in enumerate(mask[0, 0].split(256))
    )


def _four_axes(x: Tensor) -> Tensor:
    """``(…, length, dim)`` -> ``(batch, heads, length, dim)``, its last axis contiguous."""
    x = x[(None,) * (4 - x.ndim)] if x.ndim < 4 else x.flatten(0, x.ndim - 4)
    return x if x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()


def _norm(x: Tensor) -> float:
    wide = torch.promote_types(x.dtype, torch.float32)
    return torch.linalg.vector_norm(x.detach(), dtype=wide).item()
