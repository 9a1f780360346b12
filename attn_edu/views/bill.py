"""The bill: what every kind of layer costs against length, with all its sizes to be moved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from attn_edu.costs import KINDS, cost, crossover
from attn_edu.views.checks import as_count, as_positive, as_title, one_of
from attn_edu.views.colours import FOCUS, PAPER
from attn_edu.views.loglog import LogLog, short
from attn_edu.views.picture import dot, side_by_side, text
from attn_edu.views.view import View, join_words

LENGTHS = [2**k for k in range(6, 18)]
WHAT = {
    "flops": "FLOPs",
    "bytes": "peak memory",
    "sequential_steps": "steps in a row",
    "path_length": "longest path",
}
# One colour a family, one dash a member; `figures.theme` says why these colours.
_FAMILIES = {
    "#0077bb": ("attention", "causal", "fused", "tiled"),
    "#d55e00": ("sliding_window", "block"),
    "#00916a": ("linformer", "nystrom"),
    "#b5629b": ("linear", "causal_linear", "performer"),
    "#a07500": ("multi_query", "grouped_query", "latent"),
    "#7b6fd0": ("lstm", "gru", "rnn", "cnn"),
}
_DASHES = {"solid": "", "dash": "9 5", "dot": "2 4", "dashdot": "9 4 2 4"}
LAYER = ("d_model", "n_heads", "batch", "projections")
STYLES = {
    kind: (colour, dash)
    for colour, kinds in _FAMILIES.items()
    for kind, dash in zip(kinds, _DASHES)
}
SHOWN = ("attention", "sliding_window", "nystrom", "linear", "lstm")


class Bill(View):
    """Cost against length, log–log, for every kind of layer, with sliders for all sizes.

    The closed forms of `attn_edu.costs` are computed in the page, so everything works in a saved
    file. A table beside the picture holds the bill at one length; its boxes choose the lines. Two
    kinds are compared, and their crossover is marked.

    Args:
        d_model, n_heads, batch: sizes of the layer.
        projections: whether what works on each position by itself is counted, as in `costs.cost`.
        window, block, rank, landmarks, features, groups, latent: sizes that some kinds have, as in
            `costs.cost`. One slider moves window and block, and one moves rank and landmarks, by
            the same factor. Where ``groups`` does not divide the heads, the largest number that
            divides both is taken.
        n: the length of the table, from 64 to 131,072.
        of: what is drawn first: "flops", "bytes", "sequential_steps" or "path_length".
        shown: the kinds whose lines are drawn first.
        pair: the two kinds that are compared.
        measured: the reader's own points, as `costs.collected` gives them: kind -> n ->
            `Measurement`, at these sizes.
        rate: multiplications and additions a second that this machine reaches, to set seconds
            beside FLOPs.
        title: a caption.

    Raises:
        ValueError: a size below 1, heads that do not divide the width, an unknown name.
        TypeError: a size that is no whole number.

    Example:
        >>> Bill(d_model=64, n_heads=1, n=128, pair=("attention", "lstm"))
        The bill at n = 128, d = 64: attention as written 8.39 M FLOPs; LSTM 8.39 M FLOPs. Up to \
