"""One head: scores, softmax, weighted sum (Vaswani et al., 2017, *Attention is all you need*)."""

import math
from collections.abc import Callable
from numbers import Real

import torch
from torch import Tensor

from attn_edu.attention.fused import fused_attention, is_moderate

LONG = 128  # up to so many queries and keys the formula is as fast as torch's fused kernel
FEW = 4  # queries; to look through all keys first would cost more than it saves


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """``softmax(scale · query keyᵀ) value`` (Vaswani et al., 2017, eq. 1).

    Args:
        query: ``(…, n_query, d)``; the leading axes of all four tensors broadcast.
        key: ``(…, n_key, d)``.
        value: ``(…, n_key, d_value)``.
        mask: boolean, broadcastable to ``(…, n_query, n_key)``; ``True`` = may attend, as in
            ``torch.nn.functional.scaled_dot_product_attention``.
        scale: the factor on every score; ``1 / sqrt(d)`` when ``None``.

    Returns:
        ``(…, n_query, d_value)``, in the dtype and on the device of the inputs. A query that may
        attend to nothing gets zeros, and passes back no gradient. Such a query, and what no query
        may see (padding), has no influence, even where it is infinite or NaN.

        Up to 128 keys and 128² weights this is the formula above, and for a query or a few without
        a mask, as in decoding. Beyond, it is torch's fused kernel, which never holds the weights
        and has no second derivative on a CPU.

    Raises:
        ValueError: an argument has a wrong shape, dtype or device; the mask is not boolean.
        TypeError: an argument is not a tensor.
    """
    _, scale = check_inputs(query, key, value, mask=mask, scale=scale)
    wide = value.shape[-1] > 4 * key.shape[-1]  # a map: as wide as the weights themselves
    n_query, n_key = query.shape[-2], key.shape[-2]
    long = n_key > LONG or n_query * n_key > LONG**2
    decoding = mask is None and n_query <= FEW
    if long and not (decoding or wide) and query.numel():
        moderate = is_moderate(query, key, value, scale)
        if mask is not None and not moderate:
            query, key, value = without_the_unseen(query, key, value, mask)
            moderate = is_moderate(query, key, value, scale)
        if moderate:
            return fused_attention(query, key, value, mask=mask, scale=scale)
    return _formula(query, key, value, mask, scale)


def _formula(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
) -> Tensor:
    """The definition. The fused kernel gives the same without the whole matrix of weights."""
    if mask is not None:
        query, key, value = without_the_unseen(query, key, value, mask)
    query = query * scale  # before the product: half-precision scores overflow less easily
    scores = query @ key.mT  # (…, n_query, n_key)
    if mask is None:
        return scores.softmax(dim=-1) @ value  # (…, n_query, d_value)

    # A row of nothing but -inf has no softmax: a blind query has scores of 0 until the end.
    hidden, blind = ~mask, ~mask.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(hidden, -math.inf).masked_fill(blind, 0)
    weights = scores.softmax(dim=-1).masked_fill(hidden, 0)
    return weighted_sum(weights, value, mask).masked_fill(blind, 0)


