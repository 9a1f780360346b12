"""The bill as a plotly figure, to hover over and to zoom into."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from attn_edu.figures.curves import curves
from attn_edu.figures.still import Still
from attn_edu.figures.theme import GREY
from attn_edu.views.bill import LENGTHS, SHOWN, WHAT, Bill

if TYPE_CHECKING:
    from attn_edu.figures.chart import Chart

KINDS_AT_ONCE = 18


def the_bill(
    d_model: int = 512, n_heads: int = 8, *, shown: Iterable[str] = SHOWN, of: str = "flops",
    lengths: Iterable[int] = LENGTHS, **settings,
) -> Chart | Still:  # fmt: skip
    """What each kind of layer costs against length, both axes logarithmic.

    The same data as `attn_edu.views.Bill`, which also has the sliders; here are hover and zoom.

    Args:
        d_model, n_heads, shown, of: as in `Bill`.
        lengths: where the lines have their points.
        settings: the other arguments of `Bill`: sizes, ``measured`` points, ``rate``, ``pair``,
            ``title``.

    Raises:
        ValueError, TypeError: as `Bill`; or nothing is shown.
    """
    bill = Bill(d_model, n_heads, shown=shown, of=of, **settings)
    lines = {}
    for kind in bill.shown:
        points = [(n, bill.value(kind, n)) for n in lengths]
        finite = [(n, y) for n, y in points if 0 < y < math.inf]
        if finite:
            lines[bill.label(kind)] = tuple(zip(*finite))
    marks = {bill.label(kind): bill.marks(kind) for kind in bill.shown}
    chart = curves(
        lines,
        x="length n",
        y=WHAT[of] + (" (bytes)" if of == "bytes" else ""),
        title=bill.title or "The bill",
        summary=bill.describe(),
        log_x=True,
        log_y=True,
        dots={name: tuple(zip(*points)) for name, points in marks.items() if points},
    )
    n = bill.crossover()
    if n is not None and min(lengths) <= n <= max(lengths):
        both = " and ".join(bill.label(kind) for kind in bill.pair)
        cross = {
            "type": "scatter",
            "x": [n],
            "y": [bill.value(bill.pair[0], n)],
            "mode": "markers",
            "name": f"crossover at {n:,}",
            "marker": {"symbol": "x", "size": 12, "color": GREY},
            "hovertemplate": f"{both}: n = {n:,}",
        }
        chart.add_traces([cross])
    return chart
