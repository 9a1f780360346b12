"""The still picture of a view: plain SVG, written here, and its PNG by way of ``resvg_py``.

A reader sees it before the script runs, in an untrusted notebook, and in a saved file.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from html import escape

import numpy as np

from attn_edu.views.colours import (
    BAD,
    HATCH,
    INK,
    LINE,
    PAPER,
    QUIET,
    bytes_of,
    codes_of,
    ink_on,
    ramp,
    token_colour,
)

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK TC', 'DejaVu Sans', sans-serif"
STRETCH = (
    'preserveAspectRatio="none" style="image-rendering:pixelated" image-rendering="optimizeSpeed"'
)
# What nbconvert writes, the site and VS Code say on the page whether it is light; elsewhere a
# picture follows the color-scheme of its page by itself. A dark picture is the light one turned
# over, its hues as they were.
SCHEME = (
    "<style>:is([data-jp-theme-light=false],[data-theme=dark],[data-vscode-theme-kind])"
    " .attn-still{color-scheme:dark}"
    ":is([data-jp-theme-light=true],[data-theme=light],[data-vscode-theme-kind$=light])"
    " .attn-still{color-scheme:light}"
    "@media print{.attn-still.attn-still{color-scheme:light}}</style>"
)
DARK = "@media (prefers-color-scheme:dark){:root{filter:invert(.93) hue-rotate(180deg)}}"
NO_RESVG = "to_png needs the package resvg_py (pip install resvg_py); to_svg needs nothing"
NO_FONT = "to_png found no font on this system: install one (fonts-dejavu); to_svg needs none"


def text_width(text: str, size: float = 12) -> float:
    """About how wide a text is: wide for CJK and emoji, narrow otherwise."""
    return sum(size if ord(c) > 0x2E80 else size * 0.58 for c in text)


def fit(text: str, width: float, size: float = 12) -> str:
    """A label cut with an ellipsis where it would not fit."""
    if text_width(text, size) <= width:
        return text
    while len(text) > 1 and text_width(text + "…", size) > width:
        text = text[:-1]
    return text + "…"


def text(x, y, words, *, size=12, fill=QUIET, anchor="start", turn=0, bold=False) -> str:
    """One line of text, escaped, its middle at ``y``."""
    place = f"translate({x:.6g} {y:.6g})" + (f" rotate({turn})" if turn else "")
    style = f'font-size="{size}" fill="{fill}" text-anchor="{anchor}"'
    style += ' font-weight="600"' if bold else ""
    return f'<text transform="{place}" dy=".35em" {style}>{escape(str(words))}</text>'


def box(x, y, width, height, fill, stroke="none") -> str:
    """One rectangle."""
    size = f'x="{x:.6g}" y="{y:.6g}" width="{width:.6g}" height="{height:.6g}"'
    return f'<rect {size} fill="{fill}" stroke="{stroke}"/>'


def line(x0, y0, x1, y1, stroke) -> str:
    """One thin straight line."""
    ends = f'x1="{x0:.6g}" y1="{y0:.6g}" x2="{x1:.6g}" y2="{y1:.6g}"'
    return f'<line {ends} stroke="{stroke}"/>'


def dot(x, y, radius, fill) -> str:
    """One filled circle."""
    return f'<circle cx="{x:.6g}" cy="{y:.6g}" r="{radius:.6g}" fill="{fill}"/>'


def shift(y: float) -> str:
    """The start of a group that lies ``y`` pixels further down."""
    return f'<g transform="translate(0 {y:.6g})">'


def row_label(word: str, i: int, left: float, y: float) -> str:
    """A word before its row, with the little coloured square that it keeps everywhere."""
    name = text(left - 18, y, fit(word, left - 22), anchor="end")
    return name + box(left - 13, y - 4, 8, 8, token_colour(i))


def column_label(word: str, j: int, x: float, top: float) -> str:
    """A word above its column, tilted, with its square."""
    square = box(x - 4, top - 12, 8, 8, token_colour(j))
    return text(x - 2, top - 17, fit(word, 92), turn=-45) + square


def png(codes: np.ndarray, kind: str) -> str:
    """A matrix of colour codes as a palette PNG in a data address; code -1 gets a colour apart."""
    colours = ramp(kind)
    if (codes < 0).any():  # one end of the ramp gives up its place in the palette
        spare = 255 if kind == "weight" else 0
        codes = np.where(codes == spare, abs(spare - 1), codes)
        codes = np.where(codes < 0, spare, codes)
        colours[spare] = bytes_of(BAD)

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    height, width = codes.shape
    rows = b"".join(b"\0" + row.tobytes() for row in codes.astype(np.uint8))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"PLTE", bytes(x for rgb in colours for x in rgb))]
    chunks += [(b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in chunks)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def beside_rows(rows, m: int, side: float = 420.0, largest: float = 34.0) -> tuple[float, float]:
    """Where the first of ``m`` columns begins, beside the words of the rows, and their width."""
    widest = max((text_width(w) for w in rows), default=0.0)
    return min(96.0, widest) + 24 if len(rows) else 4.0, min(largest, side / m)


def heat(
    values: np.ndarray, *, rows=(), cols=(), colour="linear", hidden=None,
    title="", side=420.0, largest=34.0, numbers=False,
) -> tuple[str, float, float]:  # fmt: skip
    """One matrix ``(n, m)`` with its words: (svg, width, height).

    ``side`` limits the matrix and ``largest`` a cell, in pixels; cells in ``hidden`` are hatched.
    ``numbers`` writes the value into each cell, or what stands there in a table of its own.
    """
    n, m = values.shape
    left, cw = beside_rows(rows, m, side, largest)
    tallest = min(96.0, max((text_width(w) for w in cols), default=0.0))
    own = None if isinstance(numbers, bool) else numbers
    numbers = cw >= (30 if own is None else 13) and numbers is not False
    ch = min(cw, 26.0) if numbers else min(cw, side / n)
    top = (tallest * 0.72 + 26 if len(cols) else 6.0) + (22 if title else 0)
    codes, kind = codes_of(values, colour)
    place = f'x="{left:.6g}" y="{top:.6g}" width="{m * cw:.6g}" height="{n * ch:.6g}"'
    parts = [text(left, 12, title, size=13, fill=INK, bold=True)] if title else []
    parts.append(f'<image href="{png(codes, kind)}" {place} {STRETCH}/>')
    if hidden is not None and hidden.any():
        strips = ((i, a, b - a) for i in range(n) for a, b in runs(hidden[i]))
        path = "".join(
            f"M{left + a * cw:.5g} {top + i * ch:.5g}h{k * cw:.5g}v{ch:.5g}h{-k * cw:.5g}z"
            for i, a, k in strips
        )
        parts.append(f'<path d="{path}" fill="{PAPER}"/><path d="{path}" fill="url(#hatch)"/>')
    parts.append(box(left, top, m * cw, n * ch, "none", LINE))
    if numbers:
        colours = ramp(kind)
        for i, j in np.ndindex(n, m):
            if hidden is None or not hidden[i, j]:
                number = f"{values[i, j]:z.2f}".replace("-", "−") if own is None else own[i][j]
                ink = ink_on(colours[max(0, codes[i, j])])
                at = (left + (j + 0.5) * cw, top + (i + 0.5) * ch)
                parts.append(text(*at, number, size=10.5, fill=ink, anchor="middle"))
    if ch >= 11:
        parts += [row_label(w, i, left, top + (i + 0.5) * ch) for i, w in enumerate(rows)]
    if cw >= 11:
        parts += [column_label(w, j, left + (j + 0.5) * cw, top) for j, w in enumerate(cols)]
    right = max((text_width(fit(w, 92)) for w in cols[-3:]), default=0.0) * 0.72 + 6
    return "".join(parts), left + m * cw + right, top + n * ch + 6


def head_grid(weights: np.ndarray, *, colour="linear", hidden=None) -> str:
    """Every head of ``(layers, heads, n, m)`` as a small map: layers downwards, heads to the right.

    ``hidden``: boolean of the same shape; those cells stay paper.
    """
    layers, heads = weights.shape[:2]
    side, left, top = min(96.0, 720 / heads), 42.0, 42.0
    parts = [text(left + (c + 0.5) * side, 30, c, anchor="middle") for c in range(heads)]
    parts.append(text(left, 10, "head", size=11) + text(2, 30, "layer", size=11))
    for at in np.ndindex(layers, heads):
        x, y = left + at[1] * side, top + at[0] * side
        if at[1] == 0:
            parts.append(text(left - 8, y + side / 2, at[0], anchor="end"))
        seen = weights[at] if hidden is None else np.where(hidden[at], 0.0, weights[at])
        place = f'x="{x + 1:.6g}" y="{y + 1:.6g}" width="{side - 3:.6g}" height="{side - 3:.6g}"'
        parts.append(f'<image href="{png(*codes_of(seen, colour))}" {place} {STRETCH}/>')
        parts.append(box(x + 1, y + 1, side - 3, side - 3, "none", LINE))
    return side_by_side([("".join(parts), left + heads * side, top + layers * side)])


def runs(flags):
    """Stretches of True in one row: (start, end)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(flags, dtype=int), [0]])))
    return zip(edges[::2].tolist(), edges[1::2].tolist())


