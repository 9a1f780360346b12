"""Positions against their formulae in loops, published lists, and what each of them promises."""

import math

import pytest
import torch
from torch.testing import assert_close

from attn_edu.attention import (
    MultiHeadAttention,
    alibi_bias,
    alibi_features,
    alibi_slopes,
    attention_map,
    causal_mask,
    padding_mask,
    rotary,
    scaled_dot_product_attention,
    sinusoidal_positions,
)

BATCH, HEADS, N, D = 2, 3, 7, 6


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# Sinusoidal


@pytest.mark.parametrize(("n", "d_model"), [(7, 6), (5, 9), (3, 1), (1, 4), (300, 64)])
def test_sinusoidal_is_the_formula_in_loops(n, d_model):
    table = sinusoidal_positions(n, d_model)
    assert table.shape == (n, d_model)
    for p in range(n):
        for c in range(d_model):
            wave = math.sin if c % 2 == 0 else math.cos
            wanted = wave(p / 10_000 ** ((c - c % 2) / d_model))
            assert table[p, c].item() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("shift", [1, 4])
def test_a_shift_is_one_rotation_wherever_you_stand(shift):
    """One matrix takes every position's vector to that of ``shift`` further on."""
    table = sinusoidal_positions(30, 8)
    before, after = table[:-shift], table[shift:]
    matrix = torch.linalg.lstsq(before, after).solution
    assert_close(before @ matrix, after)
    assert_close(matrix @ matrix.T, torch.eye(8), rtol=0, atol=1e-6)
    products = table @ table.T  # and so products depend on the distance alone
    for distance in range(30):
        along = products.diagonal(distance)
        assert_close(along, along[:1].expand_as(along))


def test_sinusoidal_takes_the_default_dtype():
    torch.set_default_dtype(torch.float32)
    single = sinusoidal_positions(5000, 6)
    assert single.dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    assert_close(single.double(), sinusoidal_positions(5000, 6), rtol=0, atol=1e-6)


# Rotary


def test_rotary_is_the_formula_in_loops():
    x, positions, base = draw(BATCH, N, D), torch.tensor([0.0, 1, 2, 5, 9, 2.5, 300]), 77.0
    got = rotary(x, positions, base=base)
    for b in range(BATCH):
        for row, p in enumerate(positions.tolist()):
            for i in range(D // 2):
                turn = complex(math.cos(p / base ** (2 * i / D)), math.sin(p / base ** (2 * i / D)))
                wanted = complex(*x[b, row, 2 * i : 2 * i + 2].tolist()) * turn
                pair = complex(*got[b, row, 2 * i : 2 * i + 2].tolist())
                assert abs(pair - wanted) < 1e-12


def test_scores_depend_on_the_difference_of_positions_alone():
    query, key, places = draw(BATCH, HEADS, N, D), draw(BATCH, HEADS, N, D, seed=1), torch.arange(N)
    scores = rotary(query) @ rotary(key).mT
    for shift in (1, 60, 4000):
        assert_close(rotary(query, places + shift) @ rotary(key, places + shift).mT, scores)
    assert not torch.allclose(rotary(query, places + 1) @ rotary(key).mT, scores)
    assert_close(rotary(key, places + 4), rotary(rotary(key, places), torch.full((N,), 4)))


def test_same_words_at_the_same_distance_score_the_same():
    query, key = draw(1, D).expand(N, D), draw(1, D, seed=1).expand(N, D)
    scores = rotary(query) @ rotary(key).mT
    for distance in range(-N + 1, N):
        along = scores.diagonal(distance)
        assert_close(along, along[:1].expand_as(along))
    assert scores[0].unique().numel() == N


def test_pairs_keep_their_length_and_position_0_its_vector():
    x = draw(BATCH, N, D)
    turned = rotary(x)
    assert_close(turned.unflatten(-1, (-1, 2)).norm(dim=-1), x.unflatten(-1, (-1, 2)).norm(dim=-1))
    assert_close(turned[:, 0], x[:, 0])


def test_positions_may_differ_in_a_batch():
    x, positions = draw(BATCH, HEADS, N, D), torch.stack([torch.arange(N), torch.arange(N) + 5])
    got = rotary(x, positions[:, None])
    for b in range(BATCH):
        for h in range(HEADS):
            assert_close(got[b, h], rotary(x[b, h], positions[b]))


def test_halves_are_pairs_in_another_order():
    """The other layout, as many codes have it: equal after one fixed reordering of features."""
    x = draw(N, D)
    left, right = x.chunk(2, dim=-1)
    angles = torch.arange(N)[:, None] * 10_000.0 ** (-torch.arange(0, D, 2) / D)
    halves = torch.cat(
        [
            left * angles.cos() - right * angles.sin(),
            left * angles.sin() + right * angles.cos(),
        ],
        dim=-1,
    )
    order = torch.arange(D).view(2, -1).T.flatten()  # 0, D/2, 1, D/2 + 1, …
    assert_close(rotary(x[:, order]), halves[:, order])
    assert not torch.allclose(rotary(x), halves)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_rotary_keeps_dtype_device_and_gradient(dtype):
    x = draw(BATCH, N, D)
    far = torch.arange(N) + 100_000
    assert rotary(x.to(dtype), far).dtype == dtype
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 4e-2, torch.float16: 4e-3}[dtype]
    wanted = rotary(x.to(dtype).double(), far)
    assert_close(rotary(x.to(dtype), far).double(), wanted, rtol=0, atol=tolerance)
    assert rotary(x.to("meta")).device.type == "meta"
    leaf = x.clone().requires_grad_()
    rotary(leaf).square().sum().backward()
    assert_close(leaf.grad, 2 * x)  # lengths are kept: the sum of squares is that of x


