"""The still picture of a view: plain SVG, written here, and its PNG by way of ``resvg``.

It is what a reader sees before the script runs, in an untrusted notebook, and in a saved file.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from html import escape

import numpy as np

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK TC', 'DejaVu Sans', sans-serif"
INK, QUIET, LINE, PAPER = "#1b1f27", "#5a6270", "#d5dae2", "#ffffff"
HATCH, BAD = "#a3abb8", "#b0126b"
TOKEN_COLOURS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#8a6fd1",
    "#8c8c8c",
)


def _oklch(lightness: float, chroma: float, degrees: float) -> tuple[int, int, int]:
    """One colour of the OKLCH space as sRGB bytes (Ottosson, 2020); `js/palette.js` holds the same lines."""
    a, b = chroma * math.cos(math.radians(degrees)), chroma * math.sin(math.radians(degrees))
    l3 = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m3 = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s3 = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    linear = (
        4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3,
        -1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3,
        -0.0041960863 * l3 - 0.7034186147 * m3 + 1.707614701 * s3,
    )
    clipped = [min(1.0, max(0.0, x)) for x in linear]
    gamma = [12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in clipped]
    return tuple(math.floor(255 * x + 0.5) for x in gamma)


def ramp(kind: str) -> list[tuple[int, int, int]]:
    """256 colours for a light page: ``weight`` from paper to ink, ``score`` with paper at code 128."""
    if kind == "weight":
        shares = [c / 255 for c in range(256)]
        bows = [math.sin(math.pi * t * 0.85) for t in shares]
        return [
            _oklch(0.98 - 0.69 * t, 0.004 + 0.125 * bow, 225 + 50 * t)
            for t, bow in zip(shares, bows)
        ]
    steps = [max(-1.0, (c - 128) / 127) for c in range(256)]
    return [_oklch(0.98 - 0.45 * abs(t), 0.15 * abs(t), 45 if t < 0 else 255) for t in steps]


def codes_of(values: np.ndarray, colour: str = "linear") -> tuple[np.ndarray, str]:
    """Colour codes 0..255 (-1 = not a number) of a matrix, and the ramp they belong to."""
    known = np.where(np.isnan(values), 0.0, values)
    if colour == "score" or known.min() < 0:
        far = np.abs(known).max() or 1.0
        codes, kind = np.round(128 + 127 * known / far), "score"
    else:
        most = known.max(-1, keepdims=True) if colour == "row" else max(1.0, known.max())
        share = known / np.where(most == 0, 1.0, most)
        codes, kind = np.round(255 * (np.sqrt(share) if colour == "sqrt" else share)), "weight"
    return np.where(np.isnan(values), -1, codes).astype(int), kind


def _png(codes: np.ndarray, kind: str) -> str:
    """A matrix of colour codes as a palette PNG in a data address."""
    colours = ramp(kind)
    pixels = codes
    if (codes < 0).any():  # give the unused end of the ramp to cells that are not a number
        spare = 255 if kind == "weight" else 0
        pixels = np.where(codes == spare, abs(spare - 1), pixels)
        pixels = np.where(codes < 0, spare, pixels)
        colours[spare] = bytes_of(BAD)
    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels.astype(np.uint8))

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    data = b"\x89PNG\r\n\x1a\n" + chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    )
    data += chunk(b"PLTE", bytes(x for c in colours for x in c)) + chunk(
        b"IDAT", zlib.compress(rows, 9)
    )
    return "data:image/png;base64," + base64.b64encode(data + chunk(b"IEND", b"")).decode()


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
    weight = ' font-weight="600"' if bold else ""
    place = f'transform="translate({x:.6g} {y:.6g})' + (f' rotate({turn})"' if turn else '"')
    return f'<text {place} dy=".35em" font-size="{size}" fill="{fill}" text-anchor="{anchor}"{weight}>{escape(str(words))}</text>'


def box(x, y, width, height, fill) -> str:
    """One filled cell."""
    size = f'x="{x:.6g}" y="{y:.6g}" width="{width:.6g}" height="{height:.6g}"'
    return f'<rect {size} fill="{fill}"/>'


def bytes_of(colour: str) -> tuple[int, ...]:
    """``#rrggbb`` as three bytes."""
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))


def ink_on(rgb) -> str:
    """Black or white, whichever reads better on a colour (WCAG 2: at least 4.5 to 1)."""
    r, g, b = (x / 3294.6 if x <= 10 else ((x / 255 + 0.055) / 1.055) ** 2.4 for x in rgb)
    return "#000" if 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 else "#fff"


def square(x, y, colour) -> str:
    """The little coloured sign that a word keeps through every picture."""
    return f'<rect x="{x:.6g}" y="{y:.6g}" width="8" height="8" fill="{colour}"/>'


