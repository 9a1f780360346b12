"""Masks side by side, and how far each word reaches after one layer, two layers, and more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attn_edu.labels import as_label
from attn_edu.views.checks import as_boolean, as_count, as_index, as_title, as_words
from attn_edu.views.colours import FOCUS, HATCH, INK, LINE
from attn_edu.views.payload import pack
from attn_edu.views.picture import (
    beside_rows,
    box,
    dot,
    heat,
    line,
    runs,
    shift,
    side_by_side,
    text,
)
from attn_edu.views.view import View

MOST_KINDS, MOST_WORDS, MOST_LAYERS = 8, 1024, 16
WITH_LINES = 64  # words; the paths among more of them are too many to draw


class MaskReach(View):
    """Kinds of mask side by side; a slider adds layers, and every word reaches further.

    In one layer a word takes from the words that its mask lets it see. In the next it takes from
    what these have taken, so it reaches words that it never sees (Beltagy et al., 2020, section
    3.1). What a word has, it keeps, as a residual connection does.

    Args:
        kinds: name -> mask ``(n, n)``, boolean, True = may attend, the same in every layer; or a
            list of such masks, or ``(layers, n, n)``, one a layer. Up to 8 kinds.
        tokens: the n words, at most 1,024; positions when absent.
        layers: how many there are, at most 16; by default as many as the lists of masks are long,
            or 4 where there is no list.
        depth: after how many layers the reach is shown first, 1 to ``layers``.
        word: the position of the word that is followed first; by default the last one.
        title: a caption.

    Raises:
        ValueError: no kind or too many, masks that are no squares of one size, a list that is not
            ``layers`` long, labels that do not fit, an unknown depth or word.
        TypeError: kinds that are no mapping, a mask that is not boolean.

    Example:
        >>> from attn_edu.attention import block_mask, sliding_window_mask
        >>> MaskReach({"window 3": sliding_window_mask(8, 3), "blocks": block_mask(8, 2)}, depth=2)
        Masks and reach, 8 words, after 2 of 4 layers: 30 of 64 pairs (47 %) with window 3, \
