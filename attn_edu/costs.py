"""What a kind of layer costs: path length, sequential steps, and a meter for time and memory."""

import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import torch

KINDS = ("rnn", "cnn", "attention")


def path_length(n: int, kind: str, window: int | None = None) -> int:
    """How many steps the first token's information takes to reach the last (Vaswani et al., 2017).

    A recurrent network carries it from state to state, ``n - 1`` steps. A causal convolution takes
    it ``window - 1`` positions further in each layer. Attention takes it there at once.

    Args:
        n: length, at least 1. The path of a single token to itself is 0.
        kind: ``"rnn"``, ``"cnn"`` or ``"attention"``.
        window: for the CNN, how many positions one output sees, at least 2.

    Raises:
        ValueError: an unknown kind, a length below 1, or a CNN without a window of at least 2.

    Example:
        >>> [path_length(9, kind, window=3) for kind in ("rnn", "cnn", "attention")]
        [8, 4, 1]
    """
    _check(n, kind)
    if kind == "rnn":
        return n - 1
    if kind == "attention":
        return min(n - 1, 1)
    if window is None or window < 2:
        raise ValueError(f"window: got {window}; accepted for a CNN is an integer of at least 2.")
    return -(-(n - 1) // (window - 1))  # rounded up


def sequential_steps(n: int, kind: str, *, layers: int = 1) -> int:
    """How many steps must wait for the one before (Vaswani et al., 2017, table 1).

    All positions of a convolution or of attention are computed at once; a state waits for the one
    before it. Layers wait for each other, except that a recurrent network may start a layer's first
    state as soon as the layer below has its own: ``n + layers - 1``.

    Raises:
        ValueError: an unknown kind, or a size below 1.
    """
    _check(n, kind)
    if layers < 1:
        raise ValueError(f"layers: got {layers}; accepted is an integer of at least 1.")
    return n + layers - 1 if kind == "rnn" else layers


def receptive_field(window: int, layers: int) -> int:
    """How many positions the last one sees through causal windows: ``1 + layers · (window - 1)``.

    The same for a causal convolution and for sliding-window attention (Beltagy et al., 2020).

    Raises:
        ValueError: a window below 1 or a negative number of layers.
    """
    if window < 1:
        raise ValueError(f"window: got {window}; accepted is an integer of at least 1.")
    if layers < 0:
        raise ValueError(f"layers: got {layers}; accepted is an integer of at least 0.")
    return 1 + layers * (window - 1)


@dataclass(frozen=True)
class Measurement:
    """What `measure` saw: the fastest run in seconds, and the peak of memory in bytes."""

    seconds: float
    peak_bytes: int


def measure(function: Callable, *inputs, repeats: int = 5) -> Measurement:
    """Time a call, and count the memory that it holds at its worst moment.

    Args:
        function: called as ``function(*inputs)``, once to warm up, once under torch's profiler for
            the memory, and ``repeats`` times for the clock.
        repeats: at least 1. The fastest run counts: a slower one was disturbed by something else.

    Returns:
        Seconds on the wall clock, and the peak of what torch allocated on the CPU inside the call,
        its inputs not counted. The bytes are exact; the seconds are those of this machine.

    Raises:
        ValueError: ``repeats`` below 1.
    """
    if repeats < 1:
        raise ValueError(f"repeats: got {repeats}; accepted is an integer of at least 1.")
    function(*inputs)
    peak = _peak_bytes(function, inputs)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*inputs)
        seconds.append(time.perf_counter() - start)
    return Measurement(min(seconds), peak)


def _peak_bytes(function, inputs) -> int:
    activities = [torch.profiler.ProfilerActivity.CPU]
    with (
        _profiler_silent(),
        torch.profiler.profile(activities=activities, profile_memory=True) as p,
    ):
        function(*inputs)
    events = p.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak


@contextmanager
def _profiler_silent():
    """torch's profiler writes log lines to the process's error stream, below Python."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _check(n: int, kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}; accepted are {', '.join(map(repr, KINDS))}.")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n: got {n!r}; accepted is an integer of at least 1.")
