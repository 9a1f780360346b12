"""HeadSplit against what torch's view and transpose really do."""

import pytest
import torch

from attn_edu.attention import split_heads
from attn_edu.views import HeadSplit

SIZES = [(5, 3, 4), (1, 2, 3), (4, 1, 2), (6, 2, 1)]


@pytest.mark.parametrize(("n", "heads", "d"), SIZES)
def test_each_number_comes_from_where_torch_takes_it(n, heads, d):
    x = torch.arange(n * heads * d).reshape(1, n, heads * d)
    view = HeadSplit(n, heads, d)
    assert (view.origins("view") == x.view(1, heads, n, d)[0].numpy()).all()
    assert (view.origins("transpose") == split_heads(x, heads)[0].numpy()).all()


@pytest.mark.parametrize(("n", "heads", "d"), SIZES)
def test_right_counts_the_cells_that_agree(n, heads, d):
    x = torch.arange(n * heads * d).reshape(1, n, heads * d)
    same = x.view(1, heads, n, d) == split_heads(x, heads)
    view = HeadSplit(n, heads, d)
    assert view.right("view") == int(same.sum())
    assert view.right("transpose") == n * heads * d
    assert f"{int(same.sum())} of {n * heads * d} numbers" in view.summary()


def test_it_says_where_each_word_lands():
    told = HeadSplit(4, 3, 4, ["the", "cat", "sat", "down"]).describe()
    assert "“cat” lands in head 0 row 3, head 1 row 0, head 1 row 1." in told
    told = HeadSplit(4, 3, 4, ["the", "cat", "sat", "down"], method="transpose").describe()
    assert "“cat” lands in head 0 row 1, head 1 row 1, head 2 row 1." in told


def test_the_table_names_word_and_feature():
    _, head, rows = HeadSplit(2, 2, 3, ["a", "b"])._table()
    assert head == ["head", "row", "0", "1", "2"]
    assert rows[1] == ["head 0", "b", "a 3", "a 4", "a 5"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 2, 2), ValueError, "n must be at least 1, got 0"),
        ((2, 2.0, 2), TypeError, "n_heads must be a whole number, got float"),
        ((64, 8, 64), ValueError, "must be at most 4096, got 32768"),
        ((2, 2, 2, ["a"]), ValueError, "tokens must name each of the 2 positions"),
    ],
)
def test_what_is_wrong_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        HeadSplit(*arguments)


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match=r"method must be one of .* got 'reshape'"):
        HeadSplit(2, 2, 2, method="reshape")
    for ask in (HeadSplit(2, 2, 2).origins, HeadSplit(2, 2, 2).right):
        with pytest.raises(ValueError, match=r"method must be one of .* got 'reshape'"):
            ask("reshape")


def test_words_can_grow_only_where_they_are_positions():
    assert HeadSplit(4, 3, 4, list("abcd")).most == 4
    assert HeadSplit(4, 3, 4).most == 12
    assert HeadSplit(20, 3, 4).most == 20
    assert HeadSplit(2, 32, 16).most == 8


def test_the_page_gets_the_features_and_how_they_are_dealt_first():
    told = HeadSplit(4, 3, 4)._payload()
    assert (told["width"], told["n"], told["n_heads"], told["most"]) == (12, 4, 3, 12)
