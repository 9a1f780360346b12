"""An answer that changes the world around it, or returns what lies about itself."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch._subclasses import FakeTensorMode

from attn_edu.exercises import calling, check, exercise
from attn_edu.exercises.checking import examine


def examined(act):
    """The result of a right answer that does something else first."""

    def answer(query, key):
        act()
        return query @ key.mT

    return examine(exercise("02.scores"), answer)


CHANGES = {
    "numpy's random numbers": (lambda: np.random.seed(1), lambda: np.random.get_state()[1].sum()),
    "python's random numbers": (lambda: random.seed(1), random.getstate),
    "torch's random numbers": (lambda: torch.rand(5), lambda: torch.get_rng_state().sum().item()),
    "dtype": (lambda: torch.set_default_dtype(torch.float64), torch.get_default_dtype),
    "threads": (lambda: torch.set_num_threads(7), torch.get_num_threads),
    "determinism": (
        lambda: torch.use_deterministic_algorithms(True),
        torch.are_deterministic_algorithms_enabled,
    ),
    "precision": (
        lambda: torch.set_float32_matmul_precision("medium"),
        torch.get_float32_matmul_precision,
    ),
    "anomalies": (lambda: torch.autograd.set_detect_anomaly(True), torch.is_anomaly_enabled),
    "gradients": (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
    "folder": (lambda: os.chdir("/"), Path.cwd),
    "environment": (lambda: os.environ.update(PATH="", NEW="1"), lambda: dict(os.environ)),
    "warnings": (lambda: warnings.simplefilter("error"), lambda: list(warnings.filters)),
    "numpy's errors": (lambda: np.seterr(all="raise"), np.geterr),
    "recursion": (lambda: sys.setrecursionlimit(2345), sys.getrecursionlimit),
    "path": (lambda: sys.path.clear(), lambda: list(sys.path)),
    "output": (lambda: setattr(sys, "stdout", None), lambda: sys.stdout),
    "errors": (lambda: setattr(sys, "stderr", None), lambda: sys.stderr),
    "profile": (lambda: sys.setprofile(lambda *_: None), sys.getprofile),
}


@pytest.mark.parametrize(("act", "read"), CHANGES.values(), ids=CHANGES)
def test_what_an_answer_changes_is_as_before(act, read):
    if act is CHANGES["determinism"][0]:
        torch.use_deterministic_algorithms(False)  # loads the compiler, once
    before = read()
    assert examined(act).passed
    assert read() == before


def test_a_folder_that_the_answer_took_away(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert examined(lambda: folder.exists() and folder.rmdir()).passed


def test_a_check_makes_torch_load_nothing_large():
    """Some switches of torch load its compiler, which takes seconds."""
    code = (
        "import sys\n"
        "from attn_edu.exercises import exercise\n"
        "from attn_edu.exercises.checking import examine\n"
        "before = set(sys.modules)\n"
        "result = examine(exercise('02.scores'), lambda query, key: query @ key.mT)\n"
        "print(result.passed, 'torch._inductor' in set(sys.modules) - before)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True False\n"
    assert run.stderr == ""  # nor warn: torch 2.9 does, when its precision is read


def test_warnings_of_an_answer_stay_inside(recwarn, capfd):
    def answer(query, key):
        warnings.warn("take care", stacklevel=1)
        return key @ query.mT

    assert "    UserWarning: take care" in str(check("02.scores", answer))
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_copy_does_not_go_on_in_the_notebook(tmp_path):
    mark = tmp_path / "mark"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which may not survive it
        assert examined(os.fork).passed
    with mark.open("a") as file:
        file.write("once\n")
    assert mark.read_text() == "once\n"


def test_a_thread_that_is_left_behind_does_no_harm():
    stop = threading.Event()
    assert examined(threading.Thread(target=stop.wait, daemon=True).start).status == "form"
    assert examined(lambda: threading.Thread(target=stop.wait, daemon=True).start()).passed
    stop.set()


def endless(depth=0):
    return endless(depth + 1)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (endless, "Does it call itself without end?"),
        (lambda: bytearray(1 << 60), "more memory than there is"),
        (lambda: torch.zeros(10**15), "more memory than there is"),
        (lambda: Path("no such file").read_text(), "FileNotFoundError"),
    ],
)
def test_what_went_wrong_comes_with_advice(act, said):
    result = examined(act)
    assert result.status == "form"
    assert said in result.message


class Liar(torch.Tensor):
    """Says that it has the right shape, and answers everything with itself."""

    @property
    def shape(self):
        return torch.Size((2, 3))

    def numel(self):
        raise ValueError

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise ValueError


class Odd:
    def __repr__(self):
        raise ValueError

    def __eq__(self, other):
        raise ValueError

    __hash__ = None

    @property
    def __class__(self):
        raise ValueError


def given_back(tensor):
    tensor.untyped_storage().resize_(0)
    return tensor


async def waiting(query, key):
    return query @ key.mT


FAKE = FakeTensorMode().from_tensor(torch.ones(2, 3))  # the first one takes torch seconds

VALUES = [
    (lambda q, k: (q @ k.mT * 2).as_subclass(Liar), "wrong", "differ"),
    (lambda q, k: torch.zeros(1).as_subclass(Liar), "form", "shape is (1,)"),
    (lambda q, k: Odd(), "form", "cannot be read"),
    (lambda q, k: given_back(q @ k.mT), "form", "memory has been given back"),
    (lambda q, k: (given_back(q), k.sum())[1], "form", "changed its input `query`"),
    (lambda q, k: torch.nested.nested_tensor([q[0], k[0]]), "form", "sparse, nested or meta"),
    (lambda q, k: FAKE, "form", "sparse, nested or meta"),
    (lambda q, k: type("X" * 500, (), {})(), "form", "It returned a XXX"),
    (waiting, "form", "`async`"),
]


@pytest.mark.parametrize(("answer", "status", "said"), VALUES)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_values_that_lie_or_cannot_be_read(answer, status, said):
    result = check("02.scores", answer)
    assert result.status == status
    assert said in result.message
    assert len(result.message) < 300


def test_an_object_that_fails_when_it_is_asked_what_it_takes():
    class Shy:
        @property
        def __code__(self):
            raise RuntimeError

        def __call__(self, query, key):
            return query @ key.mT

    assert check("02.scores", Shy()).passed


def test_a_right_answer_in_a_strange_subclass_passes():
    assert check("02.scores", lambda q, k: (q @ k.mT).as_subclass(Liar)).passed


def test_without_an_interval_timer_as_on_windows(monkeypatch):
    monkeypatch.delattr(signal, "setitimer")
    monkeypatch.setattr(calling, "SECONDS", 0.75)
    assert check("02.scores", lambda q, k: q @ k.mT).passed
    assert "ZeroDivisionError" in check("02.scores", lambda q, k: 1 / 0).message
    assert "end Python" in check("02.scores", lambda q, k: sys.exit()).message

    def spins(query, key):
        while True:
            with contextlib.suppress(ValueError):
                pass

    assert "stopped after 0.75 seconds" in check("02.scores", spins).message


def test_an_answer_that_looks_around_may_pass_and_breaks_nothing():
    def looks_at_the_caller(query, key):
        frame = sys._getframe()
        while frame:
            if isinstance(frame.f_locals.get("expected"), torch.Tensor):
                return frame.f_locals["expected"]
            frame = frame.f_back
        return query @ key.mT

    def checks_inside(query, key):
        assert check("02.scores", lambda q, k: q @ k.mT).passed
        return query @ key.mT

    assert check("02.scores", looks_at_the_caller).passed
    assert check("02.scores", checks_inside).passed
    assert check("02.scores", lambda q, k: exercise("02.scores").reference(q, k)).passed


def test_a_default_device_that_torch_cannot_tell_is_the_processor(monkeypatch):
    """In torch 2.9 `get_default_device` fails after `set_default_device(None)`."""

    def fails():
        raise AttributeError("'NoneType' object has no attribute 'device'")

    monkeypatch.setattr(torch, "get_default_device", fails)
    assert check("02.scores", lambda query, key: query @ key.mT).passed
