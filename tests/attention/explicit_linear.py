"""Linear attention as it is defined: the whole matrix of weights, in float64."""

from unittest import mock

import torch
import torch.nn.functional as F

import attn_edu.attention.linear as linear
from attn_edu.attention import linear_attention, performer_features

PERFORMER = performer_features(4, 10, generator=torch.Generator().manual_seed(0), scale=0.5)


def in_chunks_of_two(query, key, value, **options):
    """What long sequences get, chunk after chunk, at the sizes of the table."""
    with mock.patch.object(linear, "CHUNK", 2):
        return linear_attention(query, key, value, causal=True, **options)


def linear_explicit(features=lambda x: F.elu(x) + 1):
    """Every weight, those of hidden keys made 0, and each row divided by its sum."""

    def explicit(query, key, value, visible):
        weights = (features(query) @ features(key).mT) * visible
        total = weights.sum(dim=-1, keepdim=True)
        return torch.where(total == 0, 0, weights / total) @ value

    return explicit
