"""Wrong answers of known kinds are caught and named: alone, in pairs, and written by hand."""

import math

import numpy as np
import pytest
import torch

from attn_edu.exercises import check, exercise, exercises
from attn_edu.exercises.comparing import product, same

SINGLE = [(one, belief) for one in exercises() for belief in one.misconceptions]
PAIRS = [(one, group) for one in exercises() for group in one.beliefs(at_once=2) if len(group) == 2]


@pytest.mark.parametrize(
    ("one", "belief"), SINGLE, ids=[f"{one.id}-{belief.name}" for one, belief in SINGLE]
)
def test_caught_and_named(one, belief):
    result = check(one.id, one.wrong(belief))
    assert not result.passed
    assert result.status == "misconception"
    assert result.misconception == belief.name
    assert belief.why in result.message


def test_only_what_concerns_different_things_is_combined():
    for one in exercises():
        for group in one.beliefs():
            changed = [name for belief in group for name in belief.change]
            assert len(set(changed)) == len(changed)
            assert all(name in one.wrong(*group).keywords for name in changed)


def _outputs(cases, function):
    """What the function gives on each case; None where it raises, as wrong answers may."""
    found = []
    for case in cases:
        try:
            value = product(function(*case.arguments))
        except Exception:
            found.append(None)
        else:
            found.append(value if isinstance(value, torch.Tensor) else torch.tensor(float(value)))
    return found


@pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)
def test_two_at_once_never_pass_and_are_explained(one):
    cases = one.cases()
    for _, group in (pair for pair in PAIRS if pair[0] is one):
        wrong = one.wrong(*group)
        gives, right = _outputs(cases, wrong), _outputs(cases, one.reference)
        assert all(value is not None for value in right)
        if all(a is not None and same(a, b) for a, b in zip(gives, right)):
            continue  # the one undoes the other: "divided by d" in both places, say
        result = check(one.id, wrong)
        assert not result.passed, [belief.name for belief in group]
        if result.misconception is None:
            assert result.status == "form"
            assert gives == [None] * len(gives)  # it runs on no case at all
            continue
        named = result.misconception.split(" + ")
        found = [belief for belief in one.misconceptions if belief.name in named]
        assert len(found) == len(named)
        explained = zip(gives, _outputs(cases, one.wrong(*found)))
        assert all(b is not None and same(a, b) for a, b in explained if a is not None)


# Written by hand, as learners write them: no code is shared with the exercises.


def scores_of(query, key):
    return torch.einsum("...qd,...kd->...qk", query, key)


