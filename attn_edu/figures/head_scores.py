"""A number for every head of a model: one small table for each question asked of them."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from attn_edu.labels import as_label

_CELL = "padding:1px 4px;text-align:right;min-width:1.5em;border:1px solid rgba(128,128,128,.25)"
_ROW = "background:transparent"  # JupyterLab shades every second row, as if it scored higher
_HEAD = "padding:1px 4px;text-align:right;font-weight:400;opacity:.75"


class HeadScores:
    """Scores of all heads, as tables that need no script: rows are layers, columns heads.

    A cell shows the score in percent and is the darker, the larger it is; the largest of a table
    is framed.

    Args:
        scores: what was asked -> ``(n_layers, n_heads)``, numbers from 0 to 1.
        title: above the tables.

    Raises:
        ValueError: no scores, other shapes, or numbers outside 0 to 1.

    Example:
        >>> HeadScores({"previous word": [[0.1, 0.98], [0.2, 0.25]]}, title="Two layers")
        Two layers. previous word: layer 0 head 1 (98 %), then layer 1 head 1 (25 %).
    """

    def __init__(self, scores: Mapping[str, Sequence], *, title: str):
        tables = ((as_label(str(name)), table) for name, table in scores.items())
        self.scores = {name: np.asarray(table, dtype=float) for name, table in tables}
        self.title = as_label(title)
        if not self.scores:
            raise ValueError("scores: got none; accepted is at least one table.")
        for name, table in self.scores.items():
            if table.ndim != 2 or table.size == 0:
                raise ValueError(f"scores[{name!r}]: got {table.shape}; accepted is two axes.")
            if not ((table >= 0) & (table <= 1)).all():
                got = f"{table.min():.3g} to {table.max():.3g}"
                raise ValueError(f"scores[{name!r}]: got {got}; accepted are numbers from 0 to 1.")

    def best(self, name: str, count: int = 2) -> list[tuple[int, int]]:
        """The heads with the largest scores, ``(layer, head)``, the largest first."""
        table = self.scores[name]
        order = np.argsort(-table, axis=None, kind="stable")[:count]
        return [tuple(map(int, np.unravel_index(i, table.shape))) for i in order]

    def describe(self) -> str:
        """The title, and for each table the heads with the largest scores."""
        said = []
        for name, table in self.scores.items():
            heads = [
                f"layer {place[0]} head {place[1]} ({table[place]:.0%})".replace("%", " %")
                for place in self.best(name)
            ]
            said.append(f"{name}: {', then '.join(heads)}")
        return f"{self.title}. {'; '.join(said)}."

    def to_html(self) -> str:
        """One table for each question, side by side where there is room."""
        tables = "".join(self._table(name) for name in self.scores)
        return (
            f'<div role="group" aria-label="{escape(self.title)}"><p style="margin:4px 0">'
            f"{escape(self.title)}. Rows are layers, columns heads; percent.</p>"
            f'<div style="display:flex;flex-wrap:wrap;gap:14px 22px">{tables}</div></div>'
        )

    def _table(self, name: str) -> str:
        table, largest = self.scores[name], self.best(name, 1)[0]
        heads = "".join(
            f'<th scope="col" style="{_HEAD}">{head}</th>' for head in range(table.shape[1])
        )
        rows = ""
        for layer, row in enumerate(table):
            cells = "".join(_cell(x, (layer, head) == largest) for head, x in enumerate(row))
            rows += f'<tr style="{_ROW}"><th scope="row" style="{_HEAD}">{layer}</th>{cells}</tr>'
        return (
            '<div style="overflow-x:auto" tabindex="0" role="group" '
            f'aria-label="{escape(name)}"><table style="font-size:.8em;border-collapse:collapse">'
            f'<caption style="text-align:left;font-weight:600">{escape(name)}</caption>'
            f'<thead><tr><td style="{_HEAD}"></td>{heads}</tr></thead><tbody>{rows}</tbody>'
            "</table></div>"
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.describe()}

    def __repr__(self) -> str:
        return self.describe()


def _cell(score: float, largest: bool) -> str:
    frame = ";outline:2px solid currentColor;outline-offset:-2px;font-weight:600" * largest
    # at most 55 %: the number stays legible on it, on a light page and on a dark one
    return (
        f'<td style="{_CELL};background:rgba(0,119,187,{0.55 * score:.2f}){frame}">'
        f"{100 * score:.0f}</td>"
    )
