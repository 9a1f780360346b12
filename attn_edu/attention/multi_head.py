"""Several heads side by side (Vaswani et al., 2017, section 3.2.2)."""

from collections.abc import Callable
from numbers import Integral

import torch
from torch import Tensor, nn

from attn_edu.attention.dot_product import (
    attention_map,
    broadcast_leading_axes,
    check_mask,
    check_tensor,
    scaled_dot_product_attention,
)
from attn_edu.attention.masks import causal_mask
from attn_edu.attention.positions import alibi_features, rotary

POSITIONS = (None, "rotary", "alibi")


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Give each head its own slice of the features.

    Args:
        x: ``(…, n, n_heads · d_head)``.
        n_heads: at least 1; must divide the last axis.

    Returns:
        ``(…, n_heads, n, d_head)``, a view of ``x`` where its layout allows.

    Raises:
        ValueError: ``x`` has fewer than two axes, or ``n_heads`` does not divide the last one.
        TypeError: ``x`` is no tensor.
    """
    check_tensor("x", x, axes="n, n_heads · d_head")
    _check_heads(n_heads, "the last axis of x", x.shape[-1])
    x = x.unflatten(-1, (n_heads, x.shape[-1] // n_heads))  # (…, n, n_heads, d_head)
    return x.transpose(-3, -2)  # (…, n_heads, n, d_head)


def merge_heads(x: Tensor) -> Tensor:
    """The way back: lay the heads' features side by side.

    Args:
        x: ``(…, n_heads, n, d_head)``.

    Returns:
        ``(…, n, n_heads · d_head)``; ``merge_heads(split_heads(x, n_heads))`` equals ``x``.

    Raises:
        ValueError: ``x`` has fewer than three axes.
        TypeError: ``x`` is no tensor.
    """
    check_tensor("x", x, axes="n_heads, n, d_head")
    return x.transpose(-3, -2).flatten(-2)  # (…, n, n_heads, d_head) -> (…, n, d_model)


class MultiHeadAttention(nn.Module):
    """Project, split into heads, attend in each, merge, project (Vaswani et al., 2017).

    Args:
        d_model: width of the input and the output; ``d_head = d_model / n_heads``.
        n_heads: at least 1; must divide ``d_model``.
        bias: whether the four projections add a bias.
        position: how queries and keys learn where they stand: ``None`` (not here), ``"rotary"``
            (needs an even ``d_head``) or ``"alibi"`` (a mask must hide what comes later); see
            `positions`. Both are for self-attention.
        attend: any kind of this package, as ``attend(query, key, value)`` or, where there is a
            mask, ``attend(query, key, value, mask=mask)``.

    Raises:
        ValueError: ``n_heads`` does not divide ``d_model``, or the position is unknown or needs
            another ``d_head``.

    Example:
        >>> import torch
        >>> attention = MultiHeadAttention(d_model=12, n_heads=3)
        >>> x = torch.zeros(2, 5, 12)
        >>> attention(x).shape, attention.map(x).shape
        (torch.Size([2, 5, 12]), torch.Size([2, 3, 5, 5]))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        bias: bool = True,
        position: str | None = None,
        attend: Callable[..., Tensor] = scaled_dot_product_attention,
    ):
        super().__init__()
        if isinstance(d_model, bool) or not isinstance(d_model, Integral) or d_model < 1:
            raise ValueError(f"d_model: got {d_model!r}; accepted is an integer of at least 1.")
        _check_heads(n_heads, "d_model", d_model)
        if position not in POSITIONS:
            accepted = ", ".join(map(repr, POSITIONS))
            raise ValueError(f"position: got {position!r}; accepted are {accepted}.")
        if position == "rotary" and d_model // n_heads % 2:
            raise ValueError(f"d_model / n_heads: got {d_model // n_heads}; rotary turns pairs.")
        self.n_heads, self.position, self.attend = n_heads, position, attend
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, d_model, bias=bias)
        self.value = nn.Linear(d_model, d_model, bias=bias)
        self.out = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, *, mask: Tensor | None = None, cache=None
    ):
        """Attend from ``x`` to ``memory``, or to ``x`` itself when ``memory`` is ``None``.

        Args:
            x: ``(…, n_query, d_model)``, where the queries come from.
            memory: ``(…, n_key, d_model)``, where the keys and values come from.
            mask: boolean, ``True`` = may attend. With as many axes as ``x`` or fewer it holds for
                every head: ``(n_query, n_key)``, or ``(batch, 1, n_key)`` from `padding_mask`.
                With one axis more it says so for each head: ``(…, n_heads, n_query, n_key)``.
            cache: a `KeyValueCache` of what was read before. ``x`` holds the positions after it;
                they are added to it, and ``n_key`` counts all of them.

        Returns:
            ``(…, n_query, d_model)``.

        Raises:
            ValueError, TypeError: ``x`` or ``memory`` is not a tensor of width ``d_model`` with the
                dtype and device of the weights, or the mask does not fit; see
                `scaled_dot_product_attention`. A memory together with a cache or a position.
        """
        if memory is not None and cache is not None:
            raise ValueError("memory: got one together with a cache; a cache is for x alone.")
        query, key = self._query_and_key(x, memory, start=0 if cache is None else len(cache))
        value = split_heads(self.value(x if memory is None else memory), self.n_heads)
        if cache is not None:
            key, value = cache.update(key, value)
        heads = self.attend(query, key, value, **self._options(mask, query, key))
        return self.out(merge_heads(heads))

    def map(self, x: Tensor, memory: Tensor | None = None, *, mask: Tensor | None = None):
        """The weights of every head, ``(…, n_heads, n_query, n_key)``; arguments as `forward`."""
        query, key = self._query_and_key(x, memory)
        return attention_map(self.attend, query, key, **self._options(mask, query, key))

    def _query_and_key(self, x: Tensor, memory: Tensor | None, start: int = 0):
        d_model = self.query.in_features
        for name, tensor in (("x", x), ("memory", x if memory is None else memory)):
            check_tensor(name, tensor, axes=f"n, {d_model}")
            if tensor.shape[-1] != d_model:
                got = tuple(tensor.shape)
                raise ValueError(f"{name}: got {got}; the last axis must be d_model = {d_model}.")
            _check_kind(name, tensor, self.query.weight)
        if memory is not None:
            broadcast_leading_axes("memory", x.shape[:-2], memory.shape[:-2])
        query = split_heads(self.query(x), self.n_heads)  # (…, n_heads, n_query, d_head)
        key = split_heads(self.key(x if memory is None else memory), self.n_heads)
        if self.position is None:
            return query, key
        if memory is not None:
            raise ValueError(f"memory: got one, but position={self.position!r} counts in x alone.")
        positions = torch.arange(start, start + x.shape[-2], device=x.device)
        if self.position == "rotary":
            return rotary(query, positions), rotary(key, positions)
        return alibi_features(query, key, positions)

    def _options(self, mask: Tensor | None, query: Tensor, key: Tensor) -> dict:
        """What a kind is told besides query, key and value: a mask, if there is one."""
        mask = _for_every_head(mask, query)
        if self.position == "alibi" and self.attend is scaled_dot_product_attention:
            _check_causal(mask, query, key)
        return {} if mask is None else {"mask": mask}

    def load_torch(self, other: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Copy the weights of torch's own layer, so that both give the same output.

        Args:
            other: ``nn.MultiheadAttention(d_model, n_heads)`` of the same sizes. Its
                ``batch_first`` says how *it* reads its input; this module is always batch first.

        Returns:
            This module, for chaining.

        Raises:
            TypeError: not an ``nn.MultiheadAttention``.
            ValueError: other sizes, another bias, or an option that this module does not have
                (``kdim``, ``vdim``, ``add_bias_kv``, ``add_zero_attn``).
        """
        if not isinstance(other, nn.MultiheadAttention):
            raise TypeError(f"other: got {type(other).__name__}; accepted: nn.MultiheadAttention.")
        wanted = (self.query.in_features, self.n_heads, self.query.bias is not None)
        got = (other.embed_dim, other.num_heads, other.in_proj_bias is not None)
        if got != wanted:
            raise ValueError(f"other: got (d_model, n_heads, bias) = {got}; accepted is {wanted}.")
        if other.in_proj_weight is None or other.bias_k is not None or other.add_zero_attn:
            raise ValueError("other: kdim, vdim, add_bias_kv and add_zero_attn are not accepted.")
        state = {"out." + name: tensor for name, tensor in other.out_proj.state_dict().items()}
        for suffix in ("weight", "bias")[: 2 if wanted[2] else 1]:
            packed = getattr(other, "in_proj_" + suffix).detach()
            for name, part in zip(("query", "key", "value"), packed.chunk(3)):
                state[f"{name}.{suffix}"] = part
        self.load_state_dict(state)
        return self


def _for_every_head(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """Without a head axis, ``(batch, 1, n)`` would be read as one mask a head if batch = heads."""
    if not isinstance(mask, Tensor) or not 3 <= mask.ndim < query.ndim:
        return mask
    return mask.unsqueeze(-3)  # (…, 1, n_query, n_key)


def _check_causal(mask: Tensor | None, query: Tensor, key: Tensor) -> None:
    """ALiBi by one more feature would raise what comes after the query instead of lowering it."""
    n_query, n_key = query.shape[-2], key.shape[-2]
    got = "None" if n_query > 1 else ""  # nothing comes after the last position alone
    if mask is not None:
        check_mask(mask, query, key, query.shape[:-2])
        later = ~causal_mask(n_query, n_key).to(mask.device)
        got = "" if mask.is_meta or not (mask & later).any() else "one that shows what comes later"
    if got:
        raise ValueError(f"mask: got {got}; with position='alibi' it must hide later positions.")


def _check_kind(name: str, tensor: Tensor, weight: Tensor) -> None:
    if tensor.device != weight.device:
        got = tensor.device
        raise ValueError(f"{name}: got device {got}, but the weights are on {weight.device}.")
    if tensor.dtype == weight.dtype:
        return
    kind = tensor.device.type
    casts = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    if not (casts and tensor.is_floating_point()):
        got = tensor.dtype
        raise ValueError(f"{name}: got dtype {got}, but the weights have {weight.dtype}.")


def _check_heads(n_heads: int, what: str, width: int) -> None:
    if isinstance(n_heads, bool) or not isinstance(n_heads, Integral) or n_heads < 1:
        raise ValueError(f"n_heads: got {n_heads!r}; accepted is an integer of at least 1.")
    if width % n_heads:
        raise ValueError(
            f"n_heads: got {n_heads}, which does not divide {what} = {width}; "
            f"accepted are {[h for h in range(1, width + 1) if width % h == 0]}."
        )
