"""AttentionMap: what it accepts, what it says, and that labels stay labels."""

import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from attn_edu.attention import causal_mask
from attn_edu.views import AttentionMap

WORDS = ["The", "cat", "did", "not", "eat"]


def weights(*lead, n=5, m=5):
    return torch.randn(*lead, n, m).softmax(-1)


def output(view):
    return view._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize("cast", [lambda w: w, torch.Tensor.numpy, torch.Tensor.tolist])
def test_any_leading_axes_of_tensors_arrays_and_lists(lead, cast):
    w = weights(*lead)
    view = AttentionMap(cast(w), WORDS)
    assert view.weights.shape == (*(1,) * (2 - len(lead)), *lead, 5, 5)
    np.testing.assert_allclose(view.weights.reshape(w.shape), w, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_any_float_also_with_a_gradient(dtype):
    view = AttentionMap(torch.eye(3, dtype=dtype, requires_grad=True))
    np.testing.assert_array_equal(view.weights[0, 0], np.eye(3))


def test_the_given_weights_are_copied():
    w = np.eye(3, dtype=np.float32)
    view = AttentionMap(w)
    w[0] = 0.5
    np.testing.assert_array_equal(view.weights[0, 0], np.eye(3))


def test_the_words_are_those_of_the_chosen_head():
    w = torch.zeros(2, 3, 5, 5)
    w[..., 0] = 1
    w[1, 2] = torch.eye(5).roll(1, 1)
    view = AttentionMap(w, WORDS, layer=1, head=2)
    assert "“cat” looks most at “did” (1.00)" in view.describe()
    assert "layer 1 of 2, head 2 of 3" in view.summary()
    assert "“cat” looks most at “The” (1.00)" in AttentionMap(w, WORDS).describe()
    name, head, rows = view._table()
    assert head == ["word", *WORDS]
    assert rows[1] == ["cat", "0.000", "0.000", "1.000", "0.000", "0.000"]
    assert "layer 1" in name


def test_the_last_bits_of_a_weight_change_no_word():
    w = np.full((5, 5), 0.2)
    noisy = w + np.random.default_rng(1).normal(size=w.shape) * 1e-8
    assert AttentionMap(w, WORDS).summary() == AttentionMap(noisy, WORDS).summary()
    assert AttentionMap(w, WORDS).describe() == AttentionMap(noisy, WORDS).describe()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({(1, 2): np.nan}, "1 of 25 weights are not a number (NaN)"),
        ({(1, 2): -0.25}, "Some weights are negative, down to -0.25"),
        ({(1, 2): 0.9}, "1 of 5 rows do not sum to 1 (sums from 1 to 1.7)"),
        ({1: 0}, "“cat” looks at no word"),
        ({1: np.nan}, "“cat” has no number (NaN)"),
    ],
)
def test_odd_weights_are_drawn_and_named(change, said):
    w = np.full((5, 5), 0.2)
    for at, value in change.items():
        w[at] = value
    view = AttentionMap(w, WORDS)
    assert said in view.describe()
    assert "<figure" in output(view)


def test_ordinary_weights_are_not_called_odd():
    told = AttentionMap(weights(), WORDS).describe()
    assert not re.search("sum to 1|NaN|negative|masked", told)


def test_the_mask_is_counted_and_a_leak_is_named():
    mask = causal_mask(5)
    clean = torch.randn(5, 5).masked_fill(~mask, -torch.inf).softmax(-1)
    told = AttentionMap(clean, WORDS, mask=mask).describe()
    assert "10 of 25 cells are masked" in told
    assert "carry a weight" not in told
    leak = AttentionMap(weights(), WORDS, mask=mask).describe()
    assert "10 masked cells carry a weight all the same" in leak


def test_a_mask_for_each_head_hatches_its_own_head():
    mask = torch.ones(2, 3, 5, 5, dtype=torch.bool)
    mask[1, 2, 0, 1:] = False
    view = AttentionMap(weights(2, 3), mask=mask, layer=1, head=2)
    assert "4 of 25 cells" in view.describe()
    assert "0 of 25 cells" in AttentionMap(weights(2, 3), mask=mask).describe()
    assert view._payload()["mask"]["shape"] == [2, 3, 5, 5]
    one = AttentionMap(weights(2, 3), mask=mask[1, 2])
    assert one._payload()["mask"]["shape"] == [1, 1, 5, 5]


def test_two_sides_with_words_of_their_own():
    told = AttentionMap(weights(n=2, m=3), query_tokens=["a", "b"], key_tokens=["x", "y", "z"])
    assert "2 by 3 words" in told.summary()
    assert "“a” looks most at" in told.describe()


@pytest.mark.parametrize("n", [1, 2000])
def test_the_smallest_and_the_largest(n):
    view = AttentionMap(torch.eye(n))
    text = output(view)
    assert view.describe()
    assert len(text) < 3_000_000
    if n == 2000:
        assert "the first 128 of 2000 words" in text


HOSTILE = ['"><script>alert(1)</script>', "a' onerror='x", "&lt;", "猫", "🙂", "\u202eمرحبا", ""]


def test_labels_stay_labels():
    class Reader(HTMLParser):
        tags, cells = [], []

        def handle_starttag(self, tag, attributes):
            self.tags.append(tag)
            names = {name for name, _ in attributes}
            assert not {name for name in names if name.startswith("on")}

        def handle_data(self, data):
            self.cells.append(data)

    text = output(AttentionMap(torch.eye(7), HOSTILE, title=HOSTILE[0]))
    Reader().feed(re.sub(r"<script>.*</script>", "<script></script>", text, flags=re.DOTALL))
    assert Reader.tags.count("script") == 1
    assert set(HOSTILE) - {""} <= set(Reader.cells)
    (alt,) = re.findall(r'alt="([^"]*)"', text)
    assert HOSTILE[0] in html.unescape(alt)


