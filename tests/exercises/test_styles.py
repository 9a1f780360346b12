"""Right answers in other styles pass: einsum, loops, torch's own functions, other dtypes."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attn_edu.attention import (
    linformer_attention,
    padding_mask,
    scaled_dot_product_attention,
    truncated_svd,
)
from attn_edu.exercises import check, exercises


def steps_by_walking(n, kind, window):
    if kind == "attention":
        return 1
    place, steps = 0, 0
    while place < n - 1:
        place += 1 if kind == "rnn" else window - 1
        steps += 1
    return steps


def loops_weights(query, key, mask):
    lead = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    weights = torch.zeros(*lead, query.shape[-2], key.shape[-2])  # float32, as torch starts it
    full = (
        torch.ones(weights.shape, dtype=torch.bool) if mask is None else mask.expand(weights.shape)
    )
    for index in np.ndindex(*weights.shape[:-1]):
        q = query[index]
        seen = [j for j in range(key.shape[-2]) if full[(*index, j)]]
        scores = [float(q @ key[(*index[:-1], j)]) / math.sqrt(len(q)) for j in seen]
        odds = [math.exp(s - max(scores)) for s in scores]
        for j, odd in zip(seen, odds):
            weights[(*index, j)] = odd / sum(odds)
    return weights


def torch_attention(query, key, value, mask):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def torch_weights(query, key, mask):
    identity = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-2], -1, -1)
    return torch_attention(query, key, identity, mask)


def of_the_package(query, key, value, mask):
    return scaled_dot_product_attention(query, key, value, mask=mask)


def in_bfloat16(query, key, value, mask):
    return torch_attention(query.bfloat16(), key.bfloat16(), value.bfloat16(), mask)


def padding_by_lists(lengths, n):
    return torch.tensor([[j < length for j in range(n)] for length in lengths.tolist()])


def einsum_weights(query, key, mask=None):
    scores = torch.einsum("...id,...jd->...ij", query, key) * query.size(-1) ** -0.5
    odds = (scores - scores.amax(-1, keepdim=True)).exp()
    if mask is not None:
        odds = odds * mask
    return odds / odds.sum(-1, keepdim=True).clamp(min=1e-30)


def loops_split(x, n_heads):
    batch, n, d_model = x.shape
    width = d_model // n_heads
    out = torch.empty(batch, n_heads, n, width, dtype=x.dtype)
    for h in range(n_heads):
        out[:, h] = x[:, :, h * width : (h + 1) * width]
    return out


def torch_heads(x, w_query, w_key, w_value, w_out, n_heads):
    output, _ = F.multi_head_attention_forward(
        *(x.transpose(0, 1),) * 3,
        x.shape[-1],
        n_heads,
        torch.cat([w_query.T, w_key.T, w_value.T]),
        None,
        None,
        None,
        False,
        0.0,
        w_out.T,
        None,
        need_weights=False,
    )
    return output.transpose(0, 1)


def loops_heads(x, w_query, w_key, w_value, w_out, n_heads):
    found = []
    for h in range(n_heads):
        width = x.shape[-1] // n_heads
        s = slice(h * width, (h + 1) * width)
        query, key, value = (x @ w[:, s] for w in (w_query, w_key, w_value))
        found.append((query @ key.mT / width**0.5).softmax(-1) @ value)
    return torch.cat(found, -1) @ w_out


def factors_by_eigenvectors(matrix, rank):
    """Project onto the directions of the largest eigenvalues of AAᵀ."""
    _, vectors = torch.linalg.eigh(matrix @ matrix.T)
    best = vectors[:, -rank:]
    return best, best.T @ matrix


def linformer_by_einsum(query, key, value, project_key, project_value):
    key = torch.einsum("rn,bnd->brd", project_key, key)
    scores = torch.einsum("bqd,brd->bqr", query, key) * key.shape[-1] ** -0.5
    return torch.einsum("bqr,rn,bnd->bqd", scores.softmax(-1), project_value, value)


def linformer_of_the_package(query, key, value, e, f):
    return linformer_attention(query, key, value, project_key=e, project_value=f)


def shared_by_expand(key, n_heads):
    group = n_heads // key.shape[-3]
    return key.unsqueeze(-3).expand(*key.shape[:-2], group, *key.shape[-2:]).flatten(-4, -3)


STYLES = [
    ("01.path_length", steps_by_walking),
    ("01.path_length", lambda n, kind, w: np.int64(steps_by_walking(n, kind, w))),
    ("01.path_length", lambda n, kind, w: torch.tensor(steps_by_walking(n, kind, w))),
    ("01.gradient_decay", lambda norms: torch.exp(norms.log().diff().mean())),
    ("01.gradient_decay", lambda norms: float(norms[1:].div(norms[:-1]).log().mean().exp())),
    ("01.gradient_decay", lambda norms: np.float64(norms[-1] / norms[0]) ** (1 / (len(norms) - 1))),
    ("02.scores", lambda query, key: torch.einsum("...id,...jd->...ij", query, key)),
    ("02.scores", lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1)),
    ("02.scores", lambda q, k: torch.matmul(q.float(), k.float().transpose(-1, -2))),
    ("02.attention_weights", loops_weights),
    ("02.attention_weights", einsum_weights),
    ("02.attention_weights", torch_weights),
    ("02.scaled_dot_product_attention", torch_attention),
    ("02.scaled_dot_product_attention", lambda q, k, v, m=None: einsum_weights(q, k, m) @ v),
    ("02.scaled_dot_product_attention", of_the_package),
    ("02.scaled_dot_product_attention", lambda q, k, v, m: loops_weights(q, k, m).double() @ v),
    ("02.scaled_dot_product_attention", in_bfloat16),
    ("02.padding_mask", padding_by_lists),
    ("02.padding_mask", lambda lengths, n: (torch.arange(n)[:, None] < lengths).T),
    ("02.padding_mask", padding_mask),  # (batch, 1, n)
    ("02.padding_mask", lambda lengths, n: padding_mask(lengths, n)[:, None]),
    ("03.split_heads", loops_split),
    ("03.split_heads", lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1)),
    ("03.split_heads", lambda x, h: torch.einsum("bnhd->bhnd", x.reshape(*x.shape[:2], h, -1))),
    ("03.merge_heads", lambda x: torch.cat(list(x.unbind(1)), dim=-1)),
    ("03.merge_heads", lambda x: x.permute(0, 2, 1, 3).contiguous().view(x.size(0), x.size(2), -1)),
    ("03.multi_head_attention", torch_heads),
    ("03.multi_head_attention", loops_heads),
    ("07.low_rank_factors", truncated_svd),
    ("07.low_rank_factors", factors_by_eigenvectors),
    ("07.low_rank_factors", lambda matrix, rank: list(truncated_svd(matrix.float(), rank))),
    ("07.linformer_attention", linformer_by_einsum),
    ("07.linformer_attention", linformer_of_the_package),
    ("07.share_key_heads", lambda key, h: key[..., torch.arange(h) * key.shape[-3] // h, :, :]),
    ("07.share_key_heads", shared_by_expand),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), STYLES)
def test_passes(name, answer):
    result = check(name, answer)
    assert result.passed, result


def test_at_least_two_styles_for_each_exercise():
    names = [name for name, _ in STYLES]
    assert all(names.count(one.id) >= 2 for one in exercises())


def test_a_callable_object_and_a_decorated_function_pass():
    class Scores(torch.nn.Module):
        def forward(self, query, key):
            return query @ key.mT

    assert check("02.scores", Scores()).passed
    assert check("02.scores", torch.no_grad()(lambda q, k: q @ k.mT)).passed


def test_an_answer_with_a_gradient_passes():
    one = torch.ones(1, dtype=torch.float64, requires_grad=True)
    assert check("02.scores", lambda q, k: one * (q @ k.mT)).passed
