"""Bad input: an error that names the argument, what was got and what is accepted."""

import math

import pytest
import torch
from torch import nn

from attn_edu.attention import (
    MultiHeadAttention,
    attention_map,
    block_mask,
    causal_mask,
    merge_heads,
    padding_mask,
    reference_attention,
    scaled_dot_product_attention,
    sliding_window_mask,
    split_heads,
    to_additive,
    to_multihead_attention,
)

QUERY, KEY, VALUE = torch.ones(2, 5, 4), torch.ones(2, 7, 4), torch.ones(2, 7, 6)
MASK = torch.ones(5, 7, dtype=torch.bool)

# (what is changed, the error, the argument that it names, what was got, what is accepted)
ATTENTION = [
    ({"query": [[1.0]]}, TypeError, "query", "list", "torch.Tensor"),
    ({"key": None}, TypeError, "key", "NoneType", "torch.Tensor"),
    ({"value": VALUE.numpy()}, TypeError, "value", "ndarray", "torch.Tensor"),
    ({"query": torch.ones(4)}, ValueError, "query", "(4,)", "2 axes"),
    ({"key": torch.tensor(1.0)}, ValueError, "key", "()", "2 axes"),
    ({"value": VALUE.long()}, ValueError, "value", "torch.int64", "floating-point"),
    ({"query": QUERY.to(torch.complex64)}, ValueError, "query", "complex64", "floating-point"),
    ({"key": KEY.double()}, ValueError, "key", "torch.float64", "torch.float32"),
    ({"value": VALUE.half()}, ValueError, "value", "torch.float16", "torch.float32"),
    ({"key": KEY.to("meta")}, ValueError, "key", "meta", "cpu"),
    ({"key": torch.ones(2, 7, 3)}, ValueError, "key", "(2, 7, 3)", "must be equal"),
    ({"query": QUERY[..., :0], "key": KEY[..., :0]}, ValueError, "key", "(2, 7, 0)", "at least 1"),
    ({"value": VALUE[:, :6]}, ValueError, "value", "(2, 6, 6)", "one value for each key"),
    ({"key": torch.ones(3, 7, 4)}, ValueError, "key", "(3,)", "broadcast with (2,)"),
    ({"value": torch.ones(3, 7, 6)}, ValueError, "value", "(3,)", "broadcast with (2,)"),
    ({"mask": [[True]]}, TypeError, "mask", "list", "boolean tensor"),
    ({"mask": MASK.float()}, ValueError, "mask", "torch.float32", "torch.bool"),
    ({"mask": MASK.long()}, ValueError, "mask", "torch.int64", "True = may attend"),
    ({"mask": MASK[0]}, ValueError, "mask", "(7,)", "(2, 5, 7)"),
    ({"mask": MASK.mT}, ValueError, "mask", "(7, 5)", "(2, 5, 7)"),
    ({"mask": MASK.expand(3, 5, 7)}, ValueError, "mask", "(3,)", "broadcast with (2,)"),
    ({"mask": MASK.to("meta")}, ValueError, "mask", "meta", "cpu"),
    ({"scale": math.nan}, ValueError, "scale", "nan", "finite"),
    ({"scale": -math.inf}, ValueError, "scale", "-inf", "finite"),
    ({"scale": 10**400}, ValueError, "scale", "inf", "finite"),
    ({"scale": "8"}, TypeError, "scale", "str", "finite number"),
    ({"scale": torch.ones(2)}, TypeError, "scale", "Tensor", "finite number"),
]


def assert_says(error, name, got, accepted):
    message = str(error.value)
    assert message.startswith(f"{name}: "), message
    assert got in message, message
    assert accepted in message, message
    assert "\n" not in message
    assert len(message) < 300


@pytest.mark.parametrize("function", [scaled_dot_product_attention, reference_attention])
@pytest.mark.parametrize(("change", "error", "name", "got", "accepted"), ATTENTION)
def test_attention(function, change, error, name, got, accepted):
    arguments = {"query": QUERY, "key": KEY, "value": VALUE, **change}
    with pytest.raises(error) as caught:
        function(**arguments)
    assert_says(caught, name, got, accepted)


