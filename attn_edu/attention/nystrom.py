"""Attention by way of landmarks (Xiong et al., 2021, *Nyströmformer*)."""

import torch
from torch import Tensor

from attn_edu.attention.dot_product import (
    attention_map,
    check_inputs,
    scaled_dot_product_attention,
)
from attn_edu.attention.masks import _check_size


def nystrom_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    landmarks: int,
    mask: Tensor | None = None,
    iterations: int = 6,
) -> Tensor:
    """``softmax(Q K̃ᵀ) softmax(Q̃ K̃ᵀ)⁺ softmax(Q̃ Kᵀ) V`` (Xiong et al., 2021, *Nyströmformer*).

    The landmarks Q̃ and K̃ are the means of ``landmarks`` segments of the queries and of the keys.
    Queries meet keys by way of the landmarks only; time and memory grow with ``n · landmarks``.
    With no more keys than landmarks every key is its own landmark, nothing is left to approximate,
    and the result is softmax attention.

    Args:
        query: ``(…, n_query, d)``; the leading axes of all four tensors broadcast.
        key: ``(…, n_key, d)``.
        value: ``(…, n_key, d_value)``.
        landmarks: at least 1. It need not divide the length: segments then differ by one.
        mask: boolean, ``(…, 1, n_key)``, ``True`` = may attend: the same keys for every query, as
            `padding_mask` gives. Landmarks are means over visible positions. With as many queries
            as keys the two are the same positions, and hidden ones ask for no landmark either.
        iterations: steps towards the inverse. Six, as in the paper, leave its largest errors out;
            more come closer to the formula above, which may be further from softmax attention.

    Returns:
        ``(…, n_query, d_value)``. A query that may attend to nothing gets zeros.

    Raises:
        ValueError: an argument has a wrong shape, dtype or device; a size is below 1; the mask has
            a row for each query (a causal one, for example): a landmark mixes many positions,
            and cannot be seen by some queries and hidden from others.
        TypeError: an argument is not a tensor.
    """
    check_inputs(query, key, value, mask=mask)
    _check_size("landmarks", landmarks)
    _check_size("iterations", iterations)
    n_query, n_key = query.shape[-2], key.shape[-2]
    if mask is not None and mask.shape[-2] != 1:
        raise ValueError(
            f"mask: got {tuple(mask.shape)}; accepted is (…, 1, n_key), the same keys for every "
            "query: a landmark mixes many positions, and no query can see half of it."
        )
    if (mask is None and n_key <= landmarks) or 0 in (n_query, n_key):
        return scaled_dot_product_attention(query, key, value, mask=mask)
    query_marks, _ = _landmarks(query, landmarks, mask if n_query == n_key else None)
    key_marks, kept = _landmarks(key, landmarks, mask)
    inverse = _pseudo_inverse(query_marks, key_marks, iterations)
    seen = scaled_dot_product_attention(query_marks, key, value, mask=mask)
    summary = (inverse @ seen.to(inverse.dtype)).to(value.dtype)  # (…, landmarks, d_value)
    if mask is not None:  # landmarks that are single keys: their own values, exactly
        value_marks, _ = _landmarks(value, landmarks, mask)
        single = mask.expand(*mask.shape[:-1], n_key).sum(dim=-1, keepdim=True) <= landmarks
        summary = torch.where(single, value_marks, summary)
    return scaled_dot_product_attention(query, key_marks, summary, mask=kept)


def _landmarks(x: Tensor, landmarks: int, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Means of ``x`` over segments of the visible positions, ``(…, landmarks, d)``.

    With a mask ``(…, 1, n)`` also which of them stand for any position, ``(…, 1, landmarks)``.
    """
    n = x.shape[-2]
    m = min(landmarks, n)
    if mask is None and n % m == 0:
        return x.unflatten(-2, (m, n // m)).mean(dim=-2), None
    visible = torch.ones(1, n, dtype=torch.bool, device=x.device) if mask is None else mask
    visible = visible.expand(*visible.shape[:-1], n)  # (…, 1, n)
    place = visible.cumsum(dim=-1) - 1  # counted among the visible ones
    count = visible.sum(dim=-1, keepdim=True)  # (…, 1, 1)
    segment = place * m // count.clamp(min=1)  # some are empty where count < m
    member = visible & (segment == torch.arange(m, device=x.device)[:, None])  # (…, m, n)
    size = member.sum(dim=-1, keepdim=True)  # (…, m, 1)
    means = (member.to(x.dtype) / size.clamp(min=1)) @ torch.where(visible.mT, x, 0)
    return means, None if mask is None else (size > 0).mT


def _pseudo_inverse(query: Tensor, key: Tensor, iterations: int) -> Tensor:
    """Of the attention A among landmarks (Razavi et al., 2014), each matrix by itself.

    The start is Aᵀ divided by a bound on the square of its norm: the rows of A add up to 1, and its
    columns to at most ``columns``.
    """
    if query.dtype.itemsize < 4:  # 16 bits have too few digits for the products below
        query, key = query.float(), key.float()
    a = attention_map(scaled_dot_product_attention, query, key)
    columns = a.sum(dim=-2, keepdim=True).amax(dim=-1, keepdim=True)
    inverse = a.mT / columns
    one = torch.eye(a.shape[-2], dtype=a.dtype, device=a.device)
    for _ in range(iterations):
        near = a @ inverse  # approaches the identity
        inverse = inverse @ (13 * one - near @ (15 * one - near @ (7 * one - near))) / 4
    return inverse
