"""Writes tests/js/fixtures.json: what Python says the JavaScript of the views must compute.

    python tests/js/make_fixtures.py

The numbers of attention come from torch's own function in float64, not from the package.
"""

import json
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from attn_edu.attention import block_mask, causal_mask, sliding_window_mask
from attn_edu.views import HeadSplit, MaskReach, colours
from attn_edu.views.payload import pack

PATH = Path(__file__).parent / "fixtures.json"
N, D, DV = 7, 5, 3


def masks() -> dict:
    """Name: (size, mask). `given` hides everything from word 2, and word 4 from everyone."""
    given = torch.rand(N, N, generator=torch.Generator().manual_seed(4)) > 0.4
    given[2], given[:, 4] = False, False
    given[0, 0] = True
    return {
        "none": (1, None),
        "causal": (1, causal_mask(N)),
        "window": (3, sliding_window_mask(N, 3)),
        "block": (2, block_mask(N, 2)),
        "given": (1, given),
    }


def attention_cases() -> list[dict]:
    """Every mask, each with another scale, temperature and size of scores."""
    generator = torch.Generator().manual_seed(3)
    settings = [(D**-0.5, 1.0), (1.0, 0.1), (1 / D, 10.0), (0.7, 2.5), (D**-0.5, 0.3)]
    cases = []
    for (name, (size, mask)), (scale, temperature) in zip(masks().items(), settings):
        draw = {"generator": generator, "dtype": torch.float32}
        query, key = (3 * torch.randn(N, D, **draw) for _ in range(2))
        value = torch.randn(N, DV, **draw)
        q, k, v = (x.double() for x in (query, key, value))
        scores, factor = q @ k.T, scale / temperature
        weights = functional.scaled_dot_product_attention(
            q, k, torch.eye(N).double(), attn_mask=mask, scale=factor
        )
        output = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=factor)
        cases.append(
            {
                "mask": name,
                "size": size,
                "given": None if mask is None else mask.int().flatten().tolist(),
                "scale": scale,
                "temperature": temperature,
                **{name: x.flatten().tolist() for name, x in zip("qkv", (query, key, value))},
                "scores": scores.flatten().tolist(),
                "scaled": (scores * factor).flatten().tolist(),
                "weights": weights.flatten().tolist(),
                "output": output.flatten().tolist(),
            }
        )
    return cases


def temper_cases() -> list[dict]:
    """Weights, and the softmax of the same scores divided by a temperature."""
    scores = torch.randn(4, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    scores[1, 2] = -torch.inf
    cases = []
    for t in (0.25, 1.0, 3.0):
        told = {"temperature": t, "weights": scores.softmax(-1).flatten().tolist()}
        cases.append({**told, "tempered": (scores / t).softmax(-1).flatten().tolist()})
    return cases


def codec_cases() -> list[dict]:
    """Packed arrays of every kind, and what must come out; `within` is the error allowed."""
    rng = np.random.default_rng(6)
    middling = rng.dirichlet(np.full(150, 0.05), size=150).astype(np.float32)
    large = rng.dirichlet(np.full(300, 0.05), size=300).astype(np.float32)
    signed = (large - 0.3).astype(np.float32)
    signed[3, 4] = np.nan
    cases = [
        (np.float32([[0.25, 1e-7], [np.nan, -3.5]]), 0),
        (np.float64([[1 / 3, 2 / 3, 1e300]]), 0),
        (rng.random((3, 5)) > 0.5, 0),
        (middling, 2e-5),
        (large, 1 / 255),
        (signed, 1 / 255),
    ]
    keep = 300
    return [
        {
            "part": pack(array),
            "within": within,
            "start": [None if np.isnan(x) else float(x) for x in array.flatten()[:keep]],
        }
        for array, within in cases
    ]


def reach_cases() -> list[dict]:
    """Masks of one layer or of three, and after how many layers each pair is reached, by torch."""
    draw = torch.Generator().manual_seed(7)
    stacks = {
        "window": sliding_window_mask(70, 9)[None],
        "one by one": torch.rand(3, 35, 35, generator=draw) < 0.04,
        "one word": torch.zeros(1, 1, 1, dtype=torch.bool),
    }
    cases = []
    for name, masks in stacks.items():
        n = masks.shape[-1]
        reached, first = torch.eye(n), torch.zeros(n, n, dtype=torch.int64)
        for layer in range(3):
            see = masks[layer % len(masks)].float() + torch.eye(n)
            reached = (see @ reached).clamp(max=1)
            first[(reached > 0) & (first == 0)] = layer + 1
        view = MaskReach({name: masks}, layers=3, depth=2)
        told = {"tokens": view.tokens, "table": view._table(), "name": name, "n": n}
        flat = {"masks": masks.int().flatten().tolist(), "first": first.flatten().tolist()}
        cases.append({**told, **flat})
    return cases


def fixtures() -> dict:
    splits = [(5, 3, 4), (1, 2, 2), (4, 1, 3), (6, 2, 1)]
    return {
        "n": N,
        "d": D,
        "dv": DV,
        "attention": attention_cases(),
        "temper": temper_cases(),
        "codec": codec_cases(),
        "split": [
            {
                "n": n,
                "heads": h,
                "d": d,
                **{m: HeadSplit(n, h, d).origins(m).tolist() for m in ("view", "transpose")},
            }
            for n, h, d in splits
        ],
        "reach": reach_cases(),
        "ramp": {kind: colours.ramp(kind) for kind in ("weight", "score")},
        "colours": colours.TOKEN_COLOURS,
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(fixtures()) + "\n", "utf-8")
