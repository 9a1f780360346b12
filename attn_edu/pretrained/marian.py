"""Reads the weights of a Marian model (Junczys-Dowmunt et al., 2018): no library does.

The file holds a version, the number of tensors, four lengths for each (name, kind, axes, bytes),
all names, all shapes, filling, and then the numbers. Integers are little-endian.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

VERSION = 1
FLOAT32, INT8, TEXT = 0x404, 0x4101, 0x101


def read_marian(path: Path) -> dict[str, Tensor]:
    """The tensors of a ``.bin`` file by name, as float32.

    A matrix of int8 is divided by its scale, and laid out as `torch.nn.Linear` has it: ``(d_out,
    d_in)``. The embedding ``Wemb`` is ``(vocabulary, d_model)``. Vectors have one axis. Scales of
    what the layers read, which only arithmetic in int8 needs, are left out.

    Raises:
        ValueError: a file of another kind.
    """
    raw = memoryview(Path(path).read_bytes())
    at = 0

    def take(count: int, kind: str = "u1") -> np.ndarray:
        nonlocal at
        start, at = at, at + int(count) * np.dtype(kind).itemsize
        if at > len(raw):
            raise ValueError(f"path: got {path.name}, which ends early; accepted is a whole file.")
        return np.frombuffer(raw[start:at], kind)

    version, count = take(2, "<u8") if len(raw) >= 16 else (0, 0)
    if version != VERSION:
        raise ValueError(f"path: got {path.name}; accepted is a Marian file of version {VERSION}.")
    lengths = take(4 * count, "<u8").reshape(-1, 4).tolist()
    names = [take(name).tobytes()[:-1].decode() for name, *_ in lengths]
    shapes = [take(axes, "<i4").tolist() for _, _, axes, _ in lengths]
    take(take(1, "<u8")[0])
    found = {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, lengths):
        data = take(size)
        if kind == TEXT or name.endswith("_QuantMultA"):
            continue
        if kind not in (FLOAT32, INT8):
            raise ValueError(f"path: got the kind {kind:#x}; accepted are float32 and int8.")
        found[name] = _floats(data, shape) if kind == FLOAT32 else _scaled(name, data, shape)
    return found


def _floats(data: np.ndarray, shape: list[int]) -> Tensor:
    values = data[: 4 * np.prod(shape)].view("<f4")  # the rest is filling
    return torch.from_numpy(values.copy())


def _scaled(name: str, data: np.ndarray, shape: list[int]) -> Tensor:
    rows, columns = shape if name == "Wemb" else shape[::-1]  # all others lie transposed
    values = data[: rows * columns].view("i1").reshape(rows, columns).astype(np.float32)
    values /= data[rows * columns :][:4].view("<f4")[0]
    return torch.from_numpy(values)