def test_an_output_is_the_same_each_time_and_holds_no_address_of_the_web():
    first, second = (output(AttentionMap(torch.eye(5) / 2, WORDS)) for _ in range(2))
    assert first == second
    assert first != output(AttentionMap(torch.eye(5) / 3, WORDS))
    assert set(re.findall(r"https?://[^\s\"'`)]+", first)) <= {"http://www.w3.org/2000/svg"}


BAD = [
    (lambda: AttentionMap(torch.ones(5)), "weights must have 2 to 4 axes"),
    (lambda: AttentionMap(torch.ones(1, 1, 1, 2, 2)), "weights must have 2 to 4 axes"),
    (lambda: AttentionMap(torch.ones(0, 5)), "weights must hold 1 to"),
    (lambda: AttentionMap(torch.ones(2, 2, 1100, 1100)), "pass fewer layers or heads"),
    (lambda: AttentionMap([[1.0, float("inf")]]), "weights must be finite or NaN, got inf"),
    (lambda: AttentionMap(torch.eye(5), WORDS[:4]), "tokens must name each of the 5 positions"),
    (lambda: AttentionMap(torch.ones(2, 3), ["a", "b"]), "pass query_tokens and key_tokens"),
    (lambda: AttentionMap(torch.ones(2, 3), key_tokens=["a"]), "key_tokens must name each of"),
    (lambda: AttentionMap(torch.eye(5), layer=1), "layer must be 0 to 0, got 1"),
    (lambda: AttentionMap(torch.eye(5), head=-1), "head must be 0 to 0, got -1"),
    (lambda: AttentionMap(torch.eye(5), colour="hot"), "colour must be one of .* got 'hot'"),
    (lambda: AttentionMap(torch.eye(5), mask=causal_mask(4)), "mask of shape .* broadcast"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AttentionMap("words"), "weights must be a tensor"),
        (lambda: AttentionMap([[1], [1, 2]]), "weights must be a tensor"),
        (lambda: AttentionMap(torch.eye(3), "a b c"), "tokens must be a sequence of 3 words"),
        (lambda: AttentionMap(torch.eye(3), mask=torch.eye(3)), "mask must be boolean"),
        (lambda: AttentionMap(torch.eye(3), layer=0.0), "layer must be a whole number"),
    ],
)
def test_what_is_of_the_wrong_kind_is_named(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def images(view):
    return view._svg().count("<image ")


def test_the_grid_shows_every_head_in_the_still_picture_too():
    weights = torch.randn(2, 3, 5, 5).softmax(-1)
    assert images(AttentionMap(weights)) == 1
    grid = AttentionMap(weights, grid=True)
    assert images(grid) == 6
    assert grid._payload()["grid"] is True
    assert grid.live().view.grid is True
    one = AttentionMap(weights[0, 0], grid=True)  # of one head there is no grid
    assert images(one) == 1 and one._payload()["grid"] is False


def test_in_the_still_grid_a_masked_cell_is_as_pale_as_a_zero():
    weights, may = torch.eye(4).repeat(1, 2, 1, 1), ~torch.eye(4).bool()
    zero = AttentionMap(torch.zeros(1, 2, 4, 4), grid=True)
    assert AttentionMap(weights, mask=may, grid=True)._svg() == zero._svg()
    assert AttentionMap(weights, grid=True)._svg() != zero._svg()


@pytest.mark.parametrize(
    ("meaning", "summary", "sides", "hidden"),
    [
        (
            "attention",
            "Attention map, 2 words: “a” looks most at “b” (0.90), “b” at “a” (0.30).",
            "2 words ask (rows), 2 are looked at (columns).",
            "2 of 4 cells are masked.",
        ),
        (
            "influence",
            "Influence map, 2 words: “a” depends most on “b” (0.90), “b” on “a” (0.30).",
            "2 outputs (rows), 2 inputs (columns).",
            "2 of 4 cells are zero.",
        ),
        (
            "numbers",
            "Numbers, 2 words: “a” is largest for “b” (0.90), “b” for “a” (0.30).",
            "2 rows, 2 columns.",
            "2 of 4 cells are left out.",
        ),
    ],
)
def test_the_words_are_those_of_what_the_numbers_are(meaning, summary, sides, hidden):
    w = torch.tensor([[0.0, 0.9], [0.3, 0.0]])
    view = AttentionMap(w, ["a", "b"], mask=w > 0, meaning=meaning)
    assert view.summary() == summary
    for said in (sides, hidden):
        assert said in view.describe()
    looking = re.search("look|attention|ask", f"{view.describe()} {view.summary()}", re.IGNORECASE)
    assert bool(looking) is (meaning == "attention")
    assert ("do not sum to 1" in view.describe()) is (meaning == "attention")
    assert view._payload()["says"][0] == view._caption().partition(",")[0]


def test_one_word_that_asks_is_one_word():
    told = AttentionMap([[1.0]]).describe()
    assert "1 word asks (row), 1 is looked at (column)." in told


def test_an_unknown_meaning_is_refused():
    with pytest.raises(ValueError, match=r"meaning.*influence"):
        AttentionMap([[1.0]], meaning="jacobian")
