"""Sliding window and blocks at lengths at which they are computed piece by piece."""

import math

import pytest
import torch
from torch.testing import assert_close

from attn_edu.attention import (
    attention_map,
    block_attention,
    block_mask,
    block_then_cross_mask,
    causal_mask,
    local,
    padding_mask,
    reference_attention,
    scaled_dot_product_attention,
    sliding_window_attention,
    sliding_window_mask,
    split_heads,
)
from attn_edu.costs import measure

BATCH, HEADS, D, D_VALUE = 2, 3, 8, 5


def inputs(n, *lead, d_value=D):
    draw = torch.Generator().manual_seed(0)
    widths = (D, D, d_value)
    return [torch.randn(*lead, n, d, generator=draw, dtype=torch.float64) for d in widths]


def masks(n):
    """Padding, one mask a sample and query, and one that leaves many queries with nothing."""
    draw = torch.Generator().manual_seed(1)
    return (
        None,
        padding_mask([n // 2, n], n)[:, None],  # (batch, 1, 1, n)
        torch.rand(BATCH, 1, n, n, generator=draw) < 0.5,
        torch.rand(n, n, generator=draw) < 0.03,
    )


def both(near, mask):
    return near if mask is None else near & mask


def close(got, wanted):
    assert_close(got, wanted, rtol=1e-11, atol=1e-11)


@pytest.fixture
def fused_calls(monkeypatch):
    """How many pieces went to the kernel."""
    calls = []
    kernel = local._fused
    monkeypatch.setattr(local, "_fused", lambda *a, **k: calls.append(1) or kernel(*a, **k))
    return calls


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    ("n", "window"), [(1, 1), (5, 9), (40, 1), (97, 17), (333, 64), (700, 128), (301, 300)]
)
def test_window_is_its_definition(n, window, causal):
    query, key, value = inputs(n, BATCH, HEADS, d_value=D_VALUE)
    near = sliding_window_mask(n, window, causal=causal)
    for mask in masks(n):
        got = sliding_window_attention(query, key, value, window=window, causal=causal, mask=mask)
        close(got, scaled_dot_product_attention(query, key, value, mask=both(near, mask)))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("n", "block"), [(1, 1), (5, 9), (97, 1), (96, 16), (333, 64), (700, 128)])
def test_blocks_are_their_definition(n, block, causal):
    query, key, value = inputs(n, BATCH, HEADS, d_value=D_VALUE)
    near = block_mask(n, block, causal=causal)
    for mask in masks(n):
        got = block_attention(query, key, value, block=block, causal=causal, mask=mask)
        close(got, scaled_dot_product_attention(query, key, value, mask=both(near, mask)))


def test_window_is_the_loops(fused_calls):
    query, key, value = inputs(260, d_value=D_VALUE)
    got = sliding_window_attention(query, key, value, window=70)
    close(got, reference_attention(query, key, value, mask=sliding_window_mask(260, 70)))
    assert fused_calls


@pytest.mark.parametrize("layout", ["contiguous", "split_heads", "one_key_for_all_heads"])
@pytest.mark.parametrize("which", ["window", "window_both_sides", "block"])
def test_gradients_are_those_of_the_definition(which, layout, fused_calls):
    n = 310
    function, options, near = {
        "window": (sliding_window_attention, {"window": 65}, sliding_window_mask(n, 65)),
        "window_both_sides": (
            sliding_window_attention,
            {"window": 40, "causal": False},
            sliding_window_mask(n, 40, causal=False),
        ),
        "block": (block_attention, {"block": 80}, block_mask(n, 80)),
    }[which]
    query, key, value = inputs(n, BATCH, HEADS)
    if layout == "split_heads":
        flat = inputs(n, BATCH, d_value=D)
        query, key, value = (split_heads(torch.cat([x, 2 * x, -x], -1), HEADS) for x in flat)
    if layout == "one_key_for_all_heads":
        key, value = key[:, :1], value[:, :1]
    factors = torch.randn(D, dtype=torch.float64, generator=torch.Generator().manual_seed(3))

    def gradients(attend, mask):
        leaves = [x.detach().clone().requires_grad_() for x in (query, key, value)]
        return torch.autograd.grad((attend(*leaves, mask) * factors).sum(), leaves)

    def definition(query, key, value, mask):
        return scaled_dot_product_attention(query, key, value, mask=both(near, mask))

    def local_attention(query, key, value, mask):
        return function(query, key, value, **options, mask=mask)

    for mask in masks(n):
        for got, wanted in zip(gradients(local_attention, mask), gradients(definition, mask)):
            close(got, wanted)
    assert fused_calls


