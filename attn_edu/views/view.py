"""What all views share: one self-contained HTML output, a sentence of text, and files to keep."""

from __future__ import annotations

import hashlib
from html import escape
from pathlib import Path

import numpy as np

from attn_edu.views import picture
from attn_edu.views.bundle import bundle
from attn_edu.views.meanings import ATTENTION, Meaning
from attn_edu.views.payload import to_script

SUMMARY = '<summary style="padding:3px 0">'  # high enough for a finger
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title><style>
:root {{ color-scheme: light dark }}
body {{ margin: 1rem auto; max-width: 75rem; padding: 0 1rem; font-family: system-ui, sans-serif }}
h1 {{ font-size: 1.2em; font-weight: 600 }}
</style><main><h1>{title}</h1>{body}</main></html>
"""
# A script knows its place by currentScript; where it runs late, or (VS Code) as a copy outside of
# its figure, by its mark: of several equal figures it takes the first that is still.
_START = """(() => {{{modules}
const own = 'figure[data-view="{mark}"]';
const figure = document.currentScript?.closest(own)
  ?? document.querySelector(own + ":not([data-live])");
if (!figure) return;
const host = document.createElement("div"), still = figure.querySelectorAll(".still,details");
figure.dataset.live = "";
figure.prepend(host);
{start}(host, {payload}).then(() => still.forEach((e) => e.remove()), (error) => {{
host.remove();
console.error(error);
}});
}})()"""


class Output:
    """A piece of HTML with a script; it shows itself as the last expression of a notebook cell.

    A subclass gives ``_entry`` (its JavaScript module), ``_start`` (the function that mounts it),
    ``_payload()``, ``_still()`` (what stands there without scripts), ``_caption()`` and
    ``summary()``. Of this,
    details and what has the class ``still`` go when the script has started.
    """

    _entry = _start = ""
    title: str | None = None

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self._html(), "text/plain": self.summary()}

    def __repr__(self) -> str:
        return self.summary()

    def _html(self) -> str:
        payload = to_script(self._payload())
        mark = hashlib.sha256(payload.encode()).hexdigest()[:12]
        modules = bundle(self._entry, self._start)
        script = _START.format(modules=modules, mark=mark, start=self._start, payload=payload)
        return (
            f'<figure class="attn-edu" data-view="{mark}" style="margin:0">'
            f"{self._still()}<script>{script}</script></figure>"
        )

    def to_html(self, path) -> Path:
        """Write a page that works on its own: no kernel, no network. Returns its path."""
        page = _PAGE.format(title=escape(self._caption()), body=self._html())
        return _write(path, page.encode())


class View(Output):
    """A matrix that moves: without scripts a picture, its caption, and its numbers in a table.

    A subclass gives ``_svg()``, ``_table()`` and ``describe()`` besides.
    """

    def _still(self) -> str:
        look = 'style="max-width:none"'  # on a phone it scrolls: smaller, it could not be read
        image = picture.image(self._svg(), escape(self.describe()), look)
        return (
            f'<div class="still" style="overflow-x:auto" tabindex="0">{image}</div>'
            f'<figcaption style="font-size:.9em;margin:4px 12px">{escape(self._caption())}'
            f"</figcaption><details>{SUMMARY}Numbers</summary>{_table_html(*self._table())}"
            "</details>"
        )

    def to_svg(self, path) -> Path:
        """Write the still picture as SVG. Returns its path."""
        return _write(path, self._svg().encode())

    def to_png(self, path) -> Path:
        """Write the still picture as PNG (needs the package ``resvg_py``). Returns its path."""
        return _write(path, picture.to_png(self._svg()))


def _write(path, data: bytes) -> Path:
    path = Path(path)
    path.write_bytes(data)
    return path


def _table_html(caption: str, head: list[str], rows: list[list[str]]) -> str:
    columns = "".join(f'<th scope="col">{escape(h)}</th>' for h in head)
    lines = (
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    top = f"<caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead>"
    return f"<table>{top}<tbody>{''.join(lines)}</tbody></table>"


# ---- words about weights (n, m), shared by the views that show them ------------------------------


def join_words(items) -> str:
    """A list in words: a, b and c."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


def rounded(weights: np.ndarray) -> np.ndarray:
    """Weights as they are compared for words: NaN last, and no order from the last few bits."""
    return np.round(np.nan_to_num(weights.astype(np.float64), nan=-np.inf), 4)


def looks(
    weights: np.ndarray, i: int, queries: list[str], keys: list[str], meaning: Meaning = ATTENTION
) -> str:
    """Where the word at ``i`` looks most, in words; or what another map says of it."""
    row = rounded(weights)[i]
    j = int(row.argmax())
    if np.isneginf(row[j]):
        return f"“{queries[i]}” has no number (NaN)"
    if not row.any():
        return f"“{queries[i]}” {meaning.row} no word"
    return f"“{queries[i]}” {meaning.most} “{keys[j]}” ({row[j]:.2f})"


def weights_table(weights: np.ndarray, queries: list[str], keys: list[str], what: str):
    """Caption, head and rows: every weight of a small map, the largest three a word of a large."""
    if max(weights.shape) <= 16:
        rows = [[q, *(f"{x:.3f}" for x in row)] for q, row in zip(queries, weights.tolist())]
        return what, ["word", *keys], rows
    order = np.argsort(-rounded(weights), -1, kind="stable")[:, :3].tolist()
    shown = 128
    rows = [
        [queries[i], *(f"{keys[j]} {weights[i, j]:.3f}" for j in order[i])]
        for i in range(min(len(queries), shown))
    ]
    cut = f" (the first {shown} of {len(queries)} words)" if len(queries) > shown else ""
    places = ["1st", "2nd", "3rd"][: weights.shape[1]]
    return f"{what}: the three largest weights of each word{cut}", ["word", *places], rows
