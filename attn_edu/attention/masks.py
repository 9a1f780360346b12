"""Who may attend to whom. A mask is boolean, and ``True`` means *may attend*.

This is the convention of ``torch.nn.functional.scaled_dot_product_attention``. Other code uses
other conventions; the converters at the end are named for the one that they produce.
"""

import math
from numbers import Integral

import torch
from torch import Tensor


def causal_mask(n_query: int, n_key: int | None = None) -> Tensor:
    """Each query sees its own position and those before it.

    Args:
        n_query: number of queries, at least 1.
        n_key: number of keys; as many as queries when ``None``. With more keys than queries the
            queries are the *last* positions, as in decoding with a cache: the last query sees
            every key. (``is_causal=True`` in torch aligns the first ones instead.)

    Returns:
        ``(n_query, n_key)``, boolean, ``True`` = may attend.

    Raises:
        ValueError: a size below 1, or fewer keys than queries.
    """
    _check_size("n_query", n_query)
    n_key = n_query if n_key is None else n_key
    _check_size("n_key", n_key)
    if n_key < n_query:
        raise ValueError(
            f"n_key: got {n_key} for n_query = {n_query}; accepted is n_key >= n_query, "
            "because every query is one of the positions that the keys stand for."
        )
    return torch.ones(n_query, n_key, dtype=torch.bool).tril(diagonal=n_key - n_query)


def padding_mask(lengths: Tensor | list[int], n: int) -> Tensor:
    """Every query sees the keys before the end of its own sequence, and no padding.

    Args:
        lengths: ``(batch,)`` integers, from 0 to ``n``: how many tokens of each sequence are real.
        n: the padded length.

    Returns:
        ``(batch, 1, n)``, boolean, ``True`` = may attend. It broadcasts over the queries of
        ``(batch, n, d)``; for ``(batch, n_heads, n, d_head)`` write ``mask[:, None]``.

    Raises:
        ValueError: a length outside 0…n, lengths that are no integers, or ``n`` below 1.
    """
    _check_size("n", n)
    try:
        lengths = torch.as_tensor(lengths)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"lengths: got {lengths!r}; accepted is (batch,) integers.") from error
    whole = not (lengths.is_floating_point() or lengths.is_complex())
    if lengths.ndim != 1 or not whole or lengths.dtype == torch.bool:
        raise ValueError(
            f"lengths: got {tuple(lengths.shape)} of {lengths.dtype}; "
            "accepted is one integer for each sequence, (batch,)."
        )
    lengths = lengths.long()  # what is larger than that becomes negative, and is refused
    if ((lengths < 0) | (lengths > n)).any():
        raise ValueError(f"lengths: got {lengths.tolist()}; accepted is 0 to n = {n}.")
    positions = torch.arange(n, device=lengths.device)
    return (positions < lengths[:, None])[:, None, :]  # (batch, 1, n)


def sliding_window_mask(n: int, window: int, *, causal: bool = True) -> Tensor:
    """Each query sees itself and its neighbours (Beltagy et al., 2020, *Longformer*).

    Args:
        n: length, at least 1.
        window: a query sees itself and the ``window - 1`` positions before it, and without
            ``causal`` also the ``window - 1`` after it. At least 1; larger than ``n`` is allowed.
        causal: whether the positions after the query are hidden.

    Returns:
        ``(n, n)``, boolean, ``True`` = may attend.

    Raises:
        ValueError: ``n`` or ``window`` below 1.
    """
    _check_size("n", n)
    _check_size("window", window)
    reach = min(window, n) - 1
    near = torch.ones(n, n, dtype=torch.bool).triu(diagonal=-reach)
    return near.tril(diagonal=0 if causal else reach)


