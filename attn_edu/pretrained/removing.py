"""Taking parts out of a model that is trained: its heads, and what they look at."""

from collections.abc import Callable, Iterable
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def without_heads(attentions: Iterable[nn.Module], heads: Iterable[tuple[int, int]]):
    """Inside ``with``, these heads add nothing to what their layer gives.

    A head's output enters the layer's answer through its own columns of the last projection; they
    are 0 for a while (Michel et al., 2019, *Are sixteen heads really better than one?*). The other
    heads and the bias stay as they are.

    Args:
        attentions: the attention of each layer, modules with ``n_heads`` and a projection ``out``,
            such as `MultiHeadAttention` and `GroupedQueryAttention`.
        heads: ``(layer, head)``, counted from 0.

    Raises:
        ValueError: no pair, or a layer or a head that does not exist.

    Example:
        >>> from attn_edu.attention import MultiHeadAttention
        >>> attention, x = MultiHeadAttention(12, 3, bias=False), torch.ones(5, 12)
        >>> with torch.no_grad(), without_heads([attention], [(0, 0), (0, 1), (0, 2)]):
        ...     attention(x).abs().sum()
        tensor(0.)
    """
    attentions, heads = list(attentions), list(heads)
    for pair in heads:
        if not isinstance(pair, (tuple, list)) or [type(i) for i in pair] != [int, int]:
            raise ValueError(f"heads: got {pair!r}; accepted are pairs (layer, head) of integers.")
        layer, head = pair
        if not 0 <= layer < len(attentions):
            raise ValueError(f"heads: got layer {layer}; accepted is 0 to {len(attentions) - 1}.")
        if not 0 <= head < attentions[layer].n_heads:
            last = attentions[layer].n_heads - 1
            raise ValueError(f"heads: got head {head}; accepted is 0 to {last}.")
    kept = {layer: attentions[layer].out.weight.detach().clone() for layer, _ in heads}
    try:
        with torch.no_grad():
            for layer, head in heads:
                weight = attentions[layer].out.weight  # (d_model, n_heads · d_head)
                weight.unflatten(1, (attentions[layer].n_heads, -1))[:, head] = 0
        yield
    finally:
        with torch.no_grad():
            for layer, weight in kept.items():
                attentions[layer].out.weight.copy_(weight)


@contextmanager
def attending(attentions: Iterable[nn.Module], attend: Callable[..., Tensor]):
    """Inside ``with``, every layer attends in another way, ``attend(query, key, value, mask=…)``.

    Args:
        attentions: the attention of each layer, modules with an ``attend``, such as
            `MultiHeadAttention`.
    """
    attentions = list(attentions)
    kept = [attention.attend for attention in attentions]
    try:
        for attention in attentions:
            attention.attend = attend
        yield
    finally:
        for attention, before in zip(attentions, kept):
            attention.attend = before
