"""How long `import attn_edu` takes after `import torch`, part by part.

    make bench ARGS=imports

Each part is imported in a Python of its own, where torch is already there. The course
promises at most 0.3 s for what a chapter begins with. plotly is loaded where a curve is drawn, and
ipywidgets by the chapters that have controls.
"""

import statistics
import subprocess
import sys

from bench.meter import remember

LIMIT = 0.3  # seconds of CPU
PARTS = {
    "attn_edu, attn_edu.attention": True,
    "attn_edu.attention, attn_edu.exercises, attn_edu.figures, attn_edu.views": True,
    "attn_edu.widgets": False,
}
CODE = """\
import time, torch
start = time.process_time()
import {names}
print(time.process_time() - start)"""


def seconds(names: str, rounds: int) -> float:
    """The median of CPU seconds; the first import, which may compile to bytecode, is left out."""
    command = [sys.executable, "-c", CODE.format(names=names)]
    runs = [float(subprocess.check_output(command, text=True)) for _ in range(rounds + 1)]
    return statistics.median(runs[1:])


def main(arguments: list[str] = ()) -> None:
    """A row for each part; an argument is the number of rounds."""
    found = {names: seconds(names, int(next(iter(arguments), 5))) for names in PARTS}
    for names, took in found.items():
        verdict = ("met" if took <= LIMIT else "MISSED") if PARTS[names] else ""
        goal = f"≤ {LIMIT} s  {verdict}" if verdict else ""
        print(f"  import {names:58}{took:6.2f} s  {goal}".rstrip())
    remember("imports", {names: round(took, 3) for names, took in found.items()})
