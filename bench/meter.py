"""How bench/ measures: CPU time in turns, medians, and the peak of what torch allocates.

A shared machine slows whatever runs at the moment. So all candidates take turns in one process, on
one thread, and the CPU time of the process counts; the median of each is kept, and only ratios are
compared with a goal.
"""

import datetime
import json
import math
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from attn_edu.costs.meter import _peak_bytes

HISTORY = Path(__file__).with_name("history.jsonl")  # git does not keep it
LEAST = 0.02  # seconds of CPU that one timing takes at least; shorter calls are repeated


def medians(functions: dict[str, Callable], rounds: int, budget: float = 90) -> dict[str, float]:
    """Name -> median seconds of CPU. Every round times each function once, one after the other.

    After ``budget`` seconds by the clock no further round begins, but there are at least three.
    """
    repeats, seconds = {}, {name: [] for name in functions}
    for name, function in functions.items():
        function()
        repeats[name] = math.ceil(LEAST / max(_timed(function, 1), 1e-6))
    end = time.perf_counter() + budget
    for done in range(rounds):
        if done >= 3 and time.perf_counter() > end:
            break
        for name, function in functions.items():
            seconds[name].append(_timed(function, repeats[name]))
    return {name: statistics.median(found) for name, found in seconds.items()}


def _timed(function: Callable, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - start) / repeats


def peak(function: Callable) -> int:
    """The peak of what torch allocates inside the call, in bytes; the same in every run."""
    return _peak_bytes(function, ())


def exponent(sizes: list[int], costs: list[float]) -> float:
    """The power of n with which costs grow from the smallest to the largest of the sizes."""
    return math.log(costs[-1] / costs[0]) / math.log(sizes[-1] / sizes[0])


def sgemm_rate(n: int = 1024, rounds: int = 7) -> float:
    """The best rate of this machine's matrix product, in GFLOP per second of CPU, on one thread."""
    a, b = torch.randn(2, n, n)
    out = torch.empty(n, n)
    best = min(_timed(lambda: torch.mm(a, b, out=out), 4) for _ in range(rounds))
    return 2 * n**3 / best / 1e9


def machine() -> dict[str, object]:
    """What the numbers depend on."""
    return {
        "processor": _processor(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__.partition("+")[0],
        "python": platform.python_version(),
    }


def remember(what: str, found: dict[str, object]) -> None:
    """Add a line to the history of this machine: what was measured, when, with which versions."""
    now = datetime.datetime.now().isoformat(timespec="minutes")
    line = {"what": what, "date": now, "machine": machine(), "found": found}
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
