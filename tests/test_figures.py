"""Charts: what they hold, that they are never blank, and that they are the same each time."""

import base64
import json
import math
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from itertools import pairwise

import pytest
import torch

from attn_edu.figures import Chart, curves, curves_by_step
from attn_edu.figures.theme import COLOURS, GREY

WORDS = {"x": "distance", "y": "norm", "title": "A & B", "summary": 'Falls < "far".'}
PLOTLY = "application/vnd.plotly.v1+json"


def lines(n=5):
    x = torch.arange(1, n + 1)
    return {"falling": (x, 0.5**x, 0.4**x, 0.6**x), "level": (range(1, n + 1), [1.0] * n)}


def bundle(chart):
    return chart._repr_mimebundle_()


def svg(chart):
    return ET.fromstring(chart.to_svg())


def texts(chart):
    return [t.text for t in svg(chart).iter("{http://www.w3.org/2000/svg}text")]


def polylines(chart):
    found = svg(chart).iter("{http://www.w3.org/2000/svg}polyline")
    return [[tuple(map(float, p.split(","))) for p in e.get("points").split()] for e in found]


def test_the_bundle_has_three_forms_and_none_needs_a_script_or_a_network():
    forms = bundle(curves(lines(), **WORDS))
    assert set(forms) == {PLOTLY, "text/html", "text/plain"}
    assert forms["text/plain"] == WORDS["summary"]
    assert "<script" not in forms["text/html"]
    assert not re.search(r"(src|href)=\"(?!data:)", forms["text/html"])
    assert "http" not in forms["text/html"]
    json.dumps(forms[PLOTLY], allow_nan=False)
    assert "bdata" not in json.dumps(forms[PLOTLY]), "plotly's binary arrays need a newer reader"
    assert "responsive" not in forms[PLOTLY]["config"], "shrinks to nothing in JupyterLab"
    assert "sendChartToCloud" in forms[PLOTLY]["config"]["modeBarButtonsToRemove"]


def test_the_live_page_changes_nothing_for_the_charts_after_it():
    before = json.dumps(bundle(curves(lines(), **WORDS)))
    assert "Plotly.newPlot" in curves(lines(), **WORDS).to_live_html()
    assert json.dumps(bundle(curves(lines(), **WORDS))) == before


def test_it_is_a_plotly_figure_and_stays_one_display():
    chart = curves(lines(), **WORDS)
    import plotly.graph_objects as go

    assert isinstance(chart, Chart)
    assert isinstance(chart, go.Figure)
    assert chart._ipython_display_ is None
    assert chart.describe() == WORDS["summary"]


def test_the_same_arrays_give_the_same_bytes():
    assert bundle(curves(lines(), **WORDS)) == bundle(curves(lines(), **WORDS))


def test_the_picture_has_its_text_escaped_and_its_numbers():
    html = bundle(curves(lines(), **WORDS))["text/html"]

    class Page(HTMLParser):
        alt, cells, heads = None, (), ()

        def handle_starttag(self, tag, attributes):
            if tag == "img":
                self.alt = dict(attributes)["alt"]

        def handle_data(self, data):
            self.cells = (*self.cells, data)

    page = Page()
    page.feed(html)
    assert page.alt == WORDS["summary"]
    assert {"distance", "1", "5", "falling", "level", "0.5", "0.0312"} <= set(page.cells)
    image = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1]).decode()
    assert "A &amp; B" in image


def test_the_drawing_puts_points_where_the_numbers_are():
    """Halving at each step is straight on a logarithmic axis; a linear axis keeps the ratios."""
    chart = curves({"halving": (range(9), [2.0**-i for i in range(9)])}, **WORDS, log_y=True)
    points = polylines(chart)[0]
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    assert all(s == pytest.approx(steps[0], abs=0.15) for s in steps)
    assert steps[0][0] > 0
    assert steps[0][1] > 0  # down the page
    chart = curves({"l": ([1, 10, 100], [0, 1, 3])}, **WORDS, log_x=True, y_range=(0, 4))
    (x0, y0), (x1, y1), (x2, y2) = polylines(chart)[0]
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.15)
    assert (y0 - y2) == pytest.approx(3 * (y0 - y1), abs=0.3)
    assert {"1", "10", "100", "0", "4"} <= set(texts(chart))


def test_ticks_of_many_decades_are_powers_and_few_decades_have_steps_between():
    deep = curves({"l": ([1, 2], [1e-12, 1.0])}, **WORDS, log_y=True)
    assert {"10⁻¹²", "10⁰"} <= set(texts(deep))
    odd = curves({"l": ([1, 2], [1e-22, 1.0])}, **WORDS, log_y=True)
    assert "10⁰" in texts(odd)
    shallow = curves({"l": ([1, 2], [4, 64])}, **WORDS, log_y=True)
    assert {"5", "10", "20", "50"} <= set(texts(shallow))


