"""Long sequences run torch's fused kernel: the same numbers, and never an (n, n) matrix."""

import math

import pytest
import torch
from torch.autograd import gradcheck
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from attn_edu.attention import (
    MultiHeadAttention,
    attention_map,
    causal_mask,
    padding_mask,
    reference_attention,
    scaled_dot_product_attention,
)
from attn_edu.attention.dot_product import FEW, LONG
from attn_edu.attention.fused import fused_attention, is_moderate
from attn_edu.costs import measure

N_QUERY, N_KEY, D = 37, LONG + 9, 4


class Reads(TorchDispatchMode):
    """Counts the operations that read a tensor's numbers; a view reads none."""

    def __init__(self):
        super().__init__()
        self.pointers = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if not function.is_view:
            self.pointers += [x.data_ptr() for x in args if isinstance(x, torch.Tensor)]
        return function(*args, **(kwargs or {}))

    def of(self, x):
        return self.pointers.count(x.data_ptr())


def inputs(*lead, d_value=D, n_query=N_QUERY, n_key=N_KEY, dtype=torch.float64, d=D):
    draw = torch.Generator().manual_seed(3)
    shapes = (n_query, d), (n_key, d), (n_key, d_value)
    return [torch.randn(*lead, *shape, generator=draw, dtype=dtype) for shape in shapes]


def random_mask(*shape):
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(5)) < 0.3
    mask[..., 2, :], mask[..., 5] = False, False
    return mask


MASKS = {
    "none": None,
    "keys": random_mask(3, N_KEY)[:1],
    "queries": random_mask(N_QUERY, N_KEY),
    "one column": random_mask(N_QUERY, 9)[:, :1],
    "causal": causal_mask(N_QUERY, N_KEY),
    "heads": random_mask(3, N_QUERY, N_KEY),
    "batch": random_mask(2, 1, N_QUERY, N_KEY),
}


@pytest.mark.parametrize("d_value", [D - 1, D, 2 * D + 1])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_a_long_sequence_equals_the_loops(mask, d_value):
    query, key, value = inputs(2, 3, d_value=d_value)
    wanted = reference_attention(query, key, value, mask=mask)
    assert_close(scaled_dot_product_attention(query, key, value, mask=mask), wanted)


@pytest.mark.parametrize("d_value", [D - 1, D, D + 1])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_gradients_are_those_of_finite_differences(mask, d_value):
    tensors = [x.requires_grad_() for x in inputs(2, 3, d_value=d_value)]
    assert gradcheck(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask=mask), tensors, fast_mode=True
    )


def test_the_border_between_both_ways_is_no_step():
    query, key, value = inputs(2, 3, n_key=LONG + 1)
    last = torch.ones(1, LONG + 1, dtype=torch.bool)
    last[0, -1] = False
    fused = scaled_dot_product_attention(query, key, value, mask=last)
    assert_close(fused, scaled_dot_product_attention(query, key[..., :-1, :], value[..., :-1, :]))


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e300])
def test_what_nobody_sees_may_hold_anything(rubbish):
    query, key, value = inputs(2, 3)
    mask = MASKS["queries"]
    wanted = scaled_dot_product_attention(query, key, value, mask=mask)
    query[..., 2, :] = rubbish  # sees nothing
    key[..., 5, :], value[..., 5, :] = rubbish, rubbish  # seen by nobody
    assert_close(scaled_dot_product_attention(query, key, value, mask=mask), wanted)


@pytest.mark.parametrize("where", [0, 1, 2])
def test_what_is_seen_and_not_a_number_is_not_hidden(where):
    tensors = inputs(2, 3)
    tensors[where][1, 2, 7] = math.nan
    output = scaled_dot_product_attention(*tensors)
    bad = output.isnan().any(dim=-1)
    wanted = torch.zeros(2, 3, N_QUERY, dtype=torch.bool)
    wanted[1, 2, 7 if where == 0 else slice(None)] = True
    assert torch.equal(bad, wanted)


@pytest.mark.parametrize("n", [7, N_KEY])
@pytest.mark.parametrize("rubbish", [math.nan, math.inf])
def test_what_is_hidden_from_a_query_does_not_reach_it(n, rubbish):
    query, key, value = inputs(2, n_query=n, n_key=n)
    mask = causal_mask(n)
    wanted = scaled_dot_product_attention(query, key, value, mask=mask)
    dirty = value.clone()
    dirty[1, -2, 3] = rubbish
    output = scaled_dot_product_attention(query, key, dirty, mask=mask)
    assert (
        output[1, -2:, 3].isnan().all()
        if math.isnan(rubbish)
        else (output[1, -2:, 3] == math.inf).all()
    )
    output[1, -2:, 3] = wanted[1, -2:, 3]
    assert_close(output, wanted)
    dirty = key.clone()
    dirty[1, -2] = math.nan
    output = scaled_dot_product_attention(query, dirty, value, mask=mask)
    assert output[1, -2:].isnan().all()
    assert_close(output[:, :-2], wanted[:, :-2])


