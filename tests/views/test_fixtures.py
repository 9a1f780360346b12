"""The fixtures of tests/js are what today's code and torch say."""

import importlib.util
import json
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).parents[1] / "js" / "make_fixtures.py"


def test_the_fixtures_are_fresh():
    spec = importlib.util.spec_from_file_location("make_fixtures", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kept = json.loads(module.PATH.read_text("utf-8"))
    fresh = json.loads(json.dumps(module.fixtures()))
    compare(kept, fresh, "fixtures")


def compare(kept, fresh, where):
    """Equal, floats up to the last bits that processors disagree on; packed bytes aside."""
    if isinstance(kept, dict):
        assert kept.keys() == fresh.keys(), f"{where}: run tests/js/make_fixtures.py"
        for name in kept:
            if name != "data":
                compare(kept[name], fresh[name], f"{where}.{name}")
    elif isinstance(kept, list):
        assert len(kept) == len(fresh), f"{where}: run tests/js/make_fixtures.py"
        for at, pair in enumerate(zip(kept, fresh)):
            compare(*pair, f"{where}[{at}]")
    elif isinstance(kept, float):
        close = np.isclose(kept, fresh, rtol=1e-6, atol=1e-9)
        assert close, f"{where}: run tests/js/make_fixtures.py"
    else:
        assert kept == fresh, f"{where}: run tests/js/make_fixtures.py"
