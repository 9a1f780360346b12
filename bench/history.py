"""What `make bench` measured on this machine: each number's last value beside its earlier ones.

    make bench ARGS=history               every number that moved by a tenth or more
    make bench ARGS="history --all"       every number
    make bench ARGS="history chapter"     what begins with a word

Runs of another processor or another torch are left out: they say nothing about the code.
"""

import argparse
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from bench.meter import HISTORY, machine

MOVED = 0.1


def numbers(found: dict, name: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of nested dictionaries, each with the path of its names."""
    for key, value in found.items():
        path = f"{name} · {key}" if name else key
        if isinstance(value, dict):
            yield from numbers(value, path)
        elif isinstance(value, int | float):
            yield path, value


def series(path: Path, here: dict) -> dict[str, list[float]]:
    """What was measured -> its values on a machine like ``here``, oldest first."""
    found: dict[str, list[float]] = {}
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    for line in map(json.loads, lines):
        if line["machine"] == here:
            for name, value in numbers(line["found"], line["what"]):
                found.setdefault(name, []).append(value)
    return found


def main(arguments: list[str] = ()) -> None:
    """One row a number: how often it was measured, the median before, the last, their ratio."""
    parser = argparse.ArgumentParser("make bench ARGS=history", description=__doc__)
    parser.add_argument("begins", nargs="?", default="")
    parser.add_argument("--all", action="store_true", help="those that stayed too")
    options = parser.parse_args(arguments)
    found = series(HISTORY, machine())
    found = {name: values for name, values in found.items() if name.startswith(options.begins)}
    print(f"{len(found)} numbers of this machine in {HISTORY.name}")
    print(f"{'':60} runs    before      last   ratio")
    for name, (*before, last) in found.items():
        usual = statistics.median(before) if before else last
        moved = abs(last - usual) > MOVED * abs(usual)
        if options.all or moved:
            ratio = f"{last / usual:.2f}" if usual else ""
            row = f"{name:60} {len(before) + 1:4} {usual:9.4g} {last:9.4g} {ratio:>7}"
            print(row.rstrip())
