"""What a call really costs: its time, its memory, and the multiplications and additions in it."""

import os
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode


@dataclass(frozen=True)
class Measurement:
    """What `measure` saw: the fastest run in seconds, and the peak of memory in bytes, if asked."""

    seconds: float
    peak_bytes: int | None


def measure(
    function: Callable,
    *inputs,
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
    memory: bool = True,
) -> Measurement:
    """Time a call, and count the memory that it holds at its worst moment.

    Args:
        function: called as ``function(*inputs)``, once to warm up, once under torch's profiler for
            the memory, and ``repeats`` times for the clock.
        repeats: at least 1. The fastest run counts: a slower one was disturbed by something else.
        clock: gives seconds: the clock on the wall, or ``time.process_time``, which stands still
            while other programs run (and runs once for every thread).
        memory: whether memory is measured. Of a call with many small steps, the profiler itself
            needs much: about 1 GB for a training step of a GRU over 2,048 words.

    Returns:
        Seconds, and the peak of what torch allocated on the CPU inside the call,
        its inputs not counted. The bytes are exact; the seconds are those of this machine.

    Raises:
        ValueError: ``repeats`` below 1.
    """
    if repeats < 1:
        raise ValueError(f"repeats: got {repeats}; accepted is an integer of at least 1.")
    function(*inputs)
    peak = _peak_bytes(function, inputs) if memory else None
    seconds = []
    for _ in range(repeats):
        start = clock()
        function(*inputs)
        seconds.append(clock() - start)
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
    """torch's profiler writes log lines to the process's error stream, below Python.

    That of torch 2.11 also warns that it forgets each cycle at its end; here there is but one.
    """
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Warning: Profiler clears events")
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def count_flops(function: Callable, *inputs) -> int:
    """The multiplications and additions in the matrix products and convolutions of a call.

    torch's own counter (``FlopCounterMode``), taught the one kernel that it does not know: fused
    attention on a CPU, counted as the two products over the whole square, masked or not. It knows
    no recurrent kernel of oneDNN (``nn.LSTM`` counts as 0), and it counts no softmax, no bias and
    no activation.
    """
    fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    with FlopCounterMode(display=False, custom_mapping={fused: _fused_flops}) as counter:
        function(*inputs)
    return counter.get_total_flops()


def _fused_flops(query_shape, key_shape, value_shape, *_, out_shape=None, **__) -> int:
    batch, heads, n_query, d = query_shape
    return 2 * batch * heads * n_query * key_shape[-2] * (d + value_shape[-1])