def side_by_side(panels, *, wrap=760.0, gap=18.0) -> str:
    """Panels (svg, width, height) set in rows, as one SVG document on white paper."""
    x = y = tallest = widest = 0.0
    placed = []
    for svg, width, height in panels:
        if x and x + width > wrap:
            x, y, tallest = 0.0, y + tallest + gap, 0.0
        placed.append(f'<g transform="translate({x + 8:.6g} {y + 8:.6g})">{svg}</g>')
        x, tallest = x + width + gap, max(tallest, height)
        widest = max(widest, x - gap)
    w, h = math.ceil(widest + 16), math.ceil(y + tallest + 16)
    lines = f'<path d="M-6 6L0 0M0 6L6 0M6 6L12 0" stroke="{HATCH}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}"'
        f' font-family="{FONT}"><defs><pattern id="hatch" width="6" height="6"'
        f' patternUnits="userSpaceOnUse">{lines}</pattern></defs>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{"".join(placed)}</svg>'
    )


def image(svg: str, alt: str, look: str, rules: str = "") -> str:
    """An SVG as an ``<img>`` that needs no script, dark on a dark page.

    ``alt`` is taken as HTML, ``look`` are its attributes, ``rules`` are CSS inside the SVG.
    """
    start, rest = svg.split(">", 1)
    data = base64.b64encode(f"{start}><style>{DARK}{rules}</style>{rest}".encode()).decode()
    source = f"data:image/svg+xml;base64,{data}"
    return f'{SCHEME}<img class="attn-still" alt="{alt}" src="{source}" {look}>'


def to_png(svg: str, zoom: int = 2) -> bytes:
    """An SVG of this module as PNG bytes.

    Raises:
        ImportError: the package ``resvg_py`` is missing.
        RuntimeError: the system has no font, so that every label would be missing.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise ImportError(NO_RESVG) from error
    frame = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{}</svg>'
    probe = [frame.format(x) for x in ("", f'<text y="8" font-family="{FONT}">x</text>')]
    if len({bytes(svg_to_bytes(svg_string=x)) for x in probe}) == 1:
        raise RuntimeError(NO_FONT)
    return bytes(svg_to_bytes(svg_string=svg, zoom=zoom))