def test_the_arguments_that_the_errors_change_are_accepted_unchanged():
    assert scaled_dot_product_attention(QUERY, KEY, VALUE, mask=MASK, scale=1).shape == (2, 5, 6)


HEADS = MultiHeadAttention(12, 3)
X = torch.ones(2, 5, 12)

OTHERS = [
    (
        lambda: attention_map(scaled_dot_product_attention, QUERY, [1]),
        TypeError,
        "key",
        "list",
        "Tensor",
    ),
    (
        lambda: attention_map(None, QUERY, KEY),
        TypeError,
        "attention",
        "NoneType",
        "function",
    ),
    (
        lambda: attention_map(scaled_dot_product_attention, 3, KEY),
        TypeError,
        "query",
        "int",
        "Tensor",
    ),
    (lambda: causal_mask(0), ValueError, "n_query", "0", "at least 1"),
    (lambda: causal_mask(2.0), ValueError, "n_query", "2.0", "integer"),
    (lambda: causal_mask(True), ValueError, "n_query", "True", "integer"),
    (lambda: causal_mask(5, 0), ValueError, "n_key", "0", "at least 1"),
    (lambda: causal_mask(5, 4), ValueError, "n_key", "4", "n_key >= n_query"),
    (lambda: padding_mask([1], 0), ValueError, "n", "0", "at least 1"),
    (lambda: padding_mask([1, 8], 7), ValueError, "lengths", "[1, 8]", "0 to n = 7"),
    (lambda: padding_mask([-1], 7), ValueError, "lengths", "[-1]", "0 to n = 7"),
    (lambda: padding_mask([1.0], 7), ValueError, "lengths", "float32", "integer"),
    (lambda: padding_mask([1j], 7), ValueError, "lengths", "complex64", "integer"),
    (lambda: padding_mask([True], 7), ValueError, "lengths", "bool", "integer"),
    (lambda: padding_mask([[1]], 7), ValueError, "lengths", "(1, 1)", "(batch,)"),
    (lambda: padding_mask(3, 7), ValueError, "lengths", "()", "(batch,)"),
    (lambda: padding_mask("ab", 7), ValueError, "lengths", "'ab'", "integers"),
    (lambda: padding_mask(None, 7), ValueError, "lengths", "None", "integers"),
    (lambda: padding_mask([[1], [2, 3]], 7), ValueError, "lengths", "[2, 3]", "integers"),
    (lambda: sliding_window_mask(0, 1), ValueError, "n", "0", "at least 1"),
    (lambda: sliding_window_mask(7, 0), ValueError, "window", "0", "at least 1"),
    (lambda: sliding_window_mask(7, -2), ValueError, "window", "-2", "at least 1"),
    (lambda: block_mask(-1, 1), ValueError, "n", "-1", "at least 1"),
    (lambda: block_mask(7, 0), ValueError, "block", "0", "at least 1"),
    (lambda: block_mask(7, 2.5), ValueError, "block", "2.5", "integer"),
    (lambda: to_additive(MASK.float()), ValueError, "mask", "float32", "boolean"),
    (lambda: to_additive(MASK, torch.int64), ValueError, "dtype", "int64", "floating-point"),
    (lambda: to_additive(MASK, "float16"), TypeError, "dtype", "str", "torch.dtype"),
    (lambda: to_additive(MASK, torch.complex64), ValueError, "dtype", "complex64", "16 bits"),
    (lambda: to_additive(MASK, torch.float8_e4m3fn), ValueError, "dtype", "float8", "16 bits"),
    (lambda: to_multihead_attention([True]), TypeError, "mask", "list", "boolean"),
    (lambda: split_heads([1.0], 1), TypeError, "x", "list", "torch.Tensor"),
    (lambda: split_heads(torch.ones(12), 3), ValueError, "x", "(12,)", "(…, n, n_heads · d_head)"),
    (lambda: split_heads(X, 5), ValueError, "n_heads", "5", "[1, 2, 3, 4, 6, 12]"),
    (lambda: split_heads(X, 0), ValueError, "n_heads", "0", "at least 1"),
    (lambda: split_heads(X, 3.0), ValueError, "n_heads", "3.0", "integer"),
    (lambda: merge_heads(X[0]), ValueError, "x", "(5, 12)", "(…, n_heads, n, d_head)"),
    (lambda: merge_heads(None), TypeError, "x", "NoneType", "torch.Tensor"),
    (lambda: MultiHeadAttention(12, 5), ValueError, "n_heads", "5", "[1, 2, 3, 4, 6, 12]"),
    (lambda: MultiHeadAttention(12, -1), ValueError, "n_heads", "-1", "at least 1"),
    (lambda: MultiHeadAttention(0, 1), ValueError, "d_model", "0", "at least 1"),
    (lambda: MultiHeadAttention(-12, 3), ValueError, "d_model", "-12", "at least 1"),
    (lambda: MultiHeadAttention(12.0, 3), ValueError, "d_model", "12.0", "integer"),
    (lambda: HEADS([1]), TypeError, "x", "list", "torch.Tensor"),
    (lambda: HEADS(X[..., :8]), ValueError, "x", "(2, 5, 8)", "d_model = 12"),
    (lambda: HEADS(X[0, 0]), ValueError, "x", "(12,)", "(…, n, 12)"),
    (lambda: HEADS(X, X[..., :8]), ValueError, "memory", "(2, 5, 8)", "d_model = 12"),
    (lambda: HEADS.map(X, "x"), TypeError, "memory", "str", "torch.Tensor"),
    (lambda: HEADS(X.double()), ValueError, "x", "torch.float64", "torch.float32"),
    (lambda: HEADS(X.long()), ValueError, "x", "torch.int64", "torch.float32"),
    (lambda: HEADS.map(X, X.half()), ValueError, "memory", "torch.float16", "torch.float32"),
    (lambda: HEADS(X.to("meta")), ValueError, "x", "meta", "cpu"),
    (lambda: HEADS(X, torch.ones(3, 7, 12)), ValueError, "memory", "(3,)", "(2,)"),
    (lambda: HEADS(X, mask=MASK), ValueError, "mask", "(5, 7)", "(2, 3, 5, 5)"),
    (lambda: HEADS(X, mask=padding_mask([4, 5, 2], 5)), ValueError, "mask", "(3, 1)", "(2, 3)"),
    (
        lambda: HEADS.load_torch(HEADS),
        TypeError,
        "other",
        "MultiHeadAttention",
        "nn.MultiheadAttention",
    ),
    (
        lambda: HEADS.load_torch(nn.MultiheadAttention(12, 4)),
        ValueError,
        "other",
        "(12, 4, True)",
        "(12, 3, True)",
    ),
    (
        lambda: HEADS.load_torch(nn.MultiheadAttention(12, 3, bias=False)),
        ValueError,
        "other",
        "(12, 3, False)",
        "(12, 3, True)",
    ),
    (
        lambda: HEADS.load_torch(nn.MultiheadAttention(12, 3, kdim=7)),
        ValueError,
        "other",
        "kdim",
        "accepted",
    ),
    (
        lambda: HEADS.load_torch(nn.MultiheadAttention(12, 3, add_bias_kv=True)),
        ValueError,
        "other",
        "add_bias_kv",
        "accepted",
    ),
    (
        lambda: HEADS.load_torch(nn.MultiheadAttention(12, 3, add_zero_attn=True)),
        ValueError,
        "other",
        "add_zero_attn",
        "accepted",
    ),
]


@pytest.mark.parametrize(("call", "error", "name", "got", "accepted"), OTHERS)
def test_the_others(call, error, name, got, accepted):
    with pytest.raises(error) as caught:
        call()
    assert_says(caught, name, got, accepted)
