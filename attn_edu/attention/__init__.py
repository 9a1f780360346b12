"""The kinds of attention: one file a kind, one signature, one mask convention.

Every kind is a function ``f(query, key, value, *, mask=None, …) -> output`` on
``(…, length, dim)`` tensors. Masks are boolean, ``True`` = may attend. Modules with learned
projections wrap these functions.
"""

from attn_edu.attention.dot_product import attention_map, scaled_dot_product_attention
from attn_edu.attention.masks import (
    block_mask,
    causal_mask,
    padding_mask,
    sliding_window_mask,
    to_additive,
    to_multihead_attention,
)
from attn_edu.attention.multi_head import MultiHeadAttention, merge_heads, split_heads
from attn_edu.attention.reference import reference_attention

__all__ = [
    "MultiHeadAttention",
    "attention_map",
    "block_mask",
    "causal_mask",
    "merge_heads",
    "padding_mask",
    "reference_attention",
    "scaled_dot_product_attention",
    "sliding_window_mask",
    "split_heads",
    "to_additive",
    "to_multihead_attention",
]
