"""The closed forms: what each kind of layer computes and holds, as functions of its sizes.

Names as in the papers: ``n`` length, ``d`` = d_model, ``h`` heads, ``e`` = d / h. All forms are for
one sequence. ``core`` counts what `attn_edu.attention` multiplies and adds, tiles that stick out
over the end included. ``held`` is how many numbers it holds at its worst moment, the inputs and the
weights of the layer not counted. `views/js/costs.js` says the same to the page.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace as Sizes

from attn_edu.attention.dot_product import LONG
from attn_edu.attention.linear import CHUNK

TILE_QUERY, TILE_KEY = 128, 512  # of tiled attention
ITERATIONS = 6  # of Nyström's inverse

Form = Callable[[Sizes], float]


@dataclass(frozen=True)
class Kind:
    """One kind of layer.

    Attributes:
        label: for pictures and tables.
        core: flops of what mixes the positions.
        held: numbers held while mixing, the output among them.
        options: sizes that only this kind has.
        around: flops of what works on each position by itself, such as the four projections.
        kept: numbers in the queries, keys and values; 0 where the layer has no such thing.
        steps: how many steps wait for the one before.
        path: steps from the first position to the last; infinite where nothing ever arrives.
        pairs: how many pairs of a query and a key are compared.
        merged: whether merging the heads copies the output.
    """

    label: str
    core: Form
    held: Form
    options: tuple[str, ...] = ()
    around: Form = lambda s: 8 * s.n * s.d**2
    kept: Form = lambda s: 3 * s.n * s.d
    steps: Form = lambda s: 1
    path: Form = lambda s: min(s.n - 1, 1)
    pairs: Form = lambda s: s.n**2
    merged: bool = True


def tiles(a: int, b: int) -> int:
    """How many tiles of ``b`` cover ``a``."""
    return -(-a // b)


def squares(n: int, tile: int) -> int:
    """The sum of the squares of the tiles' sizes, the last one as small as it is."""
    return n // tile * tile**2 + (n % tile) ** 2


# ---- numbers held -------------------------------------------------------------------------------


def formula_held(s: Sizes, n_key: int) -> float:
    """``softmax(q kᵀ) v`` as it is written: scores and weights, the scaled query, the output."""
    return 2 * s.n * s.d + 2 * s.n * n_key * s.h


def fused_held(s: Sizes, n_key: int) -> float:
    """torch's kernel: the output, a number for each row of a head, and one tile of the weights."""
    rows = 256 if s.n >= 768 else 64 if s.n >= 192 else 32
    return s.n * s.d + s.n * s.h + rows * (min(n_key, 512) + s.e + 2) / s.batch


def attend_held(s: Sizes, n_key: int) -> float:
    """What `scaled_dot_product_attention` holds: the formula for few keys, or the kernel."""
    long = n_key > LONG or s.n * n_key > LONG**2
    return fused_held(s, n_key) if long else formula_held(s, n_key)


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
    return 2 * s.n * s.d


def nystrom_held(s: Sizes) -> float:
    if s.n <= s.landmarks:
        return attend_held(s, s.n)
    return attend_held(s, s.landmarks) + 4 * s.landmarks * s.d


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
    """As oneDNN allocates it: all gates and states, and a copy of the weights in its own order."""
    a_number = 9.1 if s.batch == 1 else 6.05
    return a_number * s.n * s.d + (8.2 * s.d**2 + 5000) / s.batch


def convolution_held(s: Sizes) -> float:
    """Input, output and a copy; beside them the window of every position, or oneDNN's weights."""
    padded = (s.n + s.window - 1) * s.d
    few = s.batch == 1 and padded <= 20480
    return 2 * s.n * s.d + padded + s.window * s.d * (s.n if few else s.d / s.batch)


# ---- flops --------------------------------------------------------------------------------------


def square(s: Sizes) -> int:
    """Both products over every pair, one multiplication and one addition counted as two."""
    return 4 * s.n**2 * s.d


def nystrom(s: Sizes) -> int:
    m = s.landmarks
    if s.n <= m:
        return square(s)
    means = 4 * m * s.n * s.d if s.n % m else 0  # equal segments need no product
    return means + 8 * s.n * m * s.d + 4 * m**2 * s.d + (8 * ITERATIONS + 2) * m**3 * s.h


def kernel(s: Sizes, features: int) -> int:
    """Two products with the state of a head, and one with the sum of the features."""
    return s.n * s.h * features * (4 * s.e + 2)


def causal_linear(s: Sizes) -> int:
    """Each chunk reads the state, and its own positions; all but the last are added to it."""
    last = s.n - (tiles(s.n, CHUNK) - 1) * CHUNK
    return kernel(s, s.e) + 4 * squares(s.n, CHUNK) * s.d - 2 * last * s.d * s.e


