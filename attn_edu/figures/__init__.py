"""Curves: pure functions, arrays in, a plotly ``Figure`` out.

`curves` draws lines, with a band around each where there is a spread; `curves_by_step` puts a
slider under them. Both return a `Chart`: a plotly figure that JupyterLab shows as plotly does, and
that carries a plain picture, a table and a sentence for every place where plotly does not run.
`Texts` puts a slider under texts; `the_bill` draws what `attn_edu.costs` counts, `Promises` who
keeps which property, and `HeadScores` a number for each head of a model.
"""

from attn_edu.optional import needed

with needed("attn_edu.figures", "plotly", instead="The views of attn_edu.views need nothing."):
    from attn_edu.figures.bill import the_bill
    from attn_edu.figures.chart import Chart
    from attn_edu.figures.curves import curves, curves_by_step
    from attn_edu.figures.head_scores import HeadScores
    from attn_edu.figures.promises import Promises
    from attn_edu.figures.texts import Texts

__all__ = ["Chart", "HeadScores", "Promises", "Texts", "curves", "curves_by_step", "the_bill"]
