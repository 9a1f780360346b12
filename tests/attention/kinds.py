"""The table of attention kinds that `test_invariants.py` holds to account.

A new kind of attention joins by one more row of `KINDS`. Every invariant of `invariants.py` then
applies to it. What cannot hold for it is excluded by name, with a reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from unittest import mock

import torch
from torch import Tensor

import attn_edu.attention.dot_product as dot_product
import attn_edu.attention.local as local
from attn_edu.attention import (
    block_attention,
    block_mask,
    causal_mask,
    grouped_query_attention,
    linear_attention,
    nystrom_attention,
    scaled_dot_product_attention,
    sliding_window_attention,
    sliding_window_mask,
    tiled_attention,
)

from .explicit_linear import PERFORMER, in_chunks_of_two, linear_explicit
from .explicit_low_rank import POOLING, SIGNED, linformer, linformer_explicit, nystrom_explicit

# All sizes differ, so that no two axes can be mistaken for each other.
BATCH, HEADS, N_QUERY, N_KEY, D, D_VALUE = 2, 3, 5, 7, 4, 6


@dataclass(frozen=True)
class Kind:
    """One function of the form ``f(query, key, value, *, mask=None, **options)``.

    Attributes:
        name: shown in the test's id.
        function: the kind of attention itself.
        options: keyword arguments that every call gets.
        pattern: ``(n_query, n_key) -> mask`` that the kind applies by itself (causal, a window);
            ``None`` when it lets every query see every key.
        takes_mask: whether it has the argument ``mask``; ``"keys"`` when it takes only masks that
            every query shares, ``(…, 1, n_key)``, such as a padding mask.
        takes_cross: whether it accepts more keys than queries.
        explicit: ``(query, key, value, visible) -> output``, the kind's own definition written out
            in float64 with loops or a whole ``(n_query, n_key)`` matrix, where ``visible`` is
            what `visible` returns; ``None`` when the definition is softmax attention, whose loops
            are `reference_attention`.
        excluded: name of an invariant -> the reason why it cannot hold.
    """

    name: str
    function: Callable[..., Tensor]
    options: Mapping[str, object] = field(default_factory=dict)
    pattern: Callable[[int, int], Tensor] | None = None
    takes_mask: bool | str = True
    takes_cross: bool = True
    explicit: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, query, key, value, mask=None):
        """Call the function; without a mask the argument is left out."""
        extra = {} if mask is None else {"mask": mask}
        return self.function(query, key, value, **self.options, **extra)

    @property
    def n_query(self) -> int:
        return N_QUERY if self.takes_cross else N_KEY

    def inputs(self, *lead, n_key=N_KEY, dtype=torch.float64, device="cpu", seed=0):
        """Random ``query, key, value`` with the leading axes ``lead``."""
        n_query = N_QUERY if self.takes_cross else n_key
        draw = torch.Generator().manual_seed(seed)
        shapes = (n_query, D), (n_key, D), (n_key, D_VALUE)
        drawn = [
            torch.randn(*lead, *shape, generator=draw, dtype=torch.float64) for shape in shapes
        ]
        return [tensor.to(dtype=dtype, device=device) for tensor in drawn]

    def masks(self) -> list[Tensor | None]:
        """No mask, one that every query shares (with an unseen key), and one a query."""
        if not self.takes_mask:
            return [None]
        shared = torch.ones(1, N_KEY, dtype=torch.bool)
        shared[0, [2, N_KEY - 1]] = False
        if self.takes_mask == "keys":
            return [None, shared]
        own = torch.rand(self.n_query, N_KEY, generator=torch.Generator().manual_seed(1)) < 0.6
        own[0], own[1, 0], own[1, 1] = True, True, False
        own[2], own[:, 4] = False, False  # a query that sees nothing, a key that nobody sees
        return [None, shared, own]

    def visible(self, mask: Tensor | None) -> Tensor:
        """Who may really attend to whom, ``(n_query, n_key)``: the mask and the kind's pattern."""
        full = torch.ones(self.n_query, N_KEY, dtype=torch.bool)
        if self.pattern is not None:
            full &= self.pattern(self.n_query, N_KEY)
        return full if mask is None else full & mask


def as_if_long(query, key, value, **options):
    """What long sequences get, torch's fused kernel, at the sizes of the table."""
    with mock.patch.object(dot_product, "LONG", 0):
        return scaled_dot_product_attention(query, key, value, **options)


def in_pieces(attention, few=local.FEW):
    """Local attention as long sequences get it, piece by piece, at the sizes of the table."""

    def local_attention(query, key, value, **options):
        with mock.patch.multiple(local, BLOCK=1, FEW=few):
            return attention(query, key, value, **options)

    return local_attention


def window_of(window, causal=True):
    return lambda n_query, n_key: sliding_window_mask(n_key, window, causal=causal)


def block_of(block, causal=False):
    return lambda n_query, n_key: block_mask(n_key, block, causal=causal)


