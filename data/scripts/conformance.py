"""Write data/conformance.json: which implementation keeps which promise, and how far it is broken.

    .venv/bin/pip install -e ".[bench]"
    .venv/bin/python data/scripts/conformance.py

The implementations and the promises are those of tests/conformance; all packages of the extra
`bench` must be installed. It takes some seconds.
"""

import datetime
import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "data" / "conformance.json"
sys.path.insert(0, str(ROOT))

from tests.conformance.implementations import IMPLEMENTATIONS  # noqa: E402
from tests.conformance.properties import PROPERTIES, find  # noqa: E402


def told(check) -> str:
    """What a property says of itself."""
    return " ".join(check.__doc__.split())


def measured() -> dict:
    """Everything, as it is stored; numbers have three digits."""
    results = {}
    for name, one in IMPLEMENTATIONS.items():
        results[name] = {}
        for promise in PROPERTIES:
            found = find(one, promise)
            size = found.measured
            if size is not None:
                size = 0.0 if found.holds else float(f"{size:.3g}")
                assert math.isfinite(size), (name, promise)
            results[name][promise] = {"holds": found.holds, "measured": size, "note": found.note}
    return {
        "made": datetime.date.today().isoformat(),
        "implementations": list(IMPLEMENTATIONS),
        "packages": {name: one.package for name, one in IMPLEMENTATIONS.items()},
        "versions": {name: one.version for name, one in IMPLEMENTATIONS.items()},
        "properties": list(PROPERTIES),
        "descriptions": {name: told(check) for name, check in PROPERTIES.items()},
        "results": results,
    }


if __name__ == "__main__":
    found = measured()
    PATH.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for name, row in found["results"].items():
        broken = [f"{k} ({v['measured']})" for k, v in row.items() if v["holds"] is False]
        print(f"{name:45} {', '.join(broken) or 'keeps all it offers'}")
