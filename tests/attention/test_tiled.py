"""Tiles of any size give what the loops give; the matrix of weights is never there."""

import math

import pytest
import torch
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from attn_edu.attention import (
    causal_mask,
    padding_mask,
    reference_attention,
    scaled_dot_product_attention,
    tiled_attention,
)
from attn_edu.costs import measure

N_QUERY, N_KEY, D, D_VALUE = 11, 17, 4, 6


def normal(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def inputs(*lead, n_query=N_QUERY, n_key=N_KEY, dtype=torch.float64):
    shapes = (n_query, D), (n_key, D), (n_key, D_VALUE)
    return [normal(*lead, *shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)]


def some_mask(*shape):
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(7)) < 0.4
    mask[..., 3, :] = False  # a query that sees nothing
    mask[..., 9:12] = False  # keys that nobody sees: with blocks of 3, whole tiles
    return mask


BLOCKS = [(1, 1), (1, 17), (2, 3), (5, 4), (11, 1), (11, 17), (400, 400)]
MASKS = {
    "none": None,
    "queries": some_mask(N_QUERY, N_KEY),
    "heads": some_mask(3, N_QUERY, N_KEY),
    "batch": some_mask(2, 1, N_QUERY, N_KEY),
    "keys": padding_mask([N_KEY - 6, 0], N_KEY)[:, None],
    "one column": some_mask(N_QUERY, N_KEY)[:, :1],
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_any_tiles_equal_the_loops(blocks, mask, causal):
    query, key, value = inputs(2, 3)
    output = tiled_attention(
        query, key, value, block_query=blocks[0], block_key=blocks[1], mask=mask, causal=causal
    )
    visible = causal_mask(N_QUERY, N_KEY) if causal else torch.ones(N_QUERY, N_KEY).bool()
    visible = visible if mask is None else visible & mask
    wanted = reference_attention(query, key, value, mask=visible)
    assert_close(output, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_with_more_keys_than_queries(causal):
    """The invariants hold causal tiles only at equal lengths; here the queries are the last."""
    tensors = [x.requires_grad_() for x in inputs(2)]
    mask = some_mask(N_QUERY, N_KEY)
    visible = mask & causal_mask(N_QUERY, N_KEY) if causal else mask
    factors = normal(2, N_QUERY, D_VALUE, seed=9)

    def grads(output):
        return torch.autograd.grad((output * factors).sum(), tensors)

    blocks = {"block_query": 3, "block_key": 4}
    got = grads(tiled_attention(*tensors, mask=mask, causal=causal, **blocks))
    for ours, wanted in zip(got, grads(scaled_dot_product_attention(*tensors, mask=visible))):
        assert_close(ours, wanted, rtol=1e-11, atol=1e-12)


def test_the_largest_score_may_come_last_first_or_never():
    """Each tile of one key; scores that rise, fall and stay, far beyond what exp can hold."""
    steps = torch.arange(9, dtype=torch.float64)
    for scores in (1000 * steps, -1000 * steps, 0 * steps, 1000 * (-1.0) ** steps):
        query, key = torch.ones(1, 1).double(), scores[:, None]
        value = torch.eye(9, dtype=torch.float64)
        got = tiled_attention(query, key, value, block_key=1)
        assert_close(got[0], scores.softmax(dim=0), rtol=1e-12, atol=0)


@pytest.mark.parametrize("d", [8, 64])
def test_error_in_float32_is_that_of_rounding(d):
    query, key, value = (normal(2, 300, d, seed=i, dtype=torch.float32) for i in range(3))
    truth = scaled_dot_product_attention(query.double(), key.double(), value.double())
    plain = (query @ key.mT / math.sqrt(d)).softmax(dim=-1) @ value
    for blocks in ((128, 512), (13, 11)):
        ours = tiled_attention(query, key, value, block_query=blocks[0], block_key=blocks[1])
        error = (ours - truth).abs().max()
        assert error < 1e-6
        assert error < 4 * (plain - truth).abs().max()


def test_half_precision_tiles_are_computed_in_float32():
    query, key, value = inputs(2, n_query=300, n_key=301, dtype=torch.bfloat16)
    wanted = tiled_attention(query.float(), key.float(), value.float(), block_key=2)
    assert tiled_attention(query, key, value, block_key=2).equal(wanted.bfloat16())


def peak(n, function, heads=2):
    query, key, value = (torch.randn(heads, n, 8) for _ in range(3))
    return measure(function, query, key, value, repeats=1).peak_bytes


def train_step(query, key, value, **options):
    tensors = [x.requires_grad_() for x in (query, key, value)]
    torch.autograd.grad(tiled_attention(*tensors, **options).sum(), tensors)


@pytest.mark.parametrize("function", [tiled_attention, train_step])
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"mask": True}])
def test_memory_grows_with_the_length_and_never_holds_the_matrix(function, options):
    def call(query, key, value):
        mask = torch.ones(1, key.shape[-2], dtype=torch.bool) if "mask" in options else None
        return function(query, key, value, **{**options, "mask": mask}, block_key=64)

    small, large = peak(512, call), peak(2048, call)
    assert large < 2 * 2048**2 * 4 / 8  # an eighth of one matrix of scores
    assert large - small < 1536 * 2 * 8 * 4 * 16  # a few tensors like the input, for 1536 positions


