"""Run an answer on every case, against the reference and against every misconception."""

import dis
import functools
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from attn_edu.exercises.calling import (
    Allowance,
    AnswerError,
    NotAttemptedError,
    Printed,
    StoppedError,
    call,
)
from attn_edu.exercises.catalogue import exercise
from attn_edu.exercises.comparing import form, plain, product, same, to_tensor
from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import drawn
from attn_edu.exercises.records import record
from attn_edu.exercises.restoring import restored
from attn_edu.exercises.result import Example, Result

_SINGLE = 1e-5  # float32 on the way to a float64, as `torch.arange(n) / 10000` makes it


@functools.lru_cache(maxsize=100)
def _cases(exercise_id: str, draw: int) -> list[Case]:
    with drawn(draw):
        return exercise(exercise_id).cases()


@dataclass
class _Run:
    """The answer on one case: what it gave, or why it gave nothing."""

    case: Case
    expected: object  # what is compared
    returned: object  # what the reference returned: the form that is asked for
    got: Tensor | None = None
    problem: str | None = None
    printed: str = ""
    rounding: float = 0.0  # allowed where the dtype asks for less

    @property
    def right(self) -> bool:
        return self.problem is None and self.gave(self.expected)

    def gave(self, value: object) -> bool:
        rounding = self.rounding if isinstance(self.expected, Tensor) else 0.0
        return same(self.got, value, rounding)

    @property
    def size(self) -> int:
        return sum(x.numel() for x in self.case.arguments if isinstance(x, Tensor))


def check(exercise_id: str, answer: Callable) -> Result:
    """Run ``answer`` and say what it does: right, a known mistake, or the wrong form.

    Args:
        exercise_id: for example ``"02.scores"``.
        answer: your function itself, not what it returns.

    Returns:
        A `Result`; as the last expression of a cell it shows itself.

    Raises:
        KeyError: an unknown id.
    """
    one = exercise(exercise_id)
    result = examine(one, answer)
    record(result)
    return result


def examine(one: Exercise, answer: Callable, draw: int = 0) -> Result:
    """What `check` does, without a note of it in the progress.

    Args:
        draw: which random numbers the inputs are made of; 0 is the draw of `check`.
    """
    if answer is None or answer is ... or _is_empty(answer):
        return Result(one.id, "not attempted", "Not attempted yet.")
    message = _form_of_the_function(one, answer)
    if message:
        return Result(one.id, "form", message)
    # Afterwards the random state of torch is as before. One thread: the inputs are tiny.
    with restored(), torch.random.fork_rng(devices=[]):
        torch.set_num_threads(1)
        return _judged(one, answer, draw)


def _judged(one: Exercise, answer: Callable, draw: int) -> Result:
    try:
        runs = _run(one, answer, draw)
    except NotAttemptedError:
        return Result(one.id, "not attempted", "Not attempted yet.")
    beliefs = _recognise(one, runs, draw)
    if not beliefs:
        for run in runs:
            run.rounding = _SINGLE
        beliefs = _recognise(one, runs, draw)
    wrong = sorted((run for run in runs if not run.right), key=lambda run: run.size)
    if not wrong:
        try:
            belief = one.too_much(answer)
        except StoppedError as stop:
            message = f"Its values are right, but its work could not be counted. {stop}"
            return Result(one.id, "form", message)
        if belief:
            return Result(one.id, "misconception", belief.why, belief.name)
        count = "the one case" if len(runs) == 1 else f"all {len(runs)} cases"
        return Result(one.id, "passed", f"Passed: equal to the reference in {count}.")
    if beliefs:
        shown = next(run for run in wrong if run.problem is None)
        return _named(one, beliefs, shown, [run for run in wrong if run.problem])
    return _unnamed(one, wrong, runs)


def _named(one: Exercise, beliefs: tuple[Misconception, ...], shown: _Run, failed: list) -> Result:
    name = " + ".join(belief.name for belief in beliefs)
    message = " ".join(belief.why for belief in beliefs)
    return Result(one.id, "misconception", message + _besides(failed), name, _example(one, shown))


def _besides(failed: list[_Run]) -> str:
    return f" Besides: {failed[0].problem} ({failed[0].case.note})" if failed else ""


def _unnamed(one: Exercise, wrong: list[_Run], runs: list[_Run]) -> Result:
    shown, last = wrong[0], wrong[-1]
    message = wrong_form = shown.problem or form(shown.got, shown.expected)
    if not message:
        comparable = last.problem is None and form(last.got, last.expected) is None
        clue = one.clue(last.got, last.expected) if comparable else ""
        message = "The numbers differ from the reference"
        message += f". {clue}" if clue else ", and in no way that this exercise knows."
        message += _besides([run for run in wrong if run.problem])
    right = [run.case.note for run in runs if run.right]
    if right:
        more = f"; and {len(right) - 3} more" if len(right) > 3 else ""
        message += "" if message.endswith((".", "?")) else "."
        message += f" It is right for: {'; '.join(right[:3])}{more}."
    status = "form" if wrong_form else "wrong"
    return Result(one.id, status, message, example=_example(one, shown))


def _example(one: Exercise, run: _Run) -> Example:
    inputs = dict(zip(one.arguments, run.case.arguments))
    return Example(run.case.note, inputs, run.got, run.expected, run.printed)


