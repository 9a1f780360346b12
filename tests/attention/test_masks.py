"""The mask builders against the sentence that defines each, written as loops."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from attn_edu.attention import (
    block_mask,
    causal_mask,
    padding_mask,
    sliding_window_mask,
    to_additive,
    to_multihead_attention,
)


def loops(n_query, n_key, sees):
    rows = [[sees(i, j) for j in range(n_key)] for i in range(n_query)]
    return torch.tensor(rows, dtype=torch.bool)


def assert_mask(got, wanted):
    assert got.dtype == torch.bool
    assert got.shape == wanted.shape
    assert torch.equal(got, wanted)


@pytest.mark.parametrize(("n_query", "n_key"), [(1, 1), (5, 5), (5, 7), (1, 7), (6, 7)])
def test_causal_is_aligned_to_the_end(n_query, n_key):
    past = n_key - n_query
    wanted = loops(n_query, n_key, lambda i, j: j <= past + i)
    assert_mask(causal_mask(n_query, n_key), wanted)
    assert causal_mask(n_query, n_key)[-1].all()  # the last query sees every key
    assert_mask(causal_mask(n_query, n_key), causal_mask(n_key)[past:])


def test_causal_drawn_out():
    wanted = [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert_mask(causal_mask(2, 4), torch.tensor(wanted).bool())
    assert_mask(causal_mask(3), causal_mask(3, 3))
    assert causal_mask(4).sum() == 4 * 5 / 2  # the diagonal belongs to it


@pytest.mark.parametrize("lengths", [[4, 7, 0], torch.tensor([4, 7, 0]), (4, 7, 0)])
def test_padding(lengths):
    wanted = loops(3, 7, lambda b, j: j < [4, 7, 0][b])[:, None]
    assert_mask(padding_mask(lengths, 7), wanted)


def test_padding_keeps_the_device_and_any_integer_dtype():
    for dtype in (torch.int64, torch.int32, torch.uint8):
        assert_mask(
            padding_mask(torch.tensor([2], dtype=dtype), 3), loops(1, 3, lambda b, j: j < 2)[None]
        )


@pytest.mark.parametrize("window", [1, 2, 3, 6, 7, 50])
@pytest.mark.parametrize("n", [1, 7])
def test_window_counts_the_query_itself(n, window):
    back = sliding_window_mask(n, window)
    assert_mask(back, loops(n, n, lambda i, j: 0 <= i - j <= window - 1))
    both = sliding_window_mask(n, window, causal=False)
    assert_mask(both, loops(n, n, lambda i, j: abs(i - j) <= window - 1))
    assert back.sum(dim=1).max() == min(n, window)  # w, not w + 1
    assert both.sum(dim=1).max() <= min(n, 2 * window - 1)  # 2w − 1, not 2w + 1
    assert_mask(back, both & causal_mask(n))


def test_window_of_one_is_the_diagonal_and_a_large_one_is_causal():
    assert_mask(sliding_window_mask(7, 1, causal=False), torch.eye(7).bool())
    assert_mask(sliding_window_mask(7, 7), causal_mask(7))
    assert sliding_window_mask(7, 7, causal=False).all()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "block"), [(7, 3), (6, 3), (7, 1), (7, 7), (7, 10), (1, 2)])
def test_blocks_with_a_short_last_one(n, block, causal):
    starts = range(0, n, block)
    blocks = [range(start, min(start + block, n)) for start in starts]

    def sees(i, j):
        return any(i in b and j in b for b in blocks) and (j <= i or not causal)

    assert_mask(block_mask(n, block, causal=causal), loops(n, n, sees))


def test_additive_is_zero_or_minus_infinity():
    mask = causal_mask(2, 3)
    wanted = torch.tensor([[0.0, 0.0, -math.inf], [0.0, 0.0, 0.0]])
    assert torch.equal(to_additive(mask), wanted)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        additive = to_additive(mask, dtype)
        assert additive.dtype == dtype
        assert torch.equal(additive, wanted.to(dtype))


def test_additive_does_in_torch_what_the_boolean_mask_does():
    x = torch.randn(2, 7, 4, generator=torch.Generator().manual_seed(0))
    mask = sliding_window_mask(7, 3)
    added = F.scaled_dot_product_attention(x, x, x, attn_mask=to_additive(mask))
    assert_close(added, F.scaled_dot_product_attention(x, x, x, attn_mask=mask))


def test_multihead_attention_has_the_inverted_polarity():
    mask = causal_mask(5, 7)
    assert_mask(to_multihead_attention(mask), loops(5, 7, lambda i, j: j > 2 + i))
    assert_mask(to_multihead_attention(to_multihead_attention(mask)), mask)


@pytest.mark.parametrize("convert", [to_additive, to_multihead_attention])
def test_converters_leave_their_input_alone(convert):
    mask = causal_mask(5)
    converted = convert(mask)
    converted.fill_(1)
    assert_mask(mask, causal_mask(5))


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64", "int8", "int32"])
def test_padding_takes_lengths_of_any_integer_kind(kind):
    lengths = np.array([0, 5, 100], dtype=kind)
    for given in (lengths, torch.from_numpy(lengths)):
        assert padding_mask(given, 300).sum(-1).flatten().tolist() == [0, 5, 100]


def test_sizes_may_be_integers_of_numpy():
    five, three = np.int64(5), np.int32(3)
    assert causal_mask(three, five).equal(causal_mask(3, 5))
    assert padding_mask([2], five).equal(padding_mask([2], 5))
    assert sliding_window_mask(five, three).equal(sliding_window_mask(5, 3))
    assert block_mask(five, three).equal(block_mask(5, 3))


def test_a_window_or_block_beyond_every_integer_of_torch_is_the_whole_length():
    assert sliding_window_mask(5, 2**70).equal(causal_mask(5))
    assert sliding_window_mask(5, 2**70, causal=False).all()
    assert block_mask(5, 2**70).all()