def one_of_a_group(query, key, value, *, mask=None):
    """The query as the third of four heads, of which two and two share a key."""
    query = torch.stack([-query, 2 * query, query, 0 * query], dim=-3)
    key, value = (torch.stack([-x, x], dim=-3) for x in (key, value))
    mask = mask if mask is None or mask.ndim < 3 else mask.unsqueeze(-3)
    return grouped_query_attention(query, key, value, mask=mask)[..., 2, :, :]


_NO_SECOND_DERIVATIVE = {
    "gradients_are_those_of_finite_differences": "torch's kernel has no second derivative; "
    "test_local.py holds the first one against the definition"
}
_BOUND_TO_PLACES = {
    "order_of_keys_does_not_count": "a mixture of positions knows each position by its place",
    "order_of_positions_moves_the_output_along": "a mixture knows each position by its place",
}
_SIGNED_WEIGHTS = {
    "rows_sum_to_one_over_visible_keys": "the product of factors is no softmax: its weights have "
    "any sign and any sum",
    "large_scores_stay_finite": "weights of any sign and sum can exceed the largest value; "
    "test_low_rank.py asks for finite numbers",
}
_FEATURES_OF_NOTHING = {
    "large_scores_stay_finite": "features of huge negative numbers round to 0, and a row may have "
    "no weight left to share out; test_linear.py asks for finite numbers"
}

KINDS = (
    Kind("scaled_dot_product", scaled_dot_product_attention),
    Kind(
        "fused",
        as_if_long,
        excluded={
            "gradients_are_those_of_finite_differences": "torch's kernel has no second derivative; "
            "test_fused.py holds the first one against finite differences"
        },
    ),
    Kind("scaled_dot_product_scale", scaled_dot_product_attention, options={"scale": 1.7}),
    *(
        Kind(name, function, options, pattern, takes_cross=False, excluded=excluded)
        for name, function, options, pattern, excluded in (
            ("window", sliding_window_attention, {"window": 3}, window_of(3), {}),
            ("window_pieces", in_pieces(sliding_window_attention), {"window": 3}, window_of(3), {}),
            (
                "window_both_sides",
                in_pieces(sliding_window_attention),
                {"window": 2, "causal": False},
                window_of(2, causal=False),
                {},
            ),
            (
                "window_fused",
                in_pieces(sliding_window_attention, few=0),
                {"window": 3},
                window_of(3),
                _NO_SECOND_DERIVATIVE,
            ),
            ("block", block_attention, {"block": 3}, block_of(3), {}),
            (
                "block_causal",
                block_attention,
                {"block": 3, "causal": True},
                block_of(3, causal=True),
                {},
            ),
            (
                "block_fused",
                in_pieces(block_attention, few=0),
                {"block": 3},
                block_of(3),
                _NO_SECOND_DERIVATIVE,
            ),
        )
    ),
    Kind("grouped_query", one_of_a_group),
    Kind(
        "linformer",
        linformer,
        options={"projections": SIGNED},
        takes_mask=False,
        explicit=linformer_explicit(SIGNED),
        excluded=_BOUND_TO_PLACES | _SIGNED_WEIGHTS,
    ),
    Kind(
        "linformer_pooling",
        linformer,
        options={"projections": POOLING},
        takes_mask=False,
        explicit=linformer_explicit(POOLING),
        excluded=_BOUND_TO_PLACES,
    ),
    Kind(
        "nystrom",
        nystrom_attention,
        options={"landmarks": 3},
        takes_mask="keys",
        explicit=nystrom_explicit(3),
        excluded=_BOUND_TO_PLACES
        | _SIGNED_WEIGHTS
        | {
            "hidden_keys_and_values_get_no_gradient": "each query is part of a landmark, by which "
            "it moves the rows of others; test_low_rank.py looks at the keys and values",
        },
    ),
    Kind(
        "nystrom_all_landmarks",
        nystrom_attention,
        options={"landmarks": N_KEY},
        takes_mask="keys",
    ),
    Kind("tiled", tiled_attention, options={"block_query": 2, "block_key": 3}),
    Kind(
        "tiled_causal",
        tiled_attention,
        options={"block_query": 2, "block_key": 3, "causal": True},
        pattern=causal_mask,
        takes_cross=False,  # padding: a shorter memory would have fewer keys than queries
    ),
    Kind(
        "linear",
        linear_attention,
        takes_mask="keys",
        explicit=linear_explicit(),
        excluded=_FEATURES_OF_NOTHING,
    ),
    Kind(
        "linear_causal",
        in_chunks_of_two,
        pattern=causal_mask,
        takes_mask="keys",
        takes_cross=False,  # padding: a shorter memory would have fewer keys than queries
        explicit=linear_explicit(),
        excluded=_FEATURES_OF_NOTHING,
    ),
    Kind(
        "performer",
        linear_attention,
        options={"feature_map": PERFORMER},
        takes_mask="keys",
        explicit=linear_explicit(PERFORMER),
        excluded=_FEATURES_OF_NOTHING,
    ),
    Kind(
        "performer_causal",
        linear_attention,
        options={"feature_map": PERFORMER, "causal": True},
        pattern=causal_mask,
        takes_mask="keys",
        takes_cross=False,
        explicit=linear_explicit(PERFORMER),
        excluded=_FEATURES_OF_NOTHING,
    ),
)
