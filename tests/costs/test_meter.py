"""The meter against known allocations; the counter against products counted by hand."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_edu.costs import count_flops, measure


def test_the_meter_counts_what_is_held_at_once():
    def two_then_one(x):
        y = x + 1  # one array of 4 kB
        z = y * 2  # two
        del y
        return z.exp()  # two again: z and the result

    x = torch.zeros(1024)
    scalars = 64  # the numbers 1 and 2 are tensors for a moment, too
    assert 0 <= measure(two_then_one, x).peak_bytes - 2 * 4096 <= scalars
    assert 0 <= measure(lambda x: (x + 1).mul_(2), x).peak_bytes - 4096 <= scalars


def test_the_meter_calls_the_function_with_its_inputs_and_times_it(capfd):
    calls = []

    def work(a, b):
        calls.append((a, b))
        return torch.zeros(10)

    result = measure(work, 1, 2, repeats=3)
    assert calls == [(1, 2)] * 5
    assert result.seconds > 0
    assert capfd.readouterr().err == ""


def test_the_first_measurement_in_a_kernel_warns_of_nothing():
    """torch 2.11's profiler has a warning that it gives once, and a notebook shows it."""
    code = (
        "import warnings, torch\n"
        "from attn_edu.costs import measure\n"
        "warnings.simplefilter('error')\n"
        "measure(torch.exp, torch.ones(5))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_without_memory_it_runs_once_less_and_says_so():
    calls = []
    result = measure(calls.append, 1, repeats=2, memory=False)
    assert (len(calls), result.peak_bytes) == (3, None)


def test_no_run_at_all_is_refused():
    with pytest.raises(ValueError, match="repeats: got 0"):
        measure(print, repeats=0)


def test_the_counter_counts_products_and_nothing_else():
    a, b = torch.randn(2, 3, 5), torch.randn(5, 7)
    assert count_flops(lambda: (a @ b).softmax(dim=-1).exp()) == 2 * (2 * 3) * 5 * 7
    linear = nn.Linear(5, 7)
    assert count_flops(linear, a) == 2 * (2 * 3) * 5 * 7


def test_the_counter_knows_the_fused_kernel():
    query, key = torch.randn(2, 3, 150, 8), torch.randn(2, 3, 170, 8)
    assert count_flops(F.scaled_dot_product_attention, query, key, key) == (
        count_flops(lambda: (query @ key.mT).softmax(dim=-1) @ key)
    )
