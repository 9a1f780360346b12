"""Texts under a slider: one text a step, in one self-contained HTML output."""

import hashlib
import json
from collections.abc import Mapping
from html import escape

from attn_edu.labels import as_label
from attn_edu.views.view import SUMMARY

# The slider takes the place of the folded texts; without scripts these stay.
_SCRIPT = """(() => {{
const own = '[data-texts="{mark}"]';
const figure = document.currentScript?.closest(own)
  ?? document.querySelector(own + ":not([data-live])");
if (!figure) return;
figure.dataset.live = "";
const texts = {texts}, folded = figure.querySelectorAll("details");
const shown = figure.querySelector("pre"), said = figure.querySelector("output");
const range = figure.querySelector("input");
const move = () => {{
  const [name, text] = texts[range.value];
  shown.textContent = text;
  said.textContent = name;
  range.setAttribute("aria-valuetext", name);
}};
range.addEventListener("input", move);
range.addEventListener("keydown", (e) => {{ if (e.key !== "Tab") e.stopPropagation(); }});
range.closest("label").hidden = false;
folded.forEach((one) => one.remove());
move();
}})()"""
_BOX = (
    "margin:6px 0;padding:8px 12px;border:1px solid #7b7b7b;border-radius:6px;"
    "white-space:pre-wrap;font:13px/1.45 ui-monospace,Menlo,Consolas,monospace"
)


class Texts:
    """Texts and a slider that chooses among them; it needs no kernel and no network.

    Args:
        steps: label of the step -> text.
        slider: what the slider chooses.
        title: above the text.
        active: the step that is shown first.

    Raises:
        ValueError: no text, or a step that does not exist.

    Example:
        >>> Texts({"0.5": "to be", "2": "t0 xe"}, slider="temperature", title="Two samples")
        Two samples; temperature: 0.5, 2. At 0.5: 'to be'
    """

    def __init__(self, steps: Mapping[str, str], *, slider: str, title: str, active: int = 0):
        self.steps = {as_label(str(name)): as_label(text) for name, text in steps.items()}
        self.slider, self.title = as_label(slider), as_label(title)
        if not 0 <= active < len(self.steps):
            raise ValueError(f"active: got {active} for {len(self.steps)} texts.")
        self.active = active

    def describe(self) -> str:
        """The title, the steps, and the start of the text that is shown first."""
        name, text = list(self.steps.items())[self.active]
        start = text if len(text) <= 60 else text[:60] + "…"
        return f"{self.title}; {self.slider}: {', '.join(self.steps)}. At {name}: {start!r}"

    __repr__ = describe

    def to_static_html(self) -> str:
        """The first text, the slider, and the others folded for where no script runs."""
        items = list(self.steps.items())
        name, text = items[self.active]
        label = escape(self.slider)
        others = "".join(
            f'<details>{SUMMARY}{label} {escape(n)}</summary><pre style="{_BOX}">{escape(t)}</pre>'
            "</details>"
            for i, (n, t) in enumerate(items)
            if i != self.active
        )
        data = json.dumps(items).replace("<", "\\u003c")
        mark = hashlib.sha256(data.encode()).hexdigest()[:12]
        script = _SCRIPT.format(mark=mark, texts=data)
        return (
            f'<figure data-texts="{mark}" style="margin:0;max-width:760px">'
            f'<figcaption style="font-size:16px">{escape(self.title)}</figcaption>'
            f'<label hidden>{label} <input type="range" min="0" max="{len(items) - 1}" step="1" '
            f'value="{self.active}" aria-label="{label}" data-lm-suppress-shortcuts="true" '
            f'style="vertical-align:middle;height:24px"> </label><output>{escape(name)}</output>'
            f'<pre style="{_BOX}" aria-live="polite">{escape(text)}</pre>{others}'
            f"<script>{script}</script></figure>"
        )

    def _repr_mimebundle_(self, include=None, exclude=None, **_):
        return {"text/html": self.to_static_html(), "text/plain": self.describe()}