def block_mask(n: int, block: int, *, causal: bool = False) -> Tensor:
    """Each query sees its own block of ``block`` positions, and no other.

    Args:
        n: length, at least 1; the last block is shorter when ``block`` does not divide it.
        block: the length of a block, at least 1.
        causal: whether the positions after the query are hidden as well.

    Returns:
        ``(n, n)``, boolean, ``True`` = may attend.

    Raises:
        ValueError: ``n`` or ``block`` below 1.
    """
    _check_size("n", n)
    _check_size("block", block)
    number = torch.arange(n) // min(block, n)
    same = number[:, None] == number
    return same & causal_mask(n) if causal else same


def block_then_cross_mask(
    n: int, block: int, *, side: str = "left", causal: bool = False
) -> Tensor:
    """The last layer of a scheme in blocks: each query sees its own block and a neighbouring one.

    A survey article describes such a scheme as local attention: every layer under `block_mask`,
    and in the last one alone also from block to block, toward one side. Layers of blocks never
    reach beyond a block, so this mask is all that lets one block know of another.

    Args:
        n: length, at least 1; the last block is shorter when ``block`` does not divide it.
        block: the length of a block, at least 1.
        side: which block is seen besides the own one: ``"left"``, the one before; ``"right"``, the
            one after; or ``"both"``. The first block has none before it, and the last none after.
        causal: whether the positions after the query are hidden as well; on the right is nothing
            to see then.

    Returns:
        ``(n, n)``, boolean, ``True`` = may attend.

    Raises:
        ValueError: ``n`` or ``block`` below 1, or an unknown side.

    Example:
        >>> block_then_cross_mask(4, 2).int().tolist()
        [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    """
    _check_size("n", n)
    _check_size("block", block)
    if side not in ("left", "right", "both"):
        raise ValueError(f"side: got {side!r}; accepted are 'left', 'right' and 'both'.")
    number = torch.arange(n) // min(block, n)
    back = number[:, None] - number  # (n, n): how many blocks before the query's own
    seen = (back >= (0 if side == "left" else -1)) & (back <= (0 if side == "right" else 1))
    return seen & causal_mask(n) if causal else seen


def to_additive(mask: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """The same mask as numbers to *add* to the scores: 0 = may attend, ``-inf`` = may not.

    Args:
        mask: boolean, any shape, ``True`` = may attend.
        dtype: a floating-point dtype of 16 bits or more; torch's default one when ``None``.

    Raises:
        ValueError: the mask is not boolean (a mask of 0 and 1 that is added hides almost nothing),
            or the dtype has no ``-inf``.
        TypeError: the mask is no tensor, or the dtype no ``torch.dtype``.
    """
    _check_boolean(mask)
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype: got {type(dtype).__name__}; accepted is a torch.dtype or None.")
    if not dtype.is_floating_point or dtype.itemsize < 2:
        wanted = "a floating-point dtype of 16 bits or more, for its -inf"
        raise ValueError(f"dtype: got {dtype}; accepted is {wanted}.")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


def to_multihead_attention(mask: Tensor) -> Tensor:
    """The same mask for ``torch.nn.MultiheadAttention``, where ``True`` means *may not attend*.

    Args:
        mask: boolean, any shape, ``True`` = may attend. Hand the result on as ``attn_mask``; for
            ``key_padding_mask``, which is ``(batch, n)``, remove the query axis of a padding
            mask first: ``to_multihead_attention(mask.squeeze(-2))``.

    Raises:
        ValueError: the mask is not boolean.
        TypeError: the mask is no tensor.
    """
    _check_boolean(mask)
    return ~mask


def _check_size(name: str, size: int) -> None:
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
        raise ValueError(f"{name}: got {size!r}; accepted is an integer of at least 1.")


def _check_boolean(mask: Tensor) -> None:
    if not isinstance(mask, Tensor):
        got = type(mask).__name__
        raise TypeError(f"mask: got {got}; accepted is a boolean tensor, True = may attend.")
    if mask.dtype != torch.bool:
        raise ValueError(f"mask: got {mask.dtype}; accepted is a boolean one, True = may attend.")
