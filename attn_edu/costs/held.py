"""How many numbers each kind of attention holds at its worst moment, as functions of its sizes.

They follow the code in `attn_edu.attention` line by line: which arrays are there at once. The
output is among them; the inputs are not. Names as in `closed_forms`.
"""

import math
from types import SimpleNamespace as Sizes

from attn_edu.attention.dot_product import LONG
from attn_edu.attention.linear import CHUNK
from attn_edu.attention.local import ALIGNED, BLOCK, EDGE

TILE_QUERY, TILE_KEY = 128, 512  # of tiled attention


def tiles(a: int, b: int) -> int:
    """How many tiles of ``b`` cover ``a``."""
    return -(-a // b)


def is_long(n: int, n_key: int) -> bool:
    """Whether `scaled_dot_product_attention` calls torch's fused kernel."""
    return n_key > LONG or n * n_key > LONG**2


def attend_held(s: Sizes, n_key: int) -> float:
    """What `scaled_dot_product_attention` holds for ``n`` queries.

    The fused kernel: the output, a number for each row of a head, and one tile of the weights. The
    formula: scores and weights, the scaled query, the output.
    """
    if not is_long(s.n, n_key):
        return 2 * s.n * s.d + 2 * s.n * n_key * s.h
    rows = 256 if s.n >= 768 else 64 if s.n >= 192 else 32
    tile = min(rows, s.n) * (min(n_key, 512) + s.e + 2)
    return s.n * s.d + s.n * s.h + tile / s.batch


def square_held(s: Sizes) -> float:
    """As most people write it: two matrices at once, or the weights beside the output."""
    return s.n**2 * s.h + max(s.n**2 * s.h, s.n * s.d)


def tiled_held(s: Sizes) -> float:
    """The output, a tile of weights, and its rows: their sums, and those of the rows before."""
    rows, columns = min(s.n, TILE_QUERY), min(s.n, TILE_KEY)
    sums = min(2, tiles(s.n, TILE_QUERY)) * rows * s.d + 8 * rows * s.h
    copies = 3 * s.n * s.d if s.strided else 0  # batch and heads become one axis
    return copies + s.n * s.d + s.n * s.h + rows * columns * s.h + sums


def window_held(s: Sizes) -> float:
    """The stretches' outputs and their union; or the formula, where it has few scores or an end."""
    before = min(s.window, s.n) - 1
    start = before + -(BLOCK + before) % ALIGNED  # positions before the first whole stretch
    count = max(0, (s.n - start) // BLOCK)
    start = start if count else min(s.n, EDGE)
    rest = s.n - start - count * BLOCK
    rows, columns = count * BLOCK, count * (start + BLOCK)
    pairs = BLOCK * columns
    few = pairs <= LONG**2 and not is_long(BLOCK, start + BLOCK)
    stretches = masked_held(s, rows, columns, pairs) if few else 0
    ends = [(start, start), (rest, min(s.n, rest + before))]  # queries and keys
    short = [masked_held(s, *end, math.prod(end)) for end in ends if not is_long(*end)]
    return max(stretches, s.n * s.d + max(s.n * s.d, *short, 0))


def masked_held(s: Sizes, rows: int, columns: int, pairs: int) -> float:
    """The formula under a mask: three times the scores, and copies of query, key and value."""
    return 3 * pairs * s.h + (rows + 2 * columns) * s.d


def grouped_held(s: Sizes) -> float:
    """Batch, groups and heads of a group become two axes: copies, where the groups lie apart."""
    copies = 3 * s.n * s.d if s.strided and s.groups > 1 else 0
    return copies + attend_held(s, s.n)


def block_held(s: Sizes) -> float:
    """The blocks' outputs and their union; few scores are computed by the formula."""
    block = min(s.n, s.block)
    pairs = s.n // block * block**2
    copy = (s.n % block > 0) * s.n * s.d  # where whole blocks are not all of it
    return 2 * s.n * s.d + (pairs <= LONG**2) * (2 * pairs * s.h + copy)


def nystrom_held(s: Sizes) -> float:
    """Landmarks and what they found, beside the inverse; or the steps towards the inverse."""
    if s.n <= s.landmarks:
        return attend_held(s, s.n)
    marks, inverse = s.landmarks * s.d, s.landmarks**2 * s.h
    steps = 2 * marks + 5 * inverse + 3 * s.landmarks**2
    return max(attend_held(s, s.landmarks) + 4 * marks + inverse, steps)


def linear_held(s: Sizes) -> float:
    """Both terms of elu + 1 and their sum; beside it the state."""
    return 3 * s.n * s.d + s.d * s.e + s.n * s.h


def performer_held(s: Sizes) -> float:
    features = s.n * s.h * s.features
    return max(s.n * s.d + 3 * features, 2 * s.n * s.d + features) + s.d * s.features


def causal_linear_held(s: Sizes) -> float:
    """The output, and for one chunk: its features, earlier parts, the state, its own weights."""
    c, chunks = min(s.n, CHUNK), tiles(s.n, CHUNK)
    read = s.d * s.e + c * s.d + c * s.h * c + max(2 * c * s.d, c * s.h * c)
    parts = min(chunks - 1, 2)
    return (parts > 0) * s.n * s.d + (2 + parts) * c * s.d + max(read, 3 * s.d * s.e)


def lstm_held(s: Sizes) -> float:
    """As oneDNN allocates it: all gates and states, and a copy of the weights in its own order.

    Measured with torch 2.11 and newer; the oneDNN in torch 2.9 takes up to three times that.
    """
    a_number = 9.1 if s.batch == 1 else 6.05
    return a_number * s.n * s.d + (8.2 * s.d**2 + 5000) / s.batch


def convolution_held(s: Sizes) -> float:
    """Input, output and a copy; beside them the window of every position, or oneDNN's weights."""
    padded = (s.n + s.window - 1) * s.d
    few = s.batch == 1 and padded <= 20480
    return 2 * s.n * s.d + padded + s.window * s.d * (s.n if few else s.d / s.batch)