def near_pairs(s: Sizes) -> int:
    """A causal window: the first positions have fewer before them."""
    w = min(s.n, s.window)
    return w * s.n - w * (w - 1) // 2


KINDS = {
    "attention": Kind("attention, as written", square, square_held),
    "causal": Kind(
        "causal mask, as written",
        square,
        lambda s: square_held(s) + s.n**2 / 4,
        pairs=lambda s: s.n * (s.n + 1) // 2,
    ),
    "fused": Kind("fused kernel", square, lambda s: attend_held(s, s.n), merged=False),
    "tiled": Kind("tiled", square, tiled_held, steps=lambda s: tiles(s.n, TILE_KEY)),
    "sliding_window": Kind(
        "sliding window",
        lambda s: 4 * near_pairs(s) * s.d,
        window_held,
        ("window",),
        path=lambda s: tiles(s.n - 1, s.window - 1) if s.window > 1 else math.inf,
        pairs=near_pairs,
    ),
    "block": Kind(
        "blocks",
        lambda s: 4 * squares(s.n, s.block) * s.d,
        window_held,
        ("block",),
        path=lambda s: min(s.n - 1, 1) if s.n <= s.block else math.inf,
        pairs=lambda s: squares(s.n, s.block),
    ),
    "linformer": Kind(
        "Linformer",
        lambda s: 8 * s.n * s.rank * s.d,
        lambda s: attend_held(s, s.rank) + 2 * s.rank * s.d,
        ("rank",),
        pairs=lambda s: s.n * s.rank,
    ),
    "nystrom": Kind(
        "Nyström",
        nystrom,
        nystrom_held,
        ("landmarks",),
        pairs=lambda s: s.landmarks * (2 * s.n + s.landmarks) if s.n > s.landmarks else s.n**2,
    ),
    "linear": Kind("linear", lambda s: kernel(s, s.e), linear_held, pairs=lambda s: 0),
    "causal_linear": Kind(
        "linear, causal",
        causal_linear,
        causal_linear_held,
        steps=lambda s: tiles(s.n, CHUNK),
        pairs=lambda s: 0,
    ),
    "performer": Kind(
        "Performer",
        lambda s: kernel(s, s.features) + 4 * s.n * s.d * s.features,
        performer_held,
        ("features",),
        pairs=lambda s: 0,
    ),
    "multi_query": Kind(
        "multi-query",
        square,
        lambda s: attend_held(s, s.n),
        around=lambda s: 4 * s.n * s.d * (s.d + s.e),
        kept=lambda s: s.n * (s.d + 2 * s.e),
        merged=False,
    ),
    "grouped_query": Kind(
        "grouped-query",
        square,
        lambda s: attend_held(s, s.n),
        ("groups",),
        around=lambda s: 4 * s.n * s.d * (s.d + s.groups * s.e),
        kept=lambda s: s.n * (s.d + 2 * s.groups * s.e),
        merged=False,
    ),
    "latent": Kind(
        "latent",
        square,
        lambda s: s.n * s.d + attend_held(s, s.n),
        ("latent",),
        around=lambda s: 4 * s.n * s.d**2 + 6 * s.n * s.d * s.latent,
        kept=lambda s: s.n * (2 * s.d + s.latent),
        merged=False,
    ),
    "rnn": Kind(
        "tanh-RNN",
        lambda s: 2 * s.n * s.d**2,
        lambda s: 3 * s.n * s.d,
        around=lambda s: 2 * s.n * s.d**2,
        kept=lambda s: 0,
        steps=lambda s: s.n,
        path=lambda s: s.n - 1,
        pairs=lambda s: 0,
    ),
    "gru": Kind(
        "GRU",
        lambda s: 6 * s.n * s.d**2,
        lambda s: 5 * s.n * s.d,
        around=lambda s: 6 * s.n * s.d**2,
        kept=lambda s: 0,
        steps=lambda s: s.n,
        path=lambda s: s.n - 1,
        pairs=lambda s: 0,
    ),
    "lstm": Kind(
        "LSTM",
        lambda s: 8 * s.n * s.d**2,
        lstm_held,
        around=lambda s: 8 * s.n * s.d**2,
        kept=lambda s: 0,
        steps=lambda s: s.n,
        path=lambda s: s.n - 1,
        pairs=lambda s: 0,
    ),
    "cnn": Kind(
        "convolution",
        lambda s: 2 * s.n * s.window * s.d**2,
        convolution_held,
        ("window",),
        around=lambda s: 0,
        kept=lambda s: 0,
        path=lambda s: tiles(s.n - 1, s.window - 1) if s.window > 1 else math.inf,
        pairs=lambda s: 0,
    ),
}
