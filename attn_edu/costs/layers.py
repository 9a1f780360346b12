"""A layer of every kind that `cost` counts, to be run, counted and timed."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attn_edu import attention
from attn_edu.attention import MultiHeadAttention, scaled_dot_product_attention
from attn_edu.attention.local import block_attention, sliding_window_attention
from attn_edu.costs.cost import _sizes

RECURRENT = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def layer(kind: str, n: int, d_model: int, n_heads: int = 1, **options: int) -> nn.Module:
    """A layer ``(batch, n, d_model) -> (batch, n, d_model)`` of ``kind``, from a random start.

    Args:
        kind, n, d_model, n_heads, options: as in `cost`. Only Linformer is bound to the length.

    Raises:
        KeyError, ValueError: as `cost`.
    """
    _sizes(kind, n, d_model, n_heads, 1, options)
    if kind in RECURRENT:
        return _First(RECURRENT[kind](d_model, d_model, batch_first=True))
    if kind == "cnn":
        return _Causal(nn.Conv1d(d_model, d_model, options["window"]))
    if kind == "linformer":
        return attention.LinformerAttention(d_model, n_heads, n, min(n, options["rank"]))
    if kind == "multi_query":
        return attention.MultiQueryAttention(d_model, n_heads)
    if kind == "grouped_query":
        return attention.GroupedQueryAttention(d_model, n_heads, options["groups"])
    if kind == "latent":
        return attention.MultiHeadLatentAttention(d_model, n_heads, options["latent"])
    return MultiHeadAttention(
        d_model, n_heads, attend=mixer(kind, n, d_model // n_heads, **options)
    )


def mixer(kind: str, n: int, d_head: int, **options: int) -> Callable[..., Tensor]:
    """What mixes the positions, without projections: a function of query, key and value.

    Args:
        kind: one that works on query, key and value of equal numbers of heads.
        n: length, for Linformer's two matrices and the causal mask.
        d_head: for the Performer's features.
    """
    if kind == "sliding_window":
        return partial(sliding_window_attention, window=options["window"])
    if kind == "block":
        return partial(block_attention, block=options["block"])
    if kind == "nystrom":
        return partial(attention.nystrom_attention, landmarks=options["landmarks"])
    if kind == "linformer":
        pair = torch.randn(2, min(n, options["rank"]), n) / n**0.5
        return partial(attention.linformer_attention, project_key=pair[0], project_value=pair[1])
    if kind == "performer":
        features = attention.performer_features(d_head, options["features"], scale=d_head**-0.5)
        return partial(attention.linear_attention, feature_map=features)
    return {
        "attention": _as_written,
        "causal": partial(_as_written, mask=attention.causal_mask(n)),
        "fused": scaled_dot_product_attention,
        "tiled": attention.tiled_attention,
        "linear": attention.linear_attention,
        "causal_linear": partial(attention.linear_attention, causal=True),
    }[kind]


def _as_written(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """``softmax(QKᵀ / √d) V``, with the whole matrix of weights."""
    scale = query.shape[-1] ** -0.5
    if mask is None:
        return (query @ key.mT * scale).softmax(dim=-1) @ value
    return (query @ key.mT * scale).masked_fill(~mask, -torch.inf).softmax(dim=-1) @ value


class _First(nn.Module):
    """A recurrent layer without its last state: the states of all positions."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


class _Causal(nn.Module):
    """A convolution whose window ends at the position itself."""

    def __init__(self, layer: nn.Conv1d):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(F.pad(x.mT, (self.layer.kernel_size[0] - 1, 0))).mT