def weighted_sum(weights: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """``weights @ value``; a value that is not finite reaches only the queries that see it."""
    try:
        every = bool(value.detach().sum().isfinite())
    except RuntimeError:  # under vmap, and without numbers (meta), nobody can look
        every = True
    if every:
        return weights @ value
    finite = value.isfinite()
    output = weights @ torch.where(finite, value, 0)
    mask = mask.expand(*mask.shape[:-1], value.shape[-2])
    for j in (~finite).movedim(-2, 0).flatten(1).any(dim=1).nonzero().flatten().tolist():
        one = slice(j, j + 1)
        rest = torch.where(finite[..., one, :], 0, value[..., one, :])  # (…, 1, d_value)
        output = output + torch.where(mask[..., one], weights[..., one] * rest, 0)
    return output


def without_the_unseen(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Set to 0 what plays no part: a weight of 0 times NaN would still be NaN."""
    blind = ~mask.any(dim=-1, keepdim=True)  # (…, n_query, 1): a query that sees no key
    unseen = ~mask.any(dim=-2).unsqueeze(-1)  # (…, n_key, 1): a key that no query sees
    return (
        torch.where(blind, 0, query),
        torch.where(unseen, 0, key),
        torch.where(unseen, 0, value),
    )


def attention_map(
    attention: Callable[..., Tensor], query: Tensor, key: Tensor, **options
) -> Tensor:
    """The weights that ``attention`` really used, as ``(…, n_query, n_key)``.

    Every kind of attention is linear in ``value``. With the identity as ``value``, its output is
    therefore its own matrix of weights. No second piece of code computes a map for a picture.

    Args:
        attention: any function of this package with the signature
            ``attention(query, key, value, **options)``.
        query: ``(…, n_query, d)``.
        key: ``(…, n_key, d)``.
        options: handed on to ``attention``, for example ``mask=causal_mask(n)``.

    Raises:
        TypeError: ``attention`` is no function, or ``key`` no tensor.
        ValueError, TypeError: whatever ``attention`` raises.
    """
    if not callable(attention):
        got = type(attention).__name__
        raise TypeError(f"attention: got {got}; accepted is a function of this package.")
    check_tensor("key", key)
    identity = torch.eye(key.shape[-2], dtype=key.dtype, device=key.device)
    return attention(query, key, identity.expand(*key.shape[:-2], -1, -1), **options)


def check_inputs(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Size, float]:
    """Refuse what cannot be attention; return the common leading axes and the scale.

    Raises:
        ValueError, TypeError: naming the argument, what was got and what is accepted.
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor)
        if not tensor.is_floating_point():
            raise ValueError(f"{name}: got dtype {tensor.dtype}; accepted is a floating-point one.")
        for what in ("dtype", "device"):
            got, wanted = getattr(tensor, what), getattr(query, what)
            if got != wanted:
                raise ValueError(f"{name}: got {what} {got}, but query has {wanted}; convert one.")
    d = query.shape[-1]
    if key.shape[-1] != d or d == 0:
        raise ValueError(
            f"key: got {tuple(key.shape)} for a query of {tuple(query.shape)}; "
            "the last axes (d) must be equal, and at least 1."
        )
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"value: got {tuple(value.shape)} for a key of {tuple(key.shape)}; "
            "there must be one value for each key (axis -2)."
        )
    lead = broadcast_leading_axes("key", query.shape[:-2], key.shape[:-2])
    lead = broadcast_leading_axes("value", lead, value.shape[:-2])
    if mask is not None:
        lead = check_mask(mask, query, key, lead)
    return lead, _finite(1 / math.sqrt(d) if scale is None else scale)


def check_mask(mask: Tensor, query: Tensor, key: Tensor, lead: torch.Size) -> torch.Size:
    """Refuse a mask that is not boolean or does not broadcast; return the leading axes with it."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"mask: got {type(mask).__name__}; accepted is a boolean tensor or None.")
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask: got dtype {mask.dtype}; accepted is torch.bool, True = may attend. "
            "For a mask of 0 and 1 use mask.bool(); for one of 0 and -inf use mask == 0."
        )
    if mask.device != query.device:
        raise ValueError(f"mask: got device {mask.device}, but query is on {query.device}.")
    scores = (*lead, query.shape[-2], key.shape[-2])
    if mask.ndim < 2 or any(
        got not in (1, wanted) for got, wanted in zip(mask.shape[-2:], scores[-2:])
    ):
        raise ValueError(
            f"mask: got {tuple(mask.shape)}; accepted is anything that broadcasts to "
            f"(…, n_query, n_key) = {scores}, with at least two axes."
        )
    return broadcast_leading_axes("mask", lead, mask.shape[:-2])


def check_tensor(name: str, tensor: Tensor, *, axes: str = "length, dim") -> None:
    """Refuse what is not a tensor with at least the named axes."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name}: got {type(tensor).__name__}; accepted is a torch.Tensor.")
    least = len(axes.split(","))
    if tensor.ndim < least:
        raise ValueError(
            f"{name}: got {tuple(tensor.shape)}; accepted is (…, {axes}), at least {least} axes."
        )


def _finite(scale: float) -> float:
    if isinstance(scale, bool) or not isinstance(scale, Real):
        raise TypeError(f"scale: got {type(scale).__name__}; accepted is None or a finite number.")
    try:
        scale = float(scale)
    except OverflowError:  # an integer beyond every float
        scale = math.inf
    if not math.isfinite(scale):
        raise ValueError(f"scale: got {scale}; accepted is None or a finite number.")
    return scale


def broadcast_leading_axes(name: str, lead: torch.Size, more: torch.Size) -> torch.Size:
    """The leading axes of all arguments so far and of one more; refuse what does not broadcast."""
    try:
        return torch.broadcast_shapes(lead, more)
    except RuntimeError:
        raise ValueError(
            f"{name}: got the leading axes {tuple(more)}; "
            f"they do not broadcast with {tuple(lead)} of the arguments before it."
        ) from None
