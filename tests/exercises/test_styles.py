"""Right answers in other styles pass: einsum, loops, torch's own functions, other dtypes."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attn_edu.attention import (
    block_attention,
    block_mask,
    causal_mask,
    linear_attention,
    linformer_attention,
    padding_mask,
    rotary,
    scaled_dot_product_attention,
    sinusoidal_positions,
    sliding_window_mask,
    to_additive,
    truncated_svd,
)
from attn_edu.exercises import check, exercises
from attn_edu.matmul import strassen
from attn_edu.pretrained.scores import induction_score, previous_token_score


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


def waves_by_loops(n, d_model):
    wave = (math.sin, math.cos)
    return torch.tensor(
        [
            [wave[c % 2](p / 10000 ** ((c - c % 2) / d_model)) for c in range(d_model)]
            for p in range(n)
        ]
    )


def waves_by_exp(n, d_model):
    """As most codes have it: exp of a logarithm, float32."""
    table = torch.zeros(n, d_model + d_model % 2)
    rate = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(torch.arange(n).unsqueeze(1) * rate)
    table[:, 1::2] = torch.cos(torch.arange(n).unsqueeze(1) * rate)
    return table[:, :d_model]


def norm_by_var(x, gain, bias):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, gain, (x - mean) * torch.rsqrt(variance + 1e-5))


def rotary_by_complex(x):
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    angle = torch.outer(
        torch.arange(x.shape[-2]), 10000.0 ** -(torch.arange(pairs.shape[-1]) / pairs.shape[-1])
    )
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


def rotary_by_matrices(x):
    out = torch.empty_like(x)
    for p in range(x.shape[-2]):
        blocks = [
            torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
            for a in (p / 10000 ** (c / x.shape[-1]) for c in range(0, x.shape[-1], 2))
        ]
        out[..., p, :] = x[..., p, :] @ torch.block_diag(*blocks).to(x)
    return out


def window_by_loops(n, window):
    return torch.tensor([[0 <= i - j < window for j in range(n)] for i in range(n)])


def blocks_by_reshape(query, key, value, block):
    n, missing = query.shape[-2], -query.shape[-2] % block
    real = F.pad(torch.ones(n, dtype=torch.bool), (0, missing)).view(-1, 1, block)
    parts = [F.pad(x, (0, 0, 0, missing)).unflatten(-2, (-1, block)) for x in (query, key, value)]
    scores = torch.einsum("...id,...jd->...ij", *parts[:2]) / math.sqrt(query.shape[-1])
    weights = torch.where(real, scores, -math.inf).softmax(-1)
    return torch.einsum("...ij,...jd->...id", weights, parts[2]).flatten(-3, -2)[..., :n, :]


def blocks_by_mask(query, key, value, block):
    return torch_attention(query, key, value, block_mask(query.shape[-2], block))


def field_by_masks(window, layers):
    n = 200 if layers < 10 else 2000
    seen = torch.zeros(n)
    seen[-1] = 1
    for _ in range(layers):  # the words seen so far, and those that they see
        seen = F.conv1d(F.pad(seen, (0, window - 1))[None, None], torch.ones(1, 1, window))[0, 0]
        seen = (seen > 0).float()
    return int(seen.sum())


def factors_by_eigenvectors(matrix, rank):
    """Project onto the directions of the largest eigenvalues of AAᵀ."""
    _, vectors = torch.linalg.eigh(matrix @ matrix.T)
    best = vectors[:, -rank:]
    return best, best.T @ matrix


def linformer_by_einsum(query, key, value, project_key, project_value):
    key = torch.einsum("rn,bnd->brd", project_key, key)
    scores = torch.einsum("bqd,brd->bqr", query, key) * key.shape[-1] ** -0.5
    return torch.einsum("bqr,brd->bqd", scores.softmax(-1), project_value @ value)


def linformer_by_numpy(query, key, value, e, f):
    query, key, value, e, f = (x.numpy() for x in (query, key, value, e, f))
    powers = np.exp(np.einsum("bqd,rn,bnd->bqr", query, e, key, optimize=True) / len(key.T) ** 0.5)
    return torch.from_numpy(powers / powers.sum(-1, keepdims=True) @ (f @ value))


def linformer_in_lists(query, key, value, e, f):
    e, f = e.double(), f.double()
    mixed = [(e @ k, f @ v) for k, v in zip(key, value)]
    rows = []
    for words, (k, v) in zip(query.tolist(), mixed):
        for word in words:
            powers = [
                math.exp(sum(map(float.__mul__, word, x)) / len(word) ** 0.5) for x in k.tolist()
            ]
            rows.append([sum(p * y for p, y in zip(powers, c)) / sum(powers) for c in v.T.tolist()])
    return torch.tensor(rows).double().reshape(*query.shape[:2], value.shape[-1])


def linformer_of_the_package(query, key, value, e, f):
    return linformer_attention(query, key, value, project_key=e, project_value=f)


def shared_by_expand(key, n_heads):
    group = n_heads // key.shape[-3]
    return key.unsqueeze(-3).expand(*key.shape[:-2], group, *key.shape[-2:]).flatten(-4, -3)


def linear_by_einsum(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    state = torch.einsum("...km,...kv->...mv", k, value)
    return (
        torch.einsum("...qm,...mv->...qv", q, state)
        / torch.einsum("...qm,...km->...q", q, k)[..., None]
    )


def linear_by_the_matrix(query, key, value):
    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (query, key))
    weights = (q @ k.transpose(-1, -2)).float()
    return F.normalize(weights, p=1, dim=-1) @ value.float()


def causal_by_cumsum(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    state = (k.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(-3)
    return (q.unsqueeze(-2) @ state).squeeze(-2) / (q * k.cumsum(-2)).sum(-1, keepdim=True)


def causal_by_the_matrix(query, key, value):
    weights = ((F.elu(query) + 1) @ (F.elu(key) + 1).mT).tril()
    return weights / weights.sum(-1, keepdim=True) @ value


def flops_by_dot_products(n, d_model):
    products = [(n * n, d_model), (n * d_model, n)]  # how many dot products, and how long
    return torch.tensor([2 * count * length for count, length in products]).sum()


def crossover_by_search(d_model):
    n = 1
    while 4 * n * n * d_model < 4 * n * d_model**2:
        n += 1
    return float(n)


def causal_by_lists(n_query, n_key):
    past = n_key - n_query
    return torch.tensor([[j <= past + i for j in range(n_key)] for i in range(n_query)])


def loss_by_loops(logits, tokens):
    losses = []
    for row, text in zip(logits, tokens.tolist()):
        for t in range(len(text) - 1):
            odds = (row[t] - row[t].max()).exp()
            losses.append(-math.log(odds[text[t + 1]] / odds.sum()))
    return sum(losses) / len(losses)


def torch_loss(logits, tokens):
    return F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:])


def cross_with_torch(decoder, encoder, w_query, w_key, w_value, encoder_mask):
    mask = None if encoder_mask is None else encoder_mask.unsqueeze(1)
    parts = decoder @ w_query, encoder @ w_key, encoder @ w_value
    return F.scaled_dot_product_attention(*(x.float() for x in parts), attn_mask=mask)


def cross_by_loops(decoder, encoder, w_query, w_key, w_value, encoder_mask):
    batch, n_target, d = decoder.shape
    rows = []
    for b in range(batch):
        words = encoder[b] if encoder_mask is None else encoder[b][encoder_mask[b]]  # no padding
        for t in range(n_target):
            odds = ((words @ w_key) @ (w_query.T @ decoder[b, t]) / d**0.5).exp()
            rows.append((odds / odds.sum()) @ (words @ w_value))
    return torch.stack(rows).view(batch, n_target, d)


def decode_with_torch(query, key, value, past_key, past_value):
    joined = torch.cat([past_key, key], dim=2), torch.cat([past_value, value], dim=2)
    return F.scaled_dot_product_attention(query, *joined)


def decode_newest_first(query, key, value, past_key, past_value):
    keys, values = torch.cat([key, past_key], dim=2), torch.cat([value, past_value], dim=2)
    odds = (torch.einsum("bhqd,bhkd->bhqk", query, keys) / query.shape[-1] ** 0.5).exp()
    return torch.einsum("bhqk,bhkd->bhqd", odds / odds.sum(-1, keepdim=True), values)


def online_by_logaddexp(scores, tile):
    log_total = torch.full_like(scores[..., 0], -torch.inf)
    for start in range(0, scores.shape[-1], tile):
        log_total = torch.logaddexp(log_total, scores[..., start : start + tile].logsumexp(-1))
    return torch.exp(scores - log_total[..., None])


def online_from_minus_infinity(scores, tile):
    top = scores.new_full(scores.shape[:-1], -torch.inf)
    total = torch.zeros_like(top)
    for part in torch.split(scores, tile, dim=-1):
        new = torch.maximum(top, part.max(-1).values)
        total = total * torch.exp(top - new) + torch.exp(part - new[..., None]).sum(-1)
        top = new
    return torch.exp(scores - top[..., None]) / total[..., None]


def online_with_constants_of_numpy(scores, tile):
    """numpy counts and cuts; torch does the work."""
    cuts = np.cumsum(np.full(scores.shape[-1] // tile, tile)).tolist()
    top, total = torch.tensor(np.full((), -np.inf)), 0
    for part in torch.tensor_split(scores, cuts, dim=-1):
        if part.numel():
            new = torch.maximum(top, part.amax(-1, keepdim=True))
            total = total * (top - new).exp() + (part - new).exp().sum(-1, keepdim=True)
            top = new
    return torch.from_numpy(np.exp((scores - top).numpy())) / total


def online_by_python(scores, tile):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]).tolist():
        top, total = -math.inf, 0.0
        for start in range(0, len(row), tile):
            new = max(top, *row[start : start + tile])
            total = total * math.exp(top - new)
            total += sum(math.exp(x - new) for x in row[start : start + tile])
            top = new
        rows.append([math.exp(x - top) / total for x in row])
    return torch.tensor(rows).reshape(scores.shape)


def strassen_as_winograd_wrote_it(a, b):
    m, k, n = a.shape[0] // 2, b.shape[0] // 2, b.shape[1] // 2
    a11, a12, a21, a22 = a[:m, :k], a[:m, k:], a[m:, :k], a[m:, k:]
    b11, b12, b21, b22 = b[:k, :n], b[:k, n:], b[k:, :n], b[k:, n:]
    s1, t1 = a21 + a22, b12 - b11
    s2, t2 = s1 - a11, b22 - t1
    p1 = a11 @ b11
    u2 = p1 + s2 @ t2
    u3 = u2 + (a11 - a21) @ (b22 - b12)
    p5 = s1 @ t1
    c = a.new_empty(2 * m, 2 * n)
    c[:m, :n] = p1 + a12 @ b21
    c[:m, n:] = u2 + p5 + (a12 - s2) @ b22
    c[m:, :n], c[m:, n:] = u3 - a22 @ (t2 - b21), u3 + p5
    return c


def strassen_by_numpy(a, b):
    (a11, a12), (a21, a22) = (np.hsplit(x, 2) for x in np.vsplit(a.numpy(), 2))
    (b11, b12), (b21, b22) = (np.hsplit(x, 2) for x in np.vsplit(b.numpy(), 2))
    m1, m2, m3 = (a11 + a22) @ (b11 + b22), (a21 + a22) @ b11, a11 @ (b12 - b22)
    m4, m5 = a22 @ (b21 - b11), (a11 + a12) @ b22
    c11 = m1 + m4 - m5 + (a12 - a22) @ (b21 + b22)
    c22 = m1 - m2 + m3 + (a21 - a11) @ (b11 + b12)
    return torch.from_numpy(np.block([[c11, m3 + m5], [m2 + m4, c22]]))


def strassen_to_the_end(a, b):
    return strassen(a, b, cutoff=1)


def previous_by_loops(weights):
    n = weights.shape[-1]
    return sum(weights[..., i, i - 1] for i in range(1, n)) / (n - 1)


def induction_by_loops(weights, period):
    maps = weights.flatten(0, -3) if weights.ndim > 2 else weights[None]
    n = weights.shape[-1]
    means = [np.mean([one[i][i - period + 1] for i in range(period, n)]) for one in maps.tolist()]
    return torch.tensor(means).reshape(weights.shape[:-2])


def mean_sentence_by_sentence(x, lengths):
    words = [row[:length] for row, length in zip(x, lengths.tolist())]
    return torch.stack([w.mean(dim=0) if len(w) else torch.zeros(x.shape[-1]) for w in words])


def mean_by_attention(x, lengths):
    """Every word is as like to a query of zeros as any other."""
    query = x.new_zeros(len(x), 1, x.shape[-1])
    mask = padding_mask(lengths, x.shape[1])
    return scaled_dot_product_attention(query, x, x, mask=mask).squeeze(1)


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
    ("02.padding_mask", lambda lengths, n: padding_mask(lengths, n)[:, 0]),
    ("03.split_heads", loops_split),
    ("03.split_heads", lambda x, h: torch.stack(x.chunk(h, dim=-1), dim=1)),
    ("03.split_heads", lambda x, h: torch.einsum("bnhd->bhnd", x.reshape(*x.shape[:2], h, -1))),
    ("03.merge_heads", lambda x: torch.cat(list(x.unbind(1)), dim=-1)),
    ("03.merge_heads", lambda x: x.permute(0, 2, 1, 3).contiguous().view(x.size(0), x.size(2), -1)),
    ("03.multi_head_attention", torch_heads),
    ("03.multi_head_attention", loops_heads),
    ("04.sinusoidal_positions", waves_by_loops),
    ("04.sinusoidal_positions", waves_by_exp),
    ("04.sinusoidal_positions", lambda n, d: sinusoidal_positions(n, d_model=d)),
    ("04.layer_norm", lambda x, gain, bias: F.layer_norm(x, x.shape[-1:], gain, bias)),
    ("04.layer_norm", norm_by_var),
    ("04.rotary", rotary_by_complex),
    ("04.rotary", rotary_by_matrices),
    ("04.rotary", rotary),
    ("06.sliding_window_mask", lambda n, w: torch.ones(n, n).tril().triu(1 - w).bool()),
    ("06.sliding_window_mask", window_by_loops),
    ("06.sliding_window_mask", sliding_window_mask),
    ("06.block_attention", blocks_by_reshape),
    ("06.block_attention", blocks_by_mask),
    ("06.block_attention", lambda q, k, v, block: block_attention(q, k, v, block=block)),
    ("06.receptive_field", lambda window, layers: layers * window - layers + 1),
    ("06.receptive_field", field_by_masks),
    ("07.low_rank_factors", truncated_svd),
    ("07.low_rank_factors", factors_by_eigenvectors),
    ("07.low_rank_factors", lambda matrix, rank: list(truncated_svd(matrix.float(), rank))),
    ("07.linformer_attention", linformer_by_einsum),
    ("07.linformer_attention", linformer_by_numpy),
    ("07.linformer_attention", linformer_in_lists),
    ("07.linformer_attention", linformer_of_the_package),
    ("07.share_key_heads", lambda key, h: key[..., torch.arange(h) * key.shape[-3] // h, :, :]),
    ("07.share_key_heads", shared_by_expand),
    ("08.linear_attention", linear_by_einsum),
    ("08.linear_attention", linear_by_the_matrix),
    ("08.linear_attention", linear_attention),
    ("08.causal_linear_attention", causal_by_cumsum),
    ("08.causal_linear_attention", causal_by_the_matrix),
    ("08.causal_linear_attention", lambda q, k, v: linear_attention(q, k, v, causal=True)),
    ("09.online_softmax", online_by_logaddexp),
    ("09.online_softmax", online_from_minus_infinity),
    ("09.online_softmax", online_with_constants_of_numpy),
    ("09.online_softmax", online_by_python),
    ("09.strassen_once", strassen_as_winograd_wrote_it),
    ("09.strassen_once", strassen_by_numpy),
    ("09.strassen_once", strassen_to_the_end),
    ("10.attention_flops", lambda n, d: 4 * n**2 * d),
    ("10.attention_flops", flops_by_dot_products),
    ("10.crossover_length", lambda d: np.int64(2 * 2 * d * d // (2 * 2 * d))),
    ("10.crossover_length", crossover_by_search),
    ("05.causal_mask", causal_by_lists),
    ("05.causal_mask", causal_mask),
    ("05.causal_mask", lambda q, k: ~torch.ones(q, k, dtype=torch.bool).triu(k - q + 1)),
    ("05.next_token_loss", loss_by_loops),
    ("05.next_token_loss", torch_loss),
    ("05.next_token_loss", lambda x, t: loss_by_loops(x.float(), t)),
    ("05.additive_mask", lambda mask: mask.double().log()),
    ("05.additive_mask", to_additive),
    ("05.decode_step", decode_with_torch),
    ("05.decode_step", decode_newest_first),
    ("11.masked_mean", mean_sentence_by_sentence),
    ("11.masked_mean", mean_by_attention),
    ("11.masked_mean", lambda x, lengths: mean_by_attention(x.float(), lengths)),
    ("12.cross_attention", cross_with_torch),
    ("12.cross_attention", cross_by_loops),
    ("13.previous_token_score", previous_by_loops),
    ("13.previous_token_score", lambda w: w[..., 1:, :-1].diagonal(0, -2, -1).mean(-1).float()),
    ("13.previous_token_score", previous_token_score),
    ("13.induction_score", induction_by_loops),
    ("13.induction_score", lambda w, p: w[..., p:, 1:].float().diagonal(dim1=-2, dim2=-1).mean(-1)),
    ("13.induction_score", induction_score),
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
