"""What all views share: one self-contained HTML output, a sentence of text, and files to keep."""

from __future__ import annotations

import base64
import hashlib
import math
from html import escape
from pathlib import Path

import numpy as np

from attn_edu.views import picture
from attn_edu.views.bundle import bundle
from attn_edu.views.payload import to_script

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>:root{{color-scheme:light dark}}body{{margin:1rem auto;max-width:75rem;padding:0 1rem;
font-family:system-ui,sans-serif}}h1{{font-size:1.2em;font-weight:600}}</style><main><h1>{title}</h1>{body}</main></html>
"""


def words(tokens, n: int, name: str = "tokens") -> list[str]:
    """Labels as strings: the given ones, or positions 0..n-1."""
    if tokens is None:
        return [str(i) for i in range(n)]
    if isinstance(tokens, str):
        raise TypeError(
            f"{name} must be a sequence of {n} words, got one string: pass {name}=text.split()"
        )
    labels = [str(t) for t in tokens]
    if len(labels) != n:
        raise ValueError(f"{name} must name each of the {n} positions, got {len(labels)} words")
    return labels


def positive(value, name: str) -> float:
    """A positive, finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number, got {type(value).__name__}") from error
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return number


def positive_int(value, name: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def index(value, count: int, name: str) -> int:
    """A position 0..count-1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {type(value).__name__}")
    if not 0 <= value < count:
        raise ValueError(f"{name} must be 0 to {count - 1}, got {value}")
    return int(value)


def one_of(value, accepted: tuple[str, ...], name: str) -> str:
    """One of a few names."""
    if value not in accepted:
        raise ValueError(f"{name} must be one of {accepted}, got {value!r}")
    return value


def join_words(items) -> str:
    """A list in words: a, b and c."""
    items = list(items)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


class View:
    """A matrix that moves. Shows itself as the last expression of a notebook cell.

    A subclass gives ``_entry`` (its JavaScript module), ``_start`` (the function that mounts it),
    ``_payload()``, ``_svg()``, ``_table()``, ``summary()`` and ``describe()``.
    """

    _entry = _start = ""
    title: str | None = None

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self._html(), "text/plain": self.summary()}

    def __repr__(self) -> str:
        return self.summary()

    def _caption(self) -> str:
        return self.title or type(self).__name__

    def _html(self) -> str:
        svg = base64.b64encode(self._svg().encode()).decode()
        payload = self._payload()
        script = to_script(payload)
        mark = hashlib.sha256(script.encode()).hexdigest()[:12]
        caption, head, rows = self._table()
        # A script that a page inserts late knows itself by currentScript; where it does not, by its mark.
        start = (
            f"const s=document.currentScript,f=s?s.closest('figure'):document.querySelector('figure[data-view=\"{mark}\"]:not([data-live])');"
            "if(!f)return;f.dataset.live='';const d=document.createElement('div'),o=f.querySelectorAll('img,details');"
            f"f.prepend(d);{self._start}(d,{script}).then(()=>o.forEach(e=>e.remove()),"
            "e=>{d.remove();console.error(e)});"
        )
        return (
            f'<figure class="attn-edu" data-view="{mark}" style="margin:0">'
            f'<img alt="{escape(self.describe())}" src="data:image/svg+xml;base64,{svg}" style="max-width:100%">'
            f'<figcaption style="font-size:.9em;margin:4px 12px">{escape(self._caption())}</figcaption>'
            f"<details><summary>Numbers</summary>{_table_html(caption, head, rows)}</details>"
            f"<script>(()=>{{{bundle(self._entry, self._start)}\n{start}}})()</script></figure>"
        )

    def to_html(self, path) -> Path:
        """Write a page that works on its own: no kernel, no network. Returns its path."""
        page = _PAGE.format(title=escape(self._caption()), body=self._html())
        return _write(path, page.encode())

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
    body = "".join(
        f'<tr><th scope="row">{escape(r[0])}</th>'
        + "".join(f"<td>{escape(x)}</td>" for x in r[1:])
        + "</tr>"
        for r in rows
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"
