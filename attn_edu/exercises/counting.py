"""What torch did while an answer ran, for exercises that are about the work and not the result."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attn_edu.exercises import calling
from attn_edu.exercises.calling import AnswerError, Printed, StoppedError, call

_PRODUCTS = {"mm", "bmm", "mv", "dot", "mul", "mul_"}


@dataclass(frozen=True)
class Step:
    """One operation of torch.

    Attributes:
        name: in torch.
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
        with recorder:
            return answer(*given)

    try:
        call(recorded, arguments, calling.SECONDS, Printed())
    except StoppedError:
        raise
    except AnswerError:
        pass  # what it did until then counts
    return recorder.steps


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
