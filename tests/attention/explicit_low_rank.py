"""Linformer and Nyström attention as they are defined, in float64 and with the whole matrix."""

import math

import torch

from attn_edu.attention import linformer_attention, reference_attention

_DRAW = torch.Generator().manual_seed(7)
SIGNED = torch.randn(2, 4, 7, generator=_DRAW, dtype=torch.float64)  # project_key, project_value
POOLING = SIGNED.softmax(dim=-1)  # rows of shares: each column is a weighted mean of positions


def linformer(query, key, value, *, projections):
    """`linformer_attention` with projections of the dtype and device of its inputs."""
    first, second = projections.to(key)
    return linformer_attention(query, key, value, project_key=first, project_value=second)


def linformer_explicit(projections):
    """Mix the positions by loops, then attend to the mixtures by the loops of the oracle."""

    def explicit(query, key, value, visible):
        assert visible.all()
        mixed = []
        for project, x in zip(projections, (key, value)):
            rows = [
                sum(project[r, j] * x[..., j, :] for j in range(x.shape[-2]))
                for r in range(project.shape[0])
            ]
            mixed.append(torch.stack(rows, dim=-2))
        return reference_attention(query, *mixed)

    return explicit


def segment_means(x, visible, landmarks):
    """Neighbours among the visible positions, in as many segments as there can be."""
    places = visible.nonzero()[:, 0].tolist()
    m = min(landmarks, len(places))
    segments = [[] for _ in range(m)]
    for number, place in enumerate(places):
        segments[number * m // len(places)].append(x[..., place, :])
    return torch.stack([sum(rows) / len(rows) for rows in segments], dim=-2)


def softmax(query, key):
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)


def filtered_inverse(a, iterations=6):
    """The iteration changes singular values only: it is run on each of them as a number."""
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    z = s / a.sum(dim=-2).amax(dim=-1)[..., None]
    for _ in range(iterations):
        z = z * (13 - s * z * (15 - s * z * (7 - s * z))) / 4
    return vh.mT @ (z[..., None] * u.mT)


def nystrom_explicit(landmarks, iterations=6):
    """The three matrices, over the keys that all queries see; these may also be the queries."""

    def explicit(query, key, value, visible):
        seen = visible[0]
        assert (visible == seen).all()
        if not seen.any():
            return torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
        keys, values = key[..., seen, :], value[..., seen, :]
        if len(keys[0]) <= landmarks:
            return softmax(query, keys) @ values
        asking = seen if query.shape[-2] == key.shape[-2] else torch.ones(query.shape[-2]).bool()
        query_marks = segment_means(query, asking, landmarks)
        key_marks = segment_means(key, seen, landmarks)
        inverse = filtered_inverse(softmax(query_marks, key_marks), iterations)
        return softmax(query, key_marks) @ inverse @ softmax(query_marks, keys) @ values

    return explicit
