"""Thin factors in place of a matrix, and Linformer: a few mixtures in place of all positions."""

import math
from numbers import Integral

import torch
from torch import Tensor, nn

from attn_edu.attention.dot_product import (
    broadcast_leading_axes,
    check_inputs,
    check_tensor,
    scaled_dot_product_attention,
)
from attn_edu.attention.multi_head import MultiHeadAttention, merge_heads, split_heads


def truncated_svd(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Two thin factors whose product is the best approximation of ``matrix`` with that rank.

    No matrix of this rank comes closer in the sum of squares, and the square of what is missing is
    the sum of the squares of the singular values left out (Eckart & Young, 1936). Gradients are
    those of ``torch.linalg.svd``: they are not finite where two singular values are equal.

    Args:
        matrix: ``(…, m, n)``, floating-point and finite.
        rank: from 1 to ``min(m, n)``.

    Returns:
        ``left`` ``(…, m, rank)`` and ``right`` ``(…, rank, n)``. Each holds the square roots of
        the singular values, so that neither is larger than the other.

    Raises:
        ValueError: ``rank`` is out of range; the matrix is not floating-point, or not finite.
        TypeError: ``matrix`` is no tensor.

    Example:
        >>> import torch
        >>> left, right = truncated_svd(torch.ones(2, 5, 7), rank=1)
        >>> left.shape, right.shape, bool(torch.allclose(left @ right, torch.ones(2, 5, 7)))
        (torch.Size([2, 5, 1]), torch.Size([2, 1, 7]), True)
    """
    check_tensor("matrix", matrix, axes="m, n")
    if not matrix.is_floating_point():
        raise ValueError(f"matrix: got dtype {matrix.dtype}; accepted is a floating-point one.")
    _check_rank(rank, min(matrix.shape[-2:]))
    if not matrix.isfinite().all():
        raise ValueError("matrix: got infinite numbers or NaN; accepted are finite ones.")
    exact = matrix if matrix.dtype == torch.float64 else matrix.float()
    u, s, vh = torch.linalg.svd(exact, full_matrices=False)
    root = s[..., :rank].sqrt()  # (…, rank)
    left, right = u[..., :rank] * root[..., None, :], root[..., None] * vh[..., :rank, :]
    return left.to(matrix.dtype), right.to(matrix.dtype)


def low_rank_linear(linear: nn.Linear, rank: int) -> nn.Sequential:
    """The closest layer of that rank: ``d_in → rank → d_out`` in place of ``d_in → d_out``.

    It has ``rank · (d_in + d_out)`` weights instead of ``d_in · d_out``, which is fewer when
    ``rank < d_in · d_out / (d_in + d_out)``: for a square layer, less than half its width.

    Args:
        linear: the layer to replace; it is left as it is.
        rank: from 1 to ``min(d_in, d_out)``.

    Returns:
        Two new linear layers, the second with a copy of the bias, if there is one.

    Raises:
        TypeError: not an ``nn.Linear``.
        ValueError: ``rank`` is out of range.
    """
    if not isinstance(linear, nn.Linear):
        raise TypeError(f"linear: got {type(linear).__name__}; accepted is nn.Linear.")
    left, right = truncated_svd(linear.weight.detach(), rank)  # (d_out, rank), (rank, d_in)
    kind = {"device": left.device, "dtype": left.dtype}
    narrow = nn.Linear(linear.in_features, rank, bias=False, **kind)
    wide = nn.Linear(rank, linear.out_features, bias=linear.bias is not None, **kind)
    with torch.no_grad():
        narrow.weight.copy_(right)
        wide.weight.copy_(left)
        if linear.bias is not None:
            wide.bias.copy_(linear.bias)
    return nn.Sequential(narrow, wide)


def linformer_attention(
    query: Tensor, key: Tensor, value: Tensor, *, project_key: Tensor, project_value: Tensor
) -> Tensor:
    """``softmax(query (E key)ᵀ / √d) (F value)``: ``rank`` mixtures of positions take the place of
    the ``n_key`` positions (Wang et al., 2020, *Linformer*, eq. 7).

    Time and memory grow with ``n_query · rank``. There is no mask, because there is none that
    could be honoured: each of the ``rank`` columns is a mixture of all positions, later ones and
    padding included, and to hide a column hides a part of everything.

    Args:
        query: ``(…, n_query, d)``; the leading axes of all five tensors broadcast.
        key: ``(…, n_key, d)``.
        value: ``(…, n_key, d_value)``.
        project_key, project_value: ``(…, rank, n_key)``, the matrices E and F: one pair for all
            heads, or one for each.

    Returns:
        ``(…, n_query, d_value)``.

    Raises:
        ValueError: an argument has a wrong shape, dtype or device.
        TypeError: an argument is not a tensor.
    """
    lead, _ = check_inputs(query, key, value)
    for name, project in (("project_key", project_key), ("project_value", project_value)):
        check_tensor(name, project, axes="rank, n_key")
        rank, n_key = project_key.shape[-2], key.shape[-2]
        if project.shape[-2:] != (rank, n_key) or rank == 0:
            raise ValueError(
                f"{name}: got {tuple(project.shape)} for a key of {tuple(key.shape)}; accepted is "
                f"(…, rank, {n_key}) with the same rank, at least 1, for keys and values."
            )
        if project.dtype != key.dtype or project.device != key.device:
            got, wanted = (f"{x.dtype} on {x.device}" for x in (project, key))
            raise ValueError(f"{name}: got {got}, but key is {wanted}; convert one.")
        lead = broadcast_leading_axes(name, lead, project.shape[:-2])
    key, value = project_key @ key, project_value @ value  # (…, rank, d), (…, rank, d_value)
    return scaled_dot_product_attention(query, key, value)


class LinformerAttention(nn.Module):
    """Multi-head attention of a sequence to ``rank`` learned mixtures of its own positions.

    A mixture of keys is the key of a mixture, ``E (x W) = (E x) W``. So the positions are mixed
    first, and keys and values are made for ``rank`` rows instead of ``n``.

    Args:
        d_model: width of the input and the output.
        n_heads: at least 1; must divide ``d_model``.
        n: the length of every input; the mixtures are learned for these positions.
        rank: how many mixtures, from 1 to ``n``.

    Raises:
        ValueError: a size is out of range, or ``n_heads`` does not divide ``d_model``.

    Example:
        >>> import torch
        >>> attention = LinformerAttention(d_model=12, n_heads=3, n=20, rank=5)
        >>> attention(torch.zeros(2, 20, 12)).shape
        torch.Size([2, 20, 12])
    """

    def __init__(self, d_model: int, n_heads: int, n: int, rank: int):
        super().__init__()
        _check_rank(n, math.inf, name="n")
        _check_rank(rank, n)
        heads = MultiHeadAttention(d_model, n_heads)
        self.n_heads = n_heads
        self.query, self.key, self.value, self.out = heads.children()
        # at first each mixture is a random one, of the size of a mean
        self.project_key = nn.Parameter(torch.randn(rank, n) / n**0.5)
        self.project_value = nn.Parameter(torch.randn(rank, n) / n**0.5)

    def forward(self, x: Tensor, *, mask: None = None, cache: None = None) -> Tensor:
        """``(…, n, d_model)`` -> ``(…, n, d_model)``.

        ``mask`` and ``cache`` are there because a block hands them on, and must stay ``None``.

        Raises:
            ValueError: the length of ``x`` is not ``n``, or its width not ``d_model``; a mask or a
                cache, which no mixture of all positions can honour.
        """
        if mask is not None or cache is not None:
            name = "cache" if mask is None else "mask"
            raise ValueError(f"{name}: got one; accepted is None: each key mixes all positions.")
        wanted = (self.project_key.shape[-1], self.query.in_features)
        check_tensor("x", x, axes="n, d_model")
        if x.shape[-2:] != wanted:
            raise ValueError(f"x: got {tuple(x.shape)}; accepted is (…, n, d_model) = {wanted}.")
        key, value = self.key(self.project_key @ x), self.value(self.project_value @ x)
        parts = self.query(x), key, value  # (…, n, d_model), twice (…, rank, d_model)
        query, key, value = (split_heads(part, self.n_heads) for part in parts)
        return self.out(merge_heads(scaled_dot_product_attention(query, key, value)))


def _check_rank(rank: int, most: float, name: str = "rank") -> None:
    if isinstance(rank, bool) or not isinstance(rank, Integral) or not 1 <= rank <= most:
        accepted = "of at least 1" if most == math.inf else f"from 1 to {most}"
        raise ValueError(f"{name}: got {rank!r}; accepted is an integer {accepted}.")
