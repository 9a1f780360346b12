"""Splitting heads: what ``view`` alone does to a tensor, and what ``view`` and ``transpose`` do."""

from __future__ import annotations

import numpy as np

from attn_edu.views import picture
from attn_edu.views.view import View, positive_int, words

METHODS = {"view": "x.view(B, h, n, d)", "transpose": "x.view(B, n, h, d).transpose(1, 2)"}
LARGEST = 4096


class HeadSplit(View):
    """Coloured cells that show where each number of ``(n, h*d)`` lands when heads are split.

    A cell keeps the colour of its word and reads "word·feature". Two buttons switch between ``view`` straight to
    ``(B, h, n, d)``, which tears words apart, and ``view`` to ``(B, n, h, d)`` followed by ``transpose(1, 2)``.

    Args:
        n: words; n_heads: heads; d_head: features a head. At most 4,096 cells in all.
        tokens: the n words; positions when absent.
        method: what is shown first, ``"view"`` or ``"transpose"``.
        title: a caption.

    Raises:
        ValueError: a size below 1, too many cells, an unknown method, labels that do not fit.
        TypeError: a size that is no whole number.

    Example:
        >>> HeadSplit(3, 2, 2, ["a", "good", "day"])
        Split 3 words into 2 heads of 2: with x.view(B, h, n, d), 4 of 12 numbers land in the right head and row.
    """

    _entry, _start = "split", "mountSplit"

    def __init__(self, n, n_heads, d_head, tokens=None, *, method="view", title=None):
        self.n = positive_int(n, "n")
        self.n_heads, self.d_head = positive_int(n_heads, "n_heads"), positive_int(d_head, "d_head")
        if self.n * self.n_heads * self.d_head > LARGEST:
            size = self.n * self.n_heads * self.d_head
            raise ValueError(f"n * n_heads * d_head must be at most {LARGEST}, got {size}")
        if method not in METHODS:
            raise ValueError(f"method must be one of {tuple(METHODS)}, got {method!r}")
        self.method, self.title = method, title
        self.tokens = words(tokens, self.n)

    def origins(self, method: str | None = None) -> np.ndarray:
        """The flat place in ``(n, h*d)`` that each cell of ``(h, n, d)`` comes from."""
        flat = np.arange(self.n * self.n_heads * self.d_head)
        if (method or self.method) == "view":
            return flat.reshape(self.n_heads, self.n, self.d_head)
        return flat.reshape(self.n, self.n_heads, self.d_head).transpose(1, 0, 2)

    def right(self, method: str | None = None) -> int:
        """How many numbers stand in the head and the row where they belong."""
        return int((self.origins(method) == self.origins("transpose")).sum())

    def live(self):
        """The same view as a widget (`attn_edu.views.live.LiveSplit`); needs a kernel to answer."""
        from attn_edu.views.live import LiveSplit

        names = ("n", "n_heads", "d_head", "tokens", "title")
        return LiveSplit(self, {name: getattr(self, name) for name in names})

    def summary(self) -> str:
        """One sentence: the sizes, and how many numbers land where they belong."""
        return (
            f"Split {self.n} words into {self.n_heads} heads of {self.d_head}: with {METHODS[self.method]},"
            f" {self.right()} of {self.n * self.n_heads * self.d_head} numbers land in the right head and row."
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

    # ---- parts of the output ------------------------------------------------------------------------

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

    def _panel(self, origins: np.ndarray, title: str):
        width, cell = self.n_heads * self.d_head, (34.0, 26.0)
        left = min(90.0, max(picture.text_width(t) for t in self.tokens)) + 24
        parts = [picture.text(4, 11, title, size=13, fill=picture.INK, bold=True)]
        for i, row in enumerate(origins.tolist()):
            y = 26 + i * cell[1]
            name = picture.fit(self.tokens[i], left - 22)
            parts.append(picture.text(left - 18, y + 13, name, anchor="end"))
            parts.append(picture.square(left - 13, y + 9, picture.token_colour(i)))
            for c, at in enumerate(row):
                token, x = at // width, left + c * cell[0]
                fill = picture.token_colour(token)
                parts.append(picture.box(x + 0.75, y + 0.75, cell[0] - 1.5, cell[1] - 1.5, fill))
                label = f"{token}·{at % width}"
                ink = picture.ink_on(picture.bytes_of(fill))
                parts.append(
                    picture.text(x + 17, y + 13, label, size=11, fill=ink, anchor="middle")
                )
        wide = max(left + origins.shape[1] * cell[0] + 6, picture.text_width(title, 13) + 12)
        return "".join(parts), wide, 26 + len(origins) * cell[1] + 6

    def _svg(self) -> str:
        width = self.n_heads * self.d_head
        whole = np.arange(self.n * width).reshape(self.n, width)
        panels = [self._panel(whole, f"x: (n, h·d) = ({self.n}, {width})")]
        for h, origins in enumerate(self.origins()):
            panels.append(self._panel(origins, f"head {h}: (n, d) = ({self.n}, {self.d_head})"))
        return picture.side_by_side(panels, wrap=max(700.0, panels[0][1] + 20))

    def _payload(self) -> dict:
        return {
            "name": "head-split", "n": self.n, "heads": self.n_heads, "d": self.d_head,
            "tokens": self.tokens, "method": self.method, "selection": None,
        }  # fmt: skip
