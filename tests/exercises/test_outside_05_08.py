"""Answers from outside to chapters 05 to 08: written from the statements, in many hands.

No code is shared with the exercises. Each wrong answer must be called by its name, and each right
one must pass, on the inputs of `check` and on others.
"""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from attn_edu.exercises import exercise
from attn_edu.exercises.checking import examine

sdpa = F.scaled_dot_product_attention
DRAWS = (0, 17)  # of the random inputs; 0 is the one of `check`


def places(n):
    return torch.arange(n)[:, None], torch.arange(n)  # rows ask, columns answer


def own_block(n, block):
    i, j = places(n)
    return i // block == j // block


def joined(past, new):
    return torch.cat([past, new], dim=2)


def loss(logits, tokens, **options):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens.reshape(-1), **options)


def phi(x):
    return torch.where(x > 0, x + 1, x.exp())


def linear(q, k, v, features=phi, guard=0.0):
    q, k = features(q), features(k)
    return (q @ (k.mT @ v)) / (q @ k.sum(-2)[..., None] + guard)


def running(q, k, v, *, sums=lambda x: x.cumsum(-3), totals=lambda x: x.cumsum(-2), guard=0.0):
    q, k = phi(q), phi(k)
    state = sums(k[..., :, None] * v[..., None, :])  # (…, n, d, d_value)
    found = torch.einsum("...nd,...ndv->...nv", q, state)
    return found / ((q * totals(k)).sum(-1, keepdim=True) + guard)


def before(axis):
    return lambda x: x.cumsum(axis) - x


def word_by_word(q, k, v, *, write_first=True, guard=0.0, reset=True):
    """A loop over the sentences and words, as one writes it on paper."""
    shape, d, d_value = v.shape, k.shape[-1], v.shape[-1]
    q, k, v = (x.flatten(0, -3) for x in (phi(q), phi(k), v))
    state, total = torch.zeros(d, d_value).double(), torch.zeros(d).double()
    output = torch.empty_like(v)
    for b in range(len(q)):
        if reset:
            state, total = torch.zeros_like(state), torch.zeros_like(total)
        for t in range(q.shape[1]):
            if write_first:
                state, total = state + torch.outer(k[b, t], v[b, t]), total + k[b, t]
            output[b, t] = q[b, t] @ state / (q[b, t] @ total + guard)
            if not write_first:
                state, total = state + torch.outer(k[b, t], v[b, t]), total + k[b, t]
    return output.view(shape)


def without_the_past(n_query, n_key):
    mask = torch.zeros(n_query, n_key, dtype=torch.bool)
    mask[:, n_key - n_query :] = torch.ones(n_query, n_query).tril()
    return mask


def masked_fill_lost(mask):
    result = torch.zeros(mask.shape)
    result.masked_fill(~mask, -math.inf)
    return result


def into_the_last_place(query, key, value, past_key, past_value):
    past_key, past_value = past_key.clone(), past_value.clone()
    past_key[:, :, -1:], past_value[:, :, -1:] = key, value
    return sdpa(query, past_key, past_value)


def rows_by_slices(n, window):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, i - window + 1 : i + 1] = True
    return mask


def rows_by_index(n, window):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for back in range(window):
            mask[i, (i - back) % n] = True
    return mask


