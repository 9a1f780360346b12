"""A survey measures what it is asked to, short lengths first, and leaves out what is too dear."""

import pytest
import torch

from attn_edu.costs import KINDS, collected, cost, matmul_rate, survey

SIZES = {
    "window": 8,
    "block": 8,
    "rank": 8,
    "landmarks": 4,
    "features": 8,
    "groups": 1,
    "latent": 4,
}


@pytest.mark.parametrize("training", [False, True])
def test_every_kind_runs(training):
    found = list(survey(KINDS, (24, 16), 8, 2, training=training, repeats=1, **SIZES))
    assert [(kind, n) for kind, n, _ in found] == [(k, n) for n in (16, 24) for k in KINDS]
    assert all(m.seconds > 0 and m.peak_bytes > 0 for _, _, m in found)
    table = collected(found)
    assert list(table) == list(KINDS) and list(table["gru"]) == [16, 24]


def test_what_would_take_too_long_or_too_much_memory_is_left_out():
    dear = cost("attention", 64, 8, 2).bytes
    found = collected(survey(["attention"], (16, 32, 64), 8, 2, repeats=1, most_bytes=dear - 1))
    assert list(found["attention"]) == [16, 32]
    found = collected(survey(["linear"], (16, 32), 8, 2, repeats=1, most_seconds=1e-12))
    assert list(found["linear"]) == [16]  # the first length is always tried


def test_training_costs_more_memory_than_a_forward_pass():
    sizes = (["attention"], (64,), 16, 2)
    forward, step = (
        collected(survey(*sizes, training=t, repeats=1))["attention"][64] for t in (False, True)
    )
    assert step.peak_bytes > forward.peak_bytes
    assert torch.is_grad_enabled()


def test_the_clock_is_the_one_that_is_given():
    ticks = iter(range(100))
    found = collected(survey(["rnn"], (5,), 4, repeats=2, clock=lambda: next(ticks)))
    assert found["rnn"][5].seconds == 1
    assert matmul_rate(10, repeats=1, clock=lambda: next(ticks)) == 2 * 10**3
