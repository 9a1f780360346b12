"""Keys and values that several heads share, so that a cache holds and a step reads less of them."""

from numbers import Integral

import torch
from torch import Tensor, nn

from attn_edu.attention.cache import KeyValueCache
from attn_edu.attention.dot_product import (
    _formula,
    attention_map,
    check_inputs,
    check_tensor,
    scaled_dot_product_attention,
)
from attn_edu.attention.multi_head import (
    MultiHeadAttention,
    _check_kind,
    _for_every_head,
    merge_heads,
    split_heads,
)
from attn_edu.attention.positions import _check_base, rotary

FEW = 16  # queries; below, what is read is mostly keys, and the heads of a group read them together


def grouped_query_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Attention in which neighbouring heads share a key and a value (Ainslie et al., 2023, *GQA*).

    By definition ``scaled_dot_product_attention`` with ``key.repeat_interleave(group, dim=-3)`` and
    ``value`` likewise, where ``group = n_heads / n_kv_heads``: heads 0 … group-1 read the first
    key. Nothing is repeated here. Where there are few queries, as in decoding, the heads of a group
    are laid along the axis of queries, and each key is read once for all of them.

    Args:
        query: ``(…, n_heads, n_query, d)``.
        key: ``(…, n_kv_heads, n_key, d)``; ``n_kv_heads`` divides ``n_heads``.
        value: ``(…, n_kv_heads, n_key, d_value)``.
        mask: boolean, broadcastable to ``(…, n_heads, n_query, n_key)``; ``True`` = may attend.
        scale: the factor on every score; ``1 / sqrt(d)`` when ``None``.

    Returns:
        ``(…, n_heads, n_query, d_value)``.

    Raises:
        ValueError, TypeError: as `scaled_dot_product_attention`, or heads that do not divide.
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor, axes="n_heads, n, d")
    n_heads, n_kv_heads = query.shape[-3], key.shape[-3]
    if value.shape[-3] != n_kv_heads:
        raise ValueError(f"value: got {value.shape[-3]} heads; key has {n_kv_heads}.")
    if n_kv_heads == 0 or n_heads % n_kv_heads:
        raise ValueError(
            f"key: got {n_kv_heads} heads, which do not divide the {n_heads} heads of the query."
        )
    group = n_heads // n_kv_heads
    query = query.unflatten(-3, (n_kv_heads, group))  # (…, n_kv_heads, group, n_query, d)
    key, value = key.unsqueeze(-3), value.unsqueeze(-3)  # (…, n_kv_heads, 1, n_key, d)
    if isinstance(mask, Tensor) and mask.ndim >= 3:
        if mask.shape[-3] not in (1, n_heads):
            got = f"{mask.shape[-3]} heads in {tuple(mask.shape)}"
            raise ValueError(f"mask: got {got}; accepted are 1 and n_heads = {n_heads}.")
        heads = (1, 1) if mask.shape[-3] == 1 else (n_kv_heads, group)
        mask = mask.unflatten(-3, heads)
    _, scale = check_inputs(query, key, value, mask=mask, scale=scale)
    n_query = query.shape[-2]
    if n_query > FEW:
        output = scaled_dot_product_attention(query, key, value, mask=mask, scale=scale)
        return output.flatten(-4, -3)

    if mask is not None:
        mask = mask.expand(*mask.shape[:-3], group, n_query, -1).flatten(-3, -2)
    query = query.flatten(-3, -2)  # (…, n_kv_heads, group · n_query, d)
    key, value = key.squeeze(-3), value.squeeze(-3)
    output = _formula(query, key, value, mask, scale)  # fewer weights than numbers in the keys
    return output.unflatten(-2, (group, n_query)).flatten(-4, -3)


