"""The attention map: who looks at whom, and how much."""

from __future__ import annotations

import numpy as np

from attn_edu.views import picture
from attn_edu.views.payload import LARGEST, as_array, as_mask, pack
from attn_edu.views.view import View, index, join_words, one_of, words

COLOURS = ("linear", "sqrt", "row")


class AttentionMap(View):
    """Attention weights as a matrix, as lines between words, and as a grid of all heads.

    Args:
        weights: ``(layers, heads, n_query, n_key)``, or ``(heads, n_query, n_key)``, or ``(n_query, n_key)``;
            a tensor, an array or lists. NaN is drawn as such; negative weights get a two-sided scale.
        tokens: the words, where queries and keys are the same sentence. Positions when absent.
        query_tokens, key_tokens: the words of each side where they differ (a translation, a question).
        mask: boolean, broadcasts to ``weights``; True = may attend. Cells that may not are hatched.
        layer, head: what is shown first, counted from 0.
        title: a caption.
        colour: ``"linear"``, ``"sqrt"`` (square root) or ``"row"`` (each row to its largest weight);
            by default linear for up to 20 words, else square root.

    Raises:
        ValueError: wrong number of axes, no or too many numbers, infinite weights, labels that do not fit, an unknown
            layer, head or colour, a mask that does not broadcast.
        TypeError: weights that are no numbers, a mask that is not boolean.

    Example:
        >>> AttentionMap([[0.9, 0.1], [0.25, 0.75]], ["good", "day"])
        Attention map, 2 words: “good” looks most at “good” (0.90), “day” at “day” (0.75).
    """

    _entry, _start = "map", "mountMap"

    def __init__(
        self,
        weights,
        tokens=None,
        *,
        query_tokens=None,
        key_tokens=None,
        mask=None,
        layer=0,
        head=0,
        title=None,
        colour=None,
    ):
        array = as_array(weights, "weights")
        if not 2 <= array.ndim <= 4:
            raise ValueError(
                f"weights must have 2 to 4 axes (layers, heads, n_query, n_key), got shape {array.shape}"
            )
        if array.size == 0:
            raise ValueError(f"weights must hold at least one number, got shape {array.shape}")
        if array.size > LARGEST:
            raise ValueError(
                f"weights must hold at most {LARGEST:,} numbers, got {array.size:,} in shape {array.shape}:"
                " pass fewer layers or heads, or a stretch of the words"
            )
        if np.isinf(array).any():
            raise ValueError(
                "weights must be finite (NaN is drawn, infinity is not), got inf: were scores passed for weights?"
            )
        self.weights = array.reshape((1,) * (4 - array.ndim) + array.shape)
        layers, heads, n, m = self.weights.shape
        if tokens is not None and n != m and (query_tokens is None or key_tokens is None):
            raise ValueError(
                f"tokens names both sides, but weights are {n} by {m}: pass query_tokens and key_tokens"
            )
        self.query_tokens = words(
            query_tokens if query_tokens is not None else tokens, n, "query_tokens"
        )
        self.key_tokens = words(key_tokens if key_tokens is not None else tokens, m, "key_tokens")
        self.mask = None if mask is None else as_mask(mask, self.weights.shape)
        self.layer, self.head = index(layer, layers, "layer"), index(head, heads, "head")
        if colour is not None:
            one_of(colour, COLOURS, "colour")
        self.colour = colour or ("linear" if max(n, m) <= 20 else "sqrt")
        self.title = title

    # ---- words ------------------------------------------------------------------------------------

    def _shown(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The chosen head: weights (n, m), and hidden cells (n, m) or None."""
        hidden = (
            None
            if self.mask is None
            else ~np.broadcast_to(self.mask, self.weights.shape)[self.layer, self.head]
        )
        return self.weights[self.layer, self.head], hidden

    def _where(self) -> str:
        layers, heads = self.weights.shape[:2]
        named = [f"layer {self.layer} of {layers}"] * (layers > 1) + [
            f"head {self.head} of {heads}"
        ] * (heads > 1)
        return ", ".join(["Attention map", *named])

    def _strongest(self, limit: int) -> list[tuple[int, int]]:
        """The rows with the largest weights, in the order of the words: (query, key)."""
        w = np.nan_to_num(self._shown()[0], nan=-np.inf)
        best = w.argmax(-1)
        top = np.sort(np.argsort(-w.max(-1), kind="stable")[:limit])
        return [(int(i), int(best[i])) for i in top]

    @property
    def shape(self) -> tuple[int, int]:
        """How many words ask, and how many are looked at."""
        return self.weights.shape[-2:]

    def live(self):
        """The same view as a widget (`attn_edu.views.live.LiveMap`); needs a kernel to answer."""
        from attn_edu.views.live import LiveMap

        own = self.query_tokens == self.key_tokens
        return LiveMap(
            self,
            {
                "weights": self.weights,
                "tokens": self.query_tokens if own else None,
                "query_tokens": None if own else self.query_tokens,
                "key_tokens": None if own else self.key_tokens,
                "mask": self.mask,
                "title": self.title,
            },
        )

    def summary(self) -> str:
        """One sentence: what is shown and where its words look most."""
        w, _ = self._shown()
        n, m = w.shape
        size = f"{n} words" if self.query_tokens == self.key_tokens else f"{n} by {m} words"
        looks = [
            f"“{self.query_tokens[i]}” at “{self.key_tokens[j]}” ({w[i, j]:.2f})"
            for i, j in self._strongest(3)
        ]
        looks[0] = (
            looks[0].replace(" at ", " looks most at ", 1) if "” at “" in looks[0] else looks[0]
        )
        return f"{self._where()}, {size}: {', '.join(looks)}."

    def describe(self) -> str:
        """The picture in words, with what is unusual in its numbers; also the text for a screen reader."""
        w, hidden = self._shown()
        n, m = w.shape
        what = self.title + ". " if self.title else ""
        said = [f"{what}{self._where()}. {n} words ask (rows), {m} words are looked at (columns)."]
        look = [
            f"“{self.query_tokens[i]}” looks most at “{self.key_tokens[j]}” ({w[i, j]:.2f})"
            for i, j in self._strongest(8)
        ]
        said.append(f"{join_words(look)}." if n <= 8 else f"The sharpest rows: {join_words(look)}.")
        if hidden is not None:
            said.append(f"{int(hidden.sum())} of {n * m} cells are masked.")
        said += self._warnings(w)
        return " ".join(said)

    def _warnings(self, w: np.ndarray) -> list[str]:
        said, known = [], w[~np.isnan(w)]
        if known.size < w.size:
            said.append(f"{w.size - known.size} of {w.size} weights are not a number (NaN).")
        if known.size and known.min() < 0:
            said.append(f"Some weights are negative, down to {known.min():.2f}.")
        sums = w.sum(-1)
        off = int((np.abs(sums[~np.isnan(sums)] - 1) > 1e-3).sum())
        if off:
            said.append(
                f"{off} of {len(sums)} rows do not sum to 1 (they sum to {np.nanmin(sums):.3g} … {np.nanmax(sums):.3g})."
            )
        return said

    # ---- parts of the output ------------------------------------------------------------------------

    def _caption(self) -> str:
        return self.title or self._where()

    def _table(self):
        w, _ = self._shown()
        q, k = self.query_tokens, self.key_tokens
        if max(w.shape) <= 16:
            return (
                self._where(),
                ["word", *k],
                [[q[i], *(f"{x:.3f}" for x in w[i])] for i in range(len(q))],
            )
        order = np.argsort(-np.nan_to_num(w, nan=-np.inf), -1, kind="stable")[:, :3]
        rows = [
            [q[i], *(f"{k[j]} {w[i, j]:.3f}" for j in order[i])] for i in range(min(len(q), 128))
        ]
        cut = "" if len(q) <= 128 else f" (the first 128 of {len(q)} words)"
        return (
            f"{self._where()}: the three largest weights of each word{cut}",
            ["word", "1st", "2nd", "3rd"],
            rows,
        )

    def _svg(self) -> str:
        w, hidden = self._shown()
        return picture.side_by_side(
            [
                picture.heat(
                    w,
                    rows=self.query_tokens,
                    cols=self.key_tokens,
                    colour=self.colour,
                    hidden=hidden,
                )
            ]
        )

    def _payload(self) -> dict:
        layers, heads, n, m = self.weights.shape
        mask = None
        if self.mask is not None:
            lead = (1,) * (4 - self.mask.ndim) + self.mask.shape
            mask = pack(np.broadcast_to(self.mask, (*lead[:2], n, m)))
        return {
            "name": "attention-map",
            "layers": layers, "heads": heads, "n": n, "m": m, "layer": self.layer, "head": self.head,
            "colour": self.colour, "tokens": {"query": self.query_tokens, "key": self.key_tokens},
            "weights": pack(self.weights), "mask": mask,
        }  # fmt: skip
