"""Products with fewer multiplications: Strassen, and two different ideas of Winograd's.

Each function has a companion that says how many multiplications of numbers it makes, for example
``strassen.multiplications(4096, cutoff=1024)``; the plain product makes ``m · k · n``. All three
are exact over integers. They compute no gradient.
"""

from numbers import Integral

import torch
from torch import Tensor
from torch.nn import functional as F


@torch.no_grad()
def strassen(a: Tensor, b: Tensor, *, cutoff: int = 1024) -> Tensor:
    """``a @ b`` from seven products of quarters instead of eight, again and again (Strassen, 1969).

    Args:
        a: ``(…, m, k)``; the leading axes broadcast.
        b: ``(…, k, n)``, of the same dtype.
        cutoff: quarters are cut again until one of their three sizes is at most this; then torch
            multiplies them. At least 1. Sizes that cannot be halved so often are padded with zeros.

    Returns:
        ``(…, m, n)``. The error is larger than that of ``a @ b``, and grows with every level of
        quarters (Higham, 2002, *Accuracy and Stability of Numerical Algorithms*, section 23.2.2).

    Raises:
        ValueError: shapes that do not fit, unequal dtypes or devices, or a cutoff below 1.
        TypeError: an argument is no tensor.

    Example:
        >>> strassen.multiplications(2, cutoff=1), strassen.multiplications(4096, cutoff=1024)
        (7, 52613349376)
        >>> 4096**3
        68719476736
    """
    lead = _check_product(a, b)
    _check_count("cutoff", cutoff)
    (m, k), n = a.shape[-2:], b.shape[-1]
    levels = _levels(m, k, n, cutoff)
    rows, inner, columns = (_padded(size, levels) for size in (m, k, n))
    a, b = (
        _grown(a, rows, inner).expand(*lead, -1, -1),
        _grown(b, inner, columns).expand(*lead, -1, -1),
    )
    # The memory for the sums of quarters is taken once. To take it anew for each of the products
    # would cost more time than they save.
    room = [_room(a, lead, rows >> i, inner >> i, columns >> i) for i in range(1, levels + 1)]
    c = a.new_empty(*lead, rows, columns)
    _strassen(a, b, c, room)
    return c[..., :m, :n]


def _room(like: Tensor, lead: tuple, m: int, k: int, n: int) -> tuple[Tensor, ...]:
    """For one level: a sum of quarters of a, one of b, and a product in the memory of either."""
    batch = lead.numel()
    left = like.new_empty(batch * m * max(k, n))
    right = like.new_empty(batch * n * max(k, m))
    shapes = (left, m, k), (right, k, n), (left, m, n), (right, m, n)
    return tuple(flat[: batch * i * j].view(*lead, i, j) for flat, i, j in shapes)


def _strassen(a: Tensor, b: Tensor, c: Tensor, room: list) -> None:
    """Write ``a @ b`` to ``c``."""
    if not room:
        torch.matmul(a, b, out=c)
        return
    (s, t, in_s, in_t), *room = room
    a11, a12, a21, a22 = _quarters(a)
    b11, b12, b21, b22 = _quarters(b)
    c11, c12, c21, c22 = _quarters(c)
    _strassen(torch.sub(a12, a22, out=s), torch.add(b21, b22, out=t), c11, room)
    _strassen(torch.sub(a21, a11, out=s), torch.add(b11, b12, out=t), c22, room)
    _strassen(torch.add(a11, a22, out=s), torch.add(b11, b22, out=t), c12, room)
    c11 += c12
    c22 += c12
    _strassen(torch.add(a21, a22, out=s), b11, c21, room)
    c22 -= c21
    _strassen(a11, torch.sub(b12, b22, out=t), c12, room)
    c22 += c12
    _strassen(torch.add(a11, a12, out=s), b22, in_t, room)
    c11 -= in_t
    c12 += in_t
    _strassen(a22, torch.sub(b21, b11, out=t), in_s, room)
    c11 += in_s
    c21 += in_s


def _grown(x: Tensor, rows: int, columns: int) -> Tensor:
    """With zeros below and to the right; the tensor itself where it has the size already."""
    more = rows - x.shape[-2], columns - x.shape[-1]
    return F.pad(x, (0, more[1], 0, more[0])) if any(more) else x


