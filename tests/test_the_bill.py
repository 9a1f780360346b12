"""The bill as a plotly figure, and the widget that measures."""

import pytest

from attn_edu.costs import KINDS, Measurement, cost
from attn_edu.figures import the_bill
from attn_edu.views import Bill
from attn_edu.widgets import BillWithClock


def by_name(chart):
    return {trace.name: trace for trace in chart.data if trace.mode != "markers"}


def test_the_lines_are_the_closed_forms():
    chart = the_bill(64, 2, shown=("attention", "lstm"), lengths=(64, 100, 4096), of="bytes")
    lines = by_name(chart)
    for kind in ("attention", "lstm"):
        line = lines[KINDS[kind].label]
        assert list(line.x) == [64, 100, 4096]
        counted = [cost(kind, n, 64, 2).bytes for n in (64, 100, 4096)]
        assert list(line.y) == pytest.approx(counted, rel=1e-3)
    assert chart.layout.xaxis.type == chart.layout.yaxis.type == "log"
    assert chart.describe() == Bill(64, 2, shown=("attention", "lstm"), of="bytes").describe()


def test_the_crossover_and_the_points_are_marked():
    points = {"attention": {128: Measurement(1e-3, 5)}}
    chart = the_bill(64, measured=points, rate=1e10)
    marks = {trace.name: trace for trace in chart.data if trace.mode == "markers"}
    assert list(marks["crossover at 128"].x) == [128]
    assert list(marks["attention as written"].y) == [1e7]


def test_what_never_arrives_has_no_line():
    lines = by_name(the_bill(64, shown=("block", "attention"), block=64, of="path_length"))
    assert list(lines["blocks"].x) == [64]
    with pytest.raises(ValueError, match="lines: got none"):
        the_bill(64, shown=())


@pytest.fixture
def widget():
    return BillWithClock(shown=("linear", "attention"), lengths=(32, 16))


def test_the_widget_draws_what_its_sliders_say(widget):
    widget.sizes["d_model"].value, widget.sizes["n_heads"].value = 64, 2
    widget.of.value, widget.shown.value = "bytes", ("lstm",)
    line = by_name(widget.chart)["LSTM"]
    assert line.y[0] == pytest.approx(cost("lstm", 64, 64, 2).bytes, rel=1e-3)
    (output,) = widget._out.outputs
    assert "application/vnd.plotly.v1+json" in output["data"]


def test_the_button_measures_and_another_size_takes_the_points_away(widget):
    widget.button.click()
    assert {kind: list(at) for kind, at in widget.measured.items()} == {
        "linear": [16, 32],
        "attention": [16, 32],
    }
    assert widget.progress.value == widget.progress.max == 4
    assert not widget.button.disabled and widget.progress.layout.visibility == "hidden"
    assert len(widget.chart.data) > len(by_name(widget.chart)) + 1
    widget.sizes["batch"].value = 2
    assert widget.measured == {}
    assert ".measure() measures" in repr(widget)
