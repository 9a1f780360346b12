"""Where a word stands: three ways to tell attention, which cannot know it by itself.

Sinusoidal vectors are *added* to the words, rotary *turns* queries and keys, ALiBi lowers the
*scores*. Positions are counted from 0.
"""

import math
from numbers import Real

import torch
from torch import Tensor

from attn_edu.attention.dot_product import broadcast_leading_axes, check_tensor
from attn_edu.attention.masks import _check_size


def sinusoidal_positions(n: int, d_model: int) -> Tensor:
    """A vector for each position: sines and cosines in turn (Vaswani et al., 2017, section 3.5).

    Features ``2i`` and ``2i + 1`` of position ``p`` are the sine and the cosine of
    ``p / 10000^(2i / d_model)``: a clock hand that turns more slowly from pair to pair. To move by
    ``k`` positions turns each hand by a fixed angle, whatever ``p`` is.

    Args:
        n: number of positions, at least 1.
        d_model: width, at least 1. When it is odd, the last sine has no cosine.

    Returns:
        ``(n, d_model)``, in torch's default dtype.

    Raises:
        ValueError: a size below 1.
    """
    _check_size("n", n)
    _check_size("d_model", d_model)
    angles = torch.arange(n).double()[:, None] * _frequencies(d_model, 10_000.0)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (n, pairs, 2)
    return waves.flatten(1)[:, :d_model].to(torch.get_default_dtype())


def rotary(x: Tensor, positions: Tensor | None = None, *, base: float = 10_000.0) -> Tensor:
    """Turn each pair of features by an angle that grows with the position (Su et al., 2021).

    The pair ``(2i, 2i + 1)`` of position ``p`` is turned by ``p / base^(2i / d)``. Turn queries and
    keys, and their dot product depends on the *difference* of their positions alone. Neighbouring
    features are a pair, as in the paper; code that pairs feature ``i`` with ``i + d / 2`` computes
    the same for features in another order, so weights cannot be exchanged without reordering.

    Args:
        x: ``(…, n, d)``, queries or keys; ``d`` is even.
        positions: ``(n,)``, or anything that broadcasts to ``(…, n)``; 0 to n - 1 when ``None``.
        base: how slow the slowest pair is; above 0.

    Returns:
        ``(…, n, d)``, in the dtype of ``x``. Every pair keeps its length.

    Raises:
        ValueError: ``d`` is odd, the positions do not broadcast or are complex, or base is not
            a finite number above 0.
        TypeError: ``x`` or ``positions`` is no tensor.
    """
    check_tensor("x", x)
    if x.shape[-1] % 2 or not x.is_floating_point():
        raise ValueError(
            f"x: got {tuple(x.shape)} of {x.dtype}; accepted is a floating-point tensor "
            "whose last axis is even: features are turned in pairs."
        )
    _check_base(base)
    exact = torch.float32 if x.device.type == "mps" else torch.float64
    positions = _positions(positions, x).to(exact)
    angles = positions[..., None] * _frequencies(x.shape[-1], base).to(x.device, exact)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.cos().to(wide), angles.sin().to(wide)  # (…, n, d / 2)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)  # (…, n, d / 2, 2) -> (…, n, d)


def alibi_slopes(n_heads: int) -> Tensor:
    """How many points a head takes off for each step of distance (Press et al., 2022).

    For a power of two the slopes are ``2^(-8/n_heads), 2^(-16/n_heads), …, 2^-8``. For any other
    number, as in the authors' code: those of the next lower power of two, then every other one of
    the next higher.

    Returns:
        ``(n_heads,)``, in torch's default dtype.

    Raises:
        ValueError: ``n_heads`` below 1.

    Example:
        >>> alibi_slopes(4).tolist()
        [0.25, 0.0625, 0.015625, 0.00390625]
    """
    _check_size("n_heads", n_heads)
    lower = 2 ** (int(n_heads).bit_length() - 1)  # the largest power of two that is not above

    def powers(count: int) -> list[float]:
        return [2 ** (-8 * i / count) for i in range(1, count + 1)]

    return torch.tensor((powers(lower) + powers(2 * lower)[0::2])[:n_heads])


