"""What torch did while an answer ran, for exercises that are about the work and not the result.

What numpy does is not seen: only that a tensor went there (`steps`), and how much memory it took
(`memory`).
"""

import functools
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from attn_edu.exercises.calling import Allowance, AnswerError, Printed, StoppedError, call

_PRODUCTS = {"mm", "bmm", "mv", "dot", "mul", "mul_"}
_TO_NUMPY = {"numpy", "__array__", "__dlpack__"}  # methods of a tensor


@dataclass(frozen=True)
class Step:
    """One operation of torch.

    Attributes:
        name: in torch; "numpy" where a tensor is handed over to numpy.
        shapes: of its tensors.
        size: how many numbers came out.
        signs: whether one of its tensors is nothing but -1, 0 and 1: a product with it adds and
            subtracts.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    size: int
    signs: bool = False


class _Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.steps = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name, tensors = function.overloadpacket.__name__, [x for x in args if isinstance(x, Tensor)]
        size = result.numel() if isinstance(result, Tensor) else 0
        signs = name in _PRODUCTS and any(map(_is_signs, tensors))
        self.steps.append(Step(name, tuple(tuple(x.shape) for x in tensors), size, signs))
        return result


class _Crossings(TorchFunctionMode):
    """Adds to the steps where a tensor goes to numpy."""

    def __init__(self, steps: list[Step]):
        super().__init__()
        self.steps = steps

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in _TO_NUMPY:
            self.steps.append(Step("numpy", (tuple(args[0].shape),), 0))
        return function(*args, **(kwargs or {}))


def _is_signs(x: Tensor) -> bool:
    return x.device.type != "meta" and not x.is_complex() and bool((x == x.sign()).all())


def steps(answer: Callable, *arguments) -> list[Step]:
    """What torch is asked to do by ``answer(*arguments)``; Python's own arithmetic is not seen.

    Raises:
        StoppedError: the answer took too long: what it did until then says too little.
    """
    _make_ready()
    recorder = _Recorder()

    def recorded(*given):
        with recorder, _Crossings(recorder.steps):
            return answer(*given)

    _run(recorded, arguments)
    return recorder.steps


def memory(answer: Callable, *arguments) -> int:
    """Bytes that Python's objects and numpy's arrays took at most; torch's tensors are not seen.

    What ``answer`` imports is among them, unless it has run before.

    Raises:
        StoppedError: the answer took too long.
    """
    most = 0

    def traced(*given):
        nonlocal most
        was_tracing = tracemalloc.is_tracing()
        if not was_tracing:
            tracemalloc.start()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        try:
            return answer(*given)
        finally:
            most = tracemalloc.get_traced_memory()[1] - before
            if not was_tracing:
                tracemalloc.stop()

    _run(traced, arguments)
    return most


def _run(answer: Callable, arguments: tuple) -> None:
    try:
        call(answer, arguments, Allowance(), Printed())
    except StoppedError:
        raise
    except AnswerError:
        pass  # what it did until then counts


@functools.cache
def _make_ready() -> None:
    """torch's first recording imports hundreds of modules; that is not the answer's time."""
    with _Recorder():
        torch.zeros(1).sum()


def multiplications(answer: Callable, *arguments) -> int:
    """How many products of two numbers, both from tensors, were computed; a sign is no factor."""
    total = 0
    for step in steps(answer, *arguments):
        if step.signs:
            continue
        if step.name in ("mm", "bmm", "mv", "dot"):
            total += step.size * step.shapes[0][-1]
        elif step.name in ("addmm", "addmv", "baddbmm"):
            total += step.size * step.shapes[1][-1]
        elif step.name in ("mul", "mul_") and len(step.shapes) == 2 and () not in step.shapes:
            total += step.size
    return total
