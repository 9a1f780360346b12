"""What stands in for the controls where ipywidgets or anywidget is not installed.

The names and arguments are those of the widgets. Each shows what needs no control, and says what to
install for the rest, so that a chapter runs on.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from attn_edu.figures import the_bill
from attn_edu.optional import first_missing
from attn_edu.views import AttentionMap

MISSING = first_missing("ipywidgets", "anywidget")


class Controls:
    """The form of a `Playground`: nothing is ever asked."""

    def __init__(self, _fixed: dict) -> None:
        self._fixed, self._answered = _fixed, {}

    def observe(self, *given, **named) -> None:
        """Without a form there is nothing to follow."""


class Without:
    """Something to show, and under it a sentence on what to install."""

    def __init__(self, shown: Any, use: str) -> None:
        self._shown, self._use = shown, use

    def _sentence(self) -> str:
        return f"{self._use} {MISSING}: pip install {MISSING}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        shown = self._shown._repr_mimebundle_() if self._shown is not None else {"text/html": ""}
        html = f"{shown.pop('text/html')}<p>{escape(self._sentence())}</p>"
        return {"text/html": html, "text/plain": repr(self)}

    def __repr__(self) -> str:
        words = [self._shown.describe()] if self._shown is not None else []
        return " ".join([*words, self._sentence()])


class FollowedMap(Without):
    """The map of the first value, with the attributes of `attn_edu.widgets.FollowedMap`."""

    picked = None

    def __init__(self, value: str, load: Callable, use: str, **options) -> None:
        self.value, (weights, self.tokens) = value, load(value)
        self.map = AttentionMap(weights, self.tokens, **options)
        super().__init__(self.map, use)


def choose(names: Sequence[str], load: Callable, *, value=None, label: str, **options):
    """The map of ``value``, or of the first of ``names``, without the menu."""
    value = next(iter(names)) if value is None else value
    return FollowedMap(value, load, f"{label}: {value}. To choose another, install", **options)


def type_words(text: str, weights_of: Callable, *, label: str, **options):
    """The map of the words of ``text``, without the line to type in."""

    def load(typed: str):
        return weights_of(typed.split()), typed.split()

    return FollowedMap(text, load, f"{label}: {text}. To type others, install", **options)


class Retrain(Without):
    """No button; ``train()`` does what it would."""

    def __init__(self, run: Callable[[], Any], label: str = "Train again") -> None:
        self._run, self.result = run, None
        super().__init__(None, f"“{label}” is a button. To press it, install")

    def train(self) -> Any:
        """Train again, and return what came of it."""
        self.result = self._run()
        return self.result


class BillWithClock(Without):
    """The bill at its first sizes."""

    def __init__(self) -> None:
        self.chart = the_bill()
        super().__init__(self.chart, "To change the sizes and to measure here, install")
