"""Two logarithmic axes as SVG; `js/loglog.js` draws the same in the page."""

from __future__ import annotations

import math

from attn_edu.views.colours import INK, LINE
from attn_edu.views.picture import line, text


def short(value: float) -> str:
    """Three digits and a prefix, as `js/loglog.js` writes them: ``8.39 M``."""
    power = max(0, min(6, math.floor(math.log10(value * 1.0005) / 3))) if value > 0 else 0
    size = value / 1000**power
    whole = size >= 99.95 or (power == 0 and float(value).is_integer())
    digits = 0 if whole else 1 if size >= 9.995 else 2
    return f"{size:.{digits}f} {' kMGTPE'[power].strip()}"


class LogLog:
    """The frame of a still picture: two logarithmic axes, and room for names at the right.

    Args:
        xs: where the x axis has its lines; from the first to the last.
        low, high: the ends of the y axis.
    """

    width, height, left, right, top, bottom = 820.0, 430.0, 62.0, 660.0, 30.0, 390.0

    def __init__(self, xs: list[float], low: float, high: float):
        self.xs, self.low, self.high = xs, low, high

    def at(self, n: float, value: float) -> tuple[float, float]:
        """Where a point stands, in pixels."""
        x = math.log(n / self.xs[0]) / math.log(self.xs[-1] / self.xs[0])
        y = math.log(value / self.low) / math.log(self.high / self.low)
        return self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top)

    def axes(self, name: str, unit: str, x_name: str) -> list[str]:
        """Grid, ticks and the names of both axes."""
        parts = [text(4, 12, name, size=13, fill=INK, bold=True)]
        parts.append(text((self.left + self.right) / 2, self.height - 8, x_name, anchor="middle"))
        for k, n in enumerate(self.xs):
            x = self.at(n, self.low)[0]
            parts.append(line(x, self.top, x, self.bottom, LINE))
            if k % 2 == 0:
                parts.append(text(x, self.bottom + 13, f"{n:,}", anchor="middle"))
        first = max(0, math.ceil(math.log10(self.low)))
        last = math.floor(math.log10(self.high))
        for power in range(first, last + 1, max(1, -(-(last - first) // 7))):
            y = self.at(self.xs[0], 10.0**power)[1]
            parts.append(line(self.left, y, self.right, y, LINE))
            size = f"{10.0 ** (power % 3):g} {' kMGTPE'[power // 3].strip()}{unit}"
            parts.append(text(self.left - 7, y, size, anchor="end"))
        return parts

    def names(self, ends: list[tuple[str, float, str]]) -> list[str]:
        """Names (name, y, colour) beside the ends of their lines, none on top of another."""
        parts, floor = [], self.top
        heights = {}
        for i in sorted(range(len(ends)), key=lambda i: ends[i][1]):
            heights[i] = floor = max(ends[i][1], floor)
            floor += 15
        roof = self.bottom
        for i in sorted(heights, key=heights.get, reverse=True):
            heights[i] = roof = min(heights[i], roof)
            roof -= 15
        for i, (name, y, colour) in enumerate(ends):
            parts.append(line(self.right + 1, y, self.right + 14, heights[i], colour))
            parts.append(text(self.right + 18, heights[i], name, fill=INK))
        return parts
