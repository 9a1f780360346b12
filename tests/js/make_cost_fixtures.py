"""Writes tests/js/cost_fixtures.json: what `costs.cost` says, for the page's closed forms.

python tests/js/make_cost_fixtures.py
"""

import json
import math
from pathlib import Path

from attn_edu.costs import KINDS, cost

PATH = Path(__file__).parent / "cost_fixtures.json"
LENGTHS = (1, 2, 31, 64, 65, 200, 512, 1000, 4096, 100_000)
LAYERS = (
    {"d_model": 64},
    {"d_model": 96, "n_heads": 6, "batch": 3},
    {"d_model": 512, "n_heads": 8, "batch": 2, "projections": False},
)
OPTIONS = (
    {"window": 1, "block": 7, "rank": 4, "landmarks": 3, "features": 5, "groups": 1, "latent": 9},
    {"window": 48, "block": 64, "rank": 128, "landmarks": 32, "features": 24, "latent": 64},
    {"window": 300, "block": 512, "rank": 200, "landmarks": 100, "features": 128, "latent": 16},
)


def fixtures() -> list[dict]:
    cases = []
    for kind, layer, options in ((k, x, o) for k in KINDS for x in LAYERS for o in OPTIONS):
        options = {"groups": layer.get("n_heads", 1), **options}
        own = {name: options[name] for name in KINDS[kind].options}
        if not own and options["rank"] != 4:
            continue  # the same case again
        found = [cost(kind, n, **layer, **own) for n in LENGTHS]
        cases.append(
            {
                "kind": kind,
                "sizes": {**layer, **own},
                "costs": [
                    {**vars(c), "path_length": c.path_length if c.path_length < math.inf else None}
                    for c in found
                ],
            }
        )
    return {"lengths": LENGTHS, "cases": cases}


if __name__ == "__main__":
    PATH.write_text(json.dumps(fixtures()) + "\n", "utf-8")
