"""Call a stranger's function: it may hang, exit, print, or change what it was given."""

import contextlib
import ctypes
import io
import itertools
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable

from attn_edu.exercises.restoring import restored

SECONDS = 5.0  # for all calls of one check, on tiny inputs
_MOST_PRINTED = 10_000  # characters
_AGAIN = 0.005  # an answer that swallows the first alarm gets more of them


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


def call(function: Callable, arguments: tuple, seconds: float, printed: Printed) -> object:
    """Call the function and return its value; what it prints is kept in ``printed``.

    Raises:
        AnswerError: it raised, exited, or was stopped after so many seconds.
        NotAttemptedError: it raised a bare ``NotImplementedError``.
    """
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), restored():
            warnings.showwarning = printed.warning
            if _alarm_is_possible():
                return _call_with_alarm(function, arguments, seconds)
            return _call_in_thread(function, arguments, seconds)
    except TookTooLong:
        raise StoppedError(
            f"It was stopped after {SECONDS:g} seconds. Is there a loop that never ends?"
        ) from None
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
        advice = _advice(error, said)
        raise AnswerError(f"It raised {what}{_where(function, error)}{advice}") from None


def _advice(error: BaseException, said: list[str]) -> str:
    if isinstance(error, RecursionError):
        return ". Does it call itself without end?"
    if isinstance(error, MemoryError) or (said and "tried to allocate" in said[0]):
        return ". It asks for more memory than there is; the inputs are tiny."
    return ""


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


def _call_with_alarm(function: Callable, arguments: tuple, seconds: float) -> object:
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
        if next(strikes):  # it swallowed an alarm: strike at its next line too, outside of its try
            for inner in frames:
                inner.f_trace = again
            sys.settrace(again)
        raise TookTooLong

    tracer, handler = sys.gettrace(), signal.signal(signal.SIGALRM, strike)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        return _inside(function, arguments)
    finally:
        sys.settrace(tracer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if remaining:
            signal.setitimer(signal.ITIMER_REAL, remaining, interval)


def _call_in_thread(function: Callable, arguments: tuple, seconds: float) -> object:
    """Where there is no alarm (Windows, another thread): a thread, left behind if need be."""
    outcome = {}

    def run():
        try:
            outcome["value"] = _inside(function, arguments)
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(TookTooLong)
        )
        raise TookTooLong
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]
