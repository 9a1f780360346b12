"""Feature maps φ for linear attention: ``φ(q) · φ(k)`` takes the place of ``exp(q · k)``."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real

import torch
from torch import Tensor

FeatureMap = Callable[[Tensor], Tensor]


def elu_plus_one(x: Tensor) -> Tensor:
    """``elu(x) + 1``: ``x + 1`` above 0 and ``exp(x)`` below (Katharopoulos et al., 2020, eq. 7).

    Written so that a large negative ``x`` keeps its small feature; in float32, ``F.elu(x) + 1``
    rounds it to 0 from -17 on.

    Args:
        x: any shape.

    Returns:
        The same shape, all above 0.

    Raises:
        TypeError: ``x`` is no tensor.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"x: got {type(x).__name__}; accepted is a torch.Tensor.")
    above = x.relu()
    return above + (x - above).exp()


def performer_features(
    d_head: int,
    n_features: int,
    *,
    generator: torch.Generator | None = None,
    scale: float = 1.0,
) -> FeatureMap:
    """Random features with ``E[φ(q) · φ(k)] = exp(scale · q · k)`` (Choromanski et al., 2021).

    For ``scale = 1``, ``φ(x) = exp(ω · x - |x|² / 2) / √m``, one number for each of ``m`` random
    directions ω: always positive, and orthogonal in groups of ``d_head``. No maximum is subtracted
    in the exponent. One over the sequence would let the last key act on the first output, and one
    for each key would change the weights. The exponent is at most ``|ω|² / 2``, about
    ``d_head / 2``.

    Args:
        d_head: size of queries and keys, at least 1.
        n_features: how many features, ``m``, at least 1.
        generator: where the directions are drawn from; torch's own when ``None``.
        scale: ``1 / sqrt(d_head)`` for the weights of `scaled_dot_product_attention`.

    Returns:
        A function ``(…, d_head) -> (…, n_features)``, in float32 at least, also under
        ``torch.autocast``. It keeps its directions; call `performer_features` again for others.

    Raises:
        ValueError: a size below 1, or a scale that is no finite number above 0; the function that
            is returned raises it when the last axis is not ``d_head``.

    Example:
        >>> query, key = torch.full((1, 4), 0.5), torch.full((1, 4), 0.25)
        >>> features = performer_features(4, 100_000, generator=torch.Generator().manual_seed(0))
        >>> estimate = (features(query) @ features(key).mT).item()
        >>> f"{estimate:.2f} for {(query @ key.mT).exp().item():.2f}"
        '1.65 for 1.65'
    """
    for name, size in (("d_head", d_head), ("n_features", n_features)):
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise ValueError(f"{name}: got {size!r}; accepted is an integer of at least 1.")
    if not isinstance(scale, Real) or not 0 < scale < math.inf:
        raise ValueError(f"scale: got {scale!r}; accepted is a finite number above 0.")
    directions = _orthogonal_directions(d_head, n_features, generator)  # (m, d_head)

    def positive_features(x: Tensor) -> Tensor:
        if x.shape[-1] != d_head:
            raise ValueError(f"x: got {tuple(x.shape)}; the last axis must be d_head = {d_head}.")
        x = x.to(wide(x)) * math.sqrt(scale)
        with full_precision(x):
            exponents = x @ directions.to(x).mT - x.square().sum(dim=-1, keepdim=True) / 2
        return exponents.exp() / math.sqrt(n_features)  # (…, m)

    return positive_features


def _orthogonal_directions(d: int, count: int, generator: torch.Generator | None) -> Tensor:
    """``(count, d)``, each row as from a normal distribution, in orthogonal groups of ``d``."""
    draw = {"generator": generator, "dtype": torch.float64}
    draw["device"] = None if generator is None else generator.device
    shape = (-(-count // d), d, d)
    q, r = torch.linalg.qr(torch.randn(shape, **draw))
    # The signs of q's columns are LAPACK's choice; with those of r's diagonal they are random.
    q = q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
    lengths = torch.randn(shape, **draw).norm(dim=-1, keepdim=True)
    return (q.mT * lengths).flatten(0, 1)[:count]


def wide(x: Tensor) -> torch.dtype:
    """The dtype to compute in: half precision overflows in a sum over thousands of keys."""
    return torch.promote_types(x.dtype, torch.float32)


def full_precision(x: Tensor) -> AbstractContextManager:
    """Products in the dtype of ``x``, also under ``torch.autocast``, which halves that."""
    kind = x.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.autocast(kind, enabled=False)
    return nullcontext()