def alibi_bias(n: int, n_heads: int) -> Tensor:
    """What ALiBi adds to the scores: ``-slope · distance`` (Press et al., 2022).

    It hides nothing: keys after the query are lowered by their distance as those before it are,
    and a causal model masks them as well (the paper has causal models only).

    Args:
        n: length, at least 1.
        n_heads: at least 1; see `alibi_slopes`.

    Returns:
        ``(n_heads, n, n)``, at most 0, in torch's default dtype.

    Raises:
        ValueError: a size below 1.
    """
    _check_size("n", n)
    places = torch.arange(n)
    distance = (places[:, None] - places).abs()  # (n, n)
    return -alibi_slopes(n_heads)[:, None, None] * distance


def alibi_features(
    query: Tensor, key: Tensor, positions: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """ALiBi for causal attention without a matrix: one more number in every query and key.

    Before the query, ``-slope · (i - j)`` is ``slope · j`` minus a number that is the same for the
    whole row of query ``i``, and a softmax does not see what a whole row has in common. So a key
    brings ``slope · j`` along. The scores of `scaled_dot_product_attention` with its default scale
    are then ``query · key / √d + slope · j``. With a causal mask that is ALiBi; a key *after* the
    query would be raised instead of lowered.

    Args:
        query: ``(…, n_heads, n_query, d)``.
        key: ``(…, n_heads, n_key, d)``.
        positions: of the keys, ``(n_key,)`` or anything that broadcasts to ``(…, n_key)``; 0 to
            n_key - 1 when ``None``. In half precision they are rounded: use float32 for long texts.

    Returns:
        The two, with ``d + 1`` features.

    Raises:
        ValueError: no axis of heads, another number of heads, or positions that do not broadcast.
        TypeError: an argument is no tensor.
    """
    for name, tensor in (("query", query), ("key", key)):
        check_tensor(name, tensor, axes="n_heads, n, d")
    n_heads, d = key.shape[-3], key.shape[-1]
    if query.shape[-3] != n_heads or query.shape[-1] != d or d < 1:
        got = f"{tuple(query.shape)} and {tuple(key.shape)}"
        raise ValueError(f"query, key: got {got}; both need the same n_heads and d, at least 1.")
    slopes = alibi_slopes(n_heads).to(key)[:, None]  # (n_heads, 1)
    raised = slopes * _positions(positions, key).to(key)  # (…, n_heads, n_key)
    longer = math.sqrt(d + 1)  # what the scale 1 / √(d + 1) takes away again
    query = torch.cat([query * (longer / math.sqrt(d)), torch.ones_like(query[..., :1])], dim=-1)
    raised = (raised * longer).expand(key.shape[:-1]).unsqueeze(-1)
    return query, torch.cat([key, raised], dim=-1)


def _check_base(base: float) -> None:
    if not isinstance(base, Real) or not (math.isfinite(base) and base > 0):
        raise ValueError(f"base: got {base!r}; accepted is a finite number above 0.")


def _frequencies(d: int, base: float) -> Tensor:
    """Radians a position for each pair of features, from 1 down: ``(ceil(d / 2),)``."""
    return base ** (-torch.arange(0, d, 2).double() / d)


def _positions(positions: Tensor | None, x: Tensor) -> Tensor:
    """The positions of the rows of ``x``, checked to broadcast to ``x.shape[:-1]``."""
    if positions is None:
        return torch.arange(x.shape[-2], device=x.device)
    check_tensor("positions", positions, axes="n")
    accepted = f"real numbers that broadcast to (…, n) = {tuple(x.shape[:-1])}"
    if positions.is_complex() or positions.shape[-1] not in (1, x.shape[-2]):
        raise ValueError(f"positions: got {tuple(positions.shape)}; accepted are {accepted}.")
    if broadcast_leading_axes("positions", x.shape[:-1], positions.shape) != x.shape[:-1]:
        raise ValueError(f"positions: got {tuple(positions.shape)}; accepted are {accepted}.")
    return positions.to(x.device)