def test_window_of_one_is_the_value_itself():
    query, key, value = inputs(400, BATCH, d_value=D_VALUE)
    close(sliding_window_attention(query, key, value, window=1), value)


@pytest.mark.parametrize("n", [50, 600])
def test_a_window_beyond_the_sequence_is_causal_attention(n):
    query, key, value = inputs(n, BATCH)
    wanted = scaled_dot_product_attention(query, key, value, mask=causal_mask(n))
    for window in (n, n + 1, 10 * n):
        close(sliding_window_attention(query, key, value, window=window), wanted)


def test_window_is_neither_w_plus_one_nor_twice_w():
    query, key, _ = inputs(300)
    for causal, width in ((True, 20), (False, 39)):
        seen = attention_map(sliding_window_attention, query, key, window=20, causal=causal) > 0
        assert seen[150].sum() == width and seen[150, 131] and not seen[150, 130]
        assert seen[150, 169] == (not causal) and not seen[150, 170]


@pytest.mark.parametrize("n", [2048, 4096])
def test_memory_grows_with_n_not_with_its_square(n):
    heads, d = 4, 64
    query, key, value = (torch.randn(1, heads, n, d) for _ in range(3))
    output = 4 * heads * n * d
    padding = padding_mask([n - 7], n)

    def peak(function):
        with torch.no_grad():
            return measure(function, query, key, value, repeats=1).peak_bytes

    assert peak(lambda *x: sliding_window_attention(*x, window=128)) <= 2.1 * output
    assert peak(lambda *x: block_attention(*x, block=128)) <= 2.1 * output
    # with a mask: cleaned copies of query, key and value, and the mask of each stretch
    masked = peak(lambda *x: sliding_window_attention(*x, window=128, mask=padding))
    assert masked <= 8 * output
    narrow = peak(lambda q, k, v: sliding_window_attention(q, k, v[..., :40], window=128))
    assert narrow <= 3 * output


def test_memory_of_training_grows_with_n():
    def peak(n):
        tensors = [torch.randn(1, 2, n, 64).requires_grad_() for _ in range(3)]
        run = lambda *x: sliding_window_attention(*x, window=128).sum().backward()  # noqa: E731
        return measure(run, *tensors, repeats=1).peak_bytes

    assert peak(4096) <= 2.1 * peak(2048)


def test_nan_that_is_seen_is_not_hidden_and_does_not_spread():
    n, place, width = 500, 250, 50
    windows = range(place, place + width)
    for attention, options, seers in (
        (sliding_window_attention, {"window": width}, windows),
        (block_attention, {"block": width}, windows),  # a block begins at that place
    ):
        for which in range(3):
            tensors = inputs(n)
            tensors[which][place] = math.nan
            bad = attention(*tensors, **options).isnan().any(dim=-1)
            assert bad[[place] if which == 0 else list(seers)].all(), (attention, which)
            near = torch.arange(n).sub(place).abs() < width + 2 * local.BLOCK
            assert not bad[~near].any()


@pytest.mark.parametrize("size", [3e38, -3e38])
def test_a_hidden_score_beyond_all_floats_does_no_harm(size):
    n, place, window = 500, 250, 40
    query, key, value = (x.float() for x in inputs(n))
    wanted = sliding_window_attention(query, key, value, window=window)
    key[place] = size
    got = sliding_window_attention(query, key, value, window=window)
    blind = torch.ones(n, dtype=torch.bool)
    blind[place : place + window] = False
    assert_close(got[blind], wanted[blind])


