"""How numbers travel into the page: few bytes, the same picture.

Small arrays go as they are (float32, or float64 when they came so): a reader sees exact numbers.
Middling maps of weights in [0, 1] go as 16-bit square roots, right to 2 in 100,000. Large maps go
as one byte a weight, an index into a table of levels that lie densest near 0, where most weights
are; no weight in [0, 1] is off by more than 1/255. Everything is deflated and base64-encoded;
`js/codec.js` undoes it.
"""

from __future__ import annotations

import base64
import json
import math
import zlib

import numpy as np

EXACT_UP_TO = 20_000  # numbers; beyond that, two bytes each
NEAR_UP_TO = 80_000  # numbers; beyond that, one byte each
LARGEST = 4_200_000  # numbers in a view: 12 x 12 heads x 128 words, or one head of 2,000 words
BUDGET = 880_000  # characters for one packed array


def pack(array: np.ndarray, *, exact: bool = False) -> dict:
    """One array as ``{kind, shape, data}`` for `js/codec.js`; never rounded when ``exact``."""
    if array.dtype == np.bool_:
        kind, raw = "bits", np.packbits(array.reshape(-1)).tobytes()
    elif exact or array.size <= EXACT_UP_TO:
        kind, raw = f"f{array.itemsize}", array.astype(array.dtype.newbyteorder("<")).tobytes()
    elif array.size <= NEAR_UP_TO and array.min() >= 0 and array.max() <= 1:  # never so with NaN
        roots = np.round(np.sqrt(array.astype(np.float64)) * 65535)
        kind, raw = "u2", roots.astype("<u2").tobytes()
    else:
        return _pack_rounded(array)
    return {"kind": kind, "shape": list(array.shape), "data": _squeeze(raw)}


def _pack_rounded(array: np.ndarray) -> dict:
    """Codes into at most 255 levels (code 255 = NaN), as fine as the budget allows."""
    known = array[~np.isnan(array)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    packed = {"kind": "u1", "shape": list(array.shape)}
    for fineness in (250, 64, 32, 1) if low >= 0 and high <= 1 else (0,):
        levels = _levels(fineness) if fineness else np.linspace(low, high, 255)
        levels = levels.astype(np.float32)
        codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, array).astype(np.uint8)
        codes[np.isnan(array)] = 255
        packed["levels"] = [float(f"{x:.7g}") for x in levels]
        packed["data"] = _squeeze(codes.tobytes())
        if len(packed["data"]) <= BUDGET:
            break
    return packed


def _levels(fineness: int) -> np.ndarray:
    """Levels from 0 to 1: squares of k / fineness while steps stay below 1/128, then even ones."""
    levels = [0.0]
    while levels[-1] < 1:
        root = math.sqrt(levels[-1]) + 1 / fineness
        levels.append(min(root * root, levels[-1] + 1 / 128))
    return np.minimum(levels, 1.0)


def _squeeze(raw: bytes) -> str:
    """Deflated, in base64; the shorter of two strategies: the second suits maps without pattern."""
    packed = []
    for strategy in (zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY):
        squeezer = zlib.compressobj(6, zlib.DEFLATED, 15, 9, strategy)
        packed.append(squeezer.compress(raw) + squeezer.flush())
    return base64.b64encode(min(packed, key=len)).decode()


def to_script(payload: dict) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
