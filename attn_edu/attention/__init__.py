"""The kinds of attention: one file a kind, one signature, one mask convention.

Every kind is a function ``f(query, key, value, *, mask=None, …) -> output`` on
``(…, length, dim)`` tensors. Masks are boolean, ``True`` = may attend. Modules with learned
projections wrap these functions.
"""

from attn_edu.attention.cache import KeyValueCache
from attn_edu.attention.dot_product import attention_map, scaled_dot_product_attention
from attn_edu.attention.feature_maps import elu_plus_one, performer_features
from attn_edu.attention.key_value import (
    GroupedQueryAttention,
    MultiQueryAttention,
    grouped_query_attention,
)
from attn_edu.attention.latent import MultiHeadLatentAttention
from attn_edu.attention.linear import linear_attention, linear_attention_step
from attn_edu.attention.local import block_attention, sliding_window_attention
from attn_edu.attention.low_rank import (
    LinformerAttention,
    linformer_attention,
    low_rank_linear,
    truncated_svd,
)
from attn_edu.attention.masks import (
    block_mask,
    block_then_cross_mask,
    causal_mask,
    padding_mask,
    sliding_window_mask,
    to_additive,
    to_multihead_attention,
)
from attn_edu.attention.multi_head import MultiHeadAttention, merge_heads, split_heads
from attn_edu.attention.nystrom import nystrom_attention
from attn_edu.attention.positions import (
    alibi_bias,
    alibi_features,
    alibi_slopes,
    rotary,
    sinusoidal_positions,
)
from attn_edu.attention.reference import reference_attention
from attn_edu.attention.tiled import tiled_attention

__all__ = [
    "GroupedQueryAttention",
    "KeyValueCache",
    "LinformerAttention",
    "MultiHeadAttention",
    "MultiHeadLatentAttention",
    "MultiQueryAttention",
    "alibi_bias",
    "alibi_features",
    "alibi_slopes",
    "attention_map",
    "block_attention",
    "block_mask",
    "block_then_cross_mask",
    "causal_mask",
    "elu_plus_one",
    "grouped_query_attention",
    "linear_attention",
    "linear_attention_step",
    "linformer_attention",
    "low_rank_linear",
    "merge_heads",
    "nystrom_attention",
    "padding_mask",
    "performer_features",
    "reference_attention",
    "rotary",
    "scaled_dot_product_attention",
    "sinusoidal_positions",
    "sliding_window_attention",
    "sliding_window_mask",
    "split_heads",
    "tiled_attention",
    "to_additive",
    "to_multihead_attention",
    "truncated_svd",
]
