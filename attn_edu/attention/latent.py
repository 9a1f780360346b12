"""One small vector a position, from which every head makes its key and its value."""

import math
from numbers import Integral

import torch
from torch import Tensor, nn

from attn_edu.attention.cache import KeyValueCache
from attn_edu.attention.dot_product import attention_map, scaled_dot_product_attention
from attn_edu.attention.key_value import check_input, grouped_query_attention
from attn_edu.attention.multi_head import (
    MultiHeadAttention,
    _for_every_head,
    merge_heads,
    split_heads,
)
from attn_edu.attention.positions import rotary


class MultiHeadLatentAttention(nn.Module):
    """Cache a latent vector instead of keys and values (DeepSeek-AI, 2024, *DeepSeek-V2*).

    A position is pressed into ``d_latent`` numbers, ``c``; head ``h`` makes its key ``W_h c`` and
    its value ``U_h c`` of them. Only ``c`` is cached. Because ``q · (W_h c) = (W_hᵀ q) · c``, a
    step of decoding need not make any key: it asks the latents with ``W_hᵀ q``, collects latents,
    and applies ``U_h`` to what was collected. All heads then read the same ``c``, as in
    `MultiQueryAttention`. This is the *absorbed* form; the *expanded* one makes keys and values,
    and is cheaper where there are as many queries as keys. Both give the same output.

    A rotation by position stands between ``W_h`` and ``q`` and would not let them be multiplied, so
    positions get features of their own: ``d_rotary`` for each head's query, and ``d_rotary`` that
    all heads share in the key. (The paper also presses the queries, and normalises the latents.)

    Args:
        d_model: width of the input and the output; ``d_head = d_model / n_heads``.
        n_heads: must divide ``d_model``.
        d_latent: numbers that are kept of a position.
        d_rotary: further numbers that are kept, turned by the position; even, 0 for none.
        bias: whether the projections of ``x`` and of the output add a bias.

    Raises:
        ValueError: a number that is no integer, is too small, odd, or does not divide.

    Example:
        >>> import torch
        >>> attention = MultiHeadLatentAttention(24, 6, d_latent=8, d_rotary=2)
        >>> cache = KeyValueCache()
        >>> attention(torch.zeros(3, 5, 24), cache=cache).shape
        torch.Size([3, 5, 24])
        >>> cache.bytes  # 3 sentences · 5 words · (8 + 2) numbers of 4 bytes
        600
    """

    def __init__(
        self, d_model: int, n_heads: int, d_latent: int, *, d_rotary: int = 0, bias: bool = True
    ):
        super().__init__()
        for name, size, least in (("d_latent", d_latent, 1), ("d_rotary", d_rotary, 0)):
            if isinstance(size, bool) or not isinstance(size, Integral) or size < least:
                raise ValueError(f"{name}: got {size!r}; accepted is an integer, at least {least}.")
        if d_rotary % 2:
            raise ValueError(
                f"d_rotary: got {d_rotary}; accepted is an even one: pairs are turned."
            )
        self.out = MultiHeadAttention(d_model, n_heads, bias=bias).out  # checks both numbers
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.d_latent, self.d_rotary = d_latent, d_rotary
        self.query = nn.Linear(d_model, n_heads * (self.d_head + d_rotary), bias=bias)
        self.latent = nn.Linear(d_model, d_latent + d_rotary, bias=bias)
        self.key = nn.Linear(d_latent, d_model, bias=False)
        self.value = nn.Linear(d_latent, d_model, bias=False)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        absorb: bool | None = None,
    ) -> Tensor:
        """Attend from ``x`` to ``x``, and to all that the cache holds.

        Args:
            x: ``(…, n, d_model)``; with a cache, the newest ``n`` positions.
            mask: boolean, ``True`` = may attend, read as in `MultiHeadAttention`. With a cache it
                has a column for every position: ``causal_mask(n, len(cache) + n)``.
            cache: of this layer. It gets one vector a position, as key; its values are empty.
            absorb: which of the two forms; ``None`` absorbs when there are more keys than queries.

        Returns:
            ``(…, n, d_model)``.

        Raises:
            ValueError, TypeError: ``x`` is not a tensor of width ``d_model`` with the dtype and
                device of the weights, or the mask or the cache does not fit.
        """
        query, kept = self._query_and_kept(x, cache)
        mask = _for_every_head(mask, query)
        if absorb is None:
            absorb = kept.shape[-2] > x.shape[-2]
        if absorb:
            query, latent = self._absorbed(query), kept[..., : self.d_latent]
            found = grouped_query_attention(query, kept, latent, mask=mask, scale=self._scale)
            heads = found @ self._by_head(self.value).mT  # (…, n_heads, n, d_head)
        else:
            value = split_heads(self.value(kept[..., 0, :, : self.d_latent]), self.n_heads)
            heads = scaled_dot_product_attention(query, self._expanded(kept), value, mask=mask)
        return self.out(merge_heads(heads))

    def map(self, x: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """The weights of every head, ``(…, n_heads, n, n)``; arguments as `forward`."""
        query, kept = self._query_and_kept(x, None)
        mask = _for_every_head(mask, query)
        return attention_map(scaled_dot_product_attention, query, self._expanded(kept), mask=mask)

    def _query_and_kept(self, x: Tensor, cache: KeyValueCache | None) -> tuple[Tensor, Tensor]:
        """``(…, n_heads, n, d_head + d_rotary)`` and ``(…, 1, n_key, d_latent + d_rotary)``."""
        check_input(x, self.query.weight)
        start = 0 if cache is None else len(cache)
        positions = torch.arange(start, start + x.shape[-2], device=x.device)
        query = split_heads(self.query(x), self.n_heads)
        query = _turned(query, self.d_head, positions)
        kept = _turned(self.latent(x).unsqueeze(-3), self.d_latent, positions)
        return query, kept if cache is None else cache.update(kept, kept[..., :0])[0]

    def _absorbed(self, query: Tensor) -> Tensor:
        """Multiply ``W_h`` into the query: ``(…, n_heads, n, d_latent + d_rotary)``."""
        asks, turned = query.split([self.d_head, self.d_rotary], dim=-1)
        return torch.cat([asks @ self._by_head(self.key), turned], dim=-1)

    def _expanded(self, kept: Tensor) -> Tensor:
        """The key of every head: ``(…, n_heads, n_key, d_head + d_rotary)``."""
        latent, turned = kept.split([self.d_latent, self.d_rotary], dim=-1)
        key = split_heads(self.key(latent.squeeze(-3)), self.n_heads)
        return torch.cat([key, turned.expand(*key.shape[:-1], -1)], dim=-1)

    def _by_head(self, linear: nn.Linear) -> Tensor:
        return linear.weight.unflatten(0, (self.n_heads, self.d_head))  # (…, d_head, d_latent)

    @property
    def _scale(self) -> float:
        return 1 / math.sqrt(self.d_head + self.d_rotary)


def _turned(x: Tensor, plain: int, positions: Tensor) -> Tensor:
    """Leave the first ``plain`` features as they are; turn the others by the position."""
    if x.shape[-1] == plain:
        return x
    return torch.cat([x[..., :plain], rotary(x[..., plain:], positions)], dim=-1)
