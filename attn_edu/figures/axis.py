"""One axis of a drawing: its range, its ticks and their labels."""

import math

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Axis:
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
