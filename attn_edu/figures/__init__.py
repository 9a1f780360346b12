"""Curves: pure functions, arrays in, a plotly ``Figure`` out.

`curves` draws lines, with a band around each where there is a spread; `curves_by_step` puts a
slider under them. Both return a `Chart`: a plotly figure that JupyterLab shows as plotly does, and
that carries a plain picture, a table and a sentence for every place where plotly does not run.
plotly is loaded when the first one is drawn; where it is missing, a `Still` takes its place.
`Texts` puts a slider under texts; `the_bill` draws what `attn_edu.costs` counts, `Promises` who
keeps which property, and `HeadScores` a number for each head of a model.
"""

from attn_edu.figures.bill import the_bill
from attn_edu.figures.curves import curves, curves_by_step
from attn_edu.figures.head_scores import HeadScores
from attn_edu.figures.promises import Promises
from attn_edu.figures.texts import Texts

__all__ = ["Chart", "HeadScores", "Promises", "Texts", "curves", "curves_by_step", "the_bill"]


def __getattr__(name: str):
    """`Chart` is loaded when it is asked for, and plotly with it."""
    if name == "Chart":
        from attn_edu.figures.chart import Chart

        return Chart
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
