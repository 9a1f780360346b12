"""How much memory a class takes on the hub of hub/, measured with ten students at once.

    make bench ARGS=hub            all log in, pull, and run chapters side by side
    make bench ARGS="hub --store"  the same, kept in data/hub.json, which hub/README.md shows

First all run the same chapter, one chapter after another, and then each another one, those that
take the most memory. On two cores that is half an hour; a line is printed for each who is done.
"""

import argparse
import asyncio
import contextlib
import datetime
import hashlib
import json
import os
import tempfile
import time
from pathlib import Path

import nbformat

from attn_edu.course import find, read_measured
from attn_edu.datasets import DATA
from attn_edu.pretrained import packages
from bench import classroom
from bench.classroom import Hub, Student, memory
from bench.meter import machine

STORED = DATA / "hub.json"
CLASS = (1, 10, 20, 30, 50, 100)  # students at once, the rows of the table


def largest(count: int = 1) -> list[str]:
    """The chapters whose kernels take the most memory, as `make bench ARGS=chapters` found it."""
    peaks = {number: one["peak_bytes"] for number, one in read_measured().items()}
    return sorted(peaks, key=peaks.get, reverse=True)[:count]


async def measure(hub: Hub, students: int, numbers: list[str]) -> dict:
    """The class comes in, runs the chapters together, and then each a chapter of their own.

    Returns megabytes: "server" before a chapter is opened, "chapters" by number, and "different".

    Raises:
        RuntimeError: if a cell fails, or if a student's work is not in the student's own file.
    """
    people = [Student(hub, f"student-{number:02}") for number in range(students)]
    for person in people:
        await person.log_in()
    await asyncio.gather(*(person.start() for person in people))
    await asyncio.gather(*(person.pull() for person in people))
    idle = [one["server"] for one in memory([person.name for person in people]).values()]
    found = {"server": {kind: _most(idle, kind) for kind in ("rss", "pss")}, "chapters": {}}
    for number in numbers:
        found["chapters"][number] = await _together(people, [number] * students)
    own = sorted(largest(students))
    found["different"] = {"numbers": own, **await _together(people, own)}
    return found


async def _together(people: list[Student], numbers: list[str]) -> dict:
    """All run at once, each the chapter beside their name, and leave it open."""
    paths = [f"{classroom.COPY}/notebooks/{find(number).file}.ipynb" for number in numbers]
    work = list(zip(people, paths))
    names = [person.name for person in people]
    highest = [0.0]
    watching = asyncio.create_task(_watch(names, highest))
    start = time.perf_counter()

    async def run(person: Student, path: str) -> None:
        await person.run(path)
        print(f"{time.perf_counter() - start:5.0f} s  {person.name} has run {path}", flush=True)

    await asyncio.gather(*(run(*one) for one in work))
    seconds = time.perf_counter() - start
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    now = memory(names)
    for person, path in work:
        await _sign(person, path)
    for person, path in work:
        _check(person, path)
        await person.end_kernels()
    found = {
        "students": len(people),
        "seconds": round(seconds),
        "kernel_peak": _most([one["kernels"] for one in now.values()], "peak"),
        "kernel_after": _most([one["kernels"] for one in now.values()], "rss"),
        "kernel_data": _most([one["kernels"] for one in now.values()], "data"),
        "server_peak": _most([one["server"] for one in now.values()], "peak"),
        "class_peak_pss": round(highest[0]),
    }
    print(found, flush=True)
    return found


async def _watch(names: list[str], highest: list[float]) -> None:
    """Keep the highest sum of the class, each shared page counted once (PSS)."""
    while True:
        total = sum(part.get("pss", 0) for one in memory(names).values() for part in one.values())
        highest[0] = max(highest[0], total)
        await asyncio.sleep(1)


async def _sign(person: Student, path: str) -> None:
    notebook = await person.open(path)
    notebook.cells.append(nbformat.v4.new_markdown_cell(f"This is the work of {person.name}."))
    await person.save(path, notebook)


def _check(person: Student, path: str) -> None:
    """The file on disk has the student's own sentence, and every cell its number."""
    notebook = nbformat.read(person.home / path, as_version=4)
    nbformat.validate(notebook)
    code = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        raise RuntimeError(f"{person.name}: {path} was not saved as it was run")
    if notebook.cells[-1].source != f"This is the work of {person.name}.":
        raise RuntimeError(f"{person.name}: {path} is somebody else's: {notebook.cells[-1].source}")


def _most(sizes: list[dict[str, float]], kind: str) -> int:
    return round(max(size[kind] for size in sizes))


def of_a_student(found: dict, number: str) -> int:
    """Megabytes of one student in a chapter at most: the server's peak and the kernel's."""
    one = found["chapters"][number]
    return one["server_peak"] + one["kernel_peak"]


def room(numbers: list[str], server: float = 0.2e9) -> int:
    """How many students the free memory holds at the peak of these chapters; one at least."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    most = max(read_measured()[number]["peak_bytes"] for number in numbers)
    return max(1, int(free / (most + server)))


def table(found: dict) -> str:
    """GB for so many students in a chapter at once, every shared page counted for each of them."""
    numbers = list(found["chapters"])
    lines = [["students at once", *(f"chapter {number}" for number in numbers)]]
    lines.append(["---", *("---:" for _ in numbers)])
    for students in CLASS:
        sizes = (students * of_a_student(found, number) / 1000 for number in numbers)
        lines.append([str(students), *(f"{size:.1f} GB" for size in sizes)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: list[str] = ()) -> None:
    """The measurement, and its table."""
    parser = argparse.ArgumentParser("make bench ARGS=hub", description=__doc__)
    parser.add_argument("chapters", nargs="*", help="numbers; 02, 05 and the largest if none")
    parser.add_argument("--students", type=int, default=10)
    parser.add_argument("--store", action="store_true", help=f"write data/{STORED.name} as well")
    options = parser.parse_args(arguments)
    weights = "" if all(map(packages.installed, packages.PACKAGES)) else packages.HOW_TO_INSTALL
    if wanted := classroom.missing() or weights:  # chapters 12 and 13 take less without them
        print(f"not measured, missing here: {wanted}")
        return
    numbers = options.chapters or sorted({"02", "05", *largest()})
    students = min(options.students, room(numbers))
    if students < options.students:
        print(f"memory for {students} students, not for {options.students}")
    with tempfile.TemporaryDirectory(prefix="class-", ignore_cleanup_errors=True) as folder:
        course = classroom.copy_of_course(Path(folder))
        with Hub(Path(folder), course) as hub:
            found = asyncio.run(measure(hub, students, numbers))
    print(f"a server that is idle: {found['server']}\n{table(found)}")
    if options.store:
        kept = {"machine": {**machine(), "cores": os.cpu_count()}}
        kept |= {"date": datetime.date.today().isoformat(), "unit": "MB", **found}
        STORED.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        print(f"{STORED.name}: SHA-256 {hashlib.sha256(STORED.read_bytes()).hexdigest()}")
