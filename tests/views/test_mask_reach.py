"""MaskReach against what gradients say who reaches whom, and what it refuses."""

import numpy as np
import pytest
import torch

from attn_edu.attention import (
    block_mask,
    causal_mask,
    scaled_dot_product_attention,
    sliding_window_mask,
)
from attn_edu.views import MaskReach

WORDS = ["The", "animal", "was", "too", "tired", "to", "walk"]
N = len(WORDS)
RANDOM = torch.rand(3, N, N, generator=torch.Generator().manual_seed(1)) < 0.25


def ways():
    """Named masks, and the masks of three layers of each."""
    window, blocks = sliding_window_mask(N, 3), block_mask(N, 2)
    stacks = {
        "causal": causal_mask(N),
        "window": window,
        "no diagonal": ~torch.eye(N, dtype=torch.bool) & sliding_window_mask(N, 2),
        "one by one": [blocks, blocks, window],
        "random": RANDOM,
    }
    return {
        name: (mask, list(mask) if len(mask) == 3 else [mask] * 3) for name, mask in stacks.items()
    }


def seen_by_gradient(masks):
    """(n, n): does a word's output, after these layers with residual connections, use another?"""

    def layers(x):
        for mask in masks:
            x = x + scaled_dot_product_attention(x, x, x, mask=mask)
        return x

    x = torch.randn(N, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    jacobian = torch.autograd.functional.jacobian(layers, x)  # (n, d, n, d)
    return (jacobian.abs().amax(dim=(1, 3)) > 0).numpy()


@pytest.mark.parametrize("name", ways())
def test_reach_is_what_gradients_reach(name):
    mask, each = ways()[name]
    first = MaskReach({name: mask}, layers=3).first_layers(name)
    for depth in (1, 2, 3):
        reached = (first > 0) & (first <= depth)
        assert (reached == seen_by_gradient(each[:depth])).all()


def test_layers_are_not_interchangeable():
    blocks, window = block_mask(N, 2), sliding_window_mask(N, 2)
    one, other = (
        MaskReach({"x": m}).first_layers("x") for m in ([blocks, window], [window, blocks])
    )
    assert ((one > 0) != (other > 0)).any()


def test_closed_forms():
    view = MaskReach({"window": sliding_window_mask(40, 5), "blocks": block_mask(40, 8)}, layers=6)
    for layers in range(1, 7):
        reached = view.first_layers("window")[39] <= layers
        assert (reached & (view.first_layers("window")[39] > 0)).sum() == 1 + layers * 4
    assert set(np.unique(view.first_layers("blocks"))) == {0, 1}


def test_the_scheme_of_blocks_and_a_last_layer_toward_one_side_or_both():
    blocks, place = block_mask(16, 4), torch.arange(16) // 4
    left = blocks | (place[:, None] - 1 == place)
    both = left | left.T
    kinds = {"none": blocks, "left": [blocks] * 3 + [left], "both": [blocks] * 3 + [both]}
    view = MaskReach(kinds, depth=4)
    assert view.layers == 4
    assert "64 of 256 pairs (25 %) with none, 112 of 256 (44 %) with left" in view.summary()
    assert "160 of 256 (63 %) with both" in view.summary()


def test_its_words_are_those_of_the_picture():
    view = MaskReach({"window 3": sliding_window_mask(N, 3)}, WORDS, depth=2, word=4, title="Far")
    told = view.describe()
    assert told.startswith("Far. Masks and reach, 7 words, after 2 of 4 layers: 25 of 49 pairs")
    assert "With window 3: 37 %, 51 %, 57 %, 57 % of the pairs after 1 to 4 layers" in told
    assert "“tired” reaches 5 of 7 words, “The”, “animal”, “was”, “too”, “tired”." in told
    caption, head, rows = view._table()
    assert "of 49" in caption
    assert head == ["mask", "1 layer", "2 layers", "3 layers", "4 layers", "“tired”, depth 2"]
    assert rows == [["window 3", "18 (37 %)", "25 (51 %)", "28 (57 %)", "28 (57 %)", "5 words"]]


def test_halves_of_a_per_cent_go_up():
    mask = torch.zeros(20, 20, dtype=torch.bool)
    mask[0, :7] = True  # with the diagonal 26 of 400 pairs, 6.5 %
    assert "26 of 400 pairs (7 %)" in MaskReach({"few": mask}).summary()


def test_the_last_word_is_followed_unless_another_is_chosen():
    assert MaskReach({"c": causal_mask(N)}).word == N - 1
    assert MaskReach({"c": causal_mask(N)}, word=0).word == 0


def test_the_kinds_are_copied():
    mask = np.tril(np.ones((3, 3), dtype=bool))
    view = MaskReach({"c": mask})
    mask[0] = True
    assert view.kinds["c"][0, 0].tolist() == [True, False, False]


@pytest.mark.parametrize("n", [1, 1024])
def test_the_smallest_and_the_largest(n):
    view = MaskReach({"causal": causal_mask(n), "window": sliding_window_mask(n, 30)})
    assert view.describe()
    assert len(view._html()) < 1_000_000


SQUARE = torch.ones(3, 3, dtype=torch.bool)
BAD = [
    ({}, {}, "kinds must hold 1 to 8 masks, got 0"),
    ({str(k): SQUARE for k in range(9)}, {}, "kinds must hold 1 to 8 masks, got 9"),
    ({"a": SQUARE[:2]}, {}, r"kinds\['a'\] must be .* got shape \(1, 2, 3\)"),
    ({"a": SQUARE[0]}, {}, r"kinds\['a'\] must be .* got shape \(3,\)"),
    ({"a": torch.ones(1025, 1025).bool()}, {}, "n at most 1024"),
    ({"a": SQUARE, "b": SQUARE[:2, :2]}, {}, "all masks must have one size"),
    ({"a": [SQUARE] * 3}, {"layers": 4}, r"kinds\['a'\] must hold 1 or 4 masks, got 3"),
    ({"a": [SQUARE] * 3, "b": [SQUARE] * 2}, {}, r"kinds\['b'\] must hold 1 or 3 masks, got 2"),
    ({"a": SQUARE}, {"layers": 17}, "layers must be at most 16, got 17"),
    ({"a": SQUARE}, {"depth": 5}, "depth must be 1 to 4, got 5"),
    ({"a": SQUARE}, {"depth": 0}, "depth must be at least 1, got 0"),
    ({"a": SQUARE}, {"word": 3}, "word must be 0 to 2, got 3"),
    ({"a": SQUARE}, {"tokens": ["x"]}, "tokens must name each of the 3 positions"),
]


@pytest.mark.parametrize(("kinds", "options", "message"), BAD)
def test_what_is_wrong_is_named(kinds, options, message):
    with pytest.raises(ValueError, match=message):
        MaskReach(kinds, **options)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (SQUARE, "kinds must map names to masks, got Tensor"),
        ({"a": SQUARE.int()}, r"kinds\['a'\] must be boolean .* got dtype torch.int32"),
        ({"a": [SQUARE, SQUARE[:2]]}, r"kinds\['a'\] must be boolean .* got list"),
    ],
)
def test_what_is_of_the_wrong_kind_is_named(kinds, message):
    with pytest.raises(TypeError, match=message):
        MaskReach(kinds)


def test_an_unknown_kind_is_named():
    with pytest.raises(KeyError, match=r"kind must be one of \('a',\), got 'b'"):
        MaskReach({"a": SQUARE}).first_layers("b")
