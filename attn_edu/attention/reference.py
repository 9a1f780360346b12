"""The oracle: attention written as plain loops over Python floats.

Slow on purpose. Every other file of this package is held against it, so it uses no matrix product,
no softmax and no broadcasting trick that could share a mistake with them.
"""

import math

import torch
from torch import Tensor

from attn_edu.attention.dot_product import check_inputs


def reference_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention, one multiplication at a time (Vaswani et al., 2017, eq. 1).

    Args:
        query: ``(…, n_query, d)``.
        key: ``(…, n_key, d)``.
        value: ``(…, n_key, d_value)``.
        mask: boolean, broadcastable to ``(…, n_query, n_key)``; ``True`` = may attend.
        scale: the factor on every score; ``1 / sqrt(d)`` when ``None``.

    Returns:
        ``(…, n_query, d_value)`` in float64, without gradient. A query that may attend to
        nothing gets zeros.

    Raises:
        ValueError, TypeError: as `scaled_dot_product_attention`.
    """
    lead, scale = check_inputs(query, key, value, mask=mask, scale=scale)
    n_query, n_key, d_value = query.shape[-2], key.shape[-2], value.shape[-1]
    if mask is None:
        mask = torch.ones(n_query, n_key, dtype=torch.bool)

    def examples(tensor: Tensor, *last: int) -> list:
        """Nested lists, with all the leading axes made one."""
        return tensor.detach().cpu().expand(*lead, *last).reshape(lead.numel(), *last).tolist()

    outputs = [
        [_attend(q, keys, values, visible, scale, d_value) for q, visible in zip(queries, rows)]
        for queries, keys, values, rows in zip(
            examples(query.double(), *query.shape[-2:]),
            examples(key.double(), *key.shape[-2:]),
            examples(value.double(), *value.shape[-2:]),
            examples(mask, n_query, n_key),
        )
    ]
    return torch.tensor(outputs, dtype=torch.float64).reshape(*lead, n_query, d_value)


def _attend(query, keys, values, visible, scale, d_value) -> list[float]:
    """What one query takes from the keys that it may see."""
    seen = [j for j in range(len(keys)) if visible[j]]
    output = [0.0] * d_value
    if not seen:
        return output
    scores = [scale * sum(a * b for a, b in zip(query, keys[j])) for j in seen]
    largest = max(scores)
    odds = [math.exp(score - largest) for score in scores]
    total = sum(odds)
    for j, odd in zip(seen, odds):
        for c in range(d_value):
            output[c] += odd / total * values[j][c]
    return output
