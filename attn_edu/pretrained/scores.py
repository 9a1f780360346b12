"""What the heads of a language model do, as numbers: one for each head, from its weights."""

from torch import Tensor


def previous_token_score(weights: Tensor) -> Tensor:
    """How much of a row goes to the token before, mean over all rows but the first.

    Args:
        weights: ``(…, n, n)``, causal; ``n`` at least 2.

    Returns:
        ``(…)``, from 0 to 1.

    Raises:
        ValueError: another shape.
    """
    _check_square(weights)
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)


def induction_score(weights: Tensor, period: int) -> Tensor:
    """How much of a row goes to the token that came next the last time (Olsson et al., 2022).

    In a text that repeats itself after ``period`` tokens, token ``i`` has been read at ``i -
    period``, and what followed it there stands at ``i - period + 1``.

    Args:
        weights: ``(…, n, n)``, causal.
        period: at least 2 (with 1, what followed is the token itself), below ``n``.

    Returns:
        ``(…)``, from 0 to 1: the mean over the rows ``period`` to ``n - 1``.

    Raises:
        ValueError: another shape, or another period.
    """
    _check_square(weights)
    n = weights.shape[-1]
    if not isinstance(period, int) or not 2 <= period < n:
        raise ValueError(f"period: got {period!r}; accepted is 2 to n - 1 = {n - 1}.")
    # the diagonal has one row more: that of the last token of the first copy
    return weights.diagonal(offset=1 - period, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)


def first_token_share(weights: Tensor) -> Tensor:
    """How much of a row goes to the first token, mean over all rows but the first.

    Args, Returns, Raises: as `previous_token_score`.
    """
    _check_square(weights)
    return weights[..., 1:, 0].mean(dim=-1)


def _check_square(weights: Tensor) -> None:
    if not isinstance(weights, Tensor):
        raise TypeError(f"weights: got {type(weights).__name__}; accepted is a tensor (…, n, n).")
    shape = tuple(weights.shape)
    if weights.ndim < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        raise ValueError(f"weights: got {shape}; accepted is (…, n, n) with n of at least 2.")
