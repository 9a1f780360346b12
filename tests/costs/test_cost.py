"""Counts against torch's counter, loops, and the profiler; crossovers by counting each length."""

import math

import pytest
import torch
from torch import nn

from attn_edu.attention import block_mask, causal_mask, sliding_window_mask
from attn_edu.attention.local import BLOCK
from attn_edu.costs import (
    KINDS,
    cost,
    count_flops,
    crossover,
    layer,
    measure,
    mixer,
    pairs_compared,
    path_length,
)

OPTIONS = {
    "window": 48, "block": 40, "rank": 96, "landmarks": 32, "features": 24, "groups": 2,
    "latent": 20,
}  # fmt: skip
LAYERS = {"rnn", "gru", "lstm", "cnn", "multi_query", "grouped_query", "latent"}  # no mixer
LOCAL = {"sliding_window", "block"}
TILED = {"sliding_window"}  # computes in stretches: more than the pairs that it needs
SIZES = [  # (n, d_model, n_heads, batch)
    (40, 32, 2, 1), (300, 96, 6, 3), (640, 64, 4, 1), (1030, 128, 4, 2), (2048, 256, 4, 1),
]  # fmt: skip


def options(kind):
    return {name: OPTIONS[name] for name in KINDS[kind].options}


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in {"lstm", *TILED}])
@pytest.mark.parametrize("sizes", SIZES[:4])
@torch.no_grad()
def test_flops_are_those_of_torchs_counter(kind, sizes):
    n, d, h, batch = sizes
    counted = count_flops(layer(kind, n, d, h, **options(kind)), torch.randn(batch, n, d))
    assert cost(kind, n, d, h, batch=batch, **options(kind)).flops == counted
    if kind not in LAYERS:
        qkv = torch.randn(3, batch, h, n, d // h)
        counted = count_flops(mixer(kind, n, d // h, **options(kind)), *qkv)
        bare = cost(kind, n, d, h, batch=batch, projections=False, **options(kind))
        assert bare.flops == counted


@pytest.mark.parametrize("sizes", SIZES[:4])
@torch.no_grad()
def test_a_window_computes_its_pairs_and_what_sticks_out_of_its_stretches(sizes):
    n, d, h, batch = sizes
    w = min(n, OPTIONS["window"])
    count = count_flops(
        mixer("sliding_window", n, d // h, window=w), *torch.randn(3, batch, h, n, d // h)
    )
    needed = cost("sliding_window", n, d, h, batch=batch, window=w, projections=False).flops
    assert needed == 4 * d * batch * int(sliding_window_mask(n, w).sum())
    assert 1 <= count / needed <= 1.1 * max((w + BLOCK) / w, n**2 / pairs_compared("causal", n))


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_a_recurrent_network_costs_what_its_cell_does_n_times(cell):
    """torch's counter does not know the fused LSTM; it knows the cell."""
    kind, n, d = cell.__name__[:-4].lower(), 7, 12
    one = cell(d, d)
    counted = count_flops(one, torch.randn(3, d))
    assert cost(kind, n, d, batch=3).flops == n * counted
    of_the_state = n * counted // 2  # the other half is the input's
    assert cost(kind, n, d, batch=3, projections=False).flops == of_the_state


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", SIZES)
@torch.no_grad()
def test_bytes_are_those_of_the_profiler_within_a_tenth(kind, sizes):
    n, d, h, batch = sizes
    if kind in LOCAL and n < 2 * OPTIONS["window"]:
        pytest.skip("the forms of local attention are for lengths of several windows")
    torch.set_num_threads(1)
    peak = measure(layer(kind, n, d, h, **options(kind)), torch.randn(batch, n, d), repeats=1)
    counted = cost(kind, n, d, h, batch=batch, **options(kind)).bytes
    if kind == "lstm" and torch.__version__ < (2, 11):  # an older oneDNN, which takes more
        assert 0.3 < counted / peak.peak_bytes < 0.7  # 0.32 to 0.65 with torch 2.9.0
        return
    assert counted == pytest.approx(peak.peak_bytes, rel=0.1)
    if kind not in LAYERS:
        qkv = torch.randn(3, batch, h, n, d // h)
        peak = measure(mixer(kind, n, d // h, **options(kind)), *qkv, repeats=1)
        bare = cost(kind, n, d, h, batch=batch, projections=False, **options(kind))
        assert bare.bytes == pytest.approx(peak.peak_bytes, rel=0.1)


@pytest.mark.parametrize("n", [1, 2, 9, 33])
def test_pairs_are_those_of_the_masks(n):
    assert pairs_compared("attention", n) == n * n
    assert pairs_compared("causal", n) == causal_mask(n).sum()
    for size in (1, 4, 40):
        assert (
            pairs_compared("sliding_window", n, window=size) == sliding_window_mask(n, size).sum()
        )
        assert pairs_compared("block", n, block=size) == block_mask(n, size).sum()
    assert pairs_compared("linformer", n, rank=5) == n * min(n, 5)
    assert pairs_compared("linear", n) == pairs_compared("lstm", n) == 0


@pytest.mark.parametrize("kind", ["sliding_window", "cnn"])
def test_a_single_position_is_there_already(kind):
    assert cost(kind, 1, 6, window=1).path_length == 0
    assert cost(kind, 2, 6, window=1).path_length == math.inf


@pytest.mark.parametrize("n", [1, 2, 8, 30])
def test_paths_and_steps(n):
    """A path is the number of times that a mask must be applied for the last to see the first."""
    for kind, mask in [
        ("causal", causal_mask(n)),
        ("sliding_window", sliding_window_mask(n, 5)),
        ("block", block_mask(n, 5, causal=True)),
    ]:
        size = {"sliding_window": {"window": 5}, "block": {"block": 5}}.get(kind, {})
        reached, layers = torch.eye(n)[:1], 0  # what the first position has reached
        while not reached[0, -1] and layers < n:
            reached, layers = (reached @ mask.mT.float()).sign(), layers + 1
        expected = layers if reached[0, -1] else math.inf
        assert cost(kind, n, 6, **size).path_length == expected
    assert cost("gru", n, 6).path_length == path_length(n, "rnn")
    assert cost("cnn", n, 6, window=3).path_length == path_length(n, "cnn", window=3)
    assert cost("lstm", n, 6).sequential_steps == n
    assert cost("attention", n, 6).sequential_steps == 1
    assert cost("causal_linear", 130, 6).sequential_steps == 3  # chunks of 64


@pytest.mark.parametrize("d", [6, 48])
def test_crossovers_by_counting_every_length(d):
    for a, b, size in [
        ("attention", "lstm", {}),
        ("gru", "attention", {}),
        ("attention", "sliding_window", {"window": 9}),
        ("linear", "attention", {}),
        ("attention", "performer", {"features": 31}),
    ]:
        lengths = range(1, 400)
        of = {x: {k: v for k, v in size.items() if k in KINDS[x].options} for x in (a, b)}
        flops = {x: [cost(x, n, d, **of[x]).flops for n in lengths] for x in (a, b)}
        sign = [(x > y) - (x < y) for x, y in zip(flops[a], flops[b])]
        last = max(i for i, s in enumerate(sign) if s != sign[-1])
        assert crossover(a, b, d, **size) == lengths[last]


def test_crossovers_in_closed_form():
    """Projections cost 8nd², attention 4n²d, an LSTM 16nd², a GRU 12nd², a tanh-RNN 4nd²."""
    for d in (64, 256, 512):
        assert crossover("attention", "lstm", d) == crossover("lstm", "attention", d) == 2 * d
        assert crossover("attention", "gru", d) == d
        assert crossover("attention", "rnn", d) is None  # the RNN is cheaper from the start
        assert crossover("attention", "rnn", d, projections=False) == d // 2
    assert crossover("attention", "lstm", 64, of="sequential_steps") == 1
    assert crossover("attention", "causal", 64) is None


def test_a_batch_costs_so_many_times_as_much():
    for kind in KINDS:
        one, three = (cost(kind, 70, 24, 2, batch=b, **options(kind)) for b in (1, 3))
        assert three.flops == 3 * one.flops
        assert (three.sequential_steps, three.path_length) == (
            one.sequential_steps,
            one.path_length,
        )


@pytest.mark.parametrize(
    ("call", "error", "names"),
    [
        (lambda: cost("flash", 5, 8), KeyError, "kind: got 'flash'; accepted are 'attention', "),
        (lambda: cost("attention", 0, 8), ValueError, "n: got 0"),
        (lambda: cost("attention", 5, 8.0), ValueError, "d_model: got 8.0"),
        (lambda: cost("attention", 5, 8, 3), ValueError, "n_heads: got 3, which does not divide"),
        (lambda: cost("attention", 5, 8, batch=0), ValueError, "batch: got 0"),
        (lambda: cost("attention", 5, 8, window=2), ValueError, "window: got one for kind"),
        (lambda: cost("cnn", 5, 8), ValueError, "window: got None"),
        (lambda: cost("performer", 5, 8, features=True), ValueError, "features: got True"),
        (lambda: cost("grouped_query", 5, 8, 4, groups=3), ValueError, "groups: got 3"),
        (lambda: layer("nystrom", 5, 8), ValueError, "landmarks: got None"),
        (lambda: pairs_compared("block", 5, block=0), ValueError, "block: got 0"),
        (lambda: crossover("attention", "rnn", 8, of="time"), ValueError, "of: got 'time'"),
        (lambda: crossover("attention", "rnn", 8, rank=3), ValueError, "rank: got one, but"),
        (lambda: crossover("attention", "tree", 8), KeyError, "kind: got 'tree'"),
    ],
)
def test_bad_input_is_named(call, error, names):
    with pytest.raises(error, match=names):
        call()
