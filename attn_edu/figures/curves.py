"""Lines and their spread, from arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from attn_edu.figures.still import Still, named
from attn_edu.figures.theme import COLOURS, DASHES, GREY, MARKERS, SLIDER, TEMPLATE, faded
from attn_edu.labels import as_label

if TYPE_CHECKING:
    from attn_edu.figures.chart import Chart

MOST_POINTS = 200
LEVELS = ("dot", "dash", "longdash", "dashdot")  # grey lines from side to side


def curves(
    lines: Mapping[str, Sequence],
    *,
    x: str,
    y: str,
    title: str,
    summary: str,
    log_x: bool = False,
    log_y: bool = False,
    levels: Mapping[str, float] | None = None,
    y_range: tuple[float, float] | None = None,
    dots: Mapping[str, Sequence] | None = None,
) -> Chart | Still:
    """One line a name, with a band where a spread is given.

    Args:
        lines: name -> ``(xs, ys)`` or ``(xs, ys, lows, highs)``, sequences or tensors of one axis
            and equal length. More than 200 points are thinned to 200.
        x, y: what the axes say.
        title: above the picture.
        summary: the picture in a sentence: its text for those who cannot see it.
        log_x, log_y: logarithmic axes; what is not above 0 on one is left out.
        levels: name -> height of a grey line from side to side, such as chance.
        y_range: the ends of the y axis, in its own units.
        dots: name of a line -> ``(xs, ys)`` of single runs, drawn as pale marks of that line. Where
            runs fall into two camps, a band would say less.

    Returns:
        A plotly figure; where plotly is not installed, its picture and numbers.

    Raises:
        ValueError: no line, unequal lengths, a value that is not finite, or an empty summary.
    """
    layout = _layout(x, y, title, summary, log_x, log_y, y_range)
    lines, levels, dots = _named(lines), _named(levels), _named(dots)
    traces = _dots(lines, dots, log_x, log_y)
    traces += _traces(lines, log_x, log_y) + _levels(lines, levels)
    if log_x:
        layout["xaxis"] |= _ticks_at_points(lines.values())
    return drawn(traces, layout)


def curves_by_step(
    steps: Mapping[str, Mapping[str, Sequence]],
    *,
    slider: str,
    x: str,
    y: str,
    title: str,
    summary: str,
    active: int = 0,
    log_x: bool = False,
    log_y: bool = False,
    levels: Mapping[str, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> Chart | Still:
    """`curves` with a slider under it that chooses among sets of lines; it needs no kernel.

    Args:
        steps: label of the step -> lines, as in `curves`. Give ``y_range``, so that the axis stays
            when the slider moves.
        slider: what the slider chooses.
        active: the step that is shown first, and in a saved page.
    """
    layout = _layout(x, y, title, summary, log_x, log_y, y_range)
    steps, levels = {k: _named(lines) for k, lines in _named(steps).items()}, _named(levels)
    sets = [_traces(lines, log_x, log_y) + _levels(lines, levels) for lines in steps.values()]
    if not 0 <= active < len(sets):
        raise ValueError(f"active: got {active}; accepted is 0 to {len(sets) - 1}.")
    owner = [i for i, traces in enumerate(sets) for _ in traces]
    traces = [{**trace, "visible": i == active} for i, some in enumerate(sets) for trace in some]
    if log_x:
        layout["xaxis"] |= _ticks_at_points(
            one for lines in steps.values() for one in lines.values()
        )
    layout |= {"margin": {"b": 140}, "height": 520}
    layout["sliders"] = [
        {
            **SLIDER,
            "active": active,
            "currentvalue": {"prefix": f"{as_label(slider)}: "},
            "pad": {"t": 55},
            "steps": [
                {
                    "label": label,
                    "method": "restyle",
                    "args": [{"visible": [o == i for o in owner]}],
                }
                for i, label in enumerate(steps)
            ],
        }
    ]
    return drawn(traces, layout)


def drawn(traces: list[dict], layout: dict) -> Chart | Still:
    """What plotly calls data and layout, as a figure; without plotly as a still picture."""
    try:
        from attn_edu.figures.chart import Chart
    except ModuleNotFoundError as error:
        if error.name != "plotly":
            raise
        return Still(named(traces), named(layout))
    return Chart(traces, layout)


def _layout(x, y, title, summary, log_x, log_y, y_range) -> dict:
    if not summary.strip():
        raise ValueError("summary: got nothing; accepted is the picture in a sentence.")
    x, y, title, summary = map(as_label, (x, y, title, summary))
    x_axis = {"title": {"text": x}, "type": "log" if log_x else "linear"}
    y_axis = {"title": {"text": y}, "type": "log" if log_y else "linear"}
    if log_y:
        # plotly writes powers a quarter larger than it is told
        y_axis |= {"exponentformat": "power", "tickfont": {"size": 10}}
    if y_range is not None:
        y_axis["range"] = [math.log10(v) if log_y else v for v in y_range]
    return {
        "template": TEMPLATE,
        "title": {"text": title},
        "meta": {"summary": summary},
        "xaxis": x_axis,
        "yaxis": y_axis,
        "height": 420,
    }


def _named(by_name: Mapping | None) -> dict:
    return {as_label(str(name)): what for name, what in (by_name or {}).items()}


def _traces(lines: Mapping[str, Sequence], log_x: bool, log_y: bool) -> list[dict]:
    if not lines:
        raise ValueError("lines: got none; accepted is at least one name with its arrays.")
    bands, strokes = [], []
    for i, (name, arrays) in enumerate(lines.items()):
        xs, ys, *spread = _points(name, arrays, log_x, log_y)
        colour = COLOURS[i % len(COLOURS)]
        if spread:
            low, high = spread
            bands.append(
                {
                    "type": "scatter",
                    "name": name,
                    "legendgroup": name,
                    "x": xs + xs[::-1],
                    "y": high + low[::-1],
                    "mode": "lines",
                    "line": {"width": 0},
                    "fill": "toself",
                    "fillcolor": faded(colour, 0.18),
                    "showlegend": False,
                    "hoverinfo": "skip",
                }
            )
        few = len(xs) <= 20
        strokes.append(
            {
                "type": "scatter",
                "name": name,
                "legendgroup": name,
                "x": xs,
                "y": ys,
                "mode": "lines+markers" if few else "lines",
                "line": {"color": colour, "width": 2.5, "dash": DASHES[i % len(DASHES)]},
                "marker": {"symbol": MARKERS[i % len(MARKERS)], "size": 8, "color": colour},
                "hovertemplate": "%{x}: %{y:.3g}",
            }
        )
    return bands + strokes


def _dots(lines, dots: Mapping[str, Sequence], log_x: bool, log_y: bool) -> list[dict]:
    traces = []
    for i, name in enumerate(lines):
        if name in dots:
            xs, ys = _points(name, dots[name], log_x, log_y)
            mark = {"symbol": MARKERS[i % len(MARKERS)], "size": 7, "opacity": 0.4}
            traces.append(
                {
                    "type": "scatter",
                    "name": name,
                    "legendgroup": name,
                    "x": xs,
                    "y": ys,
                    "mode": "markers",
                    "marker": {**mark, "color": COLOURS[i % len(COLOURS)]},
                    "showlegend": False,
                    "hovertemplate": "%{x}: %{y:.3g}, one run",
                }
            )
    return traces


def _ticks_at_points(lines: Iterable[Sequence]) -> dict:
    """On a logarithmic x axis, the places themselves where they are few."""
    places = sorted({float(v) for arrays in lines for v in arrays[0] if v > 0})
    if len(places) > 10:
        return {}
    return {"tickvals": places, "ticktext": [f"{v:g}" for v in places]}


def _levels(lines, levels: Mapping[str, float]) -> list[dict]:
    if not levels:
        return []
    xs = [float(v) for arrays in lines.values() for v in arrays[0]]
    return [
        {
            "type": "scatter",
            "name": name,
            "x": [min(xs), max(xs)],
            "y": [float(height)] * 2,
            "mode": "lines",
            "line": {"color": GREY, "width": 1.5, "dash": LEVELS[i % len(LEVELS)]},
            "hovertemplate": "%{y:.3g}",
        }
        for i, (name, height) in enumerate(levels.items())
    ]


def _points(name: str, arrays: Sequence, log_x: bool, log_y: bool) -> list[list[float]]:
    """The arrays as lists, thinned, rounded to 4 digits, without what a log axis cannot show."""
    columns = [[float(v) for v in array] for array in arrays]
    if len(columns) not in (2, 4) or len({len(c) for c in columns}) != 1 or not columns[0]:
        raise ValueError(
            f"lines: {name!r} has {[len(c) for c in columns]} values; accepted are 2 or 4 arrays "
            "of one length, (xs, ys) or (xs, ys, lows, highs)."
        )
    if not all(math.isfinite(v) for column in columns for v in column):
        raise ValueError(f"lines: {name!r} holds a value that is not finite.")
    rows = [
        row
        for row in zip(*columns)
        if (not log_x or row[0] > 0) and (not log_y or min(row[1:]) > 0)
    ]
    if len(rows) > MOST_POINTS:
        step = (len(rows) - 1) / (MOST_POINTS - 1)
        rows = [rows[round(i * step)] for i in range(MOST_POINTS)]
    return [[float(f"{v:.4g}") for v in column] for column in zip(*rows)] or [[], []]
