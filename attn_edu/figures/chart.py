"""A plotly figure that is never blank: it brings a picture, a table and a sentence along."""

import os

from attn_edu.figures.still import Still
from attn_edu.figures.theme import CONFIG
from attn_edu.optional import needed

with needed("attn_edu.figures.Chart", "plotly", instead="`curves` shows a still picture without."):
    import plotly.graph_objects as go

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

    @property
    def still(self) -> Still:
        """The same without plotly: a picture, its text, and its numbers."""
        return Still(self.data, self.layout)

    def describe(self) -> str:
        """The picture in a sentence or two."""
        return self.still.describe()

    def to_svg(self) -> str:
        """The picture as it is without plotly: one SVG, on white."""
        return self.still.to_svg()

    def to_live_html(self) -> str:
        """Plotly, from its address on the web; it takes the picture's place when it has come."""
        # a copy of CONFIG, for plotly writes into it
        options = {"full_html": False, "config": {**CONFIG}, "post_script": _TAKE_PLACE}
        live = self.to_html(include_plotlyjs="cdn", **options)
        return f'<div class="chart">{self.still.to_html()}{live}</div>'

    def _repr_mimebundle_(self, include=None, exclude=None, **_):
        if os.environ.get("COLAB_NOTEBOOK_ID"):  # Colab shows HTML, and not plotly's own JSON
            return {"text/html": self.to_live_html(), "text/plain": self.describe()}
        return {
            PLOTLY: {**self.to_plotly_json(), "config": CONFIG},
            "text/html": self.still.to_html(),
            "text/plain": self.describe(),
        }
