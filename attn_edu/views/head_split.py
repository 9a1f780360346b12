"""Splitting heads: what ``view`` alone does to a tensor, and what ``view`` and ``transpose`` do."""

from __future__ import annotations

import numpy as np

from attn_edu.views.checks import as_count, as_title, as_words, one_of
from attn_edu.views.colours import INK, bytes_of, ink_on, token_colour
from attn_edu.views.picture import box, row_label, side_by_side, text, text_width
from attn_edu.views.view import View

METHODS = {"view": "x.view(B, h, n, d)", "transpose": "x.view(B, n, h, d).transpose(1, 2)"}
LARGEST = 4096


class HeadSplit(View):
    """Coloured cells that show where each number of ``(n, h*d)`` lands when heads are split.

    A cell keeps the colour of its word and reads "word·feature". Two buttons switch between
    ``view`` straight to ``(B, h, n, d)``, which tears words apart, and ``view`` to
    ``(B, n, h, d)`` followed by ``transpose(1, 2)``. A menu deals the same features to another
    number of heads, and a slider takes fewer words (without ``tokens`` also more, up to 12).

    Args:
        n: words; n_heads: heads; d_head: features a head. At most 4,096 cells in all.
        tokens: the n words; positions when absent.
        method: what is shown first, "view" or "transpose".
        title: a caption.

    Raises:
        ValueError: a size below 1, too many cells, an unknown method, labels that do not fit.
        TypeError: a size that is no whole number.

    Example:
        >>> HeadSplit(3, 2, 2, ["a", "good", "day"])
        Split 3 words into 2 heads of 2: with x.view(B, h, n, d), 4 of 12 numbers land in the \
right head and row.
    """

    _entry, _start = "split", "mountSplit"

    def __init__(self, n, n_heads, d_head, tokens=None, *, method="view", title=None):
        self.n = as_count(n, "n")
        self.n_heads, self.d_head = as_count(n_heads, "n_heads"), as_count(d_head, "d_head")
        cells = self.n * self.n_heads * self.d_head
        if cells > LARGEST:
            raise ValueError(f"n * n_heads * d_head must be at most {LARGEST}, got {cells}")
        self.method, self.title = one_of(method, tuple(METHODS), "method"), as_title(title)
        self.tokens = as_words(tokens, self.n)
        roomy = 1 if tokens is not None else min(12, LARGEST // (self.n_heads * self.d_head))
        self.most = max(self.n, roomy)

    def origins(self, method: str | None = None) -> np.ndarray:
        """The flat place in ``(n, h*d)`` that each cell of ``(h, n, d)`` comes from."""
        flat = np.arange(self.n * self.n_heads * self.d_head)
        if one_of(method or self.method, tuple(METHODS), "method") == "view":
            return flat.reshape(self.n_heads, self.n, self.d_head)
        return flat.reshape(self.n, self.n_heads, self.d_head).transpose(1, 0, 2)

    def right(self, method: str | None = None) -> int:
        """How many numbers stand in the head and the row where they belong."""
        return int((self.origins(method) == self.origins("transpose")).sum())

    def live(self):
        """The same view as a widget, `attn_edu.views.live.LiveSplit`: it needs a kernel."""
        from attn_edu.views.live import LiveSplit

        given = {name: getattr(self, name) for name in ("n", "n_heads", "d_head", "title")}
        positions = self.tokens == as_words(None, self.n)
        return LiveSplit(self, {**given, "tokens": None if positions else self.tokens})

    def summary(self) -> str:
        """One sentence: the sizes, and how many numbers land where they belong."""
        cells = self.n * self.n_heads * self.d_head
        return (
            f"Split {self.n} words into {self.n_heads} heads of {self.d_head}:"
            f" with {METHODS[self.method]},"
            f" {self.right()} of {cells} numbers land in the right head and row."
        )

    def describe(self) -> str:
        """The picture in words: where the features of each word land."""
        owner = self.origins() // (self.n_heads * self.d_head)
        said = [f"{self.title}. " if self.title else "", self.summary()]
        for token in range(min(self.n, 8)):
            heads, rows = np.unique(np.argwhere(owner == token)[:, :2], axis=0).T
            places = ", ".join(f"head {h} row {r}" for h, r in zip(heads.tolist(), rows.tolist()))
            said.append(f" “{self.tokens[token]}” lands in {places}.")
        return "".join(said)

    # ---- parts of the output --------------------------------------------------------------------

    def _caption(self) -> str:
        return self.title or "Splitting heads"

    def _table(self):
        width = self.n_heads * self.d_head
        head = ["head", "row", *(str(c) for c in range(self.d_head))]
        rows = []
        for (h, i), cells in zip(
            np.ndindex(self.n_heads, self.n), self.origins().reshape(-1, self.d_head)
        ):
            names = (f"{self.tokens[c // width]} {c % width}" for c in cells.tolist())
            rows.append([f"head {h}", self.tokens[i], *names])
        return f"word and feature in each cell after {METHODS[self.method]}", head, rows

    def _panel(self, origins: np.ndarray, title: str) -> tuple[str, float, float]:
        width, cw, ch, top = self.n_heads * self.d_head, 34.0, 26.0, 26.0
        left = min(90.0, max(map(text_width, self.tokens))) + 24
        parts = [text(4, 11, title, size=13, fill=INK, bold=True)]
        for i, row in enumerate(origins.tolist()):
            y = top + (i + 0.5) * ch
            parts.append(row_label(self.tokens[i], i, left, y))
            for c, at in enumerate(row):
                token, x = at // width, left + c * cw
                fill, name = token_colour(token), f"{token}·{at % width}"
                ink = ink_on(bytes_of(fill))
                parts.append(box(x + 0.75, y - ch / 2 + 0.75, cw - 1.5, ch - 1.5, fill))
                parts.append(text(x + cw / 2, y, name, size=11, fill=ink, anchor="middle"))
        wide = max(left + origins.shape[1] * cw + 6, text_width(title, 13) + 12)
        return "".join(parts), wide, top + len(origins) * ch + 6

    def _svg(self) -> str:
        width = self.n_heads * self.d_head
        whole = np.arange(self.n * width).reshape(self.n, width)
        panels = [self._panel(whole, f"x: (n, h·d) = ({self.n}, {width})")]
        for h, origins in enumerate(self.origins()):
            panels.append(self._panel(origins, f"head {h}: (n, d) = ({self.n}, {self.d_head})"))
        return side_by_side(panels, wrap=max(700.0, panels[0][1] + 20))

    def _payload(self) -> dict:
        sizes = {"n": self.n, "most": self.most, "n_heads": self.n_heads}
        shown = {"tokens": self.tokens, "method": self.method, "selection": None}
        return {"name": "head-split", "width": self.n_heads * self.d_head, **sizes, **shown}
