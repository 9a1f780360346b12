"""How long each chapter takes from top to bottom, and how much memory its kernel takes."""

import time

import nbformat
from nbclient import NotebookClient

from attn_edu.cli.notebooks import from_text
from attn_edu.course import NOTEBOOKS, Chapter, chapters

USED = """\
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"""


def run(chapter: Chapter) -> tuple[float, float, float]:
    """Seconds by the clock, seconds of CPU, and peak memory of the kernel in MiB."""
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
    return clock, cpu, peak


def main() -> None:
    """One row a chapter; the course promises under 60 s and under 1.2 GB for each."""
    print("chapter             seconds   CPU s   peak MiB")
    for chapter in chapters():
        clock, cpu, peak = run(chapter)
        print(f"{chapter.file:18} {clock:8.0f} {cpu:7.0f} {peak:10.0f}", flush=True)
