"""Many heads against nn.MultiheadAttention, and head by head against the loops."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from attn_edu.attention import (
    MultiHeadAttention,
    attention_map,
    causal_mask,
    merge_heads,
    padding_mask,
    reference_attention,
    scaled_dot_product_attention,
    split_heads,
    to_multihead_attention,
)

BATCH, N_QUERY, N_KEY, HEADS, D_HEAD = 2, 5, 7, 3, 4
D_MODEL = HEADS * D_HEAD


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def ours(bias=True, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = MultiHeadAttention(D_MODEL, HEADS, bias=bias).double()
        for parameter in module.parameters():  # biases too: torch starts them at 0
            nn.init.normal_(parameter, std=0.4)
    return module


def both(bias=True, batch_first=True):
    """A layer of torch with random weights, and ours with a copy of them."""
    theirs = nn.MultiheadAttention(
        D_MODEL, HEADS, bias=bias, batch_first=batch_first, dtype=torch.float64
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        for parameter in theirs.parameters():
            nn.init.normal_(parameter, std=0.4)
    return ours(bias).load_torch(theirs), theirs


# Splitting and merging


def test_split_puts_each_element_where_the_loops_say():
    x = draw(BATCH, N_QUERY, D_MODEL)
    heads = split_heads(x, HEADS)
    assert heads.shape == (BATCH, HEADS, N_QUERY, D_HEAD)
    for b in range(BATCH):
        for h in range(HEADS):
            for t in range(N_QUERY):
                for c in range(D_HEAD):
                    assert heads[b, h, t, c] == x[b, t, h * D_HEAD + c]


def test_split_and_merge_move_numbers_of_any_dtype():
    x = torch.arange(BATCH * N_QUERY * D_MODEL).view(BATCH, N_QUERY, D_MODEL)
    heads = split_heads(x, HEADS)
    assert heads.dtype == x.dtype
    assert heads[1, 2, 3].tolist() == x[1, 3, 2 * D_HEAD :].tolist()
    assert torch.equal(merge_heads(heads), x)


def test_split_is_not_a_view_of_the_wrong_shape():
    x = draw(BATCH, N_QUERY, D_MODEL)
    wrong = x.reshape(BATCH, HEADS, N_QUERY, D_HEAD)
    assert not torch.equal(split_heads(x, HEADS), wrong)
    moved = x.clone()
    moved[:, 0] += 1  # one word changes; no head may move another word
    changed = (split_heads(moved, HEADS) != split_heads(x, HEADS)).any(dim=-1)  # (B, H, T)
    assert changed[..., 0].all()
    assert not changed[..., 1:].any()


def test_merge_puts_each_element_where_the_loops_say():
    x = draw(BATCH, HEADS, N_QUERY, D_HEAD)
    merged = merge_heads(x)
    assert merged.shape == (BATCH, N_QUERY, D_MODEL)
    for h in range(HEADS):
        for c in range(D_HEAD):
            assert torch.equal(merged[..., h * D_HEAD + c], x[:, h, :, c])


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.lists(st.integers(1, 3), max_size=3), st.integers(1, 6), st.integers(1, 5), st.integers(1, 5)
)
def test_merge_undoes_split(lead, n, n_heads, d_head):
    x = draw(*lead, n, n_heads * d_head)
    heads = split_heads(x, n_heads)
    assert heads.shape == (*lead, n_heads, n, d_head)
    assert torch.equal(merge_heads(heads), x)


def test_split_of_what_is_not_contiguous():
    x = draw(BATCH, D_MODEL, N_QUERY).mT
    assert not x.is_contiguous()
    assert torch.equal(split_heads(x, HEADS), split_heads(x.contiguous(), HEADS))


# Against torch

MASKS = {
    "none": None,
    "causal": causal_mask(N_QUERY, N_KEY),
    "one key": torch.eye(N_KEY).bool()[:N_QUERY],
}


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_equals_torch_output_and_weights_of_each_head(mask, bias, batch_first):
    mine, theirs = both(bias, batch_first)
    x, memory = draw(BATCH, N_QUERY, D_MODEL), draw(BATCH, N_KEY, D_MODEL, seed=1)
    turn = (lambda a: a) if batch_first else (lambda a: a.transpose(0, 1))
    wanted, weights = theirs(
        turn(x),
        turn(memory),
        turn(memory),
        attn_mask=None if mask is None else to_multihead_attention(mask),
        average_attn_weights=False,
    )
    assert_close(mine(x, memory, mask=mask), turn(wanted))
    assert_close(mine.map(x, memory, mask=mask), weights)
    assert weights.shape == (BATCH, HEADS, N_QUERY, N_KEY)


def test_equals_torch_with_padding():
    mine, theirs = both()
    x, memory = draw(BATCH, N_QUERY, D_MODEL), draw(BATCH, N_KEY, D_MODEL, seed=1)
    padding = padding_mask([4, N_KEY], N_KEY)
    wanted, weights = theirs(
        x,
        memory,
        memory,
        key_padding_mask=to_multihead_attention(padding.squeeze(-2)),
        average_attn_weights=False,
    )
    for mask in (padding, padding[:, None]):  # for every head, and with an axis for the heads
        assert_close(mine(x, memory, mask=mask), wanted)
        assert_close(mine.map(x, memory, mask=mask), weights)


def test_a_mask_a_sequence_is_not_taken_for_a_mask_a_head():
    """With as many sequences as heads, the shape alone does not tell them apart."""
    mine, x = ours(), draw(HEADS, N_KEY, D_MODEL)
    lengths = [4, 7, 2]
    assert len(lengths) == HEADS
    output = mine(x, mask=padding_mask(lengths, N_KEY))
    for i, length in enumerate(lengths):
        assert_close(output[i, :length], mine(x[i, :length]))


def test_equals_torch_with_a_mask_a_head_and_padding_together():
    mine, theirs = both()
    x = draw(BATCH, N_KEY, D_MODEL)
    heads = torch.rand(BATCH, HEADS, N_KEY, N_KEY, generator=torch.Generator().manual_seed(2)) < 0.5
    heads[..., 0] = True
    padding = padding_mask([4, N_KEY], N_KEY)
    wanted, weights = theirs(
        x,
        x,
        x,
        attn_mask=to_multihead_attention(heads).flatten(0, 1),  # (batch · n_heads, n, n)
        key_padding_mask=to_multihead_attention(padding.squeeze(-2)),
        average_attn_weights=False,
    )
    mask = heads & padding[:, None]
    assert_close(mine(x, mask=mask), wanted)
    assert_close(mine.map(x, mask=mask), weights)


def test_gradients_equal_those_of_torch():
    mine, theirs = both()
    x = draw(BATCH, N_KEY, D_MODEL).requires_grad_()
    mask = causal_mask(N_KEY)
    (of_mine,) = torch.autograd.grad(mine(x, mask=mask).square().sum(), x)
    wanted = theirs(x, x, x, attn_mask=to_multihead_attention(mask))[0]
    (of_theirs,) = torch.autograd.grad(wanted.square().sum(), x)
    assert_close(of_mine, of_theirs)


def test_load_torch_copies_and_shares_nothing():
    mine, theirs = both()
    x = draw(BATCH, N_QUERY, D_MODEL)
    before = mine(x)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.zero_()
    assert torch.equal(mine(x), before)
    assert mine.load_torch(theirs) is mine
    assert (mine(x) == 0).all()


# Head by head


@pytest.mark.parametrize("lead", [(), (BATCH,), (BATCH, 4)])
def test_each_head_attends_to_its_own_slice(lead):
    mine = ours()
    x, memory = draw(*lead, N_QUERY, D_MODEL), draw(*lead, N_KEY, D_MODEL, seed=1)
    query, key, value = mine.query(x), mine.key(memory), mine.value(memory)
    slices = [slice(h * D_HEAD, (h + 1) * D_HEAD) for h in range(HEADS)]
    heads = [reference_attention(query[..., s], key[..., s], value[..., s]) for s in slices]
    assert_close(mine(x, memory), mine.out(torch.cat(heads, dim=-1)))


def test_map_is_the_map_that_was_used():
    mine = ours()
    x, mask = draw(BATCH, N_QUERY, D_MODEL), causal_mask(N_QUERY)
    values = split_heads(mine.value(x), HEADS)
    used = mine.out(merge_heads(mine.map(x, mask=mask) @ values))
    assert_close(mine(x, mask=mask), used)
    query, key = split_heads(mine.query(x), HEADS), split_heads(mine.key(x), HEADS)
    wanted = attention_map(scaled_dot_product_attention, query, key, mask=mask)
    assert torch.equal(mine.map(x, mask=mask), wanted)


def test_padding_changes_nothing():
    mine = ours()
    x = draw(BATCH, N_KEY, D_MODEL)
    output = mine(x, mask=padding_mask([4, N_KEY], N_KEY)[:, None])
    assert_close(output[0, :4], mine(x[0, :4]))
    assert_close(output[1], mine(x[1]))


def test_order_of_positions_moves_the_output_along():
    mine = ours()
    x, order = draw(BATCH, N_KEY, D_MODEL), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    assert_close(mine(x[:, order]), mine(x)[:, order])


def test_a_query_that_sees_nothing_gets_the_output_bias():
    mine = ours()
    x = draw(BATCH, N_QUERY, D_MODEL).requires_grad_()
    mask = causal_mask(N_QUERY).clone()
    mask[2] = False
    output = mine(x, mask=mask)
    assert_close(output[:, 2], mine.out.bias.expand(BATCH, -1))
    output.sum().backward()
    assert all(p.grad.isfinite().all() for p in [x, *mine.parameters()])


def test_positions_are_compared():
    """Each output depends on each input (Jacobian); with ``view`` for a split it would not."""
    mine = ours()
    jacobian = torch.func.jacrev(mine)(draw(N_QUERY, D_MODEL))
    assert (jacobian.abs().amax(dim=(1, 3)) > 1e-6).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtype_and_device_are_kept(dtype):
    mine = ours()
    x = draw(BATCH, N_QUERY, D_MODEL)
    output = mine.to(dtype)(x.to(dtype), mask=causal_mask(N_QUERY))
    assert output.dtype == dtype
    tolerance = {torch.float32: 1e-4, torch.bfloat16: 0.3, torch.float16: 0.03}[dtype]
    assert_close(output.double(), ours()(x, mask=causal_mask(N_QUERY)), rtol=0, atol=tolerance)
    assert mine.to("meta")(x.to(dtype).to("meta")).device.type == "meta"


def test_it_has_four_projections_and_trains():
    mine = ours()
    names = {
        f"{part}.{kind}" for part in ("query", "key", "value", "out") for kind in ("weight", "bias")
    }
    assert set(dict(mine.named_parameters())) == names
    assert sum(p.numel() for p in mine.parameters()) == 4 * D_MODEL * (D_MODEL + 1)
    x = draw(BATCH, N_QUERY, D_MODEL)
    mine(x).square().sum().backward()
    moved = {name for name, p in mine.named_parameters() if (p.grad.abs() > 1e-9).any()}
    assert moved == names - {
        "key.bias"
    }  # adds the same to all the scores of a row: softmax drops it


def test_state_survives_saving(tmp_path):
    mine, other = ours(seed=3), ours(seed=4)
    torch.save(mine.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    x = draw(BATCH, N_QUERY, D_MODEL)
    assert torch.equal(mine(x), other(x))


def test_autocast_computes_in_bfloat16_and_stays_close():
    mine, x = ours().float(), draw(BATCH, N_QUERY, D_MODEL).float()
    mask = causal_mask(N_QUERY)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = mine(x, mask=mask)
    assert output.dtype == torch.bfloat16
    assert_close(output.float(), mine(x, mask=mask), rtol=0, atol=0.3)


def test_a_mask_of_fewer_axes_than_x_holds_for_every_head():
    batch = 3  # as many as heads: an axis in the wrong place would still broadcast
    mine, x = MultiHeadAttention(12, 3), torch.randn(2, batch, 5, 12)
    mask = padding_mask([5, 2, 4], 5)  # (batch, 1, n)
    alone = torch.stack([mine(part, mask=mask) for part in x])
    torch.testing.assert_close(mine(x, mask=mask), alone)
    alone = torch.stack([mine.map(part, mask=mask) for part in x])
    torch.testing.assert_close(mine.map(x, mask=mask), alone)


def test_sizes_may_be_integers_of_numpy():
    assert split_heads(torch.ones(5, 12), np.int64(3)).shape == (3, 5, 4)
    assert MultiHeadAttention(np.int64(12), np.int32(3))(torch.ones(5, 12)).shape == (5, 12)
