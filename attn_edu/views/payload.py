"""How numbers travel into the page: few bytes, the same picture.

Small arrays go as they are (float32, or float64 when they came so), so that a reader sees exact numbers.
Large maps go as one byte a weight: an index into a table of levels that lie densest near 0, where most weights are.
No weight in [0, 1] is off by more than 1/255. Everything is deflated and base64-encoded; `js/codec.js` undoes it.
"""

from __future__ import annotations

import base64
import json
import math
import zlib

import numpy as np

EXACT_UP_TO = 20_000  # numbers; beyond that, eight bits each
BUDGET = 880_000  # characters for one packed array
LARGEST = 4_200_000  # numbers in one view: 12 x 12 heads x 128 words, or one head of 2,000 words


def as_array(values, name: str) -> np.ndarray:
    """A float NumPy array from a tensor, an array or nested lists, without sharing its memory."""
    if hasattr(values, "detach"):  # a torch tensor; torch itself is not imported here
        values = values.detach().cpu()
        values = (
            values if str(values.dtype) in ("torch.float64", "torch.float32") else values.float()
        ).numpy()
    try:
        array = np.array(values, dtype=None)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be a tensor, an array or lists of numbers, got {type(values).__name__}"
        ) from error
    return array


def as_mask(mask, shape: tuple[int, ...], name: str = "mask") -> np.ndarray:
    """A boolean array that broadcasts to ``shape``; True = may attend."""
    array = np.array(mask.detach().cpu().numpy() if hasattr(mask, "detach") else mask)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must be boolean (True = may attend), got dtype {array.dtype}")
    try:
        np.broadcast_shapes(array.shape, shape)
        fits = np.broadcast_shapes(array.shape, shape) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} of shape {array.shape} does not broadcast to {tuple(shape)}")
    return array


def pack(array: np.ndarray, *, exact: bool = False) -> dict:
    """One array as ``{kind, shape, data}`` for `js/codec.js`; never rounded when ``exact``."""
    if array.dtype == np.bool_:
        kind, raw = "bits", np.packbits(array.reshape(-1)).tobytes()
    elif exact or array.size <= EXACT_UP_TO:
        kind, raw = f"f{array.itemsize}", array.astype(array.dtype.newbyteorder("<")).tobytes()
    else:
        return _pack_rounded(array)
    return {"kind": kind, "shape": list(array.shape), "data": _squeeze(raw)}


def _squeeze(raw: bytes) -> str:
    """Deflated and in base64; of two strategies the shorter: weights without a pattern suit the second."""
    packed = []
    for strategy in (zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY):
        squeezer = zlib.compressobj(6, zlib.DEFLATED, 15, 9, strategy)
        packed.append(squeezer.compress(raw) + squeezer.flush())
    return base64.b64encode(min(packed, key=len)).decode()


def _pack_rounded(array: np.ndarray) -> dict:
    """Codes into a table of at most 255 levels (code 255 = NaN), as fine as the budget allows.

    In [0, 1] a step grows as the square root of the weight and stays within 2/255, so that no weight is off by
    more than 1/255. Maps with more disorder than the budget holds get coarser steps where weights are small.
    """
    low, high = float(np.nanmin(array)), float(np.nanmax(array))
    best = None
    for fineness in (250, 64, 32, 1) if low >= 0 and high <= 1 else (0,):
        levels = _levels(fineness) if fineness else np.linspace(low, high, 255)
        codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, array).astype(np.uint8)
        codes[np.isnan(array)] = 255
        best = {
            "kind": "u1",
            "shape": list(array.shape),
            "levels": [float(f"{x:.6g}") for x in levels],
            "data": _squeeze(codes.tobytes()),
        }
        if len(best["data"]) <= BUDGET:
            break
    return best


def _levels(fineness: int) -> np.ndarray:
    """Levels from 0 to 1: squares of k / fineness while their steps stay below 2/255, then even steps."""
    levels = [0.0]
    while levels[-1] < 1:
        root = math.sqrt(levels[-1]) + 1 / fineness
        levels.append(min(root * root, levels[-1] + 2 / 255))
    return np.minimum(levels, 1.0)


def to_script(payload: dict) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