def _quarters(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    i, j = x.shape[-2] // 2, x.shape[-1] // 2
    return x[..., :i, :j], x[..., :i, j:], x[..., i:, :j], x[..., i:, j:]


def _strassen_multiplications(m, k=None, n=None, *, cutoff=1024) -> int:
    """For ``(m, k) @ (k, n)``, or with one size for square matrices: ``7 ** levels`` leaves."""
    m, k, n = _sizes(m, k, n)
    _check_count("cutoff", cutoff)
    levels = _levels(m, k, n, cutoff)
    leaf = [_padded(size, levels) >> levels for size in (m, k, n)]
    return 7**levels * leaf[0] * leaf[1] * leaf[2]


def _levels(m: int, k: int, n: int, cutoff: int) -> int:
    levels = 0
    while min(m, k, n) > cutoff << levels:
        levels += 1
    return levels


def _padded(size: int, levels: int) -> int:
    """The next size that can be halved so often."""
    return -(-size >> levels) << levels


@torch.no_grad()
def winograd_inner_product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` with about half the multiplications (Winograd, 1968).

    Two terms of an inner product come out of one multiplication,
    ``(x₁ + y₂)(x₂ + y₁) = x₁y₁ + x₂y₂ + x₁x₂ + y₁y₂``. The two that are too much belong to a row of
    ``a`` alone and to a column of ``b`` alone: they are computed once for each, and taken off.
    What is taken off can be far larger than what is left, when ``a`` and ``b`` differ in size.

    Args:
        a: ``(…, m, k)``; the leading axes broadcast.
        b: ``(…, k, n)``, of the same dtype.

    Returns:
        ``(…, m, n)``.

    Raises:
        ValueError: shapes that do not fit, or unequal dtypes or devices.
        TypeError: an argument is no tensor.

    Example:
        >>> winograd_inner_product.multiplications(4)  # instead of 64
        48
    """
    _check_product(a, b)
    pairs, odd = divmod(a.shape[-1], 2)
    x1, x2 = a[..., 0 : 2 * pairs : 2], a[..., 1::2]  # (…, m, pairs)
    y1, y2 = b[..., 0 : 2 * pairs : 2, :], b[..., 1::2, :]  # (…, pairs, n)
    c = 0 - (x1 * x2).sum(dim=-1, keepdim=True) - (y1 * y2).sum(dim=-2, keepdim=True)
    for t in range(pairs):
        left = x1[..., t, None] + y2[..., t, None, :]  # (…, m, n)
        c = c.add_(left * (x2[..., t, None] + y1[..., t, None, :]))
    if odd:
        c += a[..., -1:] * b[..., -1:, :]
    return c.to(a.dtype)


def _inner_product_multiplications(m, k=None, n=None) -> int:
    """For ``(m, k) @ (k, n)``, or with one size alone for square matrices."""
    m, k, n = _sizes(m, k, n)
    return k // 2 * (m * n + m + n) + k % 2 * m * n


@torch.no_grad()
def winograd_convolution(image: Tensor, kernel: Tensor) -> Tensor:
    """A 3×3 convolution with 16 multiplications for four outputs, not 36 (Lavin & Gray, 2015).

    Winograd's minimal filtering F(2×2, 3×3): a patch of 4×4 and the kernel are each turned into 16
    sums, these are multiplied one by one, and sums of the products are a patch of 2×2. It works
    because neighbouring outputs share most of their inputs.

    Args:
        image: ``(…, height, width)``, or with channels ``(…, c_in, height, width)``; at least 3×3.
        kernel: ``(3, 3)``, or with channels ``(c_out, c_in, 3, 3)``; of the same dtype.

    Returns:
        What ``torch.nn.functional.conv2d(image, kernel)`` gives: ``(…, height - 2, width - 2)``, or
        with channels ``(…, c_out, height - 2, width - 2)``.

    Raises:
        ValueError: shapes that do not fit, or unequal dtypes or devices.
        TypeError: an argument is no tensor.

    Example:
        >>> winograd_convolution.multiplications(6, 6)  # instead of 9 · 16 = 144
        64
    """
    _check_convolution(image, kernel)
    if kernel.ndim == 2:
        return winograd_convolution(image.unsqueeze(-3), kernel[None, None]).squeeze(-3)
    whole, dtype = not (image.is_floating_point() or image.is_complex()), image.dtype
    if whole:  # the sums on the way leave uint8 and int8 long before the result does
        image, kernel = image.long(), kernel.long()
    height, width = (size - 2 for size in image.shape[-2:])
    image = _grown(image, height + height % 2 + 2, width + width % 2 + 2)
    patches = image.unfold(-2, 4, 2).unfold(-2, 4, 2)  # (…, c_in, rows, columns, 4, 4)
    for axis in (-2, -1):
        kernel = _kernel_sums(kernel, axis)  # in the end (c_out, c_in, 4, 4)
        patches = _patch_sums(patches, axis)
    products = torch.einsum("ocij,...crsij->...orsij", kernel, patches)
    output = _output_sums(_output_sums(products, -2), -1)  # (…, c_out, rows, columns, 2, 2)
    output = output.transpose(-3, -2).flatten(-4, -3).flatten(-2)[..., :height, :width]
    return (output // 4 if whole else output / 4).to(dtype)  # kernel sums were doubled


def _kernel_sums(g: Tensor, axis: int) -> Tensor:
    g0, g1, g2 = g.unbind(axis)
    return torch.stack([g0 + g0, g0 + g1 + g2, g0 - g1 + g2, g2 + g2], dim=axis)


def _patch_sums(d: Tensor, axis: int) -> Tensor:
    d0, d1, d2, d3 = d.unbind(axis)
    return torch.stack([d0 - d2, d1 + d2, d2 - d1, d1 - d3], dim=axis)


def _output_sums(m: Tensor, axis: int) -> Tensor:
    m0, m1, m2, m3 = m.unbind(axis)
    return torch.stack([m0 + m1 + m2, m1 - m2 - m3], dim=axis)


def _convolution_multiplications(height, width, c_in=1, c_out=1) -> int:
    """For an image of ``height`` × ``width``; `ValueError` below 3 × 3 or one channel."""
    for name, size, least in zip(
        ("height", "width", "c_in", "c_out"), (height, width, c_in, c_out), (3, 3, 1, 1)
    ):
        _check_count(name, size, least)
    return 16 * ((height - 1) // 2) * ((width - 1) // 2) * c_in * c_out


strassen.multiplications = _strassen_multiplications
winograd_inner_product.multiplications = _inner_product_multiplications
winograd_convolution.multiplications = _convolution_multiplications


def _check_product(a: Tensor, b: Tensor) -> torch.Size:
    """Refuse what cannot be multiplied; return the common leading axes."""
    _check_pair("a", a, "b", b)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"b: got {tuple(b.shape)} for an a of {tuple(a.shape)}; accepted is (…, k, n) with the "
            f"k = {a.shape[-1]} of a (…, m, k)."
        )
    try:
        return torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except RuntimeError:
        got, wanted = tuple(b.shape[:-2]), tuple(a.shape[:-2])
        raise ValueError(
            f"b: got the leading axes {got}; accepted is what broadcasts with {wanted} of a."
        ) from None


def _check_convolution(image: Tensor, kernel: Tensor) -> None:
    _check_pair("image", image, "kernel", kernel)
    if kernel.ndim not in (2, 4) or kernel.shape[-2:] != (3, 3):
        got = tuple(kernel.shape)
        raise ValueError(f"kernel: got {got}; accepted is (3, 3) or (c_out, c_in, 3, 3).")
    channels = f"{kernel.shape[1]}, " if kernel.ndim == 4 else ""
    fits = kernel.ndim == 2 or (image.ndim > 2 and image.shape[-3] == kernel.shape[1])
    if not fits or min(image.shape[-2:]) < 3:
        raise ValueError(
            f"image: got {tuple(image.shape)} for a kernel of {tuple(kernel.shape)}; accepted is "
            f"(…, {channels}height, width), at least 3 × 3."
        )


def _check_pair(name: str, one: Tensor, other_name: str, other: Tensor) -> None:
    for argument, x in ((name, one), (other_name, other)):
        if not isinstance(x, Tensor):
            raise TypeError(f"{argument}: got {type(x).__name__}; accepted is a torch.Tensor.")
        if x.ndim < 2 or x.dtype == torch.bool:
            got = f"{tuple(x.shape)} of {x.dtype}"
            raise ValueError(f"{argument}: got {got}; accepted are at least two axes of numbers.")
    for what in ("dtype", "device"):
        got, wanted = getattr(other, what), getattr(one, what)
        if got != wanted:
            raise ValueError(f"{other_name}: got {what} {got}, but {name} has {wanted}.")


def _sizes(m, k, n) -> tuple[int, int, int]:
    if (k is None) != (n is None):
        raise ValueError(
            f"n: got two sizes, ({m}, {k if n is None else n}); accepted: one or three."
        )
    k, n = (m, m) if k is None else (k, n)
    for name, size in (("m", m), ("k", k), ("n", n)):
        _check_count(name, size)
    return m, k, n


def _check_count(name: str, count: int, least: int = 1) -> None:
    if isinstance(count, bool) or not isinstance(count, Integral) or count < least:
        raise ValueError(f"{name}: got {count!r}; accepted is an integer of at least {least}.")