def test_moderate_numbers():
    query, key, value = inputs()
    assert is_moderate(query, key, value, 0.5)
    assert not is_moderate(query, key * 1e31, value, 0.5)
    assert not is_moderate(query, key * 1e31, value, -0.5)
    for i in range(3):
        broken = [x.clone() for x in (query, key, value)]
        broken[i][3, 1] = math.nan
        assert not is_moderate(*broken, 0.5)
    value[0, 0] = math.inf
    assert not is_moderate(query, key, value, 0.5)


def test_a_map_of_a_long_sequence():
    query, key, _ = inputs(2)
    mask = MASKS["queries"]
    weights = attention_map(scaled_dot_product_attention, query, key, mask=mask)
    identity = torch.eye(N_KEY, dtype=torch.float64).expand(2, -1, -1)
    assert_close(weights, reference_attention(query, key, identity, mask=mask))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_keeps_its_type(dtype):
    tensors = inputs(2, 3, dtype=torch.float64)
    half = scaled_dot_product_attention(*(x.to(dtype) for x in tensors), mask=MASKS["causal"])
    assert half.dtype == dtype
    wanted = reference_attention(*tensors, mask=MASKS["causal"])
    assert_close(half.double(), wanted, atol=5e-2, rtol=5e-2)


@pytest.mark.parametrize("n_query", [1, FEW, FEW + 1])
def test_a_query_or_a_few_before_many_keys(n_query):
    query, key, value = inputs(2, 3, n_query=n_query)
    wanted = reference_attention(query, key, value)
    assert_close(scaled_dot_product_attention(query, key, value), wanted)


def test_decoding_does_not_look_through_all_keys_first():
    query, key, value = inputs(1, 4, n_query=1, n_key=N, d=64, dtype=torch.float32)
    with torch.no_grad(), Reads() as reads:
        scaled_dot_product_attention(query, key, value)
    assert reads.of(key) == 1 and reads.of(value) == 1


@pytest.mark.parametrize("n", [300, 304])  # more than one strip of 256 rows
@pytest.mark.parametrize("place", [None, (0, 1), (0, 0), (270, 271), (270, 3), (299, 299)])
def test_a_causal_mask_and_one_that_differs_in_one_place(place, n):
    """Where the mask is exactly causal, torch is told so; one place decides."""
    query, key, value = inputs(2, n_query=n, n_key=n)
    mask = causal_mask(n)
    if place is not None:
        mask[place] = ~mask[place]
    wanted = reference_attention(query[:1], key[:1], value[:1], mask=mask)
    assert_close(scaled_dot_product_attention(query, key, value, mask=mask)[:1], wanted)


def test_no_sequences_at_all():
    query, key, value = inputs(0, 3)
    assert scaled_dot_product_attention(query, key, value).shape == (0, 3, N_QUERY, D)


# Memory: 8 heads of width 64, as in the issue of torch that these cases come from.
N = 2048


def big(*lead, d_value=64, turned=False):
    tensors = inputs(*lead, n_query=N, n_key=N, d=64, d_value=d_value, dtype=torch.float32)
    return [x.mT.contiguous().mT for x in tensors] if turned else tensors


CASES = {
    "four axes": (big(1, 8), None),
    "three axes": (big(8), None),
    "five axes": (big(1, 2, 4), None),
    "narrow values": (big(1, 8, d_value=32), None),
    "wide values": (big(1, 8, d_value=96), None),
    "turned in memory": (big(1, 8, turned=True), None),
    "causal": (big(1, 8), causal_mask(N)),
    "causal, three axes": (big(8), causal_mask(N)),
    "causal, narrow values": (big(1, 8, d_value=32), causal_mask(N)),
    "padding": (big(2, 4), padding_mask([N - 5, N], N)[:, None]),
}


@pytest.mark.parametrize("case", CASES)
def test_no_case_takes_the_quadratic_path(case):
    tensors, mask = CASES[case]

    def run():
        with torch.no_grad():
            return scaled_dot_product_attention(*tensors, mask=mask)

    output = run().numel() * 4
    if case == "turned in memory":
        output *= 2  # three copies with the last axis contiguous are needed first
    assert measure(run, repeats=1).peak_bytes < 3 * output


def test_multi_head_attention_never_holds_its_weights():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(512, 8), torch.randn(1, N, 512)
    with torch.no_grad():
        peak = measure(layer, x, repeats=1).peak_bytes
    assert peak < 6 * x.numel() * 4  # query, key, value, heads, merged, output; weights: 32


def test_the_kernel_alone_is_the_same_function():
    query, key, value = inputs(2, 3)
    wanted = reference_attention(query, key, value, mask=MASKS["heads"], scale=0.7)
    assert_close(fused_attention(query, key, value, mask=MASKS["heads"], scale=0.7), wanted)
