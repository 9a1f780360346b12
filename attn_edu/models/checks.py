"""What the models refuse: sizes below 1, unknown names, tensors of another width."""

from collections.abc import Collection
from numbers import Integral

import torch
from torch import Tensor


def check_positive(name: str, value: int) -> None:
    """Refuse what is no integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name}: got {value!r}; accepted is an integer of at least 1.")


def check_width(name: str, tensor: Tensor, d_model: int) -> None:
    """Refuse what is no tensor ``(…, n, d_model)``."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name}: got {type(tensor).__name__}; accepted is a torch.Tensor.")
    if tensor.ndim < 2 or tensor.shape[-1] != d_model:
        raise ValueError(f"{name}: got {tuple(tensor.shape)}; accepted is (…, n, {d_model}).")


def check_tokens(name: str, tokens: Tensor, vocabulary: int) -> None:
    """Refuse what is no tensor ``(batch, n)`` of numbers below ``vocabulary``, or is empty."""
    if not isinstance(tokens, Tensor):
        raise TypeError(f"{name}: got {type(tokens).__name__}; accepted is a torch.Tensor.")
    if tokens.ndim != 2 or tokens.dtype != torch.int64 or not tokens.numel():
        got = f"{tuple(tokens.shape)} of {tokens.dtype}"
        raise ValueError(f"{name}: got {got}; accepted is (batch, n) of int64, neither of them 0.")
    low, high = tokens.aminmax()
    if low < 0 or high >= vocabulary:
        accepted = f"0 to {vocabulary - 1}"
        raise ValueError(f"{name}: got numbers from {low} to {high}; accepted is {accepted}.")


def check_one_of(name: str, value: str, accepted: Collection[str]) -> None:
    """Refuse an unknown name."""
    if value not in accepted:
        raise ValueError(f"{name}: got {value!r}; accepted are {', '.join(map(repr, accepted))}.")
