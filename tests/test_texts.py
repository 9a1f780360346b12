"""Texts under a slider: what is shown with a script, and what without one."""

import json
import re
from html.parser import HTMLParser

import pytest

from attn_edu.figures import Texts

STEPS = {"0.5": "to be\nor not", "1": 'a < b & "c"', "2": "</script><b>x</b>"}


class Reader(HTMLParser):
    """Text by tag, attributes by tag, and whether every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.texts, self.attributes = [], {}, {}
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.attributes.setdefault(tag, []).append(dict(attrs))
        if tag != "input":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1], []).append(data)


def made(**options):
    return Texts(STEPS, slider="temperature", title="Samples & more", **options)


def test_without_a_script_every_text_is_there():
    page = Reader(made(active=1).to_static_html())
    assert page.open == []
    assert "".join(page.texts["pre"]) == STEPS["1"] + STEPS["0.5"] + STEPS["2"]
    assert page.texts["summary"] == ["temperature 0.5", "temperature 2"]
    assert page.texts["output"] == ["1"]
    assert page.texts["figcaption"] == ["Samples & more"]
    assert "hidden" in page.attributes["label"][0]  # a slider that cannot move is not shown


def test_the_script_holds_every_text_and_ends_where_it_should():
    html = made().to_static_html()
    assert html.count("</script>") == 1
    data = re.search(r"const texts = (\[\[.*?\]\]), folded", html)[1]
    assert json.loads(data) == [list(item) for item in STEPS.items()]


def test_the_slider_has_a_name_and_its_steps():
    (box,) = Reader(made(active=2).to_static_html()).attributes["input"]
    assert (box["min"], box["max"], box["value"]) == ("0", "2", "2")
    assert box["aria-label"] == "temperature"
    assert box["data-lm-suppress-shortcuts"] == "true"


def test_the_same_each_time_and_a_sentence_for_plain_text():
    assert made()._repr_mimebundle_() == made()._repr_mimebundle_()
    assert made()._repr_mimebundle_()["text/plain"] == (
        "Samples & more; temperature: 0.5, 1, 2. At 0.5: 'to be\\nor not'"
    )


@pytest.mark.parametrize(("steps", "active"), [({}, 0), (STEPS, 3), (STEPS, -1)])
def test_a_step_that_is_not_there(steps, active):
    with pytest.raises(ValueError, match="active"):
        Texts(steps, slider="x", title="y", active=active)
