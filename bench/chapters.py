"""How long each chapter takes from top to bottom, and how much memory its kernel takes.

    make bench ARGS=chapters                  all of them, some minutes
    make bench ARGS="chapters 02 05 --store"  two of them; data/chapters.json keeps the others

The table of chapters in the README and `notebooks/instructors.md` show what is stored.
"""

import argparse
import datetime
import hashlib
import json
import os
import time

import nbformat
from nbclient import NotebookClient

from attn_edu.cli.notebooks import from_text
from attn_edu.course import MEASURED, NOTEBOOKS, Chapter, chapters, find, read_measured
from bench.meter import machine, remember

USED = """\
import pathlib, resource, sys
used = resource.getrusage(resource.RUSAGE_SELF)
peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
status = pathlib.Path("/proc/self/status")
if status.is_file():  # ru_maxrss begins at what the parent held when it started the kernel
    peak = 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
print(used.ru_utime + used.ru_stime, peak)"""


def run(chapter: Chapter) -> dict[str, float]:
    """Seconds by the clock, seconds of CPU, and peak bytes of the kernel, of one run."""
    notebook = from_text(chapter.text.read_text("utf-8"))
    notebook.cells.append(nbformat.v4.new_code_cell(USED))
    client = NotebookClient(
        notebook,
        timeout=300,
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(NOTEBOOKS)}},
    )
    start = time.perf_counter()
    client.execute()
    clock = time.perf_counter() - start
    cpu, peak = map(float, notebook.cells[-1].outputs[0].text.split())
    return {"seconds": clock, "cpu_seconds": cpu, "peak_bytes": int(peak)}


def main(arguments: list[str] = ()) -> None:
    """One row a chapter; the course promises under 60 s and under 1.2 GB for each."""
    parser = argparse.ArgumentParser("make bench ARGS=chapters", description=__doc__)
    parser.add_argument("chapters", nargs="*", help="numbers; all if none")
    parser.add_argument("--store", action="store_true", help=f"write data/{MEASURED.name} as well")
    options = parser.parse_args(arguments)
    try:
        chosen = [find(name) for name in options.chapters] or chapters()
    except KeyError as error:
        parser.error(error.args[0])

    print(f"{'chapter':30} seconds   CPU s   peak MB")
    for chapter in chosen:
        found = run(chapter)
        clock, cpu, peak = found["seconds"], found["cpu_seconds"], found["peak_bytes"] / 1e6
        print(f"{chapter.file:30}{clock:8.1f}{cpu:8.1f}{peak:10.0f}", flush=True)
        remember(f"chapter {chapter.number}", {name: round(x, 2) for name, x in found.items()})
        if options.store:
            store(chapter, found)
    if options.store:
        print(f"{MEASURED.name}: SHA-256 {hashlib.sha256(MEASURED.read_bytes()).hexdigest()}")


def store(chapter: Chapter, found: dict[str, float]) -> None:
    """Keep one chapter's measurement; the other chapters of the course keep theirs."""
    kept = {**read_measured(), chapter.number: {n: round(x, 2) for n, x in found.items()}}
    order = [one.number for one in chapters()]
    content = {
        "machine": {**machine(), "cores": os.cpu_count()},
        "date": datetime.date.today().isoformat(),
        "chapters": {number: kept[number] for number in order if number in kept},
    }
    MEASURED.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
