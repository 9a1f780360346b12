"""Heads taken out, and layers that attend in another way, each held against a loop."""

import pytest
import torch

from attn_edu.attention import (
    GroupedQueryAttention,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from attn_edu.pretrained.removing import attending, without_heads


def by_hand(layer, x, removed):
    """The layer's answer as a sum over heads, without some of them."""
    d_head, total = x.shape[-1] // layer.n_heads, layer.out.bias.expand(len(x), -1)
    for head in set(range(layer.n_heads)) - set(removed):
        part = slice(head * d_head, (head + 1) * d_head)
        query, key, value = (
            x @ p.weight[part].T + p.bias[part] for p in (layer.query, layer.key, layer.value)
        )
        weights = (query @ key.T / d_head**0.5).softmax(dim=-1)
        total = total + weights @ value @ layer.out.weight[:, part].T
    return total


@pytest.mark.parametrize("removed", [[], [0], [2], [0, 3], [0, 1, 2, 3]])
def test_what_is_left_is_the_sum_over_the_other_heads(removed):
    layers = [MultiHeadAttention(12, 4).double() for _ in range(3)]
    x = torch.randn(5, 12).double()
    with torch.no_grad():
        before = [layer(x) for layer in layers]
        with without_heads(layers, [(1, head) for head in removed]):
            torch.testing.assert_close(layers[1](x), by_hand(layers[1], x, removed))
            assert layers[0](x).equal(before[0]) and layers[2](x).equal(before[2])
        assert all(layer(x).equal(was) for layer, was in zip(layers, before))


def test_heads_of_several_layers_and_of_grouped_queries():
    layers = [GroupedQueryAttention(12, 6, 2, bias=False), MultiHeadAttention(12, 3, bias=False)]
    x = torch.randn(4, 12)
    heads = [(0, h) for h in range(6)] + [(1, h) for h in range(3)]
    with torch.no_grad(), without_heads(layers, heads):
        assert all(layer(x).abs().max() == 0 for layer in layers)
    with torch.no_grad():
        assert all(layer(x).abs().max() > 0 for layer in layers)


def test_weights_come_back_after_an_error():
    layer = MultiHeadAttention(6, 2)
    before = layer.out.weight.clone()
    with pytest.raises(RuntimeError, match="in between"), without_heads([layer], [(0, 1)]):
        raise RuntimeError("in between")
    assert layer.out.weight.equal(before)


@pytest.mark.parametrize("head", [(1, 0), (-1, 0), (0, 2), (0, -1)])
def test_a_head_that_does_not_exist(head):
    layer = MultiHeadAttention(6, 2)
    with pytest.raises(ValueError, match=r"heads: got .* accepted is 0 to"), \
            without_heads([layer], [head]):  # fmt: skip
        pass


@pytest.mark.parametrize("head", [0, (0.0, 1), (0,), (0, 1, 0), "01", None])
def test_what_is_no_pair_of_layer_and_head(head):
    layer = MultiHeadAttention(6, 2)
    with pytest.raises(ValueError, match=r"heads: got .* accepted are pairs"), \
            without_heads([layer], [head]):  # fmt: skip
        pass


def test_layers_attend_in_another_way_for_a_while():
    layers, x = [MultiHeadAttention(6, 2), MultiHeadAttention(6, 3)], torch.randn(5, 6)

    def nothing(query, key, value, mask=None):
        return torch.zeros_like(query)

    with torch.no_grad(), attending(layers, nothing):
        for layer in layers:
            assert layer(x).equal(layer.out.bias.expand(5, -1))
    assert all(layer.attend is scaled_dot_product_attention for layer in layers)
