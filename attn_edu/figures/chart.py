"""A plotly figure that is never blank: it brings a picture, a table and a sentence along."""

import os
from html import escape

import plotly.graph_objects as go

from attn_edu.figures.svg import draw, image
from attn_edu.figures.theme import CONFIG
from attn_edu.views.view import SUMMARY

PLOTLY = "application/vnd.plotly.v1+json"
_TAKE_PLACE = """
const live = document.getElementById("{plot_id}"), chart = live.closest(".chart");
live.setAttribute("role", "img");
live.setAttribute("aria-label", chart.querySelector("img").alt);
chart.querySelectorAll("img, figcaption, details ~ details").forEach((part) => part.remove());
chart.append(chart.firstChild);
"""


class Chart(go.Figure):
    """A plotly figure whose output holds three forms of itself.

    - plotly's own JSON: what JupyterLab shows, with hover and zoom, from its installed extension;
    - HTML without scripts: the picture as SVG, its text, and the numbers as a table. A saved page
      or an unknown viewer shows this, with no network. In Colab plotly comes with it;
    - one sentence, which a screen reader reads and ``nbval`` compares.

    The sentence is ``layout.meta["summary"]``.
    """

    _ipython_display_ = None  # plotly's own goes past _repr_mimebundle_

    def describe(self) -> str:
        """The picture in a sentence or two."""
        return (self.layout.meta or {}).get("summary") or "A chart."

    def to_svg(self) -> str:
        """The picture as it is without plotly: one SVG, on white."""
        return draw(self)

    def at(self, step: int) -> "Chart":
        """The picture at one step of its slider, as a chart without a slider."""
        shown = self.layout.sliders[0].steps[step].args[0]["visible"]
        traces = [trace for trace, on in zip(self.data, shown) if on]
        chart = Chart(data=traces, layout=self.layout)
        chart.update_traces(visible=True)
        chart.layout.sliders = ()
        return chart

    def numbers(self, columns: int = 9) -> str:
        """An HTML table of the visible lines at up to ``columns`` places along x."""
        lines = [t for t in self.data if t.visible in (None, True) and "lines" in t.mode]
        lines = [line for line in lines if line.fill != "toself"]
        places = sorted({x for line in lines for x in line.x})
        if len(places) > columns:
            step = (len(places) - 1) / (columns - 1)
            places = [places[round(i * step)] for i in range(columns)]
        head = "".join(f'<th scope="col">{x:g}</th>' for x in places)
        rows = []
        for line in lines:
            y = dict(zip(line.x, line.y))
            cells = "".join(f"<td>{f'{y[x]:.3g}' if x in y else ''}</td>" for x in places)
            rows.append(f'<tr><th scope="row">{escape(line.name or "")}</th>{cells}</tr>')
        corner = escape(self.layout.xaxis.title.text or "x")
        return (
            f'<table><thead><tr><th scope="col">{corner}</th>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>"
        )

    def to_static_html(self) -> str:
        """The picture, its text and its numbers, with no script in it.

        Where a live chart has a slider, its other steps stand below, folded.
        """
        body = image(self, escape(self.describe()))
        numbers = f"<details>{SUMMARY}Numbers</summary>{self.numbers()}</details>"
        if not self.layout.sliders:
            return f'<figure style="margin:0;overflow-x:auto">{body}{numbers}</figure>'
        slider = self.layout.sliders[0]
        names = [escape(slider.currentvalue.prefix + step.label) for step in slider.steps]
        caption = f"<figcaption>{names[slider.active]}. The other steps of the slider:</figcaption>"
        others = "".join(
            f"<details>{SUMMARY}{name}</summary>{image(chart, name)}{chart.numbers()}</details>"
            for i, (name, chart) in enumerate(zip(names, map(self.at, range(len(names)))))
            if i != slider.active
        )
        return f'<figure style="margin:0;overflow-x:auto">{body}{numbers}{caption}{others}</figure>'

    def to_live_html(self) -> str:
        """Plotly, from its address on the web; it takes the picture's place when it has come."""
        options = {"full_html": False, "config": CONFIG, "post_script": _TAKE_PLACE}
        live = self.to_html(include_plotlyjs="cdn", **options)
        return f'<div class="chart">{self.to_static_html()}{live}</div>'

    def _repr_mimebundle_(self, include=None, exclude=None, **_):
        if os.environ.get("COLAB_NOTEBOOK_ID"):  # Colab shows HTML, and not plotly's own JSON
            return {"text/html": self.to_live_html(), "text/plain": self.describe()}
        return {
            PLOTLY: {**self.to_plotly_json(), "config": CONFIG},
            "text/html": self.to_static_html(),
            "text/plain": self.describe(),
        }
