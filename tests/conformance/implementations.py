"""Our kinds of attention, torch's, and other packages', all asked in one way.

``attend(x, causal=…, lengths=…, window=…, query=…)`` is self-attention: ``x`` is ``(batch, n, d)``,
and stands for key, value and query, unless there is a ``query`` of its own. ``causal``
hides the future, where a shorter query stands for the last positions; ``lengths`` says how many
positions of each sample are real; ``window`` how many of them a query sees. What an implementation
does not offer raises `NotOffered`.

Layers get the identity for their projections, so that nothing but attention is left.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_edu.attention import (
    GroupedQueryAttention,
    MultiHeadAttention,
    block_attention,
    causal_mask,
    linear_attention,
    linformer_attention,
    nystrom_attention,
    padding_mask,
    performer_features,
    scaled_dot_product_attention,
    sliding_window_attention,
    tiled_attention,
    to_multihead_attention,
)
from bench import peers

WIDTH = 4  # of every x
LONGEST = 8  # positions
LANDMARKS = RANK = BLOCK = 4
LEARNED = "its mixtures are learned, and need not sum to 1"


class NotOffered(Exception):  # noqa: N818
    """The implementation has no such argument, or refuses it."""


@dataclass(frozen=True)
class Implementation:
    """One function or layer.

    Attributes:
        package: where it comes from, "attn-edu" for ours.
        attend: asks it, as the module says.
        not_promised: name of a property -> why nobody promises it.
    """

    name: str
    package: str
    attend: Callable[..., Tensor]
    not_promised: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str | None:
        """What is installed; None if nothing is."""
        return peers.version(self.package)


IMPLEMENTATIONS: dict[str, Implementation] = {}


def implementation(name: str, package: str = "attn-edu", **not_promised: str):
    def add(attend):
        IMPLEMENTATIONS[name] = Implementation(name, package, attend, not_promised)
        return attend

    return add


def refuse(**asked) -> None:
    """Raise `NotOffered` for the first argument that is asked for."""
    for name, value in asked.items():
        if value is not None and value is not False:
            raise NotOffered(f"no argument for {name}")


def visible(x: Tensor, causal: bool, lengths, query: Tensor | None = None) -> Tensor | None:
    """The mask of the course for what is asked: ``(…, n_query, n)``, True = may attend."""
    n = x.shape[1]
    mask = None if not lengths else padding_mask(lengths, n)
    if causal:
        future = causal_mask(n if query is None else query.shape[1], n)
        mask = future if mask is None else mask & future
    return mask


def identity(layer: nn.Module, x: Tensor) -> nn.Module:
    """Set every square weight of a layer to the identity, every bias to 0, and all to x's dtype."""
    for name, parameter in layer.to(x.dtype).named_parameters():
        with torch.no_grad():
            if parameter.ndim == 1:
                parameter.zero_()
            elif "proj_k" not in name and "proj_v" not in name:
                parameter.copy_(torch.eye(parameter.shape[1]).repeat(len(parameter) // WIDTH, 1))
    return layer


def ours(function: Callable[..., Tensor], **options) -> Callable[..., Tensor]:
    """A kind that takes any boolean mask."""

    def attend(x, causal=False, lengths=None, window=None, query=None):
        refuse(window=window)
        mask = visible(x, causal, lengths, query)
        return function(x if query is None else query, x, x, mask=mask, **options)

    return attend


# ---- ours ---------------------------------------------------------------------------------------

implementation("scaled_dot_product_attention")(ours(scaled_dot_product_attention))
implementation("tiled_attention")(ours(tiled_attention, block_query=2, block_key=3))


@implementation("sliding_window_attention")
def _window(x, causal=False, lengths=None, window=None, query=None):
    refuse(query=query)
    mask = visible(x, False, lengths)
    options = {"window": window or LONGEST, "causal": causal or bool(window)}
    return sliding_window_attention(x, x, x, mask=mask, **options)


@implementation("block_attention")
def _block(x, causal=False, lengths=None, window=None, query=None):
    refuse(window=window, query=query)
    mask = visible(x, False, lengths)
    return block_attention(x, x, x, block=BLOCK, causal=causal, mask=mask)


@implementation("linear_attention")
def _linear(x, causal=False, lengths=None, window=None, query=None, **options):
    refuse(window=window)
    query = x if query is None else query
    mask = visible(x, False, lengths)
    return linear_attention(query, x, x, mask=mask, causal=causal, **options)


@implementation("performer_features")
def _performer(x, **asked):
    draw = torch.Generator().manual_seed(0)
    features = performer_features(WIDTH, 16, generator=draw)
    return _linear(x, feature_map=features, **asked)


@implementation("linformer_attention", nothing_invented=LEARNED)
def _linformer(x, causal=False, lengths=None, window=None, query=None):
    refuse(causal=causal, lengths=lengths, window=window)
    draw = torch.Generator().manual_seed(0)
    project = torch.randn(2, RANK, LONGEST, generator=draw, dtype=x.dtype)[..., : x.shape[1]]
    pair = {"project_key": project[0], "project_value": project[1]}
    return linformer_attention(x if query is None else query, x, x, **pair)


@implementation("nystrom_attention")
def _nystrom(x, causal=False, lengths=None, window=None, query=None):
    refuse(causal=causal, window=window)
    mask = visible(x, False, lengths)
    query = x if query is None else query
    return nystrom_attention(query, x, x, landmarks=LANDMARKS, mask=mask)


def layer_of_ours(kind: Callable[[], nn.Module]) -> Callable[..., Tensor]:
    def attend(x, causal=False, lengths=None, window=None, query=None):
        refuse(window=window, query=query)
        return identity(kind(), x)(x, mask=visible(x, causal, lengths))

    return attend


implementation("MultiHeadAttention")(layer_of_ours(lambda: MultiHeadAttention(WIDTH, 2)))
implementation("GroupedQueryAttention")(layer_of_ours(lambda: GroupedQueryAttention(WIDTH, 2, 2)))


# ---- torch's ------------------------------------------------------------------------------------


@implementation("F.scaled_dot_product_attention", "torch")
def _sdpa(x, causal=False, lengths=None, window=None, query=None):
    refuse(window=window)
    query = x if query is None else query
    own = {"is_causal": causal}
    if lengths:
        own = {"attn_mask": visible(x, causal, lengths, query)[:, None]}
    return F.scaled_dot_product_attention(query[:, None], x[:, None], x[:, None], **own)[:, 0]


def _torch_layer(need_weights: bool):
    def attend(x, causal=False, lengths=None, window=None, query=None):
        refuse(window=window, query=query)
        layer = identity(nn.MultiheadAttention(WIDTH, 2, batch_first=True), x)
        masks = {}
        if causal:
            masks["attn_mask"] = to_multihead_attention(causal_mask(x.shape[1]))
        if lengths:
            padding = padding_mask(lengths, x.shape[1]).squeeze(-2)
            masks["key_padding_mask"] = to_multihead_attention(padding)
        return layer(x, x, x, need_weights=need_weights, **masks)[0]

    return attend


implementation("nn.MultiheadAttention", "torch")(_torch_layer(True))
implementation("nn.MultiheadAttention(need_weights=False)", "torch")(_torch_layer(False))


# ---- other packages -----------------------------------------------------------------------------


@implementation("local-attention", "local-attention")
def _local(x, causal=False, lengths=None, window=None, query=None):
    refuse(query=query)
    options = {"autopad": True, "causal": causal or bool(window)}
    kind = peers.local_attention(window or LONGEST // 2, **options)
    mask = None if not lengths else padding_mask(lengths, x.shape[1]).squeeze(-2)
    return kind(x, x, x, mask=mask)


@implementation("linformer", "linformer", nothing_invented=LEARNED)
def _linformer_peer(x, causal=False, lengths=None, window=None, query=None):
    refuse(causal=causal, window=window, query=query)
    torch.manual_seed(0)
    layer = identity(peers.linformer(WIDTH, LONGEST, RANK, 1), x)
    masks = {} if not lengths else {"mask": padding_mask(lengths, x.shape[1]).squeeze(-2)}
    return layer(x, **masks)


@implementation("nystrom-attention", "nystrom-attention")
def _nystrom_peer(x, causal=False, lengths=None, window=None, query=None):
    refuse(causal=causal, window=window, query=query)
    layer = identity(peers.nystrom(WIDTH, 1, LANDMARKS), x)
    mask = None if not lengths else padding_mask(lengths, x.shape[1]).squeeze(-2)
    return layer(x, mask=mask)


@implementation("performer-pytorch", "performer-pytorch")
def _performer_peer(x, causal=False, lengths=None, window=None, query=None):
    refuse(lengths=lengths, window=window, query=query)
    torch.manual_seed(0)
    kind = peers.performer(WIDTH, 16, causal=causal).to(x.dtype)
    return kind(x[:, None], x[:, None], x[:, None])[:, 0]
