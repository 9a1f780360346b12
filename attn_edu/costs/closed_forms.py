"""The closed forms: what each kind of layer computes and holds, as functions of its sizes.

Names as in the papers: ``n`` length, ``d`` = d_model, ``h`` heads, ``e`` = d / h. All forms are for
one sequence. ``core`` counts what the code in `attn_edu.attention` multiplies and adds; for local
attention, what the pairs in reach need (its stretches compute a little more). ``held`` is how many
numbers the code holds at its worst moment. `views/js/costs.js` says the same to the page.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace as Sizes

from attn_edu.attention.linear import CHUNK
from attn_edu.costs.held import (
    TILE_KEY,
    attend_held,
    block_held,
    causal_linear_held,
    convolution_held,
    grouped_held,
    is_long,
    linear_held,
    lstm_held,
    nystrom_held,
    performer_held,
    square_held,
    tiled_held,
    tiles,
    window_held,
)

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
    merged: Form = lambda s: True


def squares(n: int, tile: int) -> int:
    """The sum of the squares of the tiles' sizes, the last one as small as it is."""
    return n // tile * tile**2 + (n % tile) ** 2


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


def through_windows(s: Sizes) -> float:
    """A window of 1 never gets anywhere; a single position is there already."""
    if s.window == 1:
        return math.inf if s.n > 1 else 0
    return tiles(s.n - 1, s.window - 1)


def near_pairs(s: Sizes) -> int:
    """A causal window: the first positions have fewer before them."""
    w = min(s.n, s.window)
    return w * s.n - w * (w - 1) // 2


def recurrent(label: str, products: int, held: Form) -> Kind:
    """So many products of the state with a ``d × d`` matrix in each step, and of the input."""
    return Kind(
        label,
        lambda s: 2 * products * s.n * s.d**2,
        held,
        around=lambda s: 2 * products * s.n * s.d**2,
        kept=lambda s: 0,
        steps=lambda s: s.n,
        path=lambda s: s.n - 1,
        pairs=lambda s: 0,
    )


KINDS = {
    "attention": Kind("attention as written", square, square_held),
    "causal": Kind(
        "causal as written",
        square,
        lambda s: square_held(s) + s.n**2 / 4,
        pairs=lambda s: s.n * (s.n + 1) // 2,
    ),
    "fused": Kind(
        "fused kernel",
        square,
        lambda s: attend_held(s, s.n),
        merged=lambda s: not is_long(s.n, s.n),
    ),
    "tiled": Kind("tiled", square, tiled_held, steps=lambda s: tiles(s.n, TILE_KEY)),
    "sliding_window": Kind(
        "sliding window",
        lambda s: 4 * near_pairs(s) * s.d,
        window_held,
        ("window",),
        path=through_windows,
        pairs=near_pairs,
    ),
    "block": Kind(
        "blocks",
        lambda s: 4 * squares(s.n, s.block) * s.d,
        block_held,
        ("block",),
        path=lambda s: min(s.n - 1, 1) if s.n <= s.block else math.inf,
        pairs=lambda s: squares(s.n, s.block),
    ),
    "linformer": Kind(
        "Linformer",
        lambda s: 8 * s.n * s.rank * s.d,
        lambda s: (not s.projections) * 2 * s.rank * s.d + attend_held(s, s.rank),
        ("rank",),
        around=lambda s: 4 * (s.n + s.rank) * s.d**2,
        kept=lambda s: (s.n + 2 * s.rank) * s.d,
        pairs=lambda s: s.n * s.rank,
        merged=lambda s: not is_long(s.n, s.rank),
    ),
    "nystrom": Kind(
        "Nyström",
        nystrom,
        nystrom_held,
        ("landmarks",),
        pairs=lambda s: s.landmarks * (2 * s.n + s.landmarks) if s.n > s.landmarks else s.n**2,
        merged=lambda s: not is_long(s.n, min(s.n, s.landmarks)),
    ),
    "linear": Kind("linear", lambda s: kernel(s, s.e), linear_held, pairs=lambda s: 0),
    "causal_linear": Kind(
        "causal linear",
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
        merged=lambda s: not is_long(s.n, s.n),
    ),
    "grouped_query": Kind(
        "grouped-query",
        square,
        grouped_held,
        ("groups",),
        around=lambda s: 4 * s.n * s.d * (s.d + s.groups * s.e),
        kept=lambda s: s.n * (s.d + 2 * s.groups * s.e),
        merged=lambda s: not is_long(s.n, s.n),
    ),
    "latent": Kind(
        "latent",
        square,
        lambda s: s.n * s.d + attend_held(s, s.n),
        ("latent",),
        around=lambda s: 4 * s.n * s.d**2 + 6 * s.n * s.d * s.latent,
        kept=lambda s: s.n * (2 * s.d + s.latent),
        merged=lambda s: not is_long(s.n, s.n),
    ),
    "rnn": recurrent("tanh-RNN", 1, lambda s: 3 * s.n * s.d),
    "gru": recurrent("GRU", 3, lambda s: 5 * s.n * s.d),
    "lstm": recurrent("LSTM", 4, lstm_held),
    "cnn": Kind(
        "convolution",
        lambda s: 2 * s.n * s.window * s.d**2,
        convolution_held,
        ("window",),
        around=lambda s: 0,
        kept=lambda s: 0,
        path=through_windows,
        pairs=lambda s: 0,
    ),
}