n = 128 attention as written costs no more in FLOPs than LSTM.
    """

    _entry, _start = "bill", "mountBill"

    def __init__(
        self, d_model=512, n_heads=8, *, batch=1, projections=True, window=128, block=128,
        rank=128, landmarks=64, features=64, groups=2, latent=128, n=1024, of="flops",
        shown=SHOWN, pair=("attention", "lstm"), measured=None, rate=None, title=None,
    ):  # fmt: skip
        sizes = {
            "d_model": d_model, "n_heads": n_heads, "batch": batch, "window": window,
            "block": block, "rank": rank, "landmarks": landmarks, "features": features,
            "groups": groups, "latent": latent,
        }  # fmt: skip
        self.sizes = {name: as_count(size, name) for name, size in sizes.items()}
        self.sizes["projections"] = bool(projections)
        self.sizes["groups"] = math.gcd(self.sizes["n_heads"], self.sizes["groups"])
        self.n, self.title = as_count(n, "n"), as_title(title)
        if not LENGTHS[0] <= self.n <= LENGTHS[-1]:
            raise ValueError(f"n must be {LENGTHS[0]} to {LENGTHS[-1]}, got {n}")
        self.of = one_of(of, tuple(WHAT), "of")
        self.shown, self.pair = _kinds(shown, "shown"), _kinds(pair, "pair")
        if len(self.pair) != 2:
            raise ValueError(f"pair must be two kinds, got {len(self.pair)}")
        self.rate = None if rate is None else as_positive(rate, "rate")
        self.measured = _points(measured or {})
        for kind in KINDS:
            self.cost(kind)  # heads that do not divide are refused here

    def cost(self, kind: str, n: int | None = None):
        """What `costs.cost` says of a kind at these sizes, at length ``n`` or that of the table."""
        own = {name: self.sizes[name] for name in KINDS[kind].options}
        layer = {name: self.sizes[name] for name in LAYER}
        return cost(kind, self.n if n is None else n, **layer, **own)

    def label(self, kind: str) -> str:
        """The name of a kind in pictures."""
        return KINDS[kind].label

    def crossover(self) -> int | None:
        """Up to which length the cheaper of the two compared kinds stays so; `costs.crossover`."""
        if self.of == "path_length":
            return None
        options = {name for kind in self.pair for name in KINDS[kind].options}
        layer = {name: self.sizes[name] for name in LAYER}
        own = {name: self.sizes[name] for name in options}
        return crossover(*self.pair, of=self.of, **layer, **own)

    def summary(self) -> str:
        """One or two sentences: what the two compared kinds cost, and where they cross."""
        a, b = (f"{KINDS[kind].label} {self._price(kind)}" for kind in self.pair)
        where = f"n = {self.n:,}, d = {self.sizes['d_model']}"
        return f"The bill at {where}: {a}; {b}.{self._verdict()}"

    def describe(self) -> str:
        """The picture in words: every line that is drawn, at the length of the table."""
        said = [f"{KINDS[kind].label} {self._price(kind)}" for kind in self.shown]
        title = f"{self.title}. " if self.title else ""
        lines = f" Drawn against length, at n = {self.n:,}: {join_words(said)}." if said else ""
        return f"{title}{self.summary()}{lines}"

    # ---- parts of the output --------------------------------------------------------------------

    def _caption(self) -> str:
        return self.title or "The bill"

    def _price(self, kind: str) -> str:
        value = getattr(self.cost(kind), self.of)
        name = WHAT[self.of]
        if self.of == "bytes":
            return f"{short(value)}B of {name}"
        if self.of == "flops":
            return f"{short(value)} {name}".replace("  ", " ")
        return f"{name}: {'never' if value == math.inf else f'{value:,}'}"

    def _verdict(self) -> str:
        n = self.crossover()
        if n is None:
            return ""
        a, b = (getattr(self.cost(kind, 2 * n + 1), self.of) for kind in self.pair)
        first, then = self.pair if a > b else self.pair[::-1]
        costs = f"{KINDS[first].label} costs no more in {WHAT[self.of]} than {KINDS[then].label}"
        return f" Up to n = {n:,} {costs}."

    def _table(self):
        head = ["kind", *WHAT.values()]
        rows = []
        for kind in KINDS:
            found = self.cost(kind)
            path = "never" if found.path_length == math.inf else f"{found.path_length:,}"
            steps = f"{found.sequential_steps:,}"
            rows.append(
                [KINDS[kind].label, short(found.flops), f"{short(found.bytes)}B", steps, path]
            )
        return f"One forward pass at n = {self.n:,}", head, rows

    def _svg(self) -> str:
        values = {kind: [self.value(kind, n) for n in LENGTHS] for kind in self.shown}
        real = [v for line in values.values() for v in line if 0 < v < math.inf]
        real += [y for kind in self.shown for _, y in self.marks(kind)]
        low, high = (min(real) / 1.6, max(real) * 1.6) if real else (0.5, 1e4)
        picture = LogLog(LENGTHS, low, high)
        parts = picture.axes(WHAT[self.of], "B" if self.of == "bytes" else "", "length n")
        ends = []
        for kind, line_ in values.items():
            colour, dash = STYLES[kind]
            points = [picture.at(n, v) for n, v in zip(LENGTHS, line_) if 0 < v < math.inf]
            path = " ".join(f"{x:.5g},{y:.5g}" for x, y in points)
            style = f'stroke="{colour}" stroke-width="2.2" stroke-dasharray="{_DASHES[dash]}"'
            parts.append(f'<polyline points="{path}" fill="none" {style}/>')
            for n, y in self.marks(kind):
                px, py = picture.at(n, y)
                square = f'x="{px - 4.5:.5g}" y="{py - 4.5:.5g}" width="9" height="9"'
                parts.append(f'<rect {square} fill="{PAPER}" stroke="{colour}" stroke-width="2"/>')
            if points:
                ends.append((KINDS[kind].label, points[-1][1], colour))
        parts += picture.names(ends)
        n = self.crossover()
        if n is not None and LENGTHS[0] <= n <= LENGTHS[-1] and self.pair[0] in values:
            x, y = picture.at(n, self.value(self.pair[0], n))
            side = {"anchor": "end"} if x > (picture.left + picture.right) / 2 else {}
            name = text(
                x - 11 if side else x + 11,
                y + 16,
                f"crossover {n:,}",
                fill=FOCUS,
                bold=True,
                **side,
            )
            parts += [dot(x, y, 7, FOCUS), dot(x, y, 4, PAPER), name]
        return side_by_side([("".join(parts), picture.width, picture.height)])

    def value(self, kind: str, n: int) -> float:
        """What is drawn of a kind at a length."""
        return getattr(self.cost(kind, n), self.of)

    def marks(self, kind: str) -> list[tuple[int, float]]:
        """The measured points on this picture: bytes, or seconds as FLOPs at the machine's rate."""
        found = [point for point in self.measured if point["kind"] == kind]
        if self.of == "bytes":
            return [(point["n"], point["bytes"]) for point in found if point["bytes"]]
        if self.of == "flops" and self.rate:
            return [(point["n"], point["seconds"] * self.rate) for point in found]
        return []

    def _payload(self) -> dict:
        kinds = [
            {"kind": kind, "label": form.label, "colour": STYLES[kind][0], "dash": STYLES[kind][1]}
            for kind, form in KINDS.items()
        ]
        shown = {"n": self.n, "of": self.of, "shown": self.shown, "pair": self.pair}
        points = {"measured": self.measured, "rate": self.rate}
        return {"name": "the-bill", "kinds": kinds, "sizes": self.sizes, **shown, **points}


def _kinds(names: Iterable[str], what: str) -> list[str]:
    if isinstance(names, str):
        raise TypeError(f"{what} must be a sequence of kinds, got one string: {names!r}")
    return [one_of(name, tuple(KINDS), what) for name in names]


def _points(measured: Mapping) -> list[dict]:
    return [
        {
            "kind": one_of(kind, tuple(KINDS), "measured"),
            "n": as_count(n, "measured"),
            "seconds": float(f"{as_positive(one.seconds, 'seconds'):.4g}"),
            "bytes": one.peak_bytes,
        }
        for kind, at in measured.items()
        for n, one in at.items()
    ]