def test_peak_is_a_sixtieth_of_the_formulas():
    """8 heads of width 64 at n = 4096, where the formula's two matrices take 1024 MiB."""
    query, key, value = (torch.randn(8, 4096, 64) for _ in range(3))
    matrices = 2 * 8 * 4096**2 * 4
    assert measure(tiled_attention, query, key, value, repeats=1).peak_bytes < matrices / 60


def test_hidden_tiles_are_not_computed():
    query, key, value = inputs(n_query=64, n_key=64)

    def flops(**options):
        with FlopCounterMode(display=False) as counter:
            tiled_attention(query, key, value, block_query=8, block_key=8, **options)
        return counter.get_total_flops()

    assert flops() == 2 * 64 * 64 * (D + D_VALUE)
    assert flops(causal=True) == flops() * (8 * 9 / 2) / 64  # the diagonal and below: 36 of 64


@pytest.mark.parametrize("causal", [False, True])
def test_scores_that_overflow_are_not_taken_for_hidden_ones(causal):
    """Every visible score of the first query is -inf: NaN as in the formula, not zeros."""
    query, key, value = (x.requires_grad_() for x in inputs(n_query=5, n_key=5))
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[1] = False
    with torch.no_grad():
        key.abs_()
        query[0] = -torch.inf
    output = tiled_attention(
        query, key, value, mask=mask, causal=causal, block_query=2, block_key=2
    )
    visible = mask & causal_mask(5) if causal else mask
    wanted = scaled_dot_product_attention(query, key, value, mask=visible)
    assert output[0].isnan().all()
    assert (output[1] == 0).all()
    assert_close(output, wanted, equal_nan=True)
    (grad,) = torch.autograd.grad(output.sum(), query)
    assert grad[0].isnan().all()
    assert not grad[1:].isnan().any()


def test_jacobian_of_torch_func():
    x = normal(5, D)

    def tiled(x):
        return tiled_attention(x, x, x, block_query=2, block_key=3, causal=True)

    def whole(x):
        return scaled_dot_product_attention(x, x, x, mask=causal_mask(5))

    assert_close(torch.func.jacrev(tiled)(x), torch.func.jacrev(whole)(x))


def test_nothing_to_see():
    query, key, value = inputs(2)
    empty = tiled_attention(query, key[:, :0], value[:, :0])
    assert empty.shape == (2, N_QUERY, D_VALUE) and (empty == 0).all()
    assert tiled_attention(query[:, :0], key, value).shape == (2, 0, D_VALUE)
    assert tiled_attention(query[:0], key[:0], value[:0]).shape == (0, N_QUERY, D_VALUE)


@pytest.mark.parametrize(
    ("change", "error", "names"),
    [
        ({"block_query": 0}, ValueError, "block_query: got 0"),
        ({"block_key": -3}, ValueError, "block_key: got -3"),
        ({"block_key": 2.0}, ValueError, "block_key: got 2.0"),
        ({"block_query": True}, ValueError, "block_query: got True"),
        ({"causal": 1}, TypeError, "causal: got int"),
        ({"mask": torch.ones(N_QUERY, N_KEY)}, ValueError, "mask: got dtype torch.float32"),
        ({"key": torch.ones(N_KEY, D + 1).double()}, ValueError, "key: got"),
        ({"query": [[1.0]]}, TypeError, "query: got list"),
    ],
)
def test_bad_input_is_named(change, error, names):
    query, key, value = inputs()
    with pytest.raises(error, match=names.replace("(", r"\(")):
        tiled_attention(**{"query": query, "key": key, "value": value, **change})


def test_causal_needs_a_key_for_each_query():
    query, key, value = inputs(n_query=7, n_key=5)
    with pytest.raises(ValueError, match="accepted is n_key >= n_query"):
        tiled_attention(query, key, value, causal=True)
