"""Draw a plotly figure of lines as plain SVG, for pages where plotly does not run.

Knows what `curves` makes: scatter lines, bands, markers, linear and logarithmic axes, a legend.
"""

import math
from html import escape

from attn_edu.figures.theme import FONT, GREY

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 86, 200, 44, 60
INK, GRID = "#333333", "#e3e3e3"
DASH = {"dash": "9 5", "dot": "2 4", "dashdot": "9 4 2 4", "longdash": "15 5"}
DASH["longdashdot"] = "15 5 2 5"


def draw(figure) -> str:
    """A figure of `curves` as one SVG."""
    traces = [t for t in figure.data if t.visible in (None, True) and len(t.x or ())]
    x_axis, y_axis = (
        _Axis(figure.layout.xaxis, traces, "x"),
        _Axis(figure.layout.yaxis, traces, "y"),
    )
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def at(x, y):
        return (
            LEFT + x_axis.share(x) * (right - LEFT),
            bottom - y_axis.share(y) * (bottom - TOP),
        )

    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    parts.append(_text(LEFT, 24, figure.layout.title.text or "", size=16, anchor="start"))
    for tick in x_axis.ticks:
        px = at(tick, y_axis.low)[0]
        parts += [_line(px, TOP, px, bottom), _text(px, bottom + 18, x_axis.label(tick), size=12)]
    for tick in y_axis.ticks:
        py = at(x_axis.low, tick)[1]
        parts.append(_line(LEFT, py, right, py))
        parts.append(_text(LEFT - 8, py + 4, y_axis.label(tick), size=12, anchor="end"))
    middle = (LEFT + right) / 2
    parts.append(_text(middle, HEIGHT - 14, figure.layout.xaxis.title.text or ""))
    height = (TOP + bottom) / 2
    turned = f' transform="rotate(-90 20 {height:.0f})"'
    parts.append(_text(20, height, figure.layout.yaxis.title.text or "", more=turned))
    parts.append(f'<svg x="{LEFT}" y="{TOP}" width="{right - LEFT}" height="{bottom - TOP}" ')
    parts.append(f'viewBox="{LEFT} {TOP} {right - LEFT} {bottom - TOP}">')  # clips the lines
    for trace in traces:
        parts.append(_trace(trace, [at(x, y) for x, y in zip(trace.x, trace.y)]))
    parts.append("</svg>")
    named = [t for t in traces if t.showlegend is not False]
    for i, trace in enumerate(named):
        py = TOP + 12 + 24 * i
        parts.append(
            _trace(trace, [(right + 14, py), (right + 32, py), (right + 50, py)], key=True)
        )
        parts.append(_text(right + 58, py + 4, trace.name or "", size=12, anchor="start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="{escape(FONT)}">{"".join(parts)}</svg>'
    )


class _Axis:
    """The range, the ticks and the place (0 to 1) of a value on one axis."""

    def __init__(self, axis, traces, which):
        self.log = axis.type == "log"
        self.written = dict(zip(axis.tickvals or (), axis.ticktext or ()))
        values = [v for t in traces for v in t[which] if not self.log or v > 0]
        ends = axis.range or [
            self._scale(min(values, default=1)),
            self._scale(max(values, default=1)),
        ]
        self.start, self.end = ends
        if self.start == self.end:
            half = max(0.5, abs(self.start) * 1e-6)  # what is added must not be lost in rounding
            self.start, self.end = self.start - half, self.end + half
        if axis.range is None:
            pad = {"x": 0.02, "y": 0.04}[which] * (self.end - self.start)
            self.start, self.end = self.start - pad, self.end + pad
        self.low = 10**self.start if self.log else self.start
        self.ticks = list(axis.tickvals or self._ticks())

    def _scale(self, value):
        return math.log10(value) if self.log else value

    def share(self, value):
        return (self._scale(value) - self.start) / (self.end - self.start)

    def _ticks(self):
        if self.log:
            first, last = math.ceil(self.start - 1e-9), math.floor(self.end + 1e-9)
            if last - first < 2:  # less than two decades: 1, 2, 5, 10, …
                ticks = [m * 10.0**e for e in range(first - 1, last + 1) for m in (1, 2, 5)]
                return [t for t in ticks if -1e-9 <= self.share(t) <= 1 + 1e-9]
            step = max(1, (last - first) // 6)
            first = -(-first // step) * step  # a multiple of the step, so that 1 is among the ticks
            return [10.0**e for e in range(first, last + 1, step)]
        rough = (self.end - self.start) / 6
        unit = 10 ** math.floor(math.log10(rough))
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough)
        first, last = math.ceil(self.start / step - 1e-9), math.floor(self.end / step + 1e-9)
        return [i * step for i in range(first, last + 1)]

    def label(self, tick):
        if self.written:
            return self.written[tick]
        if self.log and not (self.ticks[0] >= 1e-2 and self.ticks[-1] <= 1e4):
            return "10" + str(round(math.log10(tick))).translate(_RAISED)
        return f"{tick:g}"


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _trace(trace, points, key=False):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    if trace.fill == "toself":
        return f'<polygon points="{path}" fill="{trace.fillcolor}"/>'
    dash = DASH.get(trace.line.dash)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    colour = trace.line.color or GREY
    width = trace.line.width or 2
    parts = []
    if "lines" in trace.mode:
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" ')
        parts.append(f'stroke-width="{width}"{dashes}/>')
    if "markers" in trace.mode:
        colour, pale = trace.marker.color, trace.marker.opacity or 1
        marked = points[1:2] if key else points
        marks = [_marker(trace.marker.symbol, x, y, colour) for x, y in marked]
        parts.append(f'<g opacity="{pale}">{"".join(marks)}</g>')
    return "".join(parts)


def _marker(symbol, x, y, colour, r=4.5):
    if symbol == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" fill="{colour}"/>'
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "triangle-up": ((0, -1.3), (1.2, 1), (-1.2, 1)),
    }.get(symbol, ((-1, -1), (0, -0.4), (1, -1), (0.4, 0), (1, 1), (0, 0.4), (-1, 1), (-0.4, 0)))
    path = " ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners)
    return f'<polygon points="{path}" fill="{colour}"/>'


def _line(x0, y0, x1, y1):
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{GRID}"/>'


def _text(x, y, words, *, size=13, anchor="middle", more=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{INK}" '
        f'text-anchor="{anchor}"{more}>{escape(words)}</text>'
    )