def test_few_places_on_a_logarithmic_x_axis_are_written_themselves():
    chart = curves({"l": ([4, 16, 64], [1, 2, 3])}, **WORDS, log_x=True)
    assert list(chart.layout.xaxis.tickvals) == [4, 16, 64]
    assert {"4", "16", "64"} <= set(texts(chart))
    assert "10" not in texts(chart)


def test_single_runs_are_pale_marks_without_a_name_or_a_line():
    chart = curves(lines(), **WORDS, dots={"level": ([2, 2, 3], [0.5, 0.7, 0.9])})
    (dots,) = [t for t in chart.data if t.mode == "markers"]
    assert dots.marker.color == COLOURS[1]  # the colour of its line
    assert dots.showlegend is False
    assert len(polylines(chart)) == 2 + 2  # two lines, twice: themselves and the legend
    without = curves(lines(), **WORDS).to_svg()
    assert chart.to_svg().count("<polygon") == without.count("<polygon") + 3


def test_long_lines_are_thinned_with_their_ends_kept():
    x = torch.arange(5000)
    chart = curves({"long": (x, x.float())}, **WORDS)
    assert len(chart.data[0].x) == 200
    assert (chart.data[0].x[0], chart.data[0].x[-1]) == (0, 4999)


def test_numbers_are_rounded_to_four_digits():
    chart = curves({"l": ([1], [0.123456789])}, **WORDS)
    assert list(chart.data[0].y) == [0.1235]


def test_a_log_axis_leaves_out_what_it_cannot_show():
    chart = curves({"l": ([0, 1, 2], [1.0, 0.0, 4.0])}, **WORDS, log_y=True)
    assert list(chart.data[0].x) == [0, 2]


def test_lines_differ_by_more_than_colour():
    many = {str(i): ([1, 2], [i, i]) for i in range(6)}
    styles = {(t.line.dash, t.marker.symbol) for t in curves(many, **WORDS).data}
    assert len(styles) == 6


def test_a_level_is_drawn_from_side_to_side():
    chart = curves(lines(), **WORDS, levels={"chance": 0.125})
    level = chart.data[-1]
    assert (level.name, list(level.x), list(level.y)) == ("chance", [1, 5], [0.125, 0.125])
    assert "chance" in texts(chart)


def test_the_slider_shows_one_step_at_a_time():
    steps = {"a": lines(3), "b": {"other": ([1, 2], [3, 4])}}
    chart = curves_by_step(steps, slider="which", active=1, **WORDS)
    shown = [[t.name for t, on in zip(chart.data, s.args[0]["visible"]) if on]
             for s in chart.layout.sliders[0].steps]  # fmt: skip
    assert shown == [["falling", "falling", "level"], ["other"]]
    assert [t.name for t in chart.data if t.visible] == ["other"]
    html = bundle(chart)["text/html"]
    assert "which: b." in html
    assert ">which: a</summary>" in html  # a saved page has no slider, but every step
    assert ">which: b</summary>" not in html
    assert html.count("<img") == 2
    assert set(texts(chart.still.at(0))) >= {"falling", "level"}
    assert "other" not in texts(chart.still.at(0))
    assert "falling" in chart.still.at(0).numbers()
    assert "other" in texts(chart)
    assert "falling" not in texts(chart)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("paper", ["#ffffff", "#111111"])
def test_colours_are_legible_on_light_and_dark(paper):
    for colour, wanted in [*((c, 3.0) for c in COLOURS), (GREY, 4.2)]:
        light, dark = sorted((luminance(colour), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= wanted, colour


@pytest.mark.parametrize(
    ("bad", "names"),
    [
        ({}, "lines: got none"),
        ({"l": ([1, 2], [1])}, "lines: 'l' has"),
        ({"l": ([1], [1], [1])}, "lines: 'l' has"),
        ({"l": ([], [])}, "lines: 'l' has"),
        ({"l": ([1], [math.nan])}, "lines: 'l' holds"),
    ],
)
def test_bad_lines_are_named(bad, names):
    with pytest.raises(ValueError, match=names):
        curves(bad, **WORDS)


def test_a_picture_without_a_text_is_refused():
    with pytest.raises(ValueError, match="summary"):
        curves(lines(), **{**WORDS, "summary": " "})
    with pytest.raises(ValueError, match="active: got 2"):
        curves_by_step({"a": lines()}, slider="s", active=2, **WORDS)
