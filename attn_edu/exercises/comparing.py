"""Is this value the one that is expected? Form first, then numbers; nothing broadcasts."""

import contextlib
import inspect
import numbers
import warnings

import numpy as np
import torch
from torch import Tensor

from attn_edu.exercises.calling import AnswerError

# An answer may compute in another floating-point dtype; it is then compared less finely.
_TOLERANCE = {torch.float64: 1e-7, torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 5e-2}
_INSTEAD = {  # what to do with a value of this type where a tensor is expected
    "ndarray": "`torch.from_numpy` makes one of it.",
    "list": "`torch.tensor` makes one of numbers, `torch.stack` of tensors.",
    "tuple": "Return that one alone; a comma behind it makes a tuple.",
    "generator": "Is there a `yield` in the place of the `return`?",
    "function": "Is there a call missing, with its brackets?",
}
_MOST = 10_000_000  # numbers in an answer; the inputs are tiny


def to_tensor(value: object, expected: object) -> Tensor:
    """The value as a tensor of its own, if it is of the kind that is expected.

    Args:
        value: what the answer returned.
        expected: what the reference returned: a tensor, a number, or two factors of a matrix, of
            which the product counts (see `product`).

    Raises:
        AnswerError: it is something else; the message says what.
    """
    try:
        return _to_tensor(value, expected)
    except AnswerError:
        raise
    except Exception:  # an object that lies about itself, or fails when it is looked at
        raise AnswerError(f"It returned {_a(value)} that cannot be read.") from None


def _to_tensor(value: object, expected: object) -> Tensor:
    if value is None:
        raise AnswerError("It returned None. Is the `return` missing?")
    if inspect.iscoroutine(value):
        value.close()
        raise AnswerError("It is an `async` function; a plain `def` is needed.")
    if isinstance(value, Tensor):
        value = plain(value)
    if isinstance(expected, tuple):
        return product(_factors(value, expected))
    if isinstance(expected, Tensor):
        if not isinstance(value, Tensor):
            advice = _INSTEAD.get(type(value).__name__, "")
            said = f"It returned {_a(value)}; expected is a tensor (torch.Tensor). {advice}"
            raise AnswerError(said.rstrip())
    else:
        if isinstance(value, Tensor) and value.ndim:
            shape = tuple(value.shape)
            raise AnswerError(f"It returned a tensor of shape {shape}; expected is one number.")
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        real = isinstance(value, Tensor | numbers.Real) and not isinstance(value, bool)
        if not real:
            raise AnswerError(f"It returned {_a(value)}; expected is one number.")
        value = value if isinstance(value, Tensor) else _number(value)
    if value.is_complex():
        raise AnswerError(f"Its dtype is {value.dtype}; expected are real numbers.")
    if value.numel() > _MOST:  # an expanded tensor may be larger than any memory
        raise AnswerError(f"It returned {value.numel()} numbers; expected are far fewer.")
    return value.cpu().clone()  # the numbers as they are now, and no view of them


def plain(tensor: Tensor) -> Tensor:
    """The tensor without its subclass, which may answer comparisons as it likes.

    Raises:
        AnswerError: there are no ordinary numbers in it.
    """
    with torch._C.DisableTorchFunctionSubclass(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ordinary = Tensor.layout.__get__(tensor) == torch.strided
        if ordinary:
            with contextlib.suppress(RuntimeError):  # torch 2.9 cannot take every subclass off
                tensor = Tensor.as_subclass(tensor, Tensor).detach()
            ordinary = type(tensor) is Tensor and tensor.device.type != "meta"
    if not ordinary or tensor.is_nested or tensor.is_quantized:
        raise AnswerError(
            "It returned a tensor without ordinary numbers in it (sparse, nested or meta)."
        )
    if tensor.numel():
        last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
        needed = (tensor.storage_offset() + last + 1) * tensor.element_size()
        if tensor.untyped_storage().nbytes() < needed:
            raise AnswerError("It returned a tensor whose memory has been given back.")
    return tensor


def product(value: object) -> object:
    """Two factors become their product; everything else stays. Many pairs have the same one."""
    return value[0] @ value[1] if isinstance(value, tuple) else value


def _factors(value: object, expected: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise AnswerError(f"It returned {_a(value)}; expected are two tensors, (left, right).")
    factors = tuple(to_tensor(x, wanted) for x, wanted in zip(value, expected))
    got, wanted = ([tuple(x.shape) for x in pair] for pair in (factors, expected))
    if got != wanted:
        raise AnswerError(f"The shapes of the two factors are {got}; expected are {wanted}.")
    if len({x.dtype for x in factors}) > 1:
        raise AnswerError(f"The two factors have different dtypes: {[x.dtype for x in factors]}.")
    return factors


def _number(value: numbers.Real) -> Tensor:
    try:
        return torch.tensor(float(value)).double()
    except OverflowError:
        raise AnswerError("It returned an integer beyond every float; expected is less.") from None


def form(got: Tensor, expected: object) -> str | None:
    """What is wrong with shape, dtype or finiteness; ``None`` when nothing is."""
    wanted = expected if isinstance(expected, Tensor) else torch.tensor(float(expected))
    if got.shape != wanted.shape:
        return f"Its shape is {tuple(got.shape)}; expected is {tuple(wanted.shape)}."
    if isinstance(expected, Tensor) and _kind(got) != _kind(wanted):
        return f"Its dtype is {got.dtype}; expected is {wanted.dtype}."
    nan = int(got.isnan().sum())
    if nan and not wanted.isnan().any():
        return f"It holds NaN, in {nan} of {got.numel()} places." if got.ndim else "It is NaN."
    return None


def same(got: Tensor, wanted: object, rounding: float = 0.0) -> bool:
    """Equal in shape and kind of dtype, and in value up to rounding. NaN equals NaN only.

    Args:
        rounding: allow at least this much, absolute and relative.
    """
    wanted = wanted if isinstance(wanted, Tensor) else torch.tensor(float(wanted)).double()
    kinds = {_kind(got), _kind(wanted)}
    if got.shape != wanted.shape or (len(kinds) > 1 and (got.ndim or "bool" in kinds)):
        return False
    return bool((close(got, wanted, rounding) | (got.isnan() & wanted.isnan())).all())


def close(got: Tensor, wanted: Tensor, rounding: float = 0.0) -> Tensor:
    """Where two tensors of one shape agree up to the rounding of their dtypes. NaN never does."""
    tolerance = max(rounding, *(_TOLERANCE.get(x.dtype, 0.0) for x in (got, wanted)))
    return torch.isclose(got.double(), wanted.double(), rtol=tolerance, atol=tolerance)


def _kind(tensor: Tensor) -> str:
    if tensor.dtype == torch.bool:
        return "bool"
    return "float" if tensor.is_floating_point() else "integer"


def _a(value: object) -> str:
    name = type(value).__name__[:60]
    vowel = name[:1].lower() in "aeiou" or name == "ndarray"  # spoken: n-d array
    return f"{'an' if vowel else 'a'} {name}"