def test_rotary_leaves_its_input_alone():
    x = draw(N, D)
    copy = x.clone()
    rotary(x).zero_()
    assert torch.equal(x, copy)


# ALiBi


def test_slopes_are_the_published_ones():
    """Press et al., 2022, section 3: 8 heads, 1/2 … 1/256; 16 heads, 2^-0.5 … 2^-8."""
    assert_close(alibi_slopes(8), torch.tensor([2.0**-i for i in range(1, 9)]))
    assert_close(alibi_slopes(16), torch.tensor([2.0 ** -(i / 2) for i in range(1, 17)]))
    assert alibi_slopes(1).tolist() == [2.0**-8]


@pytest.mark.parametrize("n_heads", [3, 6, 12, 20])
def test_slopes_between_powers_of_two(n_heads):
    """The authors' rule: the lower power's, then the odd ones of the higher power's."""
    lower = {3: 2, 6: 4, 12: 8, 20: 16}[n_heads]
    wanted = [2.0 ** (-8 * i / lower) for i in range(1, lower + 1)]
    wanted += [2.0 ** (-8 * i / (2 * lower)) for i in range(1, 2 * lower, 2)][: n_heads - lower]
    assert_close(alibi_slopes(n_heads), torch.tensor(wanted))


def test_bias_is_minus_slope_times_distance():
    bias = alibi_bias(N, HEADS)
    assert bias.shape == (HEADS, N, N)
    for h, slope in enumerate(alibi_slopes(HEADS).tolist()):
        for i in range(N):
            for j in range(N):
                assert bias[h, i, j].item() == pytest.approx(-slope * abs(i - j))


def test_one_more_feature_is_the_bias_under_a_causal_mask():
    query, key = draw(BATCH, HEADS, N, D), draw(BATCH, HEADS, N, D, seed=1)
    scores = query @ key.mT / math.sqrt(D) + alibi_bias(N, HEADS)
    wanted = scores.masked_fill(~causal_mask(N), -math.inf).softmax(dim=-1)
    longer = alibi_features(query, key)
    assert [t.shape for t in longer] == [(BATCH, HEADS, N, D + 1)] * 2
    got = attention_map(scaled_dot_product_attention, *longer, mask=causal_mask(N))
    assert_close(got, wanted)


def test_features_count_from_the_positions_given():
    query, key = draw(BATCH, HEADS, 3, D), draw(BATCH, HEADS, N, D, seed=1)
    mask = causal_mask(3, N)  # the last three of seven
    maps = [
        attention_map(scaled_dot_product_attention, *alibi_features(query, key, p), mask=mask)
        for p in (None, torch.arange(N) + 50, torch.arange(N).expand(BATCH, 1, N))
    ]
    assert_close(maps[1], maps[0])
    assert_close(maps[2], maps[0])
    scores = query @ key.mT / math.sqrt(D) + alibi_bias(N, HEADS)[:, -3:]
    assert_close(maps[0], scores.masked_fill(~mask, -math.inf).softmax(dim=-1))


# In the layer


@pytest.mark.parametrize("position", ["rotary", "alibi"])
def test_the_layer_places_queries_and_keys_and_no_value(position):
    torch.manual_seed(0)
    layer = MultiHeadAttention(HEADS * D, HEADS, position=position)
    x, mask = draw(BATCH, N, HEADS * D), causal_mask(N)
    query, key, value = (
        project(x).view(BATCH, N, HEADS, D).transpose(1, 2)
        for project in (layer.query, layer.key, layer.value)
    )
    if position == "rotary":
        scores = rotary(query) @ rotary(key).mT / math.sqrt(D)
    else:
        scores = query @ key.mT / math.sqrt(D) + alibi_bias(N, HEADS)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    assert_close(layer.map(x, mask=mask), weights)
    heads = (weights @ value).transpose(1, 2).flatten(2)
    assert_close(layer(x, mask=mask), layer.out(heads))


