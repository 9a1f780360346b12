"""Draw a plotly figure of lines as plain SVG, for pages where plotly does not run.

Knows what `curves` makes: scatter lines, bands, markers, linear and logarithmic axes, a legend.
There are two drawings: a wide one with its legend beside the plot, and a narrow one, for a phone,
with the legend under it. `image` holds both and shows the one whose letters can be read.
"""

import math
from html import escape
from textwrap import wrap
from typing import NamedTuple

from attn_edu.figures.axis import Axis
from attn_edu.figures.theme import FONT, GREY
from attn_edu.views import picture
from attn_edu.views.picture import text_width

HEIGHT = 400
TITLE = 42  # characters of a line of the title, on the narrow drawing
LEAST_WIDE = 640  # in fewer pixels, the letters of the wide drawing would be under 10 pixels high
LEAST_PLOT = 170  # the height of a plot that a long legend leaves
LEAST = 320  # pixels in which the letters of the narrow drawing are 10 high; in fewer it scrolls
INK, GRID = "#333333", "#e3e3e3"
DASH = {"dash": "9 5", "dot": "2 4", "dashdot": "9 4 2 4", "longdash": "15 5"}
DASH["longdashdot"] = "15 5 2 5"
# What the picture is wide decides, not the window.
FITTING = (
    f"@media (max-width:{LEAST_WIDE - 0.02}px){{.wide{{display:none}}}}"
    f"@media (min-width:{LEAST_WIDE}px){{.narrow{{display:none}}}}"
)


def draw(figure) -> str:
    """A figure of `curves` as one SVG of 760 pixels, on white."""
    drawing = _Drawing(figure)
    sheet = drawing.wide()
    size = f'width="{sheet.width}" height="{sheet.height}"'
    return _svg(f' viewBox="0 0 {sheet.width} {sheet.height}" {size}', drawing.on(sheet))


def image(figure, alt: str) -> str:
    """A figure of `curves` as an ``<img>`` that needs no script; ``alt`` is taken as HTML.

    The width that the picture gets, not that of the window, decides which drawing is seen.
    """
    drawing = _Drawing(figure)
    wide, narrow = drawing.wide(), drawing.narrow()
    height = max(wide.height, narrow.height)
    both = "".join(
        f'<svg class="{name}" viewBox="0 0 {sheet.width} {height}" '
        f'preserveAspectRatio="xMinYMin">{drawing.on(sheet._replace(height=height))}</svg>'
        for name, sheet in (("wide", wide), ("narrow", narrow))
    )
    style = f"max-width:100%;min-width:{LEAST}px;height:{height}px"
    look = f'width="{wide.width}" height="{height}" style="{style}"'
    return picture.image(_svg("", both), alt, look, FITTING)


def _svg(size: str, content: str) -> str:
    paper = '<rect width="100%" height="100%" fill="#fff"/>'
    start = f'<svg xmlns="http://www.w3.org/2000/svg"{size} font-family="{escape(FONT)}">'
    return f"{start}{paper}{content}</svg>"


class _Sheet(NamedTuple):
    """A size, and the plot inside it between four margins, in pixels."""

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    columns: int = 0  # of the legend under the plot; 0: it stands beside the plot


