"""Curves: pure functions, arrays in, a plotly ``Figure`` out.

`curves` draws lines, with a band around each where there is a spread; `curves_by_step` puts a
slider under them. Both return a `Chart`: a plotly figure that JupyterLab shows as plotly does, and
that carries a plain picture, a table and a sentence for every place where plotly does not run.
"""

from attn_edu.figures.chart import Chart
from attn_edu.figures.curves import curves, curves_by_step

__all__ = ["Chart", "curves", "curves_by_step"]