def full_blocks_only(query, key, value, block):
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=value.dtype)
    for b in range(query.shape[-2] // block):
        own = slice(b * block, (b + 1) * block)
        output[..., own, :] = sdpa(query[..., own, :], key[..., own, :], value[..., own, :])
    return output


def rest_joined(query, key, value, block):
    last = max(query.shape[-2] // block - 1, 0)
    i, j = ((x // block).clamp(max=last) for x in places(query.shape[-2]))
    return sdpa(query, key, value, attn_mask=i == j)


def pieces(query, key, value, block, axis=-2):
    parts = zip(*(x.split(block, dim=axis) for x in (query, key, value)))
    return torch.cat([sdpa(*part) for part in parts], dim=axis)


def scores(query, key):
    return torch.einsum("...id,...jd->...ij", query, key) / math.sqrt(query.shape[-1])


def turned_and_bare(matrix, rank):
    u, _, vh = torch.linalg.svd(matrix)
    return u[:, :rank], vh.T[:rank]


def eigh_from_the_front(matrix, rank):
    _, v = torch.linalg.eigh(matrix.T @ matrix)
    return matrix @ v[:, :rank], v[:, :rank].T


def linformer(q, k, v, e, f, scale=None):
    return sdpa(q, e @ k, f @ v, scale=scale)


WRONG = [
    ("05.causal_mask", without_the_past, "the cache is hidden"),
    ("05.causal_mask", lambda q, k: torch.zeros(q, k) > 0, "everything is hidden"),
    ("05.causal_mask", lambda q, k: torch.ones(k, k).tril() > 0, "a row for each key"),
    ("05.causal_mask", lambda q, k: torch.ones(k, q).tril(k - q) > 0,
     "n_query and n_key exchanged"),
    ("05.causal_mask", lambda q, k: torch.ones(q, k).triu(1).bool(),
     "mask upside down + aligned to the first keys"),
    ("05.causal_mask", lambda q, k: 1 - torch.ones(q, k).tril(k - q),
     "mask upside down + numbers 0 and 1 instead of booleans"),
    ("05.next_token_loss", lambda x, t: loss(x[:, :-1], t[:, :-1]),
     "not shifted, the last left out"),
    ("05.next_token_loss", lambda x, t: loss(x[:, 1:], t[:, 1:]),
     "not shifted, the first left out"),
    ("05.next_token_loss", lambda x, t: loss(x, t.roll(1, 1)), "shifted in a ring, the wrong way"),
    ("05.next_token_loss", lambda x, t: loss(x, F.pad(t[:, 1:], (0, 1))),
     "an answer made up for the last position"),
    ("05.next_token_loss", lambda x, t: F.nll_loss(x.softmax(1).log()[:, :-1].mT, t[:, 1:]),
     "softmax over the positions, before the shift"),
    ("05.next_token_loss", lambda x, t: F.nll_loss(x[:, :-1].log_softmax(0).mT, t[:, 1:]),
     "softmax over the texts"),
    ("05.next_token_loss", lambda x, t: loss(x[:, :-1], t[:, 1:], ignore_index=0),
     "token 0 taken for padding"),
    ("05.next_token_loss",
     lambda x, t: loss(x[:, :-1], t[:, 1:], reduction="sum") / (t.shape[1] - 1),
     "averaged over the positions only"),
    ("05.next_token_loss", lambda x, t: -(F.one_hot(t, x.shape[-1])[:, 1:]
                                          * x[:, :-1].log_softmax(-1)).mean(),
     "averaged over the vocabulary too"),
    ("05.next_token_loss", lambda x, t: loss(x, t, reduction="sum") / math.log(2),
     "not shifted + in bits + added up instead of averaged"),
    ("05.additive_mask", masked_fill_lost, "nothing is hidden"),
    ("05.additive_mask", lambda mask: (1 - mask.float()) * -1e6, "−10⁶ instead of −∞"),
    ("05.additive_mask", lambda mask: torch.where(mask | ~mask.any(-1, True), 0.0, -math.inf),
     "a row that sees nothing is opened"),
    ("05.additive_mask", lambda mask: mask * -1e9, "mask upside down + a big negative number"),
    ("05.decode_step", into_the_last_place, "the last word of the cache overwritten"),
    ("05.decode_step", lambda q, k, v, pk, pv: sdpa(q, pk + k, pv + v),
     "added to the cache instead of joined"),
    ("05.decode_step", lambda q, k, v, pk, pv: sdpa(q, joined(k, pk), joined(pv, v)),
     "keys in another order than values"),
    ("05.decode_step", lambda q, k, v, pk, pv: sdpa(
        q, joined(pk, k), joined(pv, v), scale=(q.shape[1] * q.shape[3]) ** -0.5),
     "scaled by √d_model"),
    ("05.decode_step", lambda q, k, v, pk, pv: q @ joined(pk, k).mT / q.shape[3] ** 0.5
     @ joined(pv, v), "no softmax"),
    ("05.decode_step", lambda q, k, v, pk, pv: (q @ joined(pk, k).mT / q.shape[3] ** 0.5).softmax(1)
     @ joined(pv, v), "softmax over the heads"),
    ("05.decode_step", lambda q, k, v, pk, pv: sdpa(q, pk, pv, scale=1.0),
     "the new word does not see itself + not scaled"),
    ("06.sliding_window_mask", rows_by_slices, "a slice that starts below 0"),
    ("06.sliding_window_mask", rows_by_index, "the window goes round in a ring"),
    ("06.sliding_window_mask", lambda n, w: torch.ones(n, n).tril().triu(w - 1).bool(),
     "the edge of the window on the other side"),
    ("06.sliding_window_mask", lambda n, w: torch.ones(n, n).tril(-w).bool(),
     "what lies before the window"),
    ("06.sliding_window_mask", lambda n, w: torch.ones(n, n).tril().triu(-w),
     "one word too many + numbers 0 and 1 instead of booleans"),
    ("06.sliding_window_mask", lambda n, w: torch.zeros(n, n).masked_fill(
        torch.ones(n, n).tril().triu(1 - w) == 0, -math.inf), "already additive"),
    ("06.block_attention", full_blocks_only, "zeros for the words of the short block"),
    ("06.block_attention", lambda q, k, v, b: full_blocks_only(q, k, v, b)[
        ..., : q.shape[-2] // b * b, :], "the words of the short block left out"),
    ("06.block_attention", rest_joined, "the short block joined to the one before"),
    ("06.block_attention", lambda q, k, v, b: sdpa(q, k, v, attn_mask=(
        own_block(q.shape[-2] + -q.shape[-2] % b, b)[-q.shape[-2]:, -q.shape[-2]:])),
     "the short block first"),
    ("06.block_attention", lambda q, k, v, b: pieces(q, k, v, b, axis=1),
     "blocks cut along axis 1"),
    ("06.block_attention", lambda q, k, v, b: scores(q, k).masked_fill(
        own_block(q.shape[-2], b), -math.inf).softmax(-1) @ v, "mask upside down"),
    ("06.block_attention", lambda q, k, v, b: (
        scores(q, k) + own_block(q.shape[-2], b)).softmax(-1) @ v,
     "mask of 0 and 1 added to the scores"),
    ("06.block_attention", lambda q, k, v, b: sdpa(
        q, k, v, attn_mask=own_block(q.shape[-2], b).tril(), scale=1 / q.shape[-1]),
     "causal inside a block + divided by d"),
    ("06.receptive_field", lambda w, n: 1 + n * (w // 2), "half of the window"),
    ("06.receptive_field", lambda w, n: w + n - 1, "one word for each further layer"),
    ("06.receptive_field", lambda w, n: 1 + (w - 1) * (2**n - 1), "doubled from layer to layer"),
    ("06.receptive_field", lambda w, n: 1 + 2 * n * w,
     "window words further back in each layer + both sides counted"),
    ("07.low_rank_factors", turned_and_bare, "singular values left out + V transposed once more"),
    ("07.low_rank_factors", eigh_from_the_front, "the smallest eigenvectors of MᵀM kept"),
    ("07.low_rank_factors", lambda m, r: (
        (lambda u, s, vh: (u[:, :r] * s[:r], vh[:r]))(*torch.linalg.svd(m - m.mean(0)))),
     "the mean taken off first"),
    ("07.linformer_attention", lambda q, k, v, e, f: sdpa(q, f @ k, f @ v),
     "the projection of the values for both"),
    ("07.linformer_attention", lambda q, k, v, e, f: sdpa(q, e @ k, f @ v, is_causal=True),
     "a causal triangle over the mixtures"),
    ("07.linformer_attention", lambda q, k, v, e, f: sdpa(e @ q, e @ k, f @ v),
     "the queries mixed as well"),
    ("07.linformer_attention", lambda q, k, v, e, f: (
        q @ (e @ k).view(len(k), k.shape[2], len(e)) / k.shape[2] ** 0.5).softmax(-1) @ (f @ v),
     "reshape instead of transpose"),
    ("07.linformer_attention", lambda q, k, v, e, f: linformer(q, k, v, e, f, len(k[0]) ** -0.5),
     "scaled by the number of words"),
    ("07.linformer_attention", lambda q, k, v, e, f: (
        q @ (e @ k).mT / q.shape[2] ** 0.5).softmax(-1) @ f @ v, "a matrix of n × n on the way"),
    ("07.linformer_attention", lambda q, k, v, e, f: sdpa(q, f @ k, e @ v, scale=1.0),
     "projections exchanged + not scaled"),
    ("07.share_key_heads", lambda key, h: torch.stack(
        [key[..., min(i // key.shape[-3], key.shape[-3] - 1), :, :] for i in range(h)], -3),
     "number and size of the groups exchanged"),
    ("07.share_key_heads", lambda key, h: key.repeat_interleave(h // key.shape[1], 1),
     "axis 1 repeated"),
    ("07.share_key_heads", lambda key, h: key.repeat_interleave(h, -3),
     "n_heads copies of each key"),
    ("08.linear_attention", lambda q, k, v: linear(q, k, v, lambda x: x), "no feature map"),
    ("08.linear_attention", lambda q, k, v: linear(q, k, v, lambda x: F.elu(x + 1)),
     "the 1 added inside of elu"),
    ("08.linear_attention",
     lambda q, k, v: linear(q, k, v, lambda x: torch.where(x > 0, x, x.exp())),
     "exp below 0, and x above it"),
    ("08.linear_attention",
     lambda q, k, v: linear(q, k, v, lambda x: phi(x / x.shape[-1] ** 0.25)),
     "queries and keys divided by the fourth root of d"),
    ("08.linear_attention", lambda q, k, v: sdpa(phi(q), phi(k), v),
     "softmax attention of the features"),
    ("08.linear_attention", lambda q, k, v: F.normalize(phi(q) @ phi(k).mT, p=1, dim=1) @ v,
     "sum over axis 1"),
    ("08.linear_attention",
     lambda q, k, v: F.normalize((phi(q) @ phi(k).mT).tril(), p=1, dim=-1) @ v,
     "only the keys before are seen"),
    ("08.linear_attention", lambda q, k, v: phi(q) @ (phi(k).mT @ v) / (q @ k.sum(-2)[..., None]),
     "denominator of raw queries and keys"),
    ("08.linear_attention", lambda q, k, v: F.relu(q) @ (F.relu(k).mT @ v) / k.shape[-2],
     "divided by the number of keys + relu as the feature map"),
    ("08.causal_linear_attention", lambda q, k, v: running(q, k, v, totals=lambda x: x.cumsum(1)),
     "denominator running over the heads"),
    ("08.causal_linear_attention", lambda q, k, v: running(q, k, v, sums=before(-3)),
     "the word itself left out of the values"),
    ("08.causal_linear_attention", lambda q, k, v: running(q, k, v, totals=lambda x: x),
     "denominator replaced, not added to"),
    ("08.causal_linear_attention", lambda q, k, v: word_by_word(q, k, v, reset=False),
     "state carried on to the next sentence"),
    ("08.causal_linear_attention", lambda q, k, v: word_by_word(
        q, k, v, write_first=False, guard=1e-9),
     "the word itself left out, and zeros for the first"),
    ("08.causal_linear_attention", lambda q, k, v: F.normalize(
        (phi(q) @ phi(k).mT).tril(1), p=1, dim=-1) @ v, "one word of the future"),
    ("08.causal_linear_attention", lambda q, k, v: sdpa(phi(q), phi(k), v, is_causal=True),
     "softmax attention of the features"),
    ("08.causal_linear_attention", lambda q, k, v: (F.relu(q) @ F.relu(k).mT).tril() @ v,
     "no denominator + relu as the feature map"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "misconception"), WRONG, ids=[x[2] for x in WRONG])
def test_a_mistake_from_outside_is_called_by_its_name(name, answer, misconception):
    for draw in DRAWS:
        result = examine(exercise(name), answer, draw)
        assert result.misconception == misconception, (draw, result)


UNKNOWN = [
    ("05.causal_mask", lambda q, k: torch.ones(q, k).tril(k - q).bool().flip(1)),
    ("05.next_token_loss", lambda x, t: math.log(x.shape[-1])),
    ("05.additive_mask", lambda mask: torch.full(mask.shape, -math.inf)),
    ("05.decode_step", lambda q, k, v, pk, pv: v + pv.mean(2, keepdim=True)),
    ("06.sliding_window_mask", lambda n, w: torch.eye(n).bool()),
    ("06.block_attention", lambda q, k, v, b: v),
    ("06.receptive_field", lambda w, n: -(1 + n * (w - 1))),
    ("07.low_rank_factors", lambda m, r: (m[:, :r], torch.eye(r, m.shape[1]).double())),
    ("07.linformer_attention", lambda q, k, v, e, f: linformer(q[:1], k[:1], v[:1], e, f)
     .expand(len(q), -1, -1)),
    ("07.share_key_heads", lambda key, h: key.repeat_interleave(h // key.shape[-3], -3) / h),
    ("08.linear_attention", lambda q, k, v: linear(-q, -k, v)),
    ("08.causal_linear_attention", lambda q, k, v: linear(q, k, v).cumsum(-2)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), UNKNOWN, ids=[x[0] for x in UNKNOWN])
def test_what_nobody_believes_gets_no_name(name, answer):
    """It is shown in numbers, and not under a name that happens to fit."""
    result = examine(exercise(name), answer)
    assert result.status == "wrong"
    assert result.example.yours.shape == torch.as_tensor(result.example.expected).shape


def loss_of_numpy(logits, tokens):
    x, t = logits.numpy()[:, :-1], tokens.numpy()[:, 1:, None]
    return (np.log(np.exp(x).sum(-1)) - np.take_along_axis(x, t, -1)[..., 0]).mean()


def two_parts_of_one_softmax(q, k, v, pk, pv):
    weights = torch.cat([scores(q, pk), scores(q, k)], -1).softmax(-1)
    return weights[..., :-1] @ pv + weights[..., -1:] * v


def head_by_head(q, k, v, pk, pv):
    def one(query, keys, values):
        return (query @ keys.T * query.shape[-1] ** -0.5).softmax(-1) @ values

    return torch.vmap(torch.vmap(one))(q, joined(pk, k), joined(pv, v))


def padded_and_hidden(query, key, value, block):
    n = query.shape[-2]
    q, k, v = (F.pad(x, (0, 0, 0, -n % block)).unflatten(-2, (-1, block))
               for x in (query, key, value))  # fmt: skip
    real = (torch.arange(n + -n % block) < n).view(-1, 1, block)
    return sdpa(q, k, v, attn_mask=real).flatten(-3, -2)[..., :n, :]


def seen_through_layers(window, layers):
    seen = {0}
    for _ in range(layers):
        seen = {place - back for place in seen for back in range(window)}
    return len(seen)


def one_direction_at_a_time(matrix, rank):
    left, right = [], []
    for _ in range(rank):
        u, s, vh = torch.linalg.svd(matrix)
        left.append(u[:, 0] * s[0])
        right.append(vh[0])
        matrix = matrix - torch.outer(left[-1], right[-1])
    return torch.stack(left, 1), torch.stack(right)


def in_chunks_of_two(q, k, v):
    q, k, state, total, output = phi(q), phi(k), 0, 0, []
    for start in range(0, q.shape[-2], 2):
        x, y, z = (a[..., start : start + 2, :] for a in (q, k, v))
        inside = (x @ y.mT).tril()
        found, weight = inside @ z, inside.sum(-1, keepdim=True)
        if start:
            found, weight = found + x @ state, weight + x @ total
        output.append(found / weight)
        state, total = state + y.mT @ z, total + y.sum(-2)[..., None]
    return torch.cat(output, -2)


RIGHT = [
    ("05.causal_mask", lambda q, k: torch.from_numpy(np.tri(q, k, k - q, dtype=bool))),
    ("05.causal_mask", lambda q, k: torch.ones(k, q, dtype=torch.bool).triu(q - k).T),
    ("05.causal_mask", lambda q, k: F.pad(torch.ones(q, q).tril(), (k - q, 0), value=1) > 0),
    ("05.next_token_loss", loss_of_numpy),
    ("05.next_token_loss", lambda x, t: loss(x, F.pad(t[:, 1:], (0, 1), value=-100))),
    ("05.next_token_loss", lambda x, t: F.cross_entropy(x[:, :-1].mT, t[:, 1:]).item()),
    ("05.additive_mask", lambda mask: 1 - 1 / mask.half()),
    ("05.additive_mask", lambda mask: torch.where(mask, -0.0, -math.inf)),
    ("05.decode_step", two_parts_of_one_softmax),
    ("05.decode_step", head_by_head),
    ("06.sliding_window_mask", lambda n, w: torch.ones(n, n).tril() > torch.ones(n, n).tril(-w)),
    ("06.sliding_window_mask", lambda n, w: sum(
        torch.ones(n - back).diag(-back) for back in range(min(n, w))) > 0),
    ("06.block_attention", padded_and_hidden),
    ("06.block_attention", lambda q, k, v, b: pieces(q.float(), k.float(), v.float(), b)),
    ("06.receptive_field", seen_through_layers),
    ("06.receptive_field", lambda w, n: torch.tensor(n * (w - 1) + 1)),
    ("07.low_rank_factors", one_direction_at_a_time),
    ("07.linformer_attention", lambda q, k, v, e, f: sdpa(
        q, F.conv1d(k, e[..., None]), F.conv1d(v, f[..., None]))),
    ("07.linformer_attention", lambda q, k, v, e, f: torch.vmap(
        lambda a, b, c: (a @ (e @ b).T / a.shape[1] ** 0.5).softmax(1) @ (f @ c))(q, k, v)),
    ("07.share_key_heads",
     lambda key, h: torch.from_numpy(np.repeat(key.numpy(), h // key.shape[-3], -3))),
    ("07.share_key_heads", lambda key, h: torch.einsum(
        "hk,...knd->...hnd", torch.eye(key.shape[-3]).double().repeat_interleave(
            h // key.shape[-3], 0), key)),
    ("08.linear_attention", lambda q, k, v: linear(q, k, v, guard=1e-6)),
    ("08.linear_attention", lambda q, k, v: (phi(q) @ phi(k).mT).log().softmax(-1) @ v),
    ("08.linear_attention", lambda q, k, v: linear(q.float(), k.float(), v.float())),
    ("08.causal_linear_attention", word_by_word),
    ("08.causal_linear_attention", in_chunks_of_two),
    ("08.causal_linear_attention", lambda q, k, v: running(q, k, v, guard=1e-6)),
    ("08.causal_linear_attention", lambda q, k, v: torch.cat(
        [linear(q[..., t : t + 1, :], k[..., : t + 1, :], v[..., : t + 1, :])
         for t in range(q.shape[-2])], -2)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_a_right_answer_from_outside_passes(name, answer):
    for draw in DRAWS:
        result = examine(exercise(name), answer, draw)
        assert result.passed, (draw, result)
