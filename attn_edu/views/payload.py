"""How numbers travel into the page: few bytes, the same picture.

Small arrays go as they are (float32, or float64 when they came so), so that a reader sees exact numbers.
Large maps of weights in [0, 1] go as eight-bit square roots: the error is at most 1/255, and half of the codes
lie below 0.25, where most weights are. Everything is deflated and base64-encoded; `js/codec.js` undoes it.
"""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np

EXACT_UP_TO = 20_000  # numbers; beyond that, eight bits each
LARGEST = 4_200_000  # numbers in one view: 12 x 12 heads x 128 words, or one head of 2,000 words


def as_array(values, name: str) -> np.ndarray:
    """A float NumPy array from a tensor, an array or nested lists, without sharing its memory."""
    if hasattr(values, "detach"):  # a torch tensor; torch itself is not imported here
        values = values.detach().cpu()
        values = (values if str(values.dtype) in ("torch.float64", "torch.float32") else values.float()).numpy()
    try:
        array = np.array(values, dtype=None)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a tensor, an array or lists of numbers, got {type(values).__name__}") from error
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


def pack(array: np.ndarray) -> dict:
    """One array as ``{kind, shape, data}`` for `js/codec.js`."""
    shape = list(array.shape)
    part: dict = {"shape": shape}
    if array.dtype == np.bool_:
        part["kind"], raw = "bits", np.packbits(array.reshape(-1)).tobytes()
    elif array.size <= EXACT_UP_TO:
        part["kind"], raw = f"f{array.itemsize}", array.astype(array.dtype.newbyteorder("<")).tobytes()
    else:
        low, high = float(np.nanmin(array)), float(np.nanmax(array))
        if low >= 0 and high <= 1 and not np.isnan(array).any():
            part["kind"], codes = "u1", np.round(np.sqrt(array) * 255)
        else:
            part.update(kind="lin", low=low, high=high)
            codes = np.nan_to_num(np.round((array - low) / ((high - low) or 1.0) * 254), nan=255)
        raw = codes.astype(np.uint8).tobytes()
    part["data"] = base64.b64encode(zlib.compress(raw, 9)).decode()
    return part


def to_script(payload: dict) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