def test_alibi_takes_padding_beside_a_causal_mask_and_a_single_query():
    layer, x = MultiHeadAttention(HEADS * D, HEADS, position="alibi"), draw(BATCH, N, HEADS * D)
    both = causal_mask(N) & padding_mask([4, N], N)
    assert_close(layer(x, mask=both)[0, :4], layer(x[0, :4], mask=causal_mask(4)))
    assert layer(x[:, :1]).shape == (BATCH, 1, HEADS * D)


def test_the_layer_takes_another_kind_of_attention():
    calls = []

    def mean(query, key, value, **options):
        calls.append(options)
        return value.mean(dim=-2, keepdim=True).expand(*query.shape[:-1], -1)

    layer = MultiHeadAttention(HEADS * D, HEADS, attend=mean)
    x = draw(BATCH, N, HEADS * D)
    wanted = layer.out(layer.value(x).mean(dim=1, keepdim=True)).expand(-1, N, -1)
    assert_close(layer(x), wanted)
    assert_close(layer.map(x), torch.full((BATCH, HEADS, N, N), 1 / N))
    layer(x, mask=causal_mask(N))
    assert [list(options) for options in calls] == [[], [], ["mask"]]


# Errors


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: sinusoidal_positions(0, 4), ValueError, "n: got"),
        (lambda: sinusoidal_positions(4, 0), ValueError, "d_model: got"),
        (lambda: sinusoidal_positions(True, 4), ValueError, "n: got"),
        (lambda: rotary(draw(N, 5)), ValueError, "x: got"),
        (lambda: rotary(draw(N)), ValueError, "x: got"),
        (lambda: rotary(draw(N, D).long()), ValueError, "x: got"),
        (lambda: rotary([1.0, 2.0]), TypeError, "x: got"),
        (lambda: rotary(draw(N, D), torch.arange(N - 1)), ValueError, "positions: got"),
        (lambda: rotary(draw(N, D), torch.ones(BATCH, N)), ValueError, "positions: got"),
        (lambda: rotary(draw(N, D), [0, 1]), TypeError, "positions: got"),
        (lambda: rotary(draw(N, D), base=0), ValueError, "base: got"),
        (lambda: rotary(draw(N, D), base=math.nan), ValueError, "base: got"),
        (lambda: rotary(draw(N, D), base="10000"), ValueError, "base: got"),
        (
            lambda: alibi_features(draw(HEADS, N, 0), draw(HEADS, N, 0)),
            ValueError,
            "query, key: got",
        ),
        (lambda: alibi_slopes(0), ValueError, "n_heads: got"),
        (lambda: alibi_bias(0, 2), ValueError, "n: got"),
        (lambda: alibi_bias(2, 0), ValueError, "n_heads: got"),
        (lambda: alibi_features(draw(N, D), draw(N, D)), ValueError, "query: got"),
        (lambda: alibi_features(draw(2, N, D), draw(3, N, D)), ValueError, "query, key: got"),
        (lambda: MultiHeadAttention(12, 3, position="rope"), ValueError, "position: got"),
        (lambda: MultiHeadAttention(9, 3, position="rotary"), ValueError, "d_model / n_heads: got"),
        (
            lambda: MultiHeadAttention(12, 3, position="alibi")(draw(N, 12)),
            ValueError,
            "mask: got None",
        ),
        (
            lambda: MultiHeadAttention(12, 3, position="alibi")(
                draw(BATCH, N, 12), mask=padding_mask([3, N], N)
            ),
            ValueError,
            "mask: got one that shows",
        ),
        (
            lambda: MultiHeadAttention(12, 3, position="alibi")(
                draw(N, 12), mask=causal_mask(N - 1)
            ),
            ValueError,
            "mask: got",
        ),
        (
            lambda: MultiHeadAttention(12, 3, position="rotary")(draw(N, 12), draw(N, 12)),
            ValueError,
            "memory: got",
        ),
        (
            lambda: MultiHeadAttention(12, 3)(draw(N, 12), draw(N, 12), cache=[]),
            ValueError,
            "memory: got",
        ),
    ],
)
def test_what_does_not_fit_is_named(call, error, word):
    with pytest.raises(error, match=word):
        call()
