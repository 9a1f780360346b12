"""Print the measurements of bench/: every module there that has a `main()`."""

import importlib
import itertools
import os
import sys
import time

from attn_edu.cli.environment import ROOT, quiet_variables


def main(arguments: list[str]) -> int:
    """`arguments`: names of modules (none: all); after a single name, words for its `main()`."""
    os.environ.update(quiet_variables())
    sys.path.insert(0, str(ROOT))
    known = sorted(path.stem for path in (ROOT / "bench").glob("[a-z]*.py"))
    names = list(itertools.takewhile(known.__contains__, arguments))
    words = arguments[len(names) :]
    if words and len(names) != 1:
        print(f"there is no bench/{words[0]}.py", file=sys.stderr)
        return 2
    for name in names or known:
        module = importlib.import_module(f"bench.{name}")
        if hasattr(module, "main"):
            start = time.perf_counter()
            print(f"\n=== bench/{name}.py", flush=True)
            module.main(words) if words else module.main()
            print(f"=== bench/{name}.py: {time.perf_counter() - start:.0f} s", flush=True)
    return 0
