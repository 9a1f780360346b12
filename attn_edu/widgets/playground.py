"""The playground: type a sentence, choose a model, see what it answers and where it looked.

Two outputs: the controls, which need a kernel, and below them the last state as plain HTML, which
stays in the saved notebook.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any
from uuid import uuid4

from IPython.display import display

from attn_edu.optional import first_missing
from attn_edu.views import AttentionMap
from attn_edu.views.checks import as_label

MISSING = first_missing("ipywidgets", "anywidget")
if MISSING:
    from attn_edu.widgets.without import Controls
else:
    from attn_edu.widgets.controls import Controls

HOW = (
    f"install {MISSING}: pip install {MISSING}."
    if MISSING
    else "run this cell: that needs a kernel."
)
LONGEST = 2000  # characters of a text
TOLD = (ValueError, FileNotFoundError)  # a text that is not for the model; its weights missing
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True)
class Reading:
    """What a model says about a text.

    Args:
        answer: a sentence of plain text.
        weights: ``(layers, heads, n_query, n_key)`` or fewer axes, as `AttentionMap` takes them;
            ``None`` for no map.
        tokens: the words that ask; they are also looked at, unless there are ``key_tokens``.
        key_tokens: the words that are looked at, where these are others.
        rows: a small table, ``(label, value)`` each; numbers rounded as they are to be seen.
        note: plain text below it all.
        options: handed on to `AttentionMap`, for example ``{"layer": 1, "head": 3}``.
    """

    answer: str
    weights: Any = None
    tokens: Sequence[str] | None = None
    key_tokens: Sequence[str] | None = None
    rows: Sequence[tuple[str, Any]] = ()
    note: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def map(self) -> AttentionMap | None:
        """The map of the weights, if there are any."""
        if self.weights is None:
            return None
        sides = {"tokens": self.tokens}
        if self.key_tokens is not None:
            sides = {"query_tokens": self.tokens, "key_tokens": self.key_tokens}
        return AttentionMap(self.weights, **sides, **self.options)


class Playground:
    """A field for a text, a menu of models and one of examples; below them what the model says.

    Show it as the last expression of a cell. A text that a model cannot read is answered by a
    sentence that says why.

    Args:
        readers: name of a model -> a function from a text to its `Reading`; it raises
            ``ValueError`` with a sentence where the text is not for it, and ``FileNotFoundError``
            with one where its weights are missing.
        text: what is read first; the first example when ``None``.
        examples: texts to choose from a menu.
        label: what stands beside the field.

    Attributes:
        model, text: what was read last, and by whom.
        reading: what came of it; its ``answer`` is the reason where the text could not be read.

    Raises:
        ValueError: no readers, or neither a text nor an example.

    Example:
        >>> def letters(text):
        ...     return Reading(f"{len(text)} letters.")
        >>> playground = Playground({"count": letters}, "fish")
        >>> playground
        Playground. count, “fish”: 4 letters.
        >>> playground.read("cat").answer
        '3 letters.'
    """

    def __init__(
        self,
        readers: Mapping[str, Callable[[str], Reading]],
        text: str | None = None,
        examples: Sequence[str] = (),
        label: str = "Your text",
    ):
        self._readers = {str(name): read for name, read in readers.items()}
        if not self._readers:
            raise ValueError("readers: got none; accepted is at least one.")
        if text is None and not examples:
            raise ValueError("text: got None and no examples; accepted is a text to begin with.")
        fixed = {"models": list(self._readers), "examples": list(examples), "label": label}
        kept = json.dumps(fixed).encode("utf-8", "replace")
        fixed["mark"] = self._mark = "playground-" + hashlib.sha256(kept).hexdigest()[:12]
        self._controls = Controls(_fixed=fixed)
        self._controls.observe(self._answer, names="_asked")
        self._shown: str | None = None  # the display id, once there is one
        self.read(examples[0] if text is None else text, fixed["models"][0])

    def read(self, text: str | None = None, model: str | None = None) -> Reading:
        """Read a text as the button does; what is not given stays as it is.

        Raises:
            ValueError: ``model`` is none of the readers.
        """
        self._read(self.text if text is None else text, self.model if model is None else model, 0)
        return self.reading

    def _answer(self, change) -> None:
        asked = change["new"]
        self._read(asked["text"], asked["model"], asked["number"])

    def _read(self, text: str, model: str, number: int) -> None:
        if model not in self._readers:
            accepted = ", ".join(map(repr, self._readers))
            raise ValueError(f"model: got {model!r}; accepted are {accepted}.")
        self.text, self.model = as_label(str(text)), model
        try:
            self.reading, self._map = self._tried()
        except Exception as error:
            self.reading, self._map = Reading(_sentence(error)), None
            if not isinstance(error, TOLD):  # a mistake of the course's, not of the text
                raise
        finally:
            told = {"text": self.text, "model": model, "number": number}
            self._controls._answered = {**told, "said": self.reading.answer}
            if self._shown:
                display(_State(self), display_id=self._shown, update=True)

    def _tried(self) -> tuple[Reading, AttentionMap | None]:
        if not self.text.strip():
            raise ValueError("There is nothing to read yet: type a word or more.")
        if len(self.text) > LONGEST:
            size = f"{len(self.text):,} characters"
            raise ValueError(f"This text has {size}; up to {LONGEST:,} can be read here.")
        reading = self._readers[self.model](self.text)
        return reading, reading.map()

    # ---- the output -----------------------------------------------------------------------------

    def _ipython_display_(self) -> None:
        if not MISSING:
            view = self._controls._repr_mimebundle_()
            data = view[0] if isinstance(view, tuple) else view
            display({WIDGET_VIEW: data[WIDGET_VIEW]}, raw=True)
        self._shown = self._shown or uuid4().hex
        display(_State(self), display_id=self._shown)

    def __repr__(self) -> str:
        return f"Playground. {self.model}, “{self.text}”: {self.reading.answer}"

    def _html(self) -> str:
        """The last state: what was read, by whom, the answer, its table and its map."""
        reading, wrap = self.reading, 'style="margin:8px 0;overflow-wrap:anywhere"'
        parts = [
            f"<p {wrap}>{escape(self.model)} reads: “<bdi>{escape(self.text)}</bdi>”</p>",
            f'<p {wrap} dir="auto"><strong>{_plain(reading.answer)}</strong></p>',
        ]
        if reading.rows:
            cell = "text-align:left;white-space:pre-wrap"  # a token may differ by a space alone
            lines = (
                f'<tr><th scope="row" style="{cell}">{_plain(name)}</th>'
                f'<td style="{cell}" dir="auto">{_plain(value)}</td></tr>'
                for name, value in reading.rows
            )
            parts.append(f"<table style='margin:8px 0'><tbody>{''.join(lines)}</tbody></table>")
        if self._map is not None:
            parts.append(self._map._html())
        if reading.note:
            parts.append(f"<p {wrap}>{_plain(reading.note)}</p>")
        # the controls, where they live, hide this line
        parts.append(
            '<p class="without-kernel" style="margin:8px 0"><em>This is the last state. To type a '
            f"text of your own, {HOW} Where no widgets show, "
            '.read("your text") does what the button does.</em></p>'
        )
        label = escape(self._controls._fixed["label"])
        return (
            f'<section class="{self._mark}" aria-label="Playground: {label}" '
            f'style="max-width:1000px;padding:0 8px">{"".join(parts)}</section>'
        )


class _State:
    """What stays in the saved notebook."""

    def __init__(self, playground: Playground):
        self._data = {"text/html": playground._html(), "text/plain": repr(playground)}

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return self._data


def _plain(text: Any) -> str:
    return escape(as_label(str(text)))


def _sentence(error: Exception) -> str:
    if isinstance(error, TOLD) and str(error):
        return str(error)
    return f"This could not be read ({type(error).__name__}: {error})."
