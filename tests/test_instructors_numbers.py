"""The small examples on the page for instructors, run: what a wrong answer gives is what it says.

A number is written here as it stands on the page, and is right to its last digit.
"""

import math
import re

import pytest
import torch

from attn_edu import instructors
from attn_edu.exercises import exercise

SAID = instructors.sayings(instructors.PAGE.read_text("utf-8"))


def t(*rows):
    """A tensor of numbers."""
    return torch.tensor(rows, dtype=torch.float64)


def zeros(*shape):
    return torch.zeros(*shape, dtype=torch.float64)


def column(*numbers):
    """A sentence of words with one feature each, ``(1, n, 1)``."""
    return t(*numbers).view(1, -1, 1)


def numbers(answer):
    """All numbers of an answer, one after the other; a pair is two factors of a matrix."""
    if isinstance(answer, tuple):
        answer = answer[0] @ answer[1]
    return torch.as_tensor(answer, dtype=torch.float64).flatten().tolist()


def visible(answer):
    """How many places of a mask may be seen."""
    return [answer.sum().item()]


def first_row(answer):
    return [answer[0].sum().item()]


def rows(answer):
    return [answer.shape[-2]]


def row_sums(answer):
    return answer.sum(dim=-1).tolist()


def lengths(answer):
    return [answer[1].norm().item()]


def diagonal(answer):
    return (answer[0] @ answer[1]).diagonal().abs().tolist()


eye, ones = torch.eye(1, dtype=torch.float64), t([1], [1], [1])
same = t([1, 0], [1, 0], [1, 0])
keys = t([2, 0], [0, 2], [0, 0])
seen_one = torch.tensor([[True, False]])
certain = 100 * torch.eye(4, dtype=torch.float64)[torch.tensor([[2, 0, 3]])]  # right about 1 2 0
cache = zeros(1, 1, 1, 1), zeros(1, 1, 1, 1), t(8).view(1, 1, 1, 1), zeros(1, 1, 3, 1)
cache = (*cache, t(0, 2, 6).view(1, 1, 3, 1))
still = zeros(6, 1), zeros(6, 1), torch.arange(6.0, dtype=torch.float64)[:, None], 2
nine_four = t([9, 0], [0, 4]), 2
no_values = torch.arange(6.0, dtype=torch.float64).view(1, 3, 2).expand(2, 1, 3, 2)
no_values = (*no_values, column(2, 4, 6), torch.ones(2, 3).double(), zeros(2, 3))
sixteen = torch.arange(8.0).view(1, 2, 4)
four_still = zeros(1, 4, 2), zeros(1, 4, 2)
perfect = t([1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0])
written_read = column(0, 0, 0), column(1, 2, 3, 6), eye, eye, eye, None
words = column(2, 4, 9), torch.tensor([2])
thousandths = t([0.001, 0.003]), t(1, 1), t(0, 0)
one_feature = t([0]), t([1], [-1])