class GroupedQueryAttention(nn.Module):
    """Many heads ask, few are asked (Ainslie et al., 2023): a smaller cache, less to read.

    With ``n_kv_heads = n_heads`` it is `MultiHeadAttention`, with the same names of weights; with
    ``n_kv_heads = 1`` it is `MultiQueryAttention`.

    Args:
        d_model: width of the input and the output; ``d_head = d_model / n_heads``.
        n_heads: heads that ask; must divide ``d_model``.
        n_kv_heads: heads that are asked; must divide ``n_heads``.
        bias: whether the four projections add a bias.
        position: ``"rotary"`` turns queries and keys by their position (needs an even ``d_head``);
            ``None`` leaves them as they are.
        base: of the rotation; see `rotary`. Models for long texts take one above 10,000.

    Raises:
        ValueError: an unknown position, a base that is not a finite number above 0, or a number of
            heads that is no integer of at least 1 or does not divide.

    Example:
        >>> import torch
        >>> attention, cache = GroupedQueryAttention(24, n_heads=6, n_kv_heads=2), KeyValueCache()
        >>> attention(torch.zeros(3, 5, 24), cache=cache).shape
        torch.Size([3, 5, 24])
        >>> cache.bytes  # 2 · 3 sentences · 2 heads · 5 words · 4 numbers of 4 bytes
        960
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        *,
        bias: bool = True,
        position: str | None = None,
        base: float = 10_000.0,
    ):
        super().__init__()
        if position not in (None, "rotary"):
            raise ValueError(f"position: got {position!r}; accepted are None and 'rotary'.")
        _check_base(base)
        whole = MultiHeadAttention(d_model, n_heads, bias=bias, position=position)  # checks both
        whole_number = isinstance(n_kv_heads, Integral) and not isinstance(n_kv_heads, bool)
        if not whole_number or n_kv_heads < 1 or n_heads % n_kv_heads:
            accepted = [h for h in range(1, n_heads + 1) if n_heads % h == 0]
            raise ValueError(
                f"n_kv_heads: got {n_kv_heads!r} for n_heads = {n_heads}; accepted are {accepted}."
            )
        d_kv = n_kv_heads * d_model // n_heads
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.position, self.base = position, base
        self.query, self.out = whole.query, whole.out
        self.key = nn.Linear(d_model, d_kv, bias=bias)
        self.value = nn.Linear(d_model, d_kv, bias=bias)

    def forward(
        self, x: Tensor, *, mask: Tensor | None = None, cache: KeyValueCache | None = None
    ) -> Tensor:
        """Attend from ``x`` to ``x``, and to all that the cache holds.

        Args:
            x: ``(…, n, d_model)``; with a cache, the newest ``n`` positions.
            mask: boolean, ``True`` = may attend, read as in `MultiHeadAttention`. With a cache it
                has a column for every position: ``causal_mask(n, len(cache) + n)``.
            cache: of this layer; the keys and values of ``x`` are added to it.

        Returns:
            ``(…, n, d_model)``.

        Raises:
            ValueError, TypeError: ``x`` is not a tensor of width ``d_model`` with the dtype and
                device of the weights, or the mask or the cache does not fit.
        """
        query, key = self._query_and_key(x, start=0 if cache is None else len(cache))
        value = split_heads(self.value(x), self.n_kv_heads)  # (…, n_kv_heads, n, d_head)
        if cache is not None:
            key, value = cache.update(key, value)
        mask = _for_every_head(mask, query)
        return self.out(merge_heads(grouped_query_attention(query, key, value, mask=mask)))

    def map(self, x: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """The weights of every head, ``(…, n_heads, n, n)``; arguments as `forward`."""
        query, key = self._query_and_key(x, start=0)
        mask = _for_every_head(mask, query)
        return attention_map(grouped_query_attention, query, key, mask=mask)

    def _query_and_key(self, x: Tensor, start: int) -> tuple[Tensor, Tensor]:
        check_input(x, self.query.weight)
        query = split_heads(self.query(x), self.n_heads)  # (…, n_heads, n, d_head)
        key = split_heads(self.key(x), self.n_kv_heads)  # (…, n_kv_heads, n, d_head)
        if self.position is None:
            return query, key
        positions = torch.arange(start, start + x.shape[-2], device=x.device)
        return tuple(rotary(x, positions, base=self.base) for x in (query, key))

    def load_multi_head(self, other: MultiHeadAttention) -> "GroupedQueryAttention":
        """Copy a layer of many heads; a group gets the mean of its heads' keys and values.

        That is where Ainslie et al. (2023, section 2.1) start from before they train on. With
        ``n_kv_heads = n_heads`` both layers then give the same output.

        Args:
            other: a `MultiHeadAttention` of the same ``d_model``, ``n_heads`` and ``bias``.

        Returns:
            This module, for chaining.

        Raises:
            TypeError: ``other`` is no `MultiHeadAttention`.
            ValueError: other sizes, or another bias.
        """
        if not isinstance(other, MultiHeadAttention):
            raise TypeError(f"other: got {type(other).__name__}; accepted: MultiHeadAttention.")
        wanted, got = (
            (m.query.in_features, m.n_heads, m.query.bias is not None) for m in (self, other)
        )
        if got != wanted:
            raise ValueError(f"other: got (d_model, n_heads, bias) = {got}; accepted is {wanted}.")
        state = other.state_dict()
        for name in state:
            if name.startswith(("key.", "value.")):
                heads = state[name].unflatten(0, (self.n_kv_heads, -1, wanted[0] // wanted[1]))
                state[name] = heads.mean(dim=1).flatten(0, 1)  # over the heads of a group
        self.load_state_dict(state)
        return self


class MultiQueryAttention(GroupedQueryAttention):
    """All heads share one key and one value (Shazeer, 2019, *One write-head is all you need*).

    Args:
        d_model: width of the input and the output; ``d_head = d_model / n_heads``.
        n_heads: heads that ask; must divide ``d_model``.
        bias, position: as `GroupedQueryAttention`.

    Raises:
        ValueError: ``n_heads`` does not divide ``d_model``, or an unknown position.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, position: str | None = None
    ):
        super().__init__(d_model, n_heads, 1, bias=bias, position=position)


def check_input(x: Tensor, weight: Tensor) -> None:
    """Refuse what is not ``(…, n, d_model)`` with the dtype and device of the weights."""
    d_model = weight.shape[-1]
    check_tensor("x", x, axes=f"n, {d_model}")
    if x.shape[-1] != d_model:
        raise ValueError(f"x: got {tuple(x.shape)}; the last axis must be d_model = {d_model}.")
    _check_kind("x", x, weight)
