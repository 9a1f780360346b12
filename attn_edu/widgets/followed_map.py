"""An attention map that follows a control: a menu of sentences, or a line to type words in."""

from collections.abc import Callable, Sequence

import ipywidgets

from attn_edu.views import AttentionMap


class FollowedMap(ipywidgets.VBox):
    """A control above an attention map; the map shows what the control says.

    Args:
        control: any ipywidget with a ``value``.
        load: from that value to ``(weights, tokens)``, as `AttentionMap` takes them. Where there
            are no tokens, the map stays as it is.
        options: handed on to `AttentionMap`, for example ``layer=3, head=1``.

    Attributes:
        map: the live view; its traits can be read, set and observed.
    """

    def __init__(self, control: ipywidgets.Widget, load: Callable, **options):
        self._control, self._load = control, load
        weights, tokens = load(control.value)
        self.map = AttentionMap(weights, tokens, **options).live()
        control.observe(self._follow, names="value")
        super().__init__([control, self.map])

    @property
    def value(self) -> str:
        """What the control says: the name of the sentence, or the words that were typed."""
        return self._control.value

    @value.setter
    def value(self, value: str) -> None:
        self._control.value = value

    @property
    def tokens(self) -> list[str]:
        """The words that the map shows."""
        return list(self.map.tokens)

    @property
    def picked(self) -> int | None:
        """The place of the word that asks, as it was clicked in the map; ``None`` if none was."""
        return self.map.selection[0] if self.map.selection else None

    def _follow(self, change) -> None:
        weights, tokens = self._load(change["new"])
        if tokens:
            self.map.update(weights=weights, tokens=tokens)

    def __repr__(self) -> str:
        return (
            "A live view: run this cell to pick in it. "
            "Where no widgets show: .map.view is the picture, .value = … chooses."
        )


def choose(
    names: Sequence[str], load: Callable, *, value: str | None = None, label: str, **options
) -> FollowedMap:
    """A menu above an attention map.

    Args:
        names: what the menu offers.
        load: from a name to ``(weights, tokens)``.
        value: the name that is chosen first; the first of ``names`` when ``None``.
        label: what stands beside the menu.
        options: handed on to `AttentionMap`.

    Raises:
        ValueError: ``names`` is empty, or ``value`` is none of them.
    """
    names = list(names)
    if not names:
        raise ValueError("names: got none; accepted is at least one name.")
    value = names[0] if value is None else value
    if value not in names:
        raise ValueError(f"value: got {value!r}; accepted are {', '.join(map(repr, names))}.")
    menu = ipywidgets.Dropdown(options=names, value=value, description=label)
    return FollowedMap(menu, load, **options)


def type_words(text: str, weights_of: Callable, *, label: str, **options) -> FollowedMap:
    """A line to type in, above an attention map of the words in it.

    Args:
        text: what the line says first, at least one word.
        weights_of: from a list of words to their ``(n, n)`` weights.
        label: what stands beside the line.
        options: handed on to `AttentionMap`.

    Raises:
        ValueError: ``text`` has no word in it.
    """
    if not text.split():
        raise ValueError(f"text: got {text!r}; accepted is at least one word.")

    def load(typed: str):
        words = typed.split()
        return (weights_of(words) if words else None), words

    line = ipywidgets.Text(value=text, description=label, layout={"width": "90%"})
    return FollowedMap(line, load, **options)
