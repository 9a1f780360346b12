"""The attention map: who looks at whom, and how much; or who depends on whom."""

from __future__ import annotations

import numpy as np

from attn_edu.views.checks import as_array, as_index, as_mask, as_title, as_words, one_of
from attn_edu.views.meanings import ATTENTION, MEANINGS, Meaning
from attn_edu.views.payload import LARGEST, pack
from attn_edu.views.picture import head_grid, heat, side_by_side
from attn_edu.views.view import View, join_words, looks, rounded, weights_table

COLOURS = ("linear", "sqrt", "row")


class AttentionMap(View):
    """Attention weights as a matrix, as lines between words, and as a grid of all heads.

    Args:
        weights: ``(layers, heads, n_query, n_key)``, ``(heads, n_query, n_key)`` or
            ``(n_query, n_key)``; a tensor, an array or lists. NaN is drawn as such, and negative
            weights get a two-sided scale.
        tokens: the words, where queries and keys are the same sentence; positions when absent.
        query_tokens, key_tokens: the words of each side where they differ (a translation, say).
        mask: boolean, broadcasts to ``weights``; True = may attend. Other cells are hatched.
        layer, head: what is shown first, counted from 0.
        title: a caption.
        colour: "linear", "sqrt" (square root) or "row" (each row to its largest weight); by
            default linear for up to 20 words, else square root.
        grid: start with the grid of all heads; a click on one opens it.
        meaning: what the numbers are, for the words of the picture: "attention"; "influence", how
            far each input (column) moves each output (row); or "numbers", none of the two.

    Raises:
        ValueError: a wrong number of axes, no or too many numbers, infinite weights, labels that
            do not fit, an unknown layer, head, colour or meaning, a mask that does not broadcast.
        TypeError: weights that are no numbers, a mask that is not boolean.

    Example:
        >>> AttentionMap([[0.9, 0.1], [0.25, 0.75]], ["good", "day"])
        Attention map, 2 words: “good” looks most at “good” (0.90), “day” at “day” (0.75).
    """

    _entry, _start = "map", "mountMap"

    def __init__(
        self, weights, tokens=None, *, query_tokens=None, key_tokens=None,
        mask=None, layer=0, head=0, title=None, colour=None, grid=False,
        meaning="attention",
    ):  # fmt: skip
        array = _checked(as_array(weights, "weights"))
        self.weights = array.reshape((1,) * (4 - array.ndim) + array.shape)
        layers, heads, n, m = self.weights.shape
        if tokens is not None and n != m:
            raise ValueError(
                f"tokens names both sides, but weights are {n} by {m}:"
                " pass query_tokens and key_tokens"
            )
        tokens = None if tokens is None else as_words(tokens, n)
        sides = (tokens if side is None else side for side in (query_tokens, key_tokens))
        names = ("tokens", "tokens") if tokens is not None else ("query_tokens", "key_tokens")
        self.query_tokens, self.key_tokens = map(as_words, sides, (n, m), names)
        self.mask = None if mask is None else as_mask(mask, self.weights.shape)
        self.layer, self.head = as_index(layer, layers, "layer"), as_index(head, heads, "head")
        automatic = "linear" if max(n, m) <= 20 else "sqrt"
        self.colour = automatic if colour is None else one_of(colour, COLOURS, "colour")
        self.title, self.meaning = as_title(title), one_of(meaning, tuple(MEANINGS), "meaning")
        self.grid = bool(grid) and layers * heads > 1

    @property
    def shape(self) -> tuple[int, int]:
        """How many words ask, and how many are looked at."""
        return self.weights.shape[-2:]

    def live(self):
        """The same view as a widget, `attn_edu.views.live.LiveMap`: it needs a kernel."""
        from attn_edu.views.live import LiveMap

        same = self.query_tokens == self.key_tokens
        tokens = {"tokens": self.query_tokens if same else None}
        tokens["query_tokens"] = None if same else self.query_tokens
        tokens["key_tokens"] = None if same else self.key_tokens
        names = ("weights", "mask", "title", "grid", "meaning")
        return LiveMap(self, {**{name: getattr(self, name) for name in names}, **tokens})

    # ---- words ----------------------------------------------------------------------------------

    def _shown(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The chosen head: weights ``(n, m)``, and hidden cells ``(n, m)`` or None."""
        place = self.layer, self.head
        if self.mask is None:
            return self.weights[place], None
        return self.weights[place], ~np.broadcast_to(self.mask, self.weights.shape)[place]

    @property
    def _words(self) -> Meaning:
        return MEANINGS[self.meaning]

    def _where(self) -> str:
        layers, heads = self.weights.shape[:2]
        named = [f"layer {self.layer} of {layers}"] * (layers > 1)
        named += [f"head {self.head} of {heads}"] * (heads > 1)
        return ", ".join([self._words.what, *named])

    def _size(self) -> str:
        n, m = self.shape
        if self.query_tokens != self.key_tokens:
            return f"{n} by {m} words"
        return f"{n} words" if n > 1 else "1 word"

    def _looks(self, limit: int) -> list[str]:
        """In words, where the sharpest rows look, in the order of the sentence."""
        w, _ = self._shown()
        top = np.sort(np.argsort(-rounded(w).max(-1), kind="stable")[:limit]).tolist()
        return [looks(w, i, self.query_tokens, self.key_tokens, self._words) for i in top]

    def summary(self) -> str:
        """One sentence: what is shown, and where its words look most."""
        (first, *rest), most = self._looks(3), self._words.most
        said = ", ".join(
            [first, *(x.replace(f"” {most} “", f"” {most.split()[-1]} “") for x in rest)]
        )
        return f"{self._where()}, {self._size()}: {said}."

    def describe(self) -> str:
        """The picture in words, with what is unusual in its numbers; for a screen reader too."""
        w, hidden = self._shown()
        n, m = w.shape
        said = [f"{self.title}."] if self.title else []
        said.append(f"{self._where()}. {self._words.size(n, m)}.")
        said.append(f"{'' if n <= 8 else 'The sharpest rows: '}{join_words(self._looks(8))}.")
        if hidden is not None:
            said.append(f"{int(hidden.sum())} of {n * m} cells are {self._words.hidden}.")
            leaking = int((np.nan_to_num(w[hidden]) != 0).sum())
            said += [f"{leaking} {self._words.hidden} cells carry a weight all the same."] * (
                leaking > 0
            )
        return " ".join(said + _oddities(w, self._words))

    # ---- parts of the output --------------------------------------------------------------------

    def _caption(self) -> str:
        layers, heads = self.weights.shape[:2]
        many = f", {layers} by {heads} heads" if layers * heads > 1 else ""
        return self.title or f"{self._words.what}, {self._size()}{many}"

    def _table(self):
        return weights_table(self._shown()[0], self.query_tokens, self.key_tokens, self._where())

    def _svg(self) -> str:
        w, hidden = self._shown()
        if self.grid:
            hidden = None if self.mask is None else ~np.broadcast_to(self.mask, self.weights.shape)
            return head_grid(self.weights, colour=self.colour, hidden=hidden)
        sides = {"rows": self.query_tokens, "cols": self.key_tokens}
        return side_by_side([heat(w, **sides, colour=self.colour, hidden=hidden)])

    def _payload(self) -> dict:
        layers, heads, n, m = self.weights.shape
        mask = None
        if self.mask is not None:
            lead = (1,) * (4 - self.mask.ndim) + self.mask.shape
            mask = pack(np.broadcast_to(self.mask, (*lead[:2], n, m)))
        sizes = {"layers": layers, "heads": heads, "n": n, "m": m}
        shown = {"layer": self.layer, "head": self.head, "colour": self.colour, "grid": self.grid}
        tokens = {"query": self.query_tokens, "key": self.key_tokens}
        says = [getattr(self._words, name) for name in ("what", "row", "column", "hidden")]
        arrays = {"weights": pack(self.weights), "mask": mask}
        return {"name": "attention-map", **sizes, **shown, "tokens": tokens, "says": says, **arrays}


def _checked(array: np.ndarray) -> np.ndarray:
    """Weights that can be drawn, or a ValueError."""
    if not 2 <= array.ndim <= 4:
        axes = "(layers, heads, n_query, n_key)"
        raise ValueError(f"weights must have 2 to 4 axes {axes}, got shape {array.shape}")
    if not 1 <= array.size <= LARGEST:
        raise ValueError(
            f"weights must hold 1 to {LARGEST:,} numbers, got {array.size:,} in shape"
            f" {array.shape}: pass fewer layers or heads, or a stretch of the words"
        )
    if np.isinf(array).any():
        raise ValueError("weights must be finite or NaN, got inf: are these scores, not weights?")
    return array


def _oddities(w: np.ndarray, words: Meaning) -> list[str]:
    """What a reader should know about weights that are no probabilities."""
    said, known = [], w[~np.isnan(w)]
    if known.size < w.size:
        said.append(f"{w.size - known.size} of {w.size} {words.noun} are not a number (NaN).")
    if known.size and known.min() < 0:
        said.append(f"Some {words.noun} are negative, down to {known.min():.2f}.")
    sums = w.sum(-1)
    sums = sums[~np.isnan(sums)]
    off = int((np.abs(sums - 1) > 1e-3).sum())
    if off and words is ATTENTION:
        span = f"from {sums.min():.3g} to {sums.max():.3g}"
        said.append(f"{off} of {len(w)} rows do not sum to 1 (sums {span}).")
    return said
