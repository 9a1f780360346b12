"""A plotly figure that is never blank: it brings a picture, a table and a sentence along."""

import base64
import os
from html import escape

import plotly.graph_objects as go

from attn_edu.figures.svg import draw
from attn_edu.figures.theme import CONFIG

PLOTLY = "application/vnd.plotly.v1+json"


class Chart(go.Figure):
    """A plotly figure whose output holds three forms of itself.

    - plotly's own JSON: what JupyterLab shows, with hover and zoom, from its installed extension;
    - HTML without scripts: the picture as SVG, its text, and the numbers as a table. A saved page
      or an unknown viewer shows this, with no network;
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
        """The picture, its text and its numbers, with no script in it."""
        image = base64.b64encode(self.to_svg().encode()).decode()
        alt = escape(self.describe())
        return (
            '<figure style="margin:0">'
            f'<img alt="{alt}" src="data:image/svg+xml;base64,{image}" '
            'style="max-width:100%;width:760px;background:#fff">'
            f"{self._note()}"
            f"<details><summary>Numbers</summary>{self.numbers()}</details></figure>"
        )

    def _note(self) -> str:
        """What the slider of a live chart would show, where there is no slider."""
        if not self.layout.sliders:
            return ""
        slider = self.layout.sliders[0]
        labels = [step.label for step in slider.steps]
        return (
            f"<figcaption>{escape(slider.currentvalue.prefix)}{escape(labels[slider.active])}. "
            f"The slider ({escape(', '.join(labels))}) moves in JupyterLab.</figcaption>"
        )

    def _repr_mimebundle_(self, include=None, exclude=None, **_):
        if os.environ.get("COLAB_NOTEBOOK_ID"):  # Colab shows HTML, and has plotly.js at hand
            html = self.to_html(include_plotlyjs="cdn", full_html=False, config=CONFIG)
            return {"text/html": html, "text/plain": self.describe()}
        return {
            PLOTLY: {**self.to_plotly_json(), "config": CONFIG},
            "text/html": self.to_static_html(),
            "text/plain": self.describe(),
        }
