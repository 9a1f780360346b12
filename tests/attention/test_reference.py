"""The oracle itself, on cases small enough to do by hand."""

import math

import pytest
import torch
from torch.testing import assert_close

from attn_edu.attention import reference_attention


def tensor(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def test_two_words_by_hand():
    # Scores 0 and ln 3: odds 1 to 3, weights 1/4 and 3/4.
    query = tensor([math.log(3.0)])
    key, value = tensor([0.0], [1.0]), tensor([8.0, 0.0], [4.0, 100.0])
    assert_close(reference_attention(query, key, value), tensor([5.0, 75.0]))


def test_the_scale_is_one_over_the_root_of_d():
    # d = 4, score 2 · 2·ln 3 / √4 = 2 ln 3: odds 9 to 1.
    query, key = tensor([2.0, 0, 0, 0]), tensor([2 * math.log(3.0), 0, 0, 0], [0, 5.0, 0, 0])
    value = tensor([10.0], [20.0])
    assert_close(reference_attention(query, key, value), tensor([11.0]))


@pytest.mark.parametrize(("scale", "wanted"), [(0.0, 15.0), (1.0, 12.5), (2.0, 11.0), (-1.0, 17.5)])
def test_scale_is_used_as_given(scale, wanted):
    query, key, value = tensor([math.log(3.0)]), tensor([1.0], [0.0]), tensor([10.0], [20.0])
    assert_close(reference_attention(query, key, value, scale=scale), tensor([wanted]))


def test_equal_scores_give_the_mean_of_what_is_visible():
    query, key = torch.zeros(2, 3).double(), torch.ones(4, 3).double()
    value = tensor([1.0], [2.0], [6.0], [100.0])
    mask = torch.tensor([[True, True, True, False], [False, False, True, True]])
    assert_close(reference_attention(query, key, value, mask=mask), tensor([3.0], [53.0]))


def test_a_row_that_sees_nothing_gives_zeros():
    mask = torch.tensor([[False, False], [True, False]])
    output = reference_attention(torch.ones(2, 1), torch.ones(2, 1), torch.ones(2, 3), mask=mask)
    assert_close(output, tensor([0.0, 0, 0], [1.0, 1, 1]))


def test_hidden_nan_and_infinity_have_no_influence_even_for_one_query():
    key, value = tensor([0.0], [math.nan]), tensor([7.0], [math.inf])
    mask = torch.tensor([[True, False]])
    assert_close(reference_attention(tensor([1.0]), key, value, mask=mask), tensor([7.0]))


def test_large_scores_do_not_overflow():
    value = tensor([1.0], [2.0])
    output = reference_attention(tensor([1e3]), tensor([1e3], [-1e3]), value)
    assert_close(output, tensor([1.0]))


def test_always_float64_and_without_gradient():
    query = torch.ones(2, 1, dtype=torch.float16, requires_grad=True)
    output = reference_attention(query, query, query)
    assert output.dtype == torch.float64
    assert not output.requires_grad


def test_leading_axes_broadcast():
    query, key, value = torch.randn(2, 1, 5, 4), torch.randn(3, 7, 4), torch.randn(1, 7, 6)
    output = reference_attention(query, key, value)
    assert output.shape == (2, 3, 5, 6)
    for b in range(2):
        for h in range(3):
            alone = reference_attention(query[b, 0], key[h], value[0])
            assert torch.equal(output[b, h], alone)


@pytest.mark.parametrize("shape", [(0, 5, 7), (2, 0, 7), (2, 5, 0)])
def test_an_empty_axis_gives_zeros_of_the_right_shape(shape):
    batch, n_query, n_key = shape
    inputs = torch.ones(batch, n_query, 4), torch.ones(batch, n_key, 4), torch.ones(batch, n_key, 6)
    output = reference_attention(*inputs)
    assert_close(output, torch.zeros(batch, n_query, 6, dtype=torch.float64))