def token_colour(i: int) -> str:
    """The colour of the word at position ``i``."""
    return TOKEN_COLOURS[i % len(TOKEN_COLOURS)]


def heat(
    values,
    *,
    rows=(),
    cols=(),
    colour="linear",
    hidden=None,
    title="",
    side=420.0,
    largest=34.0,
    numbers=False,
):
    """One matrix with its words: (svg, width, height)."""
    n, m = values.shape
    left = min(96.0, max((text_width(w) for w in rows), default=0.0)) + 24 if len(rows) else 4.0
    slope = (
        min(96.0, max((text_width(w) for w in cols), default=0.0)) * 0.72 + 26 if len(cols) else 6.0
    )
    cell_w = min(largest, side / m)
    cell_h = min(cell_w, 26.0) if numbers and cell_w >= 30 else min(cell_w, max(cell_w, side / n))
    top = slope + (22 if title else 0)
    width, height = m * cell_w, n * cell_h
    codes, kind = codes_of(values, colour)
    parts = [text(left, 12, title, size=13, fill=INK, bold=True)] if title else []
    parts.append(
        f'<image href="{_png(codes, kind)}" x="{left:.6g}" y="{top:.6g}" width="{width:.6g}" height="{height:.6g}"'
        ' preserveAspectRatio="none" style="image-rendering:pixelated" image-rendering="optimizeSpeed"/>'
    )
    if hidden is not None and hidden.any():
        path = "".join(
            f"M{left + a * cell_w:.5g} {top + i * cell_h:.5g}h{(b - a) * cell_w:.5g}v{cell_h:.5g}h{(a - b) * cell_w:.5g}z"
            for i in range(n)
            for a, b in _runs(hidden[i])
        )
        parts.append(f'<path d="{path}" fill="{PAPER}"/><path d="{path}" fill="url(#hatch)"/>')
    if numbers and cell_w >= 30:
        colours = ramp(kind)
        for i, j in np.ndindex(n, m):
            if hidden is None or not hidden[i, j]:
                ink = ink_on(colours[max(0, codes[i, j])])
                at = (left + (j + 0.5) * cell_w, top + (i + 0.5) * cell_h)
                parts.append(
                    text(
                        *at,
                        f"{values[i, j]:.2f}".replace("-", "−"),
                        size=10.5,
                        fill=ink,
                        anchor="middle",
                    )
                )
    parts.append(
        f'<rect x="{left}" y="{top:.6g}" width="{width:.6g}" height="{height:.6g}" fill="none" stroke="{LINE}"/>'
    )
    if cell_h >= 11:
        for i, word in enumerate(rows):
            y = top + (i + 0.5) * cell_h
            parts += [
                text(left - 18, y, fit(word, left - 22), anchor="end"),
                square(left - 13, y - 4, token_colour(i)),
            ]
    if cell_w >= 11:
        for j, word in enumerate(cols):
            x = left + (j + 0.5) * cell_w
            parts += [
                text(x - 2, top - 17, fit(word, 92), turn=-45),
                square(x - 4, top - 12, token_colour(j)),
            ]
    right = max((text_width(fit(w, 92)) for w in cols[-3:]), default=0.0) * 0.72 + 6
    return "".join(parts), left + width + right, top + height + 6


def _runs(flags):
    """Stretches of True in one row: (start, end)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(flags, dtype=int), [0]])))
    return zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def side_by_side(panels, *, wrap=1180.0, gap=18.0) -> str:
    """Panels (svg, width, height) set in rows, as one SVG document on white paper."""
    x = y = tallest = widest = 0.0
    placed = []
    for svg, width, height in panels:
        if x and x + width > wrap:
            x, y, tallest = 0.0, y + tallest + gap, 0.0
        placed.append(f'<g transform="translate({x + 8:.6g} {y + 8:.6g})">{svg}</g>')
        x, tallest = x + width + gap, max(tallest, height)
        widest = max(widest, x - gap)
    size = (math.ceil(widest + 16), math.ceil(y + tallest + 16))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" height="{size[1]}"'
        f' font-family="{FONT}"><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<path d="M-6 6L0 0M0 6L6 0M6 6L12 0" stroke="{HATCH}"/></pattern></defs>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{"".join(placed)}</svg>'
    )


def to_png(svg: str, zoom: int = 2) -> bytes:
    """An SVG of this module as PNG bytes; needs the package ``resvg_py`` and one installed font."""
    try:
        import resvg_py
    except ImportError as error:
        raise ImportError(
            "to_png needs the package resvg_py: pip install resvg_py; to_svg needs nothing"
        ) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom))
