"""Scaled dot-product attention against torch's own, for drawn shapes, and under torch.func."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_edu.attention import (
    attention_map,
    causal_mask,
    padding_mask,
    reference_attention,
    scaled_dot_product_attention,
)

SIZE = st.integers(1, 6)


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@st.composite
def problems(draw_from):
    """query, key, value, mask, scale of any sizes; every query sees at least one key."""
    lead = draw_from(st.lists(st.integers(1, 3), max_size=3))
    n_query, n_key, d, d_value = (draw_from(SIZE) for _ in range(4))
    seed = draw_from(st.integers(0, 1000))
    lengths = (n_query, d), (n_key, d), (n_key, d_value)
    inputs = [draw(*lead, *last, seed=seed + i) for i, last in enumerate(lengths)]
    mask = draw(*lead, n_query, n_key, seed=seed + 3) > draw_from(st.sampled_from([-9.0, 0.0]))
    mask[..., draw_from(st.integers(0, n_key - 1))] = True
    scale = draw_from(st.sampled_from([None, 0.3, 1.0, -2.0]))
    return *inputs, draw_from(st.sampled_from([None, mask])), scale


@settings(derandomize=True, deadline=None, max_examples=60)
@given(problems())
def test_equals_torch_and_the_loops(problem):
    query, key, value, mask, scale = problem
    got = scaled_dot_product_attention(query, key, value, mask=mask, scale=scale)
    wanted = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    assert_close(got, wanted, rtol=1e-10, atol=1e-10)
    loops = reference_attention(query, key, value, mask=mask, scale=scale)
    assert_close(got, loops, rtol=1e-10, atol=1e-10)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(problems())
def test_gradients_equal_those_of_torch(problem):
    query, key, value, mask, scale = problem
    inputs = [tensor.requires_grad_() for tensor in (query, key, value)]
    ours = scaled_dot_product_attention(*inputs, mask=mask, scale=scale)
    theirs = F.scaled_dot_product_attention(*inputs, attn_mask=mask, scale=scale)
    upstream = draw(*ours.shape, seed=9)
    for got, wanted in zip(
        torch.autograd.grad(ours, inputs, upstream), torch.autograd.grad(theirs, inputs, upstream)
    ):
        assert_close(got, wanted, rtol=1e-9, atol=1e-9)


def test_causal_equals_torch_when_square():
    query, key, value = draw(2, 3, 7, 4), draw(2, 3, 7, 4, seed=1), draw(2, 3, 7, 6, seed=2)
    got = scaled_dot_product_attention(query, key, value, mask=causal_mask(7))
    assert_close(got, F.scaled_dot_product_attention(query, key, value, is_causal=True))


def test_causal_with_more_keys_is_the_end_of_the_full_pass():
    """Decoding with a cache. torch's ``is_causal`` aligns the other way and fails this."""
    x = draw(2, 7, 4)
    full = scaled_dot_product_attention(x, x, x, mask=causal_mask(7))
    last = scaled_dot_product_attention(x[:, 5:], x, x, mask=causal_mask(2, 7))
    assert_close(last, full[:, 5:])
    theirs = F.scaled_dot_product_attention(x[:, 5:], x, x, is_causal=True)
    assert not torch.allclose(theirs, full[:, 5:])


def test_the_future_cannot_be_seen():
    x = draw(7, 4)
    jacobian = torch.func.jacrev(
        lambda x: scaled_dot_product_attention(x, x, x, mask=causal_mask(7))
    )(x)
    reaches = jacobian.abs().sum(dim=(1, 3)) > 0  # (output position, input position)
    assert torch.equal(reaches, torch.ones(7, 7, dtype=torch.bool).tril())


def test_vmap_equals_the_batch():
    query, key, value = draw(2, 5, 4), draw(2, 7, 4, seed=1), draw(2, 7, 6, seed=2)
    mask = padding_mask([3, 7], 7)
    together = scaled_dot_product_attention(query, key, value, mask=mask)
    one = torch.func.vmap(lambda q, k, v, m: scaled_dot_product_attention(q, k, v, mask=m))
    assert_close(one(query, key, value, mask), together)


def test_half_precision_scores_that_fit_once_scaled():
    """q·k = 64 · 36 · 36 > 65504, the largest float16; scaled by 1/√64 it fits."""
    query, key = torch.full((1, 64), 36.0), torch.full((2, 64), 36.0)
    value = torch.tensor([[1.0], [3.0]])
    output = scaled_dot_product_attention(query.half(), key.half(), value.half())
    assert_close(output, torch.tensor([[2.0]]).half())


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("shape", [(0, 5, 7), (2, 0, 7), (2, 5, 0)])
def test_an_empty_axis_gives_zeros_of_the_right_shape(shape, masked):
    batch, n_query, n_key = shape
    inputs = torch.ones(batch, n_query, 4), torch.ones(batch, n_key, 4), torch.ones(batch, n_key, 6)
    mask = torch.ones(n_query, n_key, dtype=torch.bool) if masked else None
    output = scaled_dot_product_attention(*inputs, mask=mask)
    assert_close(output, torch.zeros(batch, n_query, 6))


def test_map_by_hand():
    key = torch.tensor([[0.0], [1.0], [1.0]])
    weights = attention_map(scaled_dot_product_attention, torch.tensor([[math.log(2.0)]]), key)
    assert_close(weights, torch.tensor([[0.2, 0.4, 0.4]]))


def test_map_hands_its_options_on():
    query, key = draw(2, 3, 5, 4), draw(2, 3, 7, 4, seed=1)
    mask = padding_mask([3, 7], 7)[:, None]
    weights = attention_map(scaled_dot_product_attention, query, key, mask=mask, scale=0.0)
    wanted = mask / mask.sum(dim=-1, keepdim=True)
    assert_close(weights, wanted.double().expand(2, 3, 5, 7))


def test_map_does_not_recompute_on_its_own():
    """Whatever the function does to the values shows up in its map."""
    query, key = draw(5, 4), draw(7, 4, seed=1)
    weights = attention_map(lambda q, k, v: v[:5].flip(0) * 2, query, key)
    assert torch.equal(weights, 2 * torch.eye(7, dtype=torch.float64)[:5].flip(0))


@pytest.mark.parametrize("fill", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("where", ["key", "value"])
def test_a_query_that_sees_nothing_gets_zeros_beside_one_that_sees_what_is_not_finite(fill, where):
    tensors = {name: torch.randn(5, 4) for name in ("query", "key", "value")}
    tensors[where][3] = fill
    for tensor in tensors.values():
        tensor.requires_grad_()
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[2] = False
    output = scaled_dot_product_attention(**tensors, mask=mask)
    assert output[2].eq(0).all()
    output.sum().backward()
    assert tensors["query"].grad[2].eq(0).all()


def test_the_scale_may_be_any_real_number():
    x = torch.randn(5, 4)
    for half in (np.float32(0.5), np.float64(0.5), Fraction(1, 2)):
        output = scaled_dot_product_attention(x, x, x, scale=half)
        assert output.dtype == x.dtype
        torch.testing.assert_close(output, scaled_dot_product_attention(x, x, x, scale=0.5))
        loops = reference_attention(x, x, x, scale=half)
        torch.testing.assert_close(output.double(), loops, rtol=1e-5, atol=1e-6)
