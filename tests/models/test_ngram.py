"""Counts against a dictionary of strings, written out with the formula."""

from collections import Counter, defaultdict

import pytest
import torch

from attn_edu.models import NGram

TRAIN, HELD_OUT = "abracadabra abba cab", "abrac bad cabbage"
ALPHABET = sorted(set(TRAIN + HELD_OUT))


def encode(text):
    return torch.tensor([ALPHABET.index(character) for character in text])


def by_hand(order, text, at):
    """P(text[at] | the order - 1 before it), recursively."""
    if order == 0:
        return 1 / len(ALPHABET)
    if at < order - 1:
        return by_hand(order - 1, text, at)
    followers = defaultdict(Counter)
    for i in range(order - 1, len(TRAIN)):
        followers[TRAIN[i - order + 1 : i]][TRAIN[i]] += 1
    counts = followers[text[at - order + 1 : at]]
    shorter = by_hand(order - 1, text, at)
    if not counts:
        return shorter
    return (counts[text[at]] + len(counts) * shorter) / (counts.total() + len(counts))


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_equals_the_formula_by_hand(order):
    model = NGram(order, len(ALPHABET)).fit(encode(TRAIN))
    got = model.probabilities(encode(HELD_OUT))
    wanted = [by_hand(order, HELD_OUT, i) for i in range(len(HELD_OUT))]
    assert got.tolist() == pytest.approx(wanted, rel=1e-12)


def test_a_longer_model_speaks_for_the_shorter_ones():
    long = NGram(5, len(ALPHABET)).fit(encode(TRAIN))
    for order in (1, 3, 5):
        short = NGram(order, len(ALPHABET)).fit(encode(TRAIN))
        wanted = short.probabilities(encode(HELD_OUT))
        assert long.probabilities(encode(HELD_OUT), order).equal(wanted)
    with pytest.raises(ValueError, match="at most 5"):
        long.probabilities(encode(HELD_OUT), 6)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_next_token_has_probability_one_in_all(order):
    model = NGram(order, len(ALPHABET)).fit(encode(TRAIN))
    for context in ("ab", "cad", "zzz".replace("z", ALPHABET[-1]), ""):
        total = sum(model.probabilities(encode(context + c))[-1].item() for c in ALPHABET)
        assert total == pytest.approx(1, rel=1e-12)


def test_texts_shorter_than_the_order():
    model = NGram(5, 3).fit(torch.tensor([0, 1]))
    got = model.probabilities(torch.tensor([1, 0]))
    assert got.tolist() == pytest.approx([(1 + 2 / 3) / 4, (1 + 2 / 3) / 4])
    assert model.probabilities(torch.tensor([], dtype=torch.long)).shape == (0,)


@pytest.mark.parametrize(("order", "vocabulary"), [(0, 3), (2, 0), (11, 64), (True, 3)])
def test_bad_sizes_are_named(order, vocabulary):
    with pytest.raises(ValueError, match=r"order|vocabulary"):
        NGram(order, vocabulary)


@pytest.mark.parametrize(
    ("tokens", "named"),
    [
        (torch.tensor([0, 3]), "0 to 3; accepted is 0 to 2"),
        (torch.tensor([-1, 2]), "-1 to 2; accepted is 0 to 2"),
        (torch.tensor([[0, 1], [1, 2]]), "accepted is \\(n,\\)"),
        (torch.tensor([0.5, 1.0]), "integers"),
    ],
)
def test_what_is_no_row_of_tokens_is_named(tokens, named):
    model = NGram(2, 3)
    with pytest.raises(ValueError, match=named):
        model.fit(tokens)
    with pytest.raises(ValueError, match=named):
        model.fit(torch.tensor([0, 1, 2])).probabilities(tokens)
    with pytest.raises(TypeError, match="got list"):
        model.fit([0, 1])


def test_a_model_that_has_counted_nothing_says_so():
    with pytest.raises(ValueError, match="after `fit`"):
        NGram(2, 3).probabilities(torch.tensor([0, 1]))
