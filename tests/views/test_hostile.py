"""Words that would be markup, and numbers that are no weights: shown as they are, or refused."""

import base64
import json
import re
from html.parser import HTMLParser
from xml.dom import minidom

import pytest
import torch

from attn_edu.figures import HeadScores, curves
from attn_edu.views import AttentionMap, AttentionSteps, HeadSplit, MaskReach

from .hostile import ODD, SHOWN, WORDS, html_of


class Markup(HTMLParser):
    """The elements of a page with the names of their attributes; its scripts; its pictures."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.scripts, self.pictures, self.inside = [], [], [], None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, [name for name, _ in attributes]))
        self.inside = tag
        source = dict(attributes).get("src", "")
        if source.startswith("data:image/svg+xml;base64,"):
            self.pictures.append(base64.b64decode(source.partition(",")[2]).decode())

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)


def elements_of(svg):
    """Each kind of element once: a long word may take more lines."""
    return {
        (node.tagName, *sorted(node.attributes.keys()))
        for node in minidom.parseString(svg).getElementsByTagName("*")
    }


@pytest.mark.parametrize("word", WORDS, ids=range(len(WORDS)))
@pytest.mark.parametrize("kind", SHOWN)
def test_a_word_adds_no_markup(kind, word):
    html = html_of(SHOWN[kind](word))
    found, plain = Markup(html), Markup(html_of(SHOWN[kind]("a")))
    assert found.elements == plain.elements
    assert [elements_of(p) for p in found.pictures] == [elements_of(p) for p in plain.pictures]
    for script in found.scripts:
        assert not re.search("</?script|<!--|\u2028|\u2029", script, re.IGNORECASE)
    html.encode()
    assert not re.search("[\x00\x07\x1b\uffff]", html)


@pytest.mark.parametrize("kind", SHOWN)
def test_a_word_is_there_to_be_read(kind):
    word = "<b>&\"'"
    assert "&lt;b&gt;&amp;&quot;&#x27;" in html_of(SHOWN[kind](word))


def drawn(make) -> str | None:
    """The output, which is whole; or None where the numbers are refused, by name."""
    try:
        view = make()
    except ValueError as error:
        if re.match(r"(weights|query|key|value|lines|scores)\b", str(error)):
            return None
        raise
    html = html_of(view)
    for picture in Markup(html).pictures:
        assert not re.search(r'="[^"]*\b(nan|inf)\b', picture), "a place that is no number"
        minidom.parseString(picture)
    assert len(view.describe()) > 20
    return html


def payload_of(html) -> dict:
    """The JSON that the script of a view begins with; NaN and Infinity are no JSON."""

    def refuse(name):
        raise AssertionError(f"{name} in the payload")

    start = re.search(r'\(host, (?={")', html).end()
    return json.JSONDecoder(parse_constant=refuse).raw_decode(html, start)[0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", ODD)
def test_odd_numbers_are_drawn_or_refused(odd):
    numbers = torch.tensor(ODD[odd], dtype=torch.float64)
    html = drawn(lambda: AttentionMap(numbers, ["a", "b"]))
    assert (html is None) == ("infinite" in odd)
    assert html is None or payload_of(html)["n"] == 2
    for place in range(3):
        given = [torch.eye(2, dtype=torch.float64)] * 3
        given[place] = numbers
        html = drawn(lambda given=given: AttentionSteps(*given, ["a", "b"]))
        assert (html is None) == (odd in ("NaN", "only NaN", "infinite", "minus infinite"))
        assert html is None or payload_of(html)["n"] == 2
    text = {"x": "x", "y": "y", "title": "t", "summary": "a sentence of some length"}
    for log in (False, True):
        html = drawn(lambda log=log: curves({"a": numbers.tolist()}, **text, log_x=log, log_y=log))
        assert (html is None) == (odd in ("NaN", "only NaN", "infinite", "minus infinite"))
    html = drawn(lambda: HeadScores({"a": numbers}, title="a title of some length"))
    assert (html is None) == (odd not in ("zero", "tiny"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [1, 2000])
def test_one_word_and_two_thousand(n):
    assert drawn(lambda: AttentionMap(torch.full((n, n), 1 / n)))
    assert drawn(lambda: curves({"a": (range(n), range(n))}, x="x", y="y", title="t",
                                summary="a sentence of some length"))  # fmt: skip
    assert drawn(lambda: HeadScores({"a": torch.ones(n, 1)}, title="a title of some length"))
    small = n == 1
    makers = {
        "query must have at most 1024": lambda: AttentionSteps(*torch.ones(3, n, 1)),
        "n at most 1024": lambda: MaskReach({"all": torch.ones(n, n).bool()}),
        "at most 4096": lambda: HeadSplit(n, 2, 2),
    }
    for refusal, make in makers.items():
        if small:
            assert len(html_of(make())) > 1000
        else:
            with pytest.raises(ValueError, match=refusal):
                make()