16 of 64 (25 %) with blocks.
    """

    _entry, _start = "reach", "mountReach"

    def __init__(self, kinds, tokens=None, *, layers=None, depth=1, word=None, title=None):
        self.kinds, self.layers = _checked(kinds, layers)
        self.n = next(iter(self.kinds.values())).shape[-1]
        self.tokens, self.title = as_words(tokens, self.n), as_title(title)
        self.depth = as_count(depth, "depth")
        if self.depth > self.layers:
            raise ValueError(f"depth must be 1 to {self.layers}, got {depth}")
        self.word = self.n - 1 if word is None else as_index(word, self.n, "word")
        self._first = {name: _first_layers(m, self.layers) for name, m in self.kinds.items()}

    def first_layers(self, kind: str) -> np.ndarray:
        """After how many layers each word (row) reaches each word (column): ``(n, n)``, 0 = never.

        Raises:
            KeyError: there is no such kind.
        """
        if kind not in self._first:
            raise KeyError(f"kind must be one of {tuple(self._first)}, got {kind!r}")
        return self._first[kind].copy()

    def live(self):
        """The same view as a widget, `attn_edu.views.live.LiveReach`: it needs a kernel."""
        from attn_edu.views.live import LiveReach

        names = ("kinds", "tokens", "layers", "title")
        return LiveReach(self, {name: getattr(self, name) for name in names})

    # ---- words ----------------------------------------------------------------------------------

    def _reached(self, kind: str, depth: int) -> np.ndarray:
        """Which pairs are reached after ``depth`` layers: ``(n, n)``, boolean."""
        return (self._first[kind] > 0) & (self._first[kind] <= depth)

    def _share(self, kind: str, depth: int) -> tuple[int, str]:
        pairs, total = int(self._reached(kind, depth).sum()), self.n**2
        return pairs, f"{(200 * pairs + total) // (2 * total)} %"

    def summary(self) -> str:
        """One sentence: what share of all pairs each kind reaches at the depth shown."""
        said, unit = [], " pairs"
        for kind in self.kinds:
            pairs, share = self._share(kind, self.depth)
            said.append(f"{pairs} of {self.n**2}{unit} ({share}) with {kind}")
            unit = ""
        words = f"{self.n} words" if self.n > 1 else "1 word"
        after = f"after {self.depth} of {self.layers} layers"
        return f"Masks and reach, {words}, {after}: {', '.join(said)}."

    def describe(self) -> str:
        """The picture in words: how the reach grows, and where the followed word reaches."""
        said = [f"{self.title}."] if self.title else []
        said.append(self.summary())
        for kind in self.kinds:
            grown = ", ".join(self._share(kind, t + 1)[1] for t in range(self.layers))
            found = np.flatnonzero(self._reached(kind, self.depth)[self.word]).tolist()
            named = ", ".join(f"“{self.tokens[j]}”" for j in found) if len(found) <= 16 else ""
            said.append(
                f"With {kind}: {grown} of the pairs after 1 to {self.layers} layers;"
                f" “{self.tokens[self.word]}” reaches {len(found)} of {self.n} words"
                f"{named and ', '}{named}."
            )
        return " ".join(said)

    # ---- parts of the output --------------------------------------------------------------------

    def _caption(self) -> str:
        return self.title or "Masks and reach"

    def _table(self):
        depths = range(1, self.layers + 1)
        head = ["mask", *(f"{t} layer{'s' * (t > 1)}" for t in depths)]
        head.append(f"“{self.tokens[self.word]}”, depth {self.depth}")
        rows = []
        for kind in self.kinds:
            shares = (f"{pairs} ({part})" for pairs, part in (self._share(kind, t) for t in depths))
            found = int(self._reached(kind, self.depth)[self.word].sum())
            rows.append([kind, *shares, f"{found} words"])
        return f"Pairs reached, of {self.n**2}, and words that one word reaches", head, rows

    def _svg(self) -> str:
        panels = [self._panel(kind) for kind in self.kinds]
        return side_by_side(panels, wrap=max(760.0, *(width + 1 for _, width, _ in panels)))

    def _panel(self, kind: str) -> tuple[str, float, float]:
        """The matrix of one kind, and below it the paths down from the followed word."""
        first, shown = self._first[kind], self._reached(kind, self.depth)
        shades = np.where(shown, 1 - 0.7 * (first - 1) / max(1, self.layers - 1), 0.0)
        look = {"rows": self.tokens, "cols": self.tokens, "hidden": ~shown}
        left, cell = beside_rows(self.tokens, self.n, 320, 20)
        matrix, width, height = heat(shades, **look, side=320, largest=20, numbers=first.tolist())
        y = height - 6 + (self.word - self.n) * cell
        mark = box(left, y, self.n * cell, cell, "none", FOCUS)
        paths, tall = self._paths(kind, left, cell)
        pairs, share = self._share(kind, self.depth)
        title = text(4, 11, kind, size=13, fill=INK, bold=True)
        title += text(4, 28, f"{pairs} of {self.n**2} pairs, {share}", fill=INK)
        parts = f"{title}{shift(36)}{matrix}{mark}{shift(height)}{paths}</g></g>"
        return parts, max(width, left + 190), 36 + height + tall

    def _paths(self, kind: str, left: float, cell: float) -> tuple[str, float]:
        """Words at the bottom, a row a layer above them, lines from the followed word downwards."""
        rise = min(22.0, max(9.0, 120 / self.layers))
        masks, bottom = self.kinds[kind], (self.layers + 0.5) * rise
        x = [left + (j + 0.5) * cell for j in range(self.n)]
        parts, level, size = [], {self.word}, min(9.0, rise - 2)
        for t in range(self.depth, -1, -1):
            y, below = bottom - t * rise, set(level)
            name = (f"layer {t}" if t else "words") if left >= 56 else t or ""
            parts.append(text(left - 10, y, name, size=11, anchor="end"))
            for i in level if t else ():
                seen = np.flatnonzero(masks[min(t, len(masks)) - 1][i]).tolist()
                below.update(seen)
                if self.n <= WITH_LINES:
                    parts += [line(x[i], y, x[j], y + rise, HATCH) for j in sorted({i, *seen})]
            if cell >= 9:
                parts += [dot(p, y, size / 2, INK if j in level else LINE) for j, p in enumerate(x)]
            else:
                parts.append(box(left, y - size / 2, self.n * cell, size, LINE))
                for a, b in runs(np.isin(np.arange(self.n), list(level))):
                    strip = box(left + a * cell, y - size / 2, (b - a) * cell, size, INK)
                    parts.append(strip)
            level = below
        return "".join(parts), bottom + rise / 2 + 6

    def _payload(self) -> dict:
        kinds = [{"name": name, "masks": pack(masks)} for name, masks in self.kinds.items()]
        shown = {"depth": self.depth, "selection": self.word, "tokens": self.tokens}
        return {"name": "mask-reach", "kinds": kinds, "n": self.n, "layers": self.layers, **shown}


def _checked(kinds, layers) -> tuple[dict[str, np.ndarray], int]:
    """Name -> ``(1 or layers, n, n)``, and how many layers there are."""
    if not isinstance(kinds, Mapping):
        raise TypeError(f"kinds must map names to masks, got {type(kinds).__name__}")
    if not 1 <= len(kinds) <= MOST_KINDS:
        raise ValueError(f"kinds must hold 1 to {MOST_KINDS} masks, got {len(kinds)}")
    stacks = {as_label(str(name)): _stack(str(name), mask) for name, mask in kinds.items()}
    shapes = {name: stack.shape for name, stack in stacks.items()}
    if len({shape[-1] for shape in shapes.values()}) > 1:
        raise ValueError(f"all masks must have one size, got {shapes}")
    if layers is None:
        layers = max(shape[0] for shape in shapes.values())
        layers = 4 if layers == 1 else layers
    if as_count(layers, "layers") > MOST_LAYERS:
        raise ValueError(f"layers must be at most {MOST_LAYERS}, got {layers}")
    for name, shape in shapes.items():
        if shape[0] not in (1, layers):
            raise ValueError(f"kinds[{name!r}] must hold 1 or {layers} masks, got {shape[0]}")
    return stacks, layers


def _stack(name: str, mask) -> np.ndarray:
    """One kind's masks as ``(1 or layers, n, n)``."""
    masks = as_boolean(mask, f"kinds[{name!r}]")
    if masks.ndim == 2:
        masks = masks[None]
    if masks.ndim != 3 or masks.shape[1] != masks.shape[2] or not 1 <= masks.shape[2] <= MOST_WORDS:
        accepted = f"(n, n) or (layers, n, n) with n at most {MOST_WORDS}"
        raise ValueError(f"kinds[{name!r}] must be {accepted}, got shape {masks.shape}")
    return masks


def _first_layers(masks: np.ndarray, layers: int) -> np.ndarray:
    """The layer after which each pair is reached first, 0 = in none of them."""
    reached = np.eye(masks.shape[-1], dtype=bool)
    first = np.zeros(reached.shape, dtype=np.int64)
    for layer in range(layers):
        sees = masks[min(layer, len(masks) - 1)].astype(np.float32)
        reached = reached | (sees @ reached.astype(np.float32) > 0)
        first[reached & (first == 0)] = layer + 1
    return first
