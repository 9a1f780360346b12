"""Every kind of attention against torch and against the packages that do the same.

    make bench ARGS="attention"                        all of it, five minutes or more
    make bench ARGS="attention window memory --quick"  some groups, fewer rounds

One thread, CPU time, all candidates in turns, medians (see `bench/meter.py`); one sequence, 8 heads
of 64 features. Each row says how it compares with its goal. The numbers are kept in
`bench/results.json`; a run of some groups replaces these and keeps the others. `--store` also
writes them to `data/bench.json`, where chapter 10 reads them as another machine's.
"""

import argparse
import datetime
import hashlib
import json
import time
from pathlib import Path

import torch

from bench import peers
from bench.attention_rows import GROUPS, Row, points
from bench.meter import machine, remember

ROOT = Path(__file__).resolve().parents[1]
RESULTS, STORED = ROOT / "bench" / "results.json", ROOT / "data" / "bench.json"


def main(arguments: list[str] = ()) -> None:
    """Print the table, group by group, and keep its numbers."""
    parser = argparse.ArgumentParser("make bench ARGS=attention", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(GROUPS)}, points; all if none")
    parser.add_argument("--quick", action="store_true", help="three rounds, and no flex, no points")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--store", action="store_true", help="write data/bench.json as well")
    options = parser.parse_args(arguments)
    unknown = set(options.groups) - {*GROUPS, "points"}
    if unknown:
        parser.error(f"groups are {', '.join(GROUPS)}, points; got {', '.join(sorted(unknown))}")
    skipped = {"flex", "points"} if options.quick else set()
    wanted = options.groups or [name for name in (*GROUPS, "points") if name not in skipped]
    rounds = 3 if options.quick else options.rounds

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = read(RESULTS)
    found.update(machine=machine(), date=datetime.date.today().isoformat())
    found["peers"] = {name: peers.version(name) for name in peers.NAMES}
    try:
        with torch.no_grad():
            for name in wanted:
                measure_group(name, rounds, found)
                write(RESULTS, found)
                rows = found["groups"].get(name, [])
                remember(f"attention {name}", {row["what"]: row["value"] for row in rows})
    finally:
        torch.set_num_threads(threads)
    if options.store:
        write(STORED, found)
        print(f"{STORED.name}: SHA-256 {hashlib.sha256(STORED.read_bytes()).hexdigest()}")


def read(path: Path) -> dict:
    """The numbers kept so far."""
    return json.loads(path.read_text("utf-8")) if path.is_file() else {"groups": {}, "points": []}


def write(path: Path, found: dict) -> None:
    """Keep the numbers, the groups in their order."""
    order = list(GROUPS)
    groups = sorted(found["groups"].items(), key=lambda group: order.index(group[0]))
    path.write_text(json.dumps({**found, "groups": dict(groups)}, indent=1) + "\n", "utf-8")


def measure_group(name: str, rounds: int, found: dict) -> None:
    """One group: its rows are printed as they come, and put into ``found``."""
    start = time.perf_counter()
    if name == "points":
        found["points"] = list(points(min(rounds, 5)))
        print(f"\npoints: {len(found['points'])} layers", end="")
    else:
        print(f"\n{GROUPS[name].__doc__.splitlines()[0]}")
        rows = []
        for row in GROUPS[name](rounds):
            print(line(row), flush=True)
            rows.append({"what": row.what, "value": row.value, "unit": row.unit, **goal(row)})
        found["groups"][name] = rows
    print(f"  ({time.perf_counter() - start:.0f} s)", flush=True)


def goal(row: Row) -> dict:
    return {"at_least": row.at_least, "at_most": row.at_most, "met": row.met, "note": row.note}


def line(row: Row) -> str:
    """One row of the table: what, its number, its goal, whether it is met, and a note."""
    if row.value is None:
        return f"  {row.what}"
    number = f"{row.value:.1e}" if 0 < row.value < 0.001 else f"{row.value:.2f}"
    said, limit = f"  {row.what:76} {number:>8} {row.unit:8}", ""
    if row.met is not None:
        limit = f"≥ {row.at_least:g}" if row.at_least is not None else f"≤ {row.at_most:g}"
    verdict = {None: "", True: "met", False: "MISSED"}[row.met]
    return f"{said} {limit:>7} {verdict:6}  {row.note}".rstrip()