def softmax_dim_1(query, key, mask):
    s = scores_of(query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        s[~mask.expand_as(s)] = -torch.inf
    return torch.nan_to_num(torch.softmax(s, 1))


def d2l_style(query, key, mask):
    s = scores_of(query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        s = torch.where(mask, s, torch.tensor(-1e6, dtype=s.dtype))
    return s.softmax(-1)


def torch_mha_polarity(query, key, mask):
    s = scores_of(query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        s = s.masked_fill(mask, float("-inf"))
    w = s.softmax(-1)
    return torch.where(w.isnan(), torch.zeros_like(w), w)


def plain_minus_inf(query, key, mask):
    s = scores_of(query, key) / math.sqrt(query.size(-1))
    return (s if mask is None else s.masked_fill(mask == 0, -torch.inf)).softmax(-1)


def no_scale_and_nan(query, key, mask):
    s = scores_of(query, key)
    return (s if mask is None else s.masked_fill(mask == 0, -torch.inf)).softmax(-1)


def float_mask(query, key, value, mask):
    s = scores_of(query, key) / math.sqrt(query.size(-1))
    return (s if mask is None else s + mask.double()).softmax(-1) @ value


def weights_times_mask(query, key, value, mask):
    w = (scores_of(query, key) / math.sqrt(query.size(-1))).softmax(-1)
    return (w if mask is None else w * mask) @ value


def mean_over_visible(query, key, value, mask):
    return value.mean(-2, keepdim=True).expand(*query.shape[:-1], value.shape[-1])


def padding_by_loops(lengths, n):
    mask = torch.zeros(len(lengths), n, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, : length + 1] = True
    return mask


def heads_by_view(x, n_heads):
    B, T, D = x.shape
    return x.contiguous().view(B, n_heads, T, D // n_heads)


def heads_by_chunk_of_words(x, n_heads):
    return torch.stack(x.split(x.shape[-1] // n_heads, dim=-1), dim=2)


def merged_by_view(x):
    return x.contiguous().view(x.shape[0], x.shape[2], -1)


def article_listing(x, wq, wk, wv, wo, h):
    B, T, D = x.shape
    q, k, v = ((x @ w).view(B, h, T, D // h) for w in (wq, wk, wv))
    w = (q @ k.transpose(-2, -1) / math.sqrt(D // h)).softmax(-1)
    return (w @ v).transpose(1, 2).contiguous().view(B, T, D) @ wo


def never_transposed(x, wq, wk, wv, wo, h):
    B, T, D = x.shape
    q, k, v = ((x @ w).view(B, T, h, D // h) for w in (wq, wk, wv))
    w = (q @ k.transpose(-2, -1) / math.sqrt(D // h)).softmax(-1)
    return (w @ v).reshape(B, T, D) @ wo


def root_of_d_model(x, wq, wk, wv, wo, h):
    B, T, D = x.shape
    q, k, v = ((x @ w).view(B, T, h, -1).transpose(1, 2) for w in (wq, wk, wv))
    w = (q @ k.transpose(-2, -1) / math.sqrt(D)).softmax(-1)
    return (w @ v).transpose(1, 2).reshape(B, T, D) @ wo


def no_scale_and_bad_merge(x, wq, wk, wv, wo, h):
    B, T, D = x.shape
    q, k, v = ((x @ w).view(B, T, h, -1).transpose(1, 2) for w in (wq, wk, wv))
    return ((q @ k.transpose(-2, -1)).softmax(-1) @ v).reshape(B, T, D) @ wo


def window_by_band(n, window):
    return torch.ones(n, n, dtype=torch.bool).tril().triu(-window)


def blocks_by_view(query, key, value, block):
    chunks = (x.chunk(block, dim=-2) for x in (query, key, value))
    outputs = [(q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v for q, k, v in zip(*chunks)]
    return torch.cat(outputs, dim=-2)


def padded_blocks(query, key, value, block):
    n, missing = query.shape[-2], -query.shape[-2] % block
    query, key, value = (
        torch.nn.functional.pad(x, (0, 0, 0, missing)).unflatten(-2, (-1, block))
        for x in (query, key, value)
    )
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return (weights @ value).flatten(-3, -2)[..., :n, :]


def directions_only(matrix, rank):
    U, _, V = torch.svd(matrix)
    return U[:, :rank], V.t()[:rank]


def last_ones_kept(matrix, rank):
    U, S, V = torch.svd(matrix)
    return U[:, -rank:] @ torch.diag(S[-rank:]), V[:, -rank:].T


def v_turned_again(matrix, rank):
    u, s, v = torch.svd(matrix)  # V itself, whose rows are no directions
    return u[:, :rank] * s[:rank], v[:rank]


def scores_mixed(query, key, value, e, f):
    scores = (query @ key.mT) @ e.mT / math.sqrt(query.shape[-1])  # n × n on the way
    return scores.softmax(-1) @ (f @ value)


def scores_mixed_in_numpy(query, key, value, e, f):
    query, key, value, e, f = (np.asarray(x) for x in (query, key, value, e, f))
    scores = query @ key.swapaxes(-1, -2) @ e.T / math.sqrt(query.shape[-1])
    powers = np.exp(scores)
    return torch.from_numpy(powers / powers.sum(-1, keepdims=True) @ (f @ value))


def scores_mixed_in_lists(query, key, value, e, f):
    """Sentence by sentence, with every score of two words in a list."""
    done, e = [], e.tolist()
    for q, k, v in zip(query.tolist(), key.tolist(), value):
        scores = [[sum(map(float.__mul__, a, b)) for b in k] for a in q]  # n × n
        mixed = [[sum(map(float.__mul__, a, row)) for row in e] for a in scores]
        weights = (torch.tensor(mixed).double() / math.sqrt(len(q[0]))).softmax(-1)
        done.append(weights @ (f @ v))
    return torch.stack(done)


def numpy_row_by_row(scores, tile):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        powers = np.exp(np.array(row) - np.array(row).max())
        rows.append(torch.tensor(powers / powers.sum()))
    return torch.stack(rows).reshape(scores.shape)


def mixed_too_late(q, k, v, e, f):
    w = (q @ k.transpose(1, 2) / math.sqrt(q.size(-1))).softmax(-1)  # (batch, n, n)
    return torch.einsum("bij,rj,rm,bmd->bid", w, e, f, v)


def no_scale_and_one_mix(q, k, v, e, f):
    return torch.softmax(q @ (e @ k).transpose(1, 2), -1) @ (e @ v)


def norm_of_a_well_known_listing(x, gain, bias):
    return gain * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5) + bias


def waves_with_2i_taken_for_i(n, d_model):
    table = torch.zeros(n, d_model)
    for p in range(n):
        for i in range(0, d_model, 2):
            table[p, i] = math.sin(p / 10000 ** (2 * i / d_model))
            if i + 1 < d_model:
                table[p, i + 1] = math.cos(p / 10000 ** (2 * i / d_model))
    return table


def waves_each_their_own(n, d_model):
    table = torch.zeros(n, d_model)
    for p in range(n):
        for i in range(d_model):
            table[p, i] = (math.cos if i % 2 else math.sin)(p / 10000 ** (i / d_model))
    return table


def rotate_half(x):
    n, d = x.shape[-2:]
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()
    left, right = x[..., : d // 2], x[..., d // 2 :]
    return x * cos + torch.cat([-right, left], -1) * sin


def halves_with_interleaved_angles(x):
    n, d = x.shape[-2:]
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    cos, sin = (wave(angle).repeat_interleave(2, -1) for wave in (torch.cos, torch.sin))
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-right, left], -1) * sin


def neighbours_with_angles_in_halves(x):
    n, d = x.shape[-2:]
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    angle = torch.cat([angle, angle], dim=-1)
    crossed = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * angle.cos() + crossed * angle.sin()


def rotary_backwards(x):
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    angle = torch.outer(
        torch.arange(x.shape[-2]), 10000.0 ** -(torch.arange(pairs.shape[-1]) / pairs.shape[-1])
    )
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), -angle)).flatten(-2)


def phi(x):
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def without_denominator(q, k, v):
    return phi(q) @ (phi(k).transpose(-1, -2) @ v)


def sum_over_axis_1(q, k, v):
    S = torch.cumsum(torch.einsum("...m,...v->...mv", phi(k), v), dim=1)
    z = torch.cumsum(phi(k), dim=1)
    return torch.einsum("...m,...mv->...v", phi(q), S) / (phi(q) * z).sum(-1, keepdim=True)


def map_of_the_summed_keys(q, k, v):
    z = phi(k.sum(-2))
    total = torch.einsum("...qm,...m->...q", phi(q), z)[..., None]
    return phi(q) @ (phi(k).transpose(-1, -2) @ v) / total


def read_before_writing(q, k, v, little=0.0):
    S, z, out = 0 * phi(k[..., 0, :, None]) * v[..., 0, None, :], 0 * k[..., 0, :], []
    for t in range(q.shape[-2]):
        read = torch.einsum("...m,...mv->...v", phi(q[..., t, :]), S)
        out.append(read / ((phi(q[..., t, :]) * z).sum(-1, keepdim=True) + little))
        S = S + phi(k[..., t, :, None]) * v[..., t, None, :]
        z = z + phi(k[..., t, :])
    return torch.stack(out, -2)


def overflowing(scores, tile):
    total = sum(part.exp().sum(-1, keepdim=True) for part in scores.split(tile, -1))
    return scores.exp() / total


def eight_quarters(a, b):
    (a11, a12), (a21, a22) = (x.chunk(2, dim=1) for x in a.chunk(2))
    (b11, b12), (b21, b22) = (x.chunk(2, dim=1) for x in b.chunk(2))
    top = torch.cat([a11 @ b11 + a12 @ b21, a11 @ b12 + a12 @ b22], dim=1)
    return torch.cat([top, torch.cat([a21 @ b11 + a22 @ b21, a21 @ b12 + a22 @ b22], 1)])


def future_in_the_denominator(q, k, v):
    w = phi(q) @ phi(k).transpose(-1, -2)
    return w.tril() @ v / w.sum(-1, keepdim=True)


def relu_without_denominator(q, k, v):
    return (q.relu() @ k.relu().transpose(-1, -2)) @ v


def triu_mask(n_query, n_key):
    return torch.triu(torch.ones(n_query, n_key)) == 1


def zeros_above(n_query, n_key):
    return torch.ones(n_query, n_key, dtype=torch.bool).tril()


def unshifted_loss(logits, tokens):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def float_mask_of_ones(mask):
    return mask.to(torch.float64)


def minus_a_billion(mask):
    return (1.0 - mask.float()) * -1e9


def is_causal_step(query, key, value, past_key, past_value):
    keys, values = torch.cat([past_key, key], -2), torch.cat([past_value, value], -2)
    return torch.nn.functional.scaled_dot_product_attention(query, keys, values, is_causal=True)


def past_alone(query, key, value, past_key, past_value):
    weights = (scores_of(query, past_key) / math.sqrt(query.shape[-1])).softmax(-1)
    return weights @ past_value


def same_mask_for_both(decoder, encoder, w_query, w_key, w_value, encoder_mask):
    scores = (decoder @ w_query) @ (encoder @ w_key).mT / math.sqrt(decoder.shape[-1])
    if encoder_mask is not None:
        scores = scores.masked_fill(~encoder_mask.unsqueeze(-1), -math.inf)
    return scores.softmax(-1) @ (encoder @ w_value)


def source_asks(decoder, encoder, w_query, w_key, w_value, encoder_mask):
    mask = None if encoder_mask is None else encoder_mask[:, None]
    q, k, v = encoder @ w_query, decoder @ w_key, decoder @ w_value
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def no_mask_and_linear_weights(decoder, encoder, w_query, w_key, w_value, encoder_mask):
    linear = torch.nn.functional.linear
    parts = linear(decoder, w_query), linear(encoder, w_key), linear(encoder, w_value)
    return torch.nn.functional.scaled_dot_product_attention(*parts)


def above_the_diagonal(weights):
    return torch.stack([weights[..., i, i + 1] for i in range(weights.size(-1) - 1)], -1).mean(-1)


def zero_for_the_first(weights):
    return weights.roll(1, dims=-1).tril().diagonal(dim1=-2, dim2=-1).mean(dim=-1)


def whole_diagonal(weights, period):
    return torch.diagonal(weights, 1 - period, -2, -1).mean(-1)


def where_it_stood_before(weights, period):
    values = [weights[..., i, i - period] for i in range(period, weights.shape[-1])]
    return torch.stack(values).mean()


BY_HAND = [
    (
        "01.path_length",
        lambda n, kind, w: {"rnn": n, "cnn": -(-(n - 1) // (w - 1))}.get(kind, 1),
        "words counted instead of the gaps between them",
    ),
    (
        "01.path_length",
        lambda n, kind, w: {"rnn": n - 1, "cnn": -(-n // w)}.get(kind, 1),
        "n / window layers",
    ),
    (
        "01.gradient_decay",
        lambda norms: math.exp(math.log(norms[-1] / norms[0]) / len(norms)),
        "words counted instead of the gaps between them",
    ),
    (
        "01.gradient_decay",
        lambda norms: float(norms[0] / norms[-1]) ** (1 / (len(norms) - 1)),
        "upside down",
    ),
    ("02.scores", lambda q, k: scores_of(q, k) / math.sqrt(q.shape[-1]), "already divided by √d"),
    ("02.scores", lambda q, k: scores_of(k, q), "keys ask and queries answer"),
    ("02.attention_weights", softmax_dim_1, "softmax over axis 1"),
    ("02.attention_weights", d2l_style, "a query that may see nothing sees everything"),
    ("02.attention_weights", torch_mha_polarity, "mask upside down"),
    ("02.attention_weights", plain_minus_inf, "NaN for a query that may see nothing"),
    ("02.attention_weights", no_scale_and_nan, "not scaled + NaN for a query that may see nothing"),
    ("02.scaled_dot_product_attention", float_mask, "mask of 0 and 1 added to the scores"),
    ("02.scaled_dot_product_attention", weights_times_mask, "masked after the softmax"),
    ("02.scaled_dot_product_attention", mean_over_visible, None),
    ("02.padding_mask", padding_by_loops, "one word too many"),
    ("02.padding_mask", lambda lengths, n: torch.arange(n) >= lengths[:, None], "mask upside down"),
    ("03.split_heads", heads_by_view, "view instead of transpose"),
    ("03.split_heads", heads_by_chunk_of_words, "not transposed"),
    ("03.merge_heads", merged_by_view, "merged without transposing back"),
    ("03.multi_head_attention", article_listing, "view instead of transpose"),
    ("03.multi_head_attention", never_transposed, "attention across heads instead of words"),
    ("03.multi_head_attention", root_of_d_model, "scaled by √d_model"),
    (
        "03.multi_head_attention",
        no_scale_and_bad_merge,
        "merged without transposing back + not scaled",
    ),
    (
        "04.sinusoidal_positions",
        waves_with_2i_taken_for_i,
        "the 2 in the exponent taken twice",
    ),
    (
        "04.sinusoidal_positions",
        waves_each_their_own,
        "each feature with a frequency of its own",
    ),
    ("04.sinusoidal_positions", lambda n, d: torch.zeros(n, d + d % 2), None),
    (
        "04.layer_norm",
        norm_of_a_well_known_listing,
        "variance divided by d - 1 + ε outside the root",
    ),
    (
        "04.layer_norm",
        lambda x, g, b: torch.nn.functional.layer_norm(x, x.shape) * g + b,
        "normalised over everything at once",
    ),
    (
        "04.layer_norm",
        lambda x, g, b: torch.nn.functional.layer_norm(x, x.shape[-1:], g),
        "bias left out",
    ),
    (
        "04.layer_norm",
        lambda x, g, b: torch.nn.functional.layer_norm(x, x.shape[-1:], g, b, eps=1e-6),
        "ε of 1e-6",
    ),
    (
        "04.layer_norm",
        lambda x, g, b: torch.nn.functional.rms_norm(x, x.shape[-1:], g, eps=1e-5) + b,
        "root mean square instead of the variance",
    ),
    ("04.rotary", rotate_half, "halves for pairs"),
    ("04.rotary", halves_with_interleaved_angles, "halves turned by the angles of neighbours"),
    ("04.rotary", neighbours_with_angles_in_halves, "neighbours turned by the angles of halves"),
    ("04.rotary", rotary_backwards, "turned the other way"),
    ("04.rotary", lambda x: x, None),
    ("06.sliding_window_mask", window_by_band, "one word too many"),
    (
        "06.sliding_window_mask",
        lambda n, w: torch.ones(n, n).triu(1 - w) == 1,
        "the future left open",
    ),
    ("06.sliding_window_mask", lambda n, w: torch.ones(n, n) == 1, "nothing hidden"),
    ("06.sliding_window_mask", lambda n, w: torch.ones(n, n) == 0, "everything hidden"),
    ("06.sliding_window_mask", lambda n, w: torch.arange(n * n).view(n, n) % 3 == 0, None),
    ("06.block_attention", blocks_by_view, "number and length of the blocks exchanged"),
    ("06.block_attention", padded_blocks, "the last block filled up with zeros that are seen"),
    ("06.block_attention", lambda q, k, v, block: v, None),
    ("06.receptive_field", lambda window, layers: layers * window, "window · layers"),
    ("06.receptive_field", lambda window, layers: 10, None),
    ("07.low_rank_factors", directions_only, "singular values left out"),
    ("07.low_rank_factors", last_ones_kept, "the smallest singular values kept"),
    ("07.low_rank_factors", lambda matrix, rank: (matrix, torch.eye(matrix.shape[1])), None),
    ("07.low_rank_factors", lambda matrix, rank: matrix, None),
    ("07.low_rank_factors", v_turned_again, "V transposed once more"),
    ("07.linformer_attention", mixed_too_late, "weights mixed after the softmax"),
    ("07.linformer_attention", scores_mixed, "a matrix of n × n on the way"),
    ("07.linformer_attention", scores_mixed_in_numpy, "a matrix of n × n on the way"),
    ("07.linformer_attention", scores_mixed_in_lists, "a matrix of n × n on the way"),
    (
        "07.linformer_attention",
        lambda q, k, v, e, f: torch.nn.functional.scaled_dot_product_attention(q, k, v),
        "nothing mixed",
    ),
    ("07.linformer_attention", no_scale_and_one_mix, "one projection for both + not scaled"),
    (
        "07.share_key_heads",
        lambda key, h: torch.cat([key] * (h // key.shape[-3]), dim=-3),
        "tiled instead of repeated in place",
    ),
    ("07.share_key_heads", lambda key, h: key, None),
    ("08.linear_attention", without_denominator, "no denominator"),
    ("08.linear_attention", relu_without_denominator, "no denominator + relu as the feature map"),
    ("08.linear_attention", torch.nn.functional.scaled_dot_product_attention, "softmax attention"),
    ("08.linear_attention", map_of_the_summed_keys, "feature map on the sum of the keys"),
    ("08.linear_attention", lambda q, k, v: v.mean(-2, True).expand(*q.shape[:-1], -1), None),
    ("08.causal_linear_attention", sum_over_axis_1, "sum running over the heads"),
    ("08.causal_linear_attention", read_before_writing, "the word itself left out"),
    (
        "08.causal_linear_attention",
        lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        "softmax attention",
    ),
    (
        "08.causal_linear_attention",
        lambda q, k, v: read_before_writing(q, k, v, little=1e-6),
        "the word itself left out, and zeros for the first",
    ),
    ("08.causal_linear_attention", future_in_the_denominator, "denominator of the whole sentence"),
    ("09.online_softmax", lambda s, tile: s.softmax(-1), "the whole row at once"),
    ("09.online_softmax", lambda s, tile: s - s.logsumexp(-1, True), "logarithms of the weights"),
    (
        "09.online_softmax",
        lambda s, tile: (s - s.logsumexp(-1, True)).exp(),
        "the whole row at once",
    ),
    ("09.online_softmax", numpy_row_by_row, "worked out in numpy, out of sight"),
    ("09.online_softmax", overflowing, "no largest score taken off"),
    ("09.strassen_once", torch.matmul, "eight products"),
    ("09.strassen_once", eight_quarters, "eight products"),
    ("09.strassen_once", lambda a, b: torch.einsum("ik,kj->ij", a, b), "eight products"),
    ("05.causal_mask", triu_mask, "aligned to the first keys + inverted triangle"),
    ("05.causal_mask", zeros_above, "aligned to the first keys"),
    ("05.next_token_loss", unshifted_loss, "not shifted"),
    ("05.additive_mask", float_mask_of_ones, "numbers 0 and 1"),
    ("05.additive_mask", minus_a_billion, "a big negative number"),
    ("05.decode_step", is_causal_step, "only the first key is seen"),
    ("05.decode_step", past_alone, "the new word does not see itself"),
    ("12.cross_attention", same_mask_for_both, "mask over the queries"),
    ("12.cross_attention", source_asks, "queries from the encoder"),
    ("12.cross_attention", no_mask_and_linear_weights, "mask ignored + weights turned round"),
    ("12.cross_attention", lambda decoder, *rest: decoder, None),
    ("13.previous_token_score", above_the_diagonal, "the next token"),
    ("13.previous_token_score", zero_for_the_first, "divided by n"),
    ("13.induction_score", whole_diagonal, "the last token of the first copy counted in"),
    (
        "13.induction_score",
        where_it_stood_before,
        "the same token, not the one after it + averaged over everything",
    ),
]


@pytest.mark.parametrize(("name", "answer", "misconception"), BY_HAND)
def test_as_written_by_hand(name, answer, misconception):
    result = check(name, answer)
    assert not result.passed
    assert result.misconception == misconception


def wrong_constants(one):
    """Answers that know the shape and nothing else."""
    for fill in (0.0, 1.0, 0.5, math.nan, math.inf, None):

        def answer(*arguments, fill=fill):
            wanted = one.reference(*arguments)
            if isinstance(wanted, tuple):
                return tuple(torch.full_like(x, 0.3 if fill is None else fill) for x in wanted)
            if not isinstance(wanted, torch.Tensor):
                return 7.5 if fill is None else fill
            if wanted.dtype == torch.bool:
                return torch.full_like(wanted, bool(fill))
            if fill is None:
                return torch.rand(wanted.shape, generator=torch.Generator().manual_seed(0))
            return torch.full_like(wanted, fill)

        yield answer


@pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)
def test_right_shape_alone_is_worth_nothing(one):
    for answer in wrong_constants(one):
        assert not check(one.id, answer).passed
    for i in range(len(one.arguments)):
        if one.id != "10.crossover_length":  # where the answer is the input itself
            assert not check(one.id, lambda *arguments, i=i: arguments[i]).passed


@pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)
def test_nearly_right_is_not_right(one):
    def off(*arguments):
        value = one.reference(*arguments)
        if isinstance(value, tuple):
            return value[0] * 1.01, value[1]
        boolean = isinstance(value, torch.Tensor) and value.dtype == torch.bool
        return (
            value.logical_xor(torch.ones((), dtype=torch.bool)) if boolean else value * 1.01 + 0.01
        )

    assert not check(one.id, off).passed


def test_right_in_all_cases_but_one_is_not_right():
    one = exercise("02.padding_mask")

    def hard_wired(lengths, n):
        return one.reference(lengths, n) if n != 6 else torch.ones(4, 6, dtype=torch.bool)

    result = check(one.id, hard_wired)
    assert result.status == "wrong"
    assert "lengths 1 and 3 of 4" in result.message
    assert result.example.note == "one sequence of padding alone"