# misconception, arguments, right and wrong as on the page, what is read from an answer
EXAMPLES = {
    "01.path_length": [
        ("a layer reaches as far as its window is wide", (7, "cnn", 3), "3", "2"),
        ("n / window layers", (6, "cnn", 3), "3", "2"),
        ("rounded down", (4, "cnn", 3), "", "1"),
    ],
    "01.gradient_decay": [
        ("words counted instead of the gaps between them", (t(8, 4, 2),), "", "0.63"),
        ("upside down", (t(8, 4, 2),), "", "2"),
        ("the decay over all steps", (t(8, 4, 2),), "", "0.25"),
        ("divided where a root is needed", (t(8, 4, 2),), "", "0.125"),
    ],
    "02.scores": [
        ("keys ask and queries answer", (t([1, 2], [3, 4]), keys), "", "3", rows),
        ("already divided by √d", (t([1, 2]), t([3, 4])), "11", "7.78"),
        ("already divided by d", (t([1, 2]), t([3, 4])), "11", "5.5"),
        ("cosine similarity", (t([3, 4]), t([3, 4], [6, 8])), "25 50", "1 1"),
    ],
    "02.attention_weights": [
        ("softmax over all scores at once", (same[:2], keys, None), "", "0.5 0.5", row_sums),
        ("mask of 0 and 1 added to the scores", (t([0]), t([1], [2]), seen_one), "", "0.73 0.27"),
        (
            "masked after the softmax",
            (t([0]), t([1], [2], [3], [4]), torch.arange(4)[None] < 1),
            "",
            "0.25 0 0 0",
        ),
    ],
    "02.scaled_dot_product_attention": [
        ("softmax over all scores at once", (same, keys, ones, None), "1 1 1", "0.33 0.33 0.33"),
        ("no softmax", (t([2]), t([1], [-1]), t([10], [20]), None), "", "−20"),
    ],
    "02.padding_mask": [
        ("one word too many", (torch.tensor([0]), 3), "", "1", visible),
        ("one word too few", (torch.tensor([1]), 3), "1", "0", visible),
    ],
    "03.split_heads": [
        (
            "view instead of transpose",
            (sixteen, 2),
            "0 1 4 5",
            "0 1 2 3",
            lambda x: numbers(x[0, 0]),
        ),
        ("features dealt out in turn", (sixteen, 2), "", "0 2", lambda x: numbers(x[0, 0, 0])),
    ],
    "03.merge_heads": [
        (
            "merged without transposing back",
            (torch.arange(4.0).view(1, 2, 2, 1),),
            "0 2",
            "0 1",
            lambda x: numbers(x[0, 0]),
        ),
        (
            "heads interleaved",
            (torch.arange(8.0).view(1, 2, 2, 2),),
            "0 1 4 5",
            "0 4 1 5",
            lambda x: numbers(x[0, 0]),
        ),
    ],
    "04.sinusoidal_positions": [
        (
            "the 2 in the exponent taken twice",
            (2, 8),
            "0.1",
            "0.01",
            lambda x: [math.asin(x[1, 2])],
        ),
        (
            "the 2 in the exponent left out",
            (2, 8),
            "0.001",
            "0.032",
            lambda x: [math.asin(x[1, 6])],
        ),
    ],
    "04.layer_norm": [
        ("variance divided by d - 1", (t([1, 3]), t(1, 1), t(0, 0)), "−1 1", "−0.71 0.71"),
        ("ε outside the root", thousandths, "0.30", "0.99", lambda x: numbers(x[0, 1])),
    ],
    "04.rotary": [
        (
            "halves turned by the angles of neighbours",
            (t([0] * 4, [1, 1, 1, 1]),),
            "2",
            "1.49",
            lengths,
        ),
        (
            "neighbours turned by the angles of halves",
            (t([0] * 4, [1, 0, 1, 0]),),
            "1.41",
            "0.76",
            lengths,
        ),
        ("pairs taken as neighbours, put back as halves", (t([1, 2, 3, 4]),), "1 2 3 4", "1 3 2 4"),
    ],
    "05.causal_mask": [
        ("aligned to the first keys", (1, 7), "7", "1", visible),
    ],
    "05.next_token_loss": [
        ("not shifted", (certain, torch.tensor([[1, 2, 0]])), "0", "100"),
        ("shifted the wrong way", (certain, torch.tensor([[1, 2, 0]])), "0", "100"),
        ("shifted in a ring", (certain, torch.tensor([[1, 2, 0]])), "0", "33"),
    ],
    "05.additive_mask": [
        ("numbers 0 and 1", (seen_one,), "0", "0.27", lambda x: numbers(x.softmax(-1)[0, 1])),
    ],
    "05.decode_step": [
        ("the new word does not see itself", cache, "", "2.67"),
        ("the cache is not read", cache, "", "8"),
        ("only the first key is seen", cache, "", "0"),
    ],
    "06.sliding_window_mask": [
        ("one word too many", (5, 1), "5", "9", visible),
        ("one word too few", (5, 1), "", "0", visible),
        ("the future left open", (4, 2), "1", "4", first_row),
    ],
    "06.block_attention": [
        (
            "number and length of the blocks exchanged",
            still,
            "0.5 0.5 2.5 2.5 4.5 4.5",
            "1 1 1 4 4 4",
        ),
        ("every block-th word instead of neighbours", still, "", "1.5 2.5 3.5 1.5 2.5 3.5"),
        ("causal inside a block", still, "0.5", "0", lambda x: [x[0].item()]),
    ],
    "06.receptive_field": [
        ("window · layers", (3, 2), "5", "6"),
        ("the word itself forgotten", (3, 1), "3", "2"),
        ("window words further back in each layer", (3, 1), "3", "4"),
    ],
    "07.low_rank_factors": [
        ("singular values left out", nine_four, "9 4", "1 1", diagonal),
        ("singular values in both factors", nine_four, "9 4", "81 16", diagonal),
        ("singular values only by their roots", nine_four, "9 4", "3 2", diagonal),
    ],
    "07.linformer_attention": [
        ("one projection for both", no_values, "0 0 0", None),
        ("projections exchanged", no_values, "0 0 0", None),
    ],
    "07.share_key_heads": [
        (
            "tiled instead of repeated in place",
            (t(10, 20).view(2, 1, 1), 4),
            "10 10 20 20",
            "10 20 10 20",
        ),
        ("groups in reverse", (t(10, 20).view(2, 1, 1), 4), "", "20 20 10 10"),
    ],
    "08.linear_attention": [
        ("no denominator", (zeros(1, 2), zeros(3, 2), ones), "1", "6"),
        ("divided by the number of keys", (zeros(1, 2), zeros(3, 2), ones), "1", "2"),
        ("feature map on the sum of the keys", (*one_feature, ones[:2]), "1", "2.37"),
    ],
    "08.causal_linear_attention": [
        ("not causal", (*four_still, column(0, 0, 0, 8)), "", "2 2 2 2"),
        (
            "denominator of the whole sentence",
            (*four_still, column(1, 1, 1, 1)),
            "1 1 1 1",
            "0.25 0.5 0.75 1",
        ),
        ("no denominator", (*four_still, column(1, 1, 1, 1)), "1 1 1 1", "2 4 6 8"),
    ],
    "09.online_softmax": [
        ("old sum not shrunk", (t([0, 1]), 1), "", "0.18 0.50"),
        ("shrunk the wrong way round", (t([0, 1]), 1), "", "0.10 0.27"),
    ],
    "10.attention_flops": [
        ("half of it", (5, 4), "400", "200"),
        ("a quarter of it: the pairs times the width", (5, 4), "", "100"),
        ("in proportion to the length", (5, 4), "", "80"),
    ],
    "10.crossover_length": [
        ("half of the network's cost", (64,), "64", "32"),
        ("the first length at which attention costs more", (64,), "64", "65"),
        ("half of attention's cost", (64,), "64", "128"),
    ],
    "11.masked_mean": [
        ("padding is averaged in", words, "", "5"),
        ("divided by n", words, "3", "2"),
        ("padding in the sum", words, "", "7.5"),
    ],
    "12.cross_attention": [
        ("queries from the encoder", written_read, "3", "4", rows),
    ],
    "13.previous_token_score": [
        ("the next token", (perfect,), "1", "0"),
        ("the token itself", (perfect,), "1", "0.25"),
        ("two tokens before", (perfect,), "1", "0"),
        ("divided by n", (perfect,), "1", "0.75"),
    ],
}


