"""Call a stranger's function: it may hang, exit, print, or change what it was given."""

import contextlib
import ctypes
import io
import itertools
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from types import FrameType

from attn_edu.exercises.restoring import restored

SECONDS = 5.0  # for all calls of one check, on tiny inputs
IMPORTS = 30.0  # and for what they import: a first import may read a slow disk
_TICK = 0.02  # how often the clock is looked at, and an alarm repeated that was swallowed
_MOST_PRINTED = 10_000  # characters


@dataclass
class Allowance:
    """The seconds that the calls of one check may take; what they import has its own."""

    own: float = field(default_factory=lambda: SECONDS)
    imports: float = field(default_factory=lambda: IMPORTS)
    since: float = 0.0

    def start(self) -> None:
        self.since = monotonic()

    def spend(self, frame: FrameType | None) -> bool:
        """Take off the time since the last look, in which this frame ran. Is something left?"""
        now = monotonic()
        spent, self.since = now - self.since, now
        if _is_importing(frame):
            self.imports -= spent
        else:
            self.own -= spent
        return self.own > 0 and self.imports > 0

    def why(self) -> str:
        """What to say when nothing is left."""
        if self.imports <= 0:
            return f"It was stopped: its imports took more than {IMPORTS:g} seconds."
        return f"It was stopped after {SECONDS:g} seconds. Is there a loop that never ends?"


def _is_importing(frame: FrameType | None) -> bool:
    """Whether Python's import is at work below the answer."""
    while frame is not None and frame.f_code is not _inside.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class TookTooLong(BaseException):
    """Raised inside the answer. No ``except Exception`` of its own catches it."""


class AnswerError(Exception):
    """The answer gave no value; the message says why, in words for the reader."""


class StoppedError(AnswerError):
    """The answer was stopped: to call it again would only cost time."""


class NotAttemptedError(AnswerError):
    """The answer says of itself that it is not written yet."""


class Printed(io.StringIO):
    """Keeps the start of what is printed, and lets go of the rest."""

    def write(self, text: str) -> int:
        return super().write(text) if self.tell() < _MOST_PRINTED else len(text)

    def warning(self, message: Warning, category: type[Warning], *_: object) -> None:
        """What `warnings.showwarning` does, without the name of a file."""
        print(f"{category.__name__}: {message}", file=sys.stderr)

    def text(self) -> str:
        return "" if self.closed else self.getvalue()


def call(function: Callable, arguments: tuple, allowed: Allowance, printed: Printed) -> object:
    """Call the function and return its value; what it prints is kept in ``printed``.

    Raises:
        AnswerError: it raised, exited, or was stopped when the time allowed was over.
        NotAttemptedError: it raised a bare ``NotImplementedError``.
    """
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), restored():
            warnings.showwarning = printed.warning
            allowed.start()
            if _alarm_is_possible():
                return _call_with_alarm(function, arguments, allowed)
            return _call_in_thread(function, arguments, allowed)
    except TookTooLong:
        raise StoppedError(allowed.why()) from None
    except KeyboardInterrupt:
        raise StoppedError("It was interrupted.") from None
    except SystemExit:
        raise AnswerError(
            "It tried to end Python (SystemExit); return the answer instead."
        ) from None
    except BaseException as error:
        said = _said(error)
        if isinstance(error, NotImplementedError) and not said:
            raise NotAttemptedError from None
        what = type(error).__name__ + (f": {said[0][:300]}" if said else "")
        where = _where(function, error)
        raise AnswerError(f"It raised {what}{where}{_advice(what)}") from None


# What may stand in the first line of an error, and what helps then.
_ADVICE = {
    r"RecursionError": "Does it call itself without end?",
    r"MemoryError|tried to allocate": "It asks for more memory than there is; the inputs are tiny.",
    r"(?i)\bdtype|datatype|scalar type": "The inputs are torch.float64 (double) where they are no "
    "whole numbers or masks: make new tensors with `dtype=x.dtype`, x being an input.",
    r"CUDA|NVIDIA|\bmps\b|same device": "The inputs are on the CPU, and may stay there.",
    r"BdbQuit": "Is there a `breakpoint()` left in it?",
    r"EOFError": "Does it call `input()`? It gets all that it needs as arguments.",
}


def _advice(what: str) -> str:
    fitting = (advice for pattern, advice in _ADVICE.items() if re.search(pattern, what))
    return next((f". {advice}" for advice in fitting), "")


def _said(error: BaseException) -> list[str]:
    """The lines of its message; an exception may even fail to say it."""
    try:
        return str(error).strip().splitlines()
    except BaseException:
        return []


def _where(function: Callable, error: BaseException) -> str:
    """The line of the function in which the error came up, counted from its ``def``."""
    code, trace, line = getattr(function, "__code__", None), error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code is code:
            line = trace.tb_lineno - code.co_firstlineno + 1
        trace = trace.tb_next
    return f" (in line {line} of it)" if line else ""


def _alarm_is_possible() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _inside(function: Callable, arguments: tuple) -> object:
    """The only frame below which an alarm may strike, and out of which no forked copy comes."""
    process = os.getpid()
    try:
        return function(*arguments)
    finally:
        if os.getpid() != process:
            os._exit(0)


def _call_with_alarm(function: Callable, arguments: tuple, allowed: Allowance) -> object:
    strikes = itertools.count()

    def again(frame, event, _):
        if event == "line":
            raise TookTooLong
        return again

    def strike(_, frame):
        frames = [frame]
        while frames[-1] is not None and frames[-1].f_code is not _inside.__code__:
            frames.append(frames[-1].f_back)
        if frames.pop() is None:
            return  # not in the answer: let the checker work
        if allowed.spend(frame):
            return
        if next(strikes):  # it swallowed an alarm: strike at its next line too, outside of its try
            for inner in frames:
                inner.f_trace = again
            sys.settrace(again)
        raise TookTooLong

    tracer, handler = sys.gettrace(), signal.signal(signal.SIGALRM, strike)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
    try:
        return _inside(function, arguments)
    finally:
        sys.settrace(tracer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        allowed.spend(None)
        signal.signal(signal.SIGALRM, handler)
        if remaining:
            signal.setitimer(signal.ITIMER_REAL, remaining, interval)


def _call_in_thread(function: Callable, arguments: tuple, allowed: Allowance) -> object:
    """Where there is no alarm (Windows, another thread): a thread, left behind if need be."""
    outcome = {}

    def run():
        try:
            outcome["value"] = _inside(function, arguments)
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_TICK)
    while thread.is_alive() and allowed.spend(sys._current_frames().get(thread.ident)):
        thread.join(_TICK)
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(TookTooLong)
        )
        raise TookTooLong
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
