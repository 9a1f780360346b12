"""A chart where plotly does not run, or is not installed: a picture, its text, and its numbers."""

import copy
from collections.abc import Sequence
from html import escape

from attn_edu.figures.svg import draw, image
from attn_edu.views.view import SUMMARY

INSTALL = "To hover and zoom, install the package plotly: pip install plotly"


class Named(dict):
    """A dictionary that is read as plotly's objects are: by attribute, None if it is not there."""

    __getattr__ = dict.get


def named(value):
    """Nested dictionaries and lists, each dictionary a `Named`."""
    if isinstance(value, dict):
        return Named({name: named(inner) for name, inner in value.items()})
    return [named(inner) for inner in value] if isinstance(value, list | tuple) else value


class Still:
    """Lines and a layout, plotly's own objects or `named` dictionaries, as HTML without scripts.

    As the last expression of a cell it shows itself, and says what to install for more.
    """

    def __init__(self, data: Sequence, layout) -> None:
        self.data, self.layout = data, layout
        self.slider = layout.sliders[0] if layout.sliders else None

    def add_traces(self, traces: Sequence[dict]) -> None:
        """As plotly's: more lines and marks."""
        self.data = [*self.data, *named(traces)]

    def describe(self) -> str:
        """The picture in a sentence or two."""
        return (self.layout.meta or {}).get("summary") or "A chart."

    def to_svg(self) -> str:
        """The picture as one SVG, on white."""
        return draw(self)

    def at(self, step: int) -> "Still":
        """The picture at one step of its slider, without a slider."""
        visible = self.slider.steps[step].args[0]["visible"]
        traces = [copy.deepcopy(trace) for trace, on in zip(self.data, visible) if on]
        for trace in traces:
            trace.update(visible=True)
        shown = Still(traces, self.layout)
        shown.slider = None
        return shown

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

    def to_html(self) -> str:
        """The picture, its text and its numbers, with no script in it.

        Where a live chart has a slider, its other steps stand below, folded.
        """
        body = image(self, escape(self.describe()))
        body += f"<details>{SUMMARY}Numbers</summary>{self.numbers()}</details>"
        if self.slider:
            prefix, active = self.slider.currentvalue.prefix, self.slider.active
            names = [escape(prefix + step.label) for step in self.slider.steps]
            steps = [(name, self.at(i)) for i, name in enumerate(names) if i != active]
            body += f"<figcaption>{names[active]}. The other steps of the slider:</figcaption>"
            body += "".join(
                f"<details>{SUMMARY}{name}</summary>{image(step, name)}{step.numbers()}</details>"
                for name, step in steps
            )
        return f'<figure style="margin:0;overflow-x:auto">{body}</figure>'

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        words = self.describe()
        return {"text/html": f"{self.to_html()}<p>{INSTALL}</p>", "text/plain": words}

    def __repr__(self) -> str:
        return self.describe()
