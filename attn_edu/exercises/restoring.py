"""Global state that an answer may change, and that is afterwards as it was."""

import contextlib
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import torch


def _deterministic() -> tuple[bool, bool]:
    flags = torch.are_deterministic_algorithms_enabled()
    return flags, torch.is_deterministic_algorithms_warn_only_enabled()


def _set_deterministic(flags: tuple[bool, bool]) -> None:
    if _deterministic() != flags:  # the first call of it takes torch a second
        torch.use_deterministic_algorithms(flags[0], warn_only=flags[1])


def _default_device() -> torch.device:
    try:
        return torch.get_default_device()
    except AttributeError:  # torch 2.9, once a default device was set and taken back
        return torch.device("cpu")


def _set_default_device(device: torch.device) -> None:
    if _default_device() != device:  # set at all, it slows every call down
        torch.set_default_device(None if device.type == "cpu" else device)


def _folder() -> str | None:
    with contextlib.suppress(OSError):  # the folder is gone
        return str(Path.cwd())
    return None


def _set_folder(folder: str | None) -> None:
    if folder and folder != _folder():
        os.chdir(folder)


def _set_environment(before: Mapping[str, str]) -> None:
    if before != os.environ:
        os.environ.clear()
        os.environ.update(before)


def _set_path(before: list[str]) -> None:
    sys.path[:] = before


# What is read before, and what writes it back. The order matters: to switch on torch's
# deterministic algorithms changes the environment.
_STATE: tuple[tuple[Callable, Callable], ...] = (
    (_default_device, _set_default_device),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (_deterministic, _set_deterministic),
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (np.geterr, lambda before: np.seterr(**before)),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.getprofile, sys.setprofile),
    (lambda: list(sys.path), _set_path),
    (lambda: dict(os.environ), _set_environment),
    (_folder, _set_folder),
)


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Afterwards the state of Python, NumPy and torch that others rely on is as before.

    The random numbers of torch are not in it: see `torch.random.fork_rng`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch 2.9 warns of its own switches
        before = [read() for read, _ in _STATE]
    with warnings.catch_warnings():
        try:
            yield
        finally:
            warnings.simplefilter("ignore")
            for (_, write), value in zip(_STATE, before):
                with contextlib.suppress(OSError):  # a folder that the answer took away
                    write(value)
