"""The colours of the views; `js/palette.js` holds the same lines for the page.

Ramps are straight lines in the lightness of OKLCH (Ottosson, 2020), so equal steps look equal.
The colours of words are those of Okabe and Ito (2008) and two more; they are never the only sign.
"""

from __future__ import annotations

import math

import numpy as np

INK, QUIET, LINE, PAPER = "#1b1f27", "#5a6270", "#d5dae2", "#ffffff"
HATCH, BAD, FOCUS = "#a3abb8", "#b0126b", "#c2410c"
TOKEN_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#d55e00", "#8a6fd1", "#8c8c8c"),
)

Bytes = tuple[int, int, int]


def token_colour(i: int) -> str:
    """The colour of the word at position ``i``."""
    return TOKEN_COLOURS[i % len(TOKEN_COLOURS)]


def bytes_of(colour: str) -> Bytes:
    """``#rrggbb`` as three bytes."""
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))


def ink_on(rgb: Bytes) -> str:
    """Black or white, whichever reads better on a colour (WCAG 2: at least 4.5 to 1)."""
    r, g, b = (x / 3294.6 if x <= 10 else ((x / 255 + 0.055) / 1.055) ** 2.4 for x in rgb)
    return "#000" if 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 else "#fff"


def oklch(lightness: float, chroma: float, degrees: float) -> Bytes:
    """One colour of OKLCH as sRGB bytes, clipped to what sRGB holds."""
    turn = math.radians(degrees)
    a, b = chroma * math.cos(turn), chroma * math.sin(turn)
    l3 = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m3 = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s3 = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    linear = (
        4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3,
        -1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3,
        -0.0041960863 * l3 - 0.7034186147 * m3 + 1.707614701 * s3,
    )
    shares = [min(1.0, max(0.0, x)) for x in linear]
    curved = [12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in shares]
    return tuple(math.floor(255 * x + 0.5) for x in curved)


def ramp(kind: str) -> list[Bytes]:
    """256 colours for a light page: "weight" from paper to ink, "score" with paper at code 128."""
    if kind == "weight":
        shares = [code / 255 for code in range(256)]
        return [
            oklch(0.98 - 0.69 * t, 0.004 + 0.125 * math.sin(math.pi * t * 0.85), 225 + 50 * t)
            for t in shares
        ]
    steps = [max(-1.0, (code - 128) / 127) for code in range(256)]
    return [oklch(0.98 - 0.45 * abs(t), 0.15 * abs(t), 45 if t < 0 else 255) for t in steps]


def codes_of(values: np.ndarray, colour: str) -> tuple[np.ndarray, str]:
    """Colour codes 0..255 of a matrix (-1 = NaN), and the ramp they belong to.

    ``colour`` is "linear", "sqrt", "row", or "score"; negative values make any of them "score".
    """
    known = np.where(np.isnan(values), 0.0, values)
    if colour == "score" or known.min() < 0:
        codes, kind = 128 + 127 * known / (np.abs(known).max() or 1.0), "score"
    else:
        most = known.max(-1, keepdims=True) if colour == "row" else max(1.0, known.max())
        share = known / np.where(most == 0, 1.0, most)
        codes, kind = 255 * (np.sqrt(share) if colour == "sqrt" else share), "weight"
    return np.where(np.isnan(values), -1, np.round(codes)).astype(int), kind
