"""Print the measurements of bench/: every module there that has a `main()`."""

import importlib
import os
import sys
import time

from attn_edu.cli.environment import ROOT, quiet_variables


def main(arguments: list[str]) -> int:
    os.environ.update(quiet_variables())
    sys.path.insert(0, str(ROOT))
    names = arguments or sorted(path.stem for path in (ROOT / "bench").glob("[a-z]*.py"))
    for name in names:
        if not (ROOT / "bench" / f"{name}.py").is_file():
            print(f"there is no bench/{name}.py", file=sys.stderr)
            return 2
        module = importlib.import_module(f"bench.{name}")
        if hasattr(module, "main"):
            start = time.perf_counter()
            print(f"\n=== bench/{name}.py", flush=True)
            module.main()
            print(f"=== bench/{name}.py: {time.perf_counter() - start:.0f} s", flush=True)
    return 0