class _Drawing:
    """What is drawn of a figure, on a sheet of any size."""

    def __init__(self, figure):
        self.title = (figure.layout.title.text or "").replace(
            " = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
        )
        self.x_title, self.y_title = (
            axis.title.text or "" for axis in (figure.layout.xaxis, figure.layout.yaxis)
        )
        self.traces = [t for t in figure.data if t.visible in (None, True) and len(t.x or ())]
        self.named = [t for t in self.traces if t.showlegend is not False]
        self.x_axis = Axis(figure.layout.xaxis, self.traces, "x")
        self.y_axis = Axis(figure.layout.yaxis, self.traces, "y")

    def wide(self) -> _Sheet:
        height = max(HEIGHT, 68 + 24 * len(self.named))
        return _Sheet(760, height, left=86, right=200, top=44, bottom=60)

    def narrow(self) -> _Sheet:
        columns = 2 if all(text_width(t.name or "") < 140 for t in self.named) else 1
        numbers = max((text_width(self.y_axis.label(y)) for y in self.y_axis.ticks), default=0)
        top = 36 + 19 * len(wrap(self.title, TITLE))
        bottom = 58 + 22 * -(-len(self.named) // columns)
        height = max(HEIGHT, top + LEAST_PLOT + bottom)
        return _Sheet(380, height, 16 + numbers, 14, top, bottom, columns)

    def on(self, sheet: _Sheet) -> str:
        """The inside of an SVG of the sheet's size."""
        left, top = sheet.left, sheet.top
        width = sheet.width - left - sheet.right
        height = sheet.height - top - sheet.bottom

        def at(x, y):
            return left + self.x_axis.share(x) * width, top + (1 - self.y_axis.share(y)) * height

        lines = "".join(
            _trace(trace, [at(x, y) for x, y in zip(trace.x, trace.y)]) for trace in self.traces
        )
        box = f'x="{left:g}" y="{top}" width="{width:g}" height="{height}"'
        clip = f'<svg {box} viewBox="{left:g} {top} {width:g} {height}">{lines}</svg>'
        grid = self._grid(at, left, top, left + width, top + height)
        return grid + clip + self._words(sheet, left + width / 2, top + height)

    def _words(self, sheet: _Sheet, middle: float, bottom: float) -> str:
        """The title, the names of the axes, and the legend."""
        if not sheet.columns:
            place = (sheet.top + bottom) / 2
            turned = f' transform="rotate(-90 20 {place:.0f})"'
            parts = [
                _text(sheet.left, 24, self.title, size=16, anchor="start"),
                _text(middle, bottom + 46, self.x_title),
                _text(20, place, self.y_title, more=turned),
            ]
            x = sheet.width - sheet.right + 14
            keys = [(x, sheet.top + 12 + 24 * i, 36) for i in range(len(self.named))]
        else:
            lines = enumerate(wrap(self.title, TITLE))
            parts = [_text(8, 22 + 19 * i, line, size=15, anchor="start") for i, line in lines]
            parts.append(_text(8, sheet.top - 12, self.y_title, anchor="start"))
            parts.append(_text(middle, bottom + 38, self.x_title))
            places = (divmod(i, sheet.columns) for i in range(len(self.named)))
            step = sheet.width / sheet.columns
            keys = [(8 + step * column, bottom + 60 + 22 * row, 30) for row, column in places]
        for trace, (x, y, wide) in zip(self.named, keys):
            parts.append(_trace(trace, [(x, y), (x + wide / 2, y), (x + wide, y)], key=True))
            parts.append(_text(x + wide + 8, y + 4, trace.name or "", size=12, anchor="start"))
        return "".join(parts)

    def _grid(self, at, left: float, top: float, right: float, bottom: float) -> str:
        """A line at each tick, and its label, but for one that would run into the label before."""
        parts, free = [], -math.inf
        for tick in self.x_axis.ticks:
            x, label = at(tick, self.y_axis.low)[0], self.x_axis.label(tick)
            parts.append(_line(x, top, x, bottom))
            half = text_width(label) / 2
            if x - half > free:
                parts.append(_text(x, bottom + 18, label, size=12))
                free = x + half + 3
        for tick in self.y_axis.ticks:
            y = at(self.x_axis.low, tick)[1]
            parts.append(_line(left, y, right, y))
            parts.append(_text(left - 8, y + 4, self.y_axis.label(tick), size=12, anchor="end"))
        return "".join(parts)


def _trace(trace, points, key=False):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    if trace.fill == "toself":
        return f'<polygon points="{path}" fill="{trace.fillcolor}"/>'
    parts = []
    if "lines" in trace.mode:
        dash = DASH.get(trace.line.dash)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{trace.line.color or GREY}" ')
        parts.append(f'stroke-width="{trace.line.width or 2}"{dashes}/>')
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
