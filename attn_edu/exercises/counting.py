"""What torch did while an answer ran, for exercises that are about the work and not the result."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attn_edu.exercises.calling import SECONDS, AnswerError, Printed, call


@dataclass(frozen=True)
class Step:
    """One operation: its name in torch, the shapes of its tensors, how many numbers came out."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    size: int


class _Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.steps = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        shapes = tuple(tuple(x.shape) for x in args if isinstance(x, Tensor))
        size = result.numel() if isinstance(result, Tensor) else 0
        self.steps.append(Step(function.overloadpacket.__name__, shapes, size))
        return result


def steps(answer: Callable, *arguments) -> list[Step]:
    """What torch is asked to do by ``answer(*arguments)``; Python's own arithmetic is not seen."""
    recorder = _Recorder()

    def recorded(*given):
        with recorder:
            return answer(*given)

    with contextlib.suppress(AnswerError):  # what it did until then counts
        call(recorded, arguments, SECONDS, Printed())
    return recorder.steps


def multiplications(answer: Callable, *arguments) -> int:
    """How many products of two numbers, both from tensors, were computed."""
    total = 0
    for step in steps(answer, *arguments):
        if step.name in ("mm", "bmm", "mv", "dot"):
            total += step.size * step.shapes[0][-1]
        elif step.name in ("addmm", "addmv", "baddbmm"):
            total += step.size * step.shapes[1][-1]
        elif step.name in ("mul", "mul_") and len(step.shapes) == 2 and () not in step.shapes:
            total += step.size
    return total