def test_padding_may_hold_anything_in_long_sequences(fused_calls):
    n, length = 500, 350
    mask = padding_mask([length, n], n)
    clean = inputs(n, BATCH)
    wanted = sliding_window_attention(*clean, window=50, mask=mask)[0, :length]
    for rubbish in (math.nan, math.inf, 1e300):
        dirty = [x.clone() for x in clean]
        for x in dirty[1:]:
            x[0, length:] = rubbish
        fused_calls.clear()
        close(sliding_window_attention(*dirty, window=50, mask=mask)[0, :length], wanted)
        assert fused_calls  # the rubbish was set to 0 first
    assert (wanted != 0).all()
    blind = sliding_window_attention(*clean, window=50, mask=mask)[0, length + 49 :]
    assert (blind == 0).all()


def test_second_derivatives_of_short_sequences():
    tensors = [x.requires_grad_() for x in inputs(60, 1)]
    torch.autograd.gradgradcheck(
        lambda q, k, v: sliding_window_attention(q, k, v, window=4), tensors, fast_mode=True
    )


def test_one_sample_never_changes_another():
    query, key, value = inputs(400, BATCH, HEADS)
    wanted = sliding_window_attention(query, key, value, window=64)[0]
    key[1], value[1] = 1e6 * key[1], -value[1]
    assert_close(sliding_window_attention(query, key, value, window=64)[0], wanted)


# The article's scheme


def reach(masks):
    """Which output depends on which input, after one layer a mask: ones and zeros multiplied."""
    seen = torch.eye(masks[0].shape[-1])
    for mask in masks:
        seen = (mask.float() @ seen).clamp(max=1)
    return seen.mean().item()


@pytest.mark.parametrize(("side", "share"), [("left", 7 / 16), ("right", 7 / 16), ("both", 5 / 8)])
def test_the_articles_scheme_reaches_what_the_notes_say(side, share):
    blocks = [block_mask(16, 4)] * 3
    assert reach([*blocks, block_mask(16, 4)]) == 1 / 4
    assert reach([*blocks, block_then_cross_mask(16, 4, side=side)]) == share


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_block_then_cross_is_its_definition(side, causal):
    n, block = 11, 3  # the last block has two positions
    mask = block_then_cross_mask(n, block, side=side, causal=causal)
    for i in range(n):
        for j in range(n):
            back = i // block - j // block
            wanted = back in {"left": (0, 1), "right": (-1, 0), "both": (-1, 0, 1)}[side]
            assert mask[i, j] == (wanted and (j <= i or not causal)), (i, j)


def test_block_then_cross_with_one_block_is_full():
    assert block_then_cross_mask(5, 8).all()


# What is refused


@pytest.mark.parametrize("size", [0, -1, 2.0, True, None, "3"])
def test_sizes_are_refused_by_name(size):
    query, key, value = inputs(6)
    with pytest.raises(ValueError, match="window: got"):
        sliding_window_attention(query, key, value, window=size)
    with pytest.raises(ValueError, match="block: got"):
        block_attention(query, key, value, block=size)
    with pytest.raises(ValueError, match="block: got"):
        block_then_cross_mask(6, size)
    with pytest.raises(ValueError, match="n: got"):
        block_then_cross_mask(size, 2)


def test_unknown_sides_are_refused():
    with pytest.raises(ValueError, match="side: got 'up'; accepted are 'left', 'right' and 'both'"):
        block_then_cross_mask(6, 2, side="up")


@pytest.mark.parametrize(
    ("function", "size"), [(sliding_window_attention, "window"), (block_attention, "block")]
)
def test_what_local_attention_cannot_do_is_refused(function, size):
    query, key, value = inputs(6)
    options = {size: 2}
    with pytest.raises(ValueError, match=r"key: got .* as many keys as queries"):
        function(query[:4], key, value, **options)
    with pytest.raises(ValueError, match=r"mask: got dtype"):
        function(query, key, value, **options, mask=torch.ones(6, 6))
    with pytest.raises(ValueError, match=r"mask: got"):
        function(query, key, value, **options, mask=torch.ones(5, 6, dtype=torch.bool))
    with pytest.raises(TypeError, match=r"key: got list"):
        function(query, key.tolist(), value, **options)


@pytest.mark.parametrize("attention", [block_attention, sliding_window_attention])
def test_no_positions_at_all(attention):
    size = {"block": 3} if attention is block_attention else {"window": 3}
    x = torch.zeros(2, 0, 4)
    assert attention(x, x, x, **size).shape == (2, 0, 4)