def close(found, written):
    """Whether numbers are those of a text, each to its last digit."""
    pieces = written.replace("−", "-").split()
    places = [len(piece.partition(".")[2]) for piece in pieces]
    return len(found) == len(pieces) and all(
        abs(x - float(piece)) <= 0.5001 * 10**-digits
        for x, piece, digits in zip(found, pieces, places)
    )


def theirs(name, belief):
    """The function that somebody with that belief would write."""
    one = exercise(name)
    return one.wrong(next(known for known in one.misconceptions if known.name == belief))


@pytest.mark.parametrize(
    ("name", "example"),
    [(name, example) for name, several in EXAMPLES.items() for example in several],
    ids=lambda part: part if isinstance(part, str) else part[0],
)
def test_an_example_of_the_page_gives_what_the_page_says(name, example):
    belief, arguments, right, wrong, *how = example
    read = how[0] if how else numbers
    advice = SAID[name][belief]
    found = read(theirs(name, belief)(*arguments))
    if right:
        assert close(read(exercise(name).reference(*arguments)), right)
    if wrong is None:  # the page says "not that"
        assert not close(found, right)
        return
    assert close(found, wrong), found
    if read not in (visible, first_row, rows):  # these are told in words
        for piece in wrong.split():
            assert re.search(rf"(?<![\d.]){re.escape(piece)}(?!\.?\d)", advice), piece


def test_close_is_to_the_last_digit():
    assert close([7.7782], "7.78")
    assert close([-0.7071, 0.7071], "−0.71 0.71")
    assert not close([7.7882], "7.78")
    assert not close([7.7782, 1], "7.78")
    assert not close([float("nan")], "1")


def test_what_the_page_says_without_an_example():
    """Two that stop with an error, two that pass where they should not, and NaN."""

    for belief in ("keys from the decoder", "values from the decoder"):
        wrong = theirs("12.cross_attention", belief)
        with pytest.raises(RuntimeError):
            wrong(*written_read)
        assert wrong(written_read[0], written_read[1][:, :3], *written_read[2:]).shape == (1, 3, 1)
    strassen = exercise("09.strassen_once").reference
    two, four = t([1, 2], [3, 4]), torch.arange(16.0, dtype=torch.float64).view(4, 4)
    for belief in ("number by number instead of row by column", "factors exchanged"):
        wrong = theirs("09.strassen_once", belief)
        torch.testing.assert_close(wrong(two, two + 4), strassen(two, two + 4))
        assert not torch.allclose(wrong(four, four.mT), strassen(four, four.mT))
    assert theirs("04.layer_norm", "no ε")(t([2, 2]), t(1, 1), t(0, 0)).isnan().all()
    empty = theirs("11.masked_mean", "padding in the sum, and 0 to divide by")
    assert empty(zeros(1, 3, 1), torch.tensor([0])).isnan().all()
    length = exercise("01.path_length")
    wrong = theirs("01.path_length", "n / window layers")
    assert [n for n in range(2, 7) if wrong(n, "cnn", 3) == length.reference(n, "cnn", 3)] == [
        2, 3, 4, 5
    ]  # fmt: skip
    assert torch.tensor(-1e9).half().isinf()