def _is_empty(answer: Callable) -> bool:
    """Whether the body of the function does nothing: a docstring, ``...``, ``pass``."""
    code = answer.__code__ if isinstance(answer, types.FunctionType) else None
    if code is None:
        return False
    doing = {step.opname for step in dis.get_instructions(code)}
    idle = doing <= {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return idle and set(code.co_consts) <= {None, ..., answer.__doc__}


def _form_of_the_function(one: Exercise, answer: Callable) -> str | None:
    if not callable(answer):
        kind = type(answer).__name__
        return (
            f"check was given a {kind}; it needs the function itself: "
            f'check("{one.id}", your_function), without brackets behind the name.'
        )
    if isinstance(answer, type):
        name = answer.__name__
        return (
            f"check was given the class {name}; it needs a function, or an object that can be "
            f"called like one: {name}(…), or a method of it, {name}(…).method."
        )
    try:
        signature = inspect.signature(answer)
    except Exception:  # a builtin that does not tell, or an object that fails when asked
        return None
    try:
        signature.bind(*one.arguments)
    except TypeError as error:
        wanted = ", ".join(one.arguments)
        return f"It cannot be called as f({wanted}), these by position: {error}."
    return None


def _copies(arguments: tuple) -> tuple:
    return tuple(x.clone() if isinstance(x, Tensor) else x for x in arguments)


def _run(one: Exercise, answer: Callable, draw: int) -> list[_Run]:
    runs, allowed = [], Allowance()
    for case in _cases(one.id, draw):
        returned = one.reference(*_copies(case.arguments))
        expected = product(returned)
        if isinstance(expected, Tensor) and expected.ndim == 0:
            returned = expected = float(expected)
        run = _Run(case, expected, returned)
        runs.append(run)
        given, printed = _copies(case.arguments), Printed()
        try:
            value = call(answer, given, allowed, printed)
            if value is ...:
                raise NotAttemptedError
            run.got = one.normal_form(to_tensor(value, run.returned))
            run.problem = _changed(one, case.arguments, given)
        except StoppedError as stop:
            run.problem = str(stop)
            break
        except NotAttemptedError:
            raise
        except AnswerError as problem:
            run.problem = f"{problem}{_none_among(one, case.arguments)}"
        finally:
            run.printed = printed.text()
    wrong = [run for run in runs if run.problem is None and not run.right]
    largest = max(wrong, key=lambda run: run.size, default=None)
    if largest and _differs_when_called_again(one, answer, largest, allowed):
        for run in wrong:
            run.problem = (
                "Two calls with the same input gave two answers. Is something random in it?"
            )
    return runs


def _differs_when_called_again(
    one: Exercise, answer: Callable, run: _Run, allowed: Allowance
) -> bool:
    """The same input must give the same answer: no fresh random weights in each call."""
    try:
        value = call(answer, _copies(run.case.arguments), allowed, Printed())
        again = one.normal_form(to_tensor(value, run.returned))
    except AnswerError:
        return False
    return not same(again, run.got)


def _none_among(one: Exercise, arguments: tuple) -> str:
    """An error about ``None`` is easier to read when it says where that came from."""
    missing = [name for name, x in zip(one.arguments, arguments) if x is None]
    return f" (In this case `{missing[0]}` is None.)" if missing else ""


def _changed(one: Exercise, before: tuple, after: tuple) -> str | None:
    for name, x, y in zip(one.arguments, before, after):
        if isinstance(x, Tensor) and not _equal(x, y):
            return f"It changed its input `{name}`. Work on a copy, without `_` methods or `[…] =`."
    return None


def _equal(before: Tensor, after: Tensor) -> bool:
    try:
        after = plain(after)
    except Exception:  # nothing is left of it
        return False
    return before.shape == after.shape and before.dtype == after.dtype and before.equal(after)


@functools.cache
def _beliefs(exercise_id: str) -> list[tuple[Misconception, ...]]:
    return list(exercise(exercise_id).beliefs())


@functools.lru_cache(maxsize=20_000)
def _output(exercise_id: str, number: int, case: int, draw: int) -> object:
    """What the misconceptions of that number give on that case; ``None`` if they do not run."""
    wrong = exercise(exercise_id).wrong(*_beliefs(exercise_id)[number])
    try:
        return product(wrong(*_copies(_cases(exercise_id, draw)[case].arguments)))
    except Exception:
        return None


def _recognise(one: Exercise, runs: list[_Run], draw: int) -> tuple[Misconception, ...] | None:
    """The fewest misconceptions that explain every value of the answer, and half of the cases."""
    ran = [(i, run) for i, run in enumerate(runs) if run.problem is None]
    failed = [i for i, run in enumerate(runs) if run.problem is not None]
    if all(run.right for _, run in ran):
        return None
    for number, beliefs in enumerate(_beliefs(one.id)):
        outputs = ((run, _output(one.id, number, i, draw)) for i, run in ran)
        if not all(wrong is not None and run.gave(wrong) for run, wrong in outputs):
            continue
        fail_too = sum(_output(one.id, number, i, draw) is None for i in failed)
        if 2 * (len(ran) + fail_too) >= len(runs):  # from fewer, a name would be a guess
            return beliefs
    return None
