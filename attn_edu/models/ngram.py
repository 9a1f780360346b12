"""Counting as a language model: what followed the last few tokens, and how often."""

import torch
from torch import Tensor

from attn_edu.models.checks import check_positive


class NGram:
    """What follows the last ``order - 1`` tokens, by counting, smoothed (Witten & Bell, 1991).

    After a context that was seen ``c`` times with ``t`` different tokens behind it, the counts get
    ``c`` parts of the say and the model of one token less gets ``t`` parts:
    ``P(w | h) = (count(h w) + t · P(w | shorter h)) / (c + t)``. Below the single token stands the
    uniform distribution, so that nothing is impossible.

    Args:
        order: 1 for single tokens, 2 for a bigram, 3 for a trigram, …
        vocabulary: number of tokens.

    Raises:
        ValueError: a number below 1, or so many contexts that they have no number of 64 bits.

    Example:
        >>> import torch
        >>> model = NGram(order=2, vocabulary=3).fit(torch.tensor([0, 1, 0, 1, 0, 2]))
        >>> model.probabilities(torch.tensor([0, 1]))[1].item()  # (2 + 2 · P(1)) / (3 + 2)
        0.5333333333333333
    """

    def __init__(self, order: int, vocabulary: int):
        check_positive("order", order)
        check_positive("vocabulary", vocabulary)
        if vocabulary**order >= 2**63:
            raise ValueError(f"order: got {order}; accepted is vocabulary ** order below 2 ** 63.")
        self.order, self.vocabulary = order, vocabulary
        self._joint = None  # for each length: the different rows, and how often each occurs

    def fit(self, tokens: Tensor) -> "NGram":
        """Count in ``(n,)`` integers; returns this model, for chaining.

        Raises:
            TypeError, ValueError: not one row of integers from 0 to ``vocabulary - 1``.
        """
        self._check(tokens)
        self._joint = [_counted(self._codes(tokens, k)) for k in range(1, self.order + 1)]
        return self

    def probabilities(self, tokens: Tensor, order: int | None = None) -> Tensor:
        """What the model gave to each token when it came, after all before it: ``(n,)``, float64.

        The first tokens have a shorter context. With ``order`` the model of fewer tokens speaks.

        Raises:
            TypeError, ValueError: tokens as in `fit`, or an order that this model has not counted.
        """
        if self._joint is None:
            raise ValueError("fit: nothing was counted yet; accepted is a model after `fit`.")
        self._check(tokens)
        order = self.order if order is None else order
        check_positive("order", order)
        if order > self.order:
            raise ValueError(f"order: got {order}; accepted is at most {self.order}.")
        result = torch.full(tokens.shape, 1 / self.vocabulary, dtype=torch.float64)
        for k, (codes, counts) in enumerate(self._joint[:order], start=1):
            asked = self._codes(tokens, k)  # (n - k + 1,): the k tokens up to each place
            count = _looked_up(codes, counts, asked)
            contexts, place = torch.unique_consecutive(
                codes // self.vocabulary, return_inverse=True
            )
            total = torch.zeros(len(contexts), dtype=counts.dtype).index_add(0, place, counts)
            kinds = torch.bincount(place)  # different tokens behind each context
            context = asked // self.vocabulary
            seen, kinds = _looked_up(contexts, total, context), _looked_up(contexts, kinds, context)
            shorter = result[k - 1 :].clone()
            mixed = (count + kinds * shorter) / (seen + kinds).clamp_min(1)
            result[k - 1 :] = torch.where(seen > 0, mixed, shorter)
        return result

    def _check(self, tokens: Tensor) -> None:
        if not isinstance(tokens, Tensor):
            raise TypeError(f"tokens: got {type(tokens).__name__}; accepted is a tensor.")
        if tokens.ndim != 1 or tokens.dtype.is_floating_point or tokens.dtype == torch.bool:
            got = f"{tuple(tokens.shape)} of {tokens.dtype}"
            raise ValueError(f"tokens: got {got}; accepted is (n,), integers.")
        if len(tokens) and not 0 <= tokens.min() <= tokens.max() < self.vocabulary:
            got = f"numbers from {tokens.min()} to {tokens.max()}"
            raise ValueError(f"tokens: got {got}; accepted is 0 to {self.vocabulary - 1}.")

    def _codes(self, tokens: Tensor, k: int) -> Tensor:
        """Every ``k`` tokens in a row as one number, ``(n - k + 1,)``."""
        if len(tokens) < k:
            return tokens[:0]
        codes = torch.zeros(len(tokens) - k + 1, dtype=torch.long)
        for row in tokens.long().unfold(0, k, 1).T:  # (k, n - k + 1)
            codes = codes * self.vocabulary + row
        return codes


def _counted(codes: Tensor) -> tuple[Tensor, Tensor]:
    """The different numbers, sorted, and how often each occurs."""
    return torch.unique(codes, return_counts=True)


def _looked_up(codes: Tensor, counts: Tensor, asked: Tensor) -> Tensor:
    """The count of each number asked for; 0 where it does not occur."""
    if len(codes) == 0:
        return torch.zeros_like(asked)
    place = torch.searchsorted(codes, asked).clamp_max(len(codes) - 1)
    return torch.where(codes[place] == asked, counts[place], 0)
