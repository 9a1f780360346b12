"""The tables of scores say the same in cells, in words, and without colour."""

import re

import pytest

from attn_edu.figures import HeadScores

SCORES = {"itself": [[0.1, 0.28, 0.3], [0.0, 1.0, 0.55]], "next <b>": [[0.5, 0.2, 0.2], [0, 0, 0]]}


def test_the_sentence_names_the_two_best_of_each():
    assert repr(HeadScores(SCORES, title="Six heads")) == (
        "Six heads. itself: layer 1 head 1 (100 %), then layer 1 head 2 (55 %); "
        "next <b>: layer 0 head 0 (50 %), then layer 0 head 1 (20 %)."
    )
    assert HeadScores(SCORES, title="").best("itself", 3) == [(1, 1), (1, 2), (0, 2)]


def test_the_cells_hold_percent_and_the_largest_is_framed():
    html = HeadScores(SCORES, title="a & b")._repr_mimebundle_()["text/html"]
    cells = re.findall(r"<td[^>]*>(\d+)</td>", html)
    assert " ".join(cells) == "10 28 30 0 100 55 50 20 20 0 0 0"
    assert re.findall(r"outline[^>]*>(\d+)<", html) == ["100", "50"]
    assert html.count('scope="col"') == 6 and html.count('scope="row"') == 4
    # a page that shades every second row would make it look as if it scored higher
    assert html.count('<tr style="background:transparent">') == 4
    assert "next &lt;b&gt;" in html and "a &amp; b" in html and "<script" not in html


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({}, "got none"),
        ({"a": [0.1, 0.2]}, r"scores\['a'\]: got \(2,\); accepted is two axes"),
        ({"a": [[0.1, 1.2]]}, "got 0.1 to 1.2; accepted are numbers from 0 to 1"),
        ({"a": [[0.1, float("nan")]]}, "accepted are numbers"),
    ],
)
def test_what_is_refused(scores, told):
    with pytest.raises(ValueError, match=told):
        HeadScores(scores, title="")


def test_no_table_is_a_landmark():
    """Two outputs of one name on a page would be two landmarks of one name."""
    assert 'role="region"' not in HeadScores({"a": [[0.5]]}, title="Two").to_html()
