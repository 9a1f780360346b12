"""Exercises of chapters 09 to 13, examined from outside: answers written without reading them.

Wrong answers in the styles in which they come, each with the name that it must get (`None`: not
passed, and no name), and right ones that must pass.
"""

import functools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attn_edu.exercises import check, exercise
from attn_edu.exercises.checking import examine

INF = math.inf

# 09.online_softmax


def online(
    scores,
    tile,
    *,
    start=-INF,
    begin=0.0,
    tiles=lambda scores, tile: scores.split(tile, -1),
    top=lambda part: part.amax(-1, keepdim=True),
    factor=lambda old, new: (old - new).exp(),
    minus=lambda old, new: new,
    end=lambda scores, m, s: (scores - m).exp() / s,
):
    """As it is written in most places: from −∞ and 0, the tiles in a loop."""
    m = scores.new_full((*scores.shape[:-1], 1), start)
    s = torch.full_like(m, begin)
    for part in tiles(scores, tile):
        new = torch.maximum(m, top(part))
        s = s * factor(m, new) + (part - minus(m, new)).exp().sum(-1, keepdim=True)
        m = new
    return end(scores, m, s)


def tile_by_tile(**mistake):
    return lambda scores, tile: online(scores, tile, **mistake)


def two_loops(scores, tile):
    m = scores.new_full((*scores.shape[:-1], 1), -INF)
    for part in scores.split(tile, dim=-1):
        m = torch.maximum(m, part.amax(-1, keepdim=True))
    s = 0
    for part in scores.split(tile, dim=-1):
        s = s + (part - m).exp().sum(-1, keepdim=True)
    return (scores - m).exp() / s


def counted_as_one(scores, tile):
    first, *rest = scores.split(tile, dim=-1)
    m = first.amax(-1, keepdim=True)
    s = torch.ones_like(m)
    for part in rest:
        new = torch.maximum(m, part.amax(-1, keepdim=True))
        s = s * torch.exp(m - new) + torch.exp(part - new).sum(-1, keepdim=True)
        m = new
    return torch.exp(scores - m) / s


def scaled_with_the_tile(scores, tile):
    m = scores.new_full((*scores.shape[:-1], 1), -INF)
    s = torch.zeros_like(m)
    for part in scores.split(tile, dim=-1):
        new = torch.maximum(m, part.amax(-1, keepdim=True))
        s = (s + torch.exp(part - new).sum(-1, keepdim=True)) * torch.exp(m - new)
        m = new
    return torch.exp(scores - m) / s


def whole(scores, tile):
    return [scores[..., i * tile : (i + 1) * tile] for i in range(scores.shape[-1] // tile)]


def padded(scores, tile):
    return F.pad(scores, (0, -scores.shape[-1] % tile)).split(tile, dim=-1)


def keep_both(scores, tile):
    """A list of (largest, sum), one a tile, each tile looked at once; merged in pairs."""

    def merge(x, y):
        top = torch.maximum(x[0], y[0])
        return top, x[1] * (x[0] - top).exp() + y[1] * (y[0] - top).exp()

    seen = []
    for part in scores.split(tile, dim=-1):
        top = part.max(dim=-1, keepdim=True).values
        seen.append((top, torch.exp(part - top).sum(dim=-1, keepdim=True)))
    largest, total = functools.reduce(merge, seen)
    return torch.exp(scores - largest) / total


# 09.strassen_once


def cut(x):
    return [y for half in x.chunk(2, 0) for y in half.chunk(2, 1)]


def seven(a, b, *, m2=None, m3=1, m4=1, top_left=None):
    a11, a12, a21, a22 = cut(a)
    b11, b12, b21, b22 = cut(b)
    p1 = (a11 + a22) @ (b11 + b22)
    p2 = (a21 + a22) @ b11 if m2 is None else m2(a21, a22, b11, b22)
    p3, p4 = m3 * (a11 @ (b12 - b22)), m4 * (a22 @ (b21 - b11))
    p5 = (a11 + a12) @ b22
    p6, p7 = (a21 - a11) @ (b11 + b12), (a12 - a22) @ (b21 + b22)
    c11 = p1 + p4 - p5 + p7 if top_left is None else top_left(p1, p4, p5, p7)
    return torch.cat([torch.cat([c11, p3 + p5], 1), torch.cat([p2 + p4, p1 - p2 + p3 + p6], 1)])


def with_slip(**slip):
    return lambda a, b: seven(a, b, **slip)


def seven_then_eight(a, b):
    seven(a, b)
    return torch.from_numpy(a.numpy() @ b.numpy())


def by_lists(a, b):
    columns = list(zip(*b.tolist()))
    return torch.tensor(
        [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a.tolist()],
        dtype=a.dtype,
    )


def interleaved(a, b):
    """Quarters of every second row and column, put back to where they came from."""
    c = a.new_empty(len(a), b.shape[1])

    def parts(x):
        return torch.cat([torch.cat([x[::2, ::2], x[::2, 1::2]], 1),
                          torch.cat([x[1::2, ::2], x[1::2, 1::2]], 1)])  # fmt: skip

    c[::2, ::2], c[::2, 1::2], c[1::2, ::2], c[1::2, 1::2] = cut(seven(parts(a), parts(b)))
    return c


LEFT = torch.tensor([
    [1, 0, 0, 1], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1],
    [1, 1, 0, 0], [-1, 0, 1, 0], [0, 1, 0, -1],
]).double()  # fmt: skip
RIGHT_HAND = torch.tensor([
    [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, -1], [-1, 0, 1, 0],
    [0, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1],
]).double()  # fmt: skip
TOGETHER = torch.tensor([
    [1, 0, 0, 1, -1, 0, 1], [0, 0, 1, 0, 1, 0, 0], [0, 1, 0, 1, 0, 0, 0], [1, -1, 1, 0, 0, 1, 0],
]).double()  # fmt: skip


def three_tables(a, b):
    """The method as three matrices of signs, and the seven products at once."""
    left = torch.einsum("pq,qij->pij", LEFT, torch.stack(cut(a)))
    right = torch.einsum("pq,qjk->pjk", RIGHT_HAND, torch.stack(cut(b)))
    c11, c12, c21, c22 = torch.einsum("qp,pik->qik", TOGETHER, torch.bmm(left, right))
    return torch.cat([torch.cat([c11, c12], 1), torch.cat([c21, c22], 1)])


# 11.masked_mean


def real(x, lengths):
    return (torch.arange(x.shape[1]) < lengths[:, None])[..., None]


def slices(begin, end):
    """Sentence by sentence, as with lists."""

    def answer(x, lengths):
        kept = [row[begin(int(k)) : end(int(k))] for row, k in zip(x, lengths)]
        return torch.stack([y.mean(0) if len(y) else y.new_zeros(x.shape[2]) for y in kept])

    return answer


def not_zero(x, lengths):
    words = (x != 0).any(dim=-1, keepdim=True)
    return (x * words).sum(1) / words.sum(1).clamp(min=1)


def from_running_sums(x, lengths):
    sums = F.pad(x.cumsum(1), (0, 0, 1, 0))
    return sums[torch.arange(len(x)), lengths] / lengths.clamp(min=1)[:, None]


def bag_of_words(x, lengths):
    words = torch.cat([row[:k] for row, k in zip(x, lengths)])
    starts = F.pad(lengths.cumsum(0)[:-1], (1, 0))
    return F.embedding_bag(torch.arange(len(words)), words, starts, mode="mean")


def clamped_too_early(x, lengths):
    lengths = lengths.clamp(min=1)
    return (x * real(x, lengths)).sum(1) / lengths[:, None]


def by_softmax(fill):
    def answer(x, lengths):
        scores = x.new_zeros(x.shape[:2]).masked_fill(~real(x, lengths)[..., 0], fill)
        return (scores.softmax(-1)[:, None] @ x)[:, 0]

    return answer


# 12.cross_attention


def sdpa(decoder, encoder, wq, wk, wv, mask, **options):
    return F.scaled_dot_product_attention(
        decoder @ wq, encoder @ wk, encoder @ wv, attn_mask=mask, **options
    )


def between(mask):
    return None if mask is None else mask[:, None]


def attend(query, key, value, mask, softmax=lambda scores: scores.softmax(-1), size=None):
    scores = query @ key.mT / math.sqrt(size or query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None], -INF)
    return softmax(scores) @ value


def silenced(decoder, encoder, wq, wk, wv, mask):
    if mask is not None:
        encoder = encoder * mask.unsqueeze(-1)
    return sdpa(decoder, encoder, wq, wk, wv, None)


def minus_mask_times_inf(decoder, encoder, wq, wk, wv, mask):
    scores = decoder @ wq @ (encoder @ wk).mT / decoder.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + (1.0 - mask[:, None].double()) * -INF
    return scores.softmax(-1) @ (encoder @ wv)


def implicit_softmax(d, e, wq, wk, wv, mask):
    return attend(d @ wq, e @ wk, e @ wv, mask, softmax=lambda scores: scores.softmax(0))


def counted_words(d, e, wq, wk, wv, mask):
    """Believes that padding always stands at the end."""
    if mask is not None:
        mask = torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)
    return attend(d @ wq, e @ wk, e @ wv, mask)


def text_by_text(d, e, wq, wk, wv, mask):
    """No mask at all: what is padding is taken out first."""
    kept = [y if mask is None else y[mask[i]] for i, y in enumerate(e)]
    out = []
    for x, y in zip(d, kept):
        weights = torch.softmax((x @ wq) @ (y @ wk).T / math.sqrt(x.shape[-1]), dim=-1)
        out.append(weights @ (y @ wv))
    return torch.stack(out)


def by_the_module(d, e, wq, wk, wv, mask):
    module = torch.nn.MultiheadAttention(
        d.shape[-1], 1, bias=False, batch_first=True, dtype=d.dtype
    )
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([wq.T, wk.T, wv.T]))
        module.out_proj.weight.copy_(torch.eye(d.shape[-1]))
    return module(d, e, e, key_padding_mask=None if mask is None else ~mask)[0]


def in_bfloat16(*given):
    d, e, wq, wk, wv, mask = (
        x.bfloat16() if x is not None and x.is_floating_point() else x for x in given
    )
    return attend(d @ wq, e @ wk, e @ wv, mask)


def renormalised(d, e, wq, wk, wv, mask):
    weights = ((d @ wq) @ (e @ wk).mT / d.shape[-1] ** 0.5).softmax(-1)
    if mask is not None:
        weights = weights * mask[:, None]
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ (e @ wv)


# 13


def steps(begin, end, divisor):
    """A loop over queries, as in most first versions."""

    def answer(weights):
        n = weights.shape[-1]
        total = sum(weights[..., i, i - 1] for i in range(begin, n - end))
        return total / (n - divisor)

    return answer


def hits(weights):
    return (weights.argmax(-1) == torch.arange(weights.shape[-1]) - 1).double().mean(-1)


def later(begin=0, end=0, shift=1, divisor=None):
    def answer(weights, period):
        n = weights.shape[-1]
        queries = range(period + begin, n - end)
        total = sum(weights[..., i, i - period + shift] for i in queries)
        return total / (len(queries) if divisor is None else divisor(n, period))

    return answer


def every_earlier_copy(weights, period):
    n = weights.shape[-1]
    each = [
        sum(weights[..., i, j] for j in range(i - period + 1, -1, -period))
        for i in range(period, n)
    ]
    return torch.stack(each, -1).mean(-1)


WRONG = [
    ("09.online_softmax", tile_by_tile(factor=lambda old, new: 1), "old sum not shrunk"),
    (
        "09.online_softmax",
        tile_by_tile(factor=lambda old, new: (new - old).exp()),
        "shrunk the wrong way round, from −∞ on",
    ),
    (
        "09.online_softmax",
        tile_by_tile(minus=lambda old, new: old),
        "the new tile against the old largest score, from −∞ on",
    ),
    ("09.online_softmax", tile_by_tile(minus=lambda old, new: 0), "nothing taken off the new tile"),
    ("09.online_softmax", scaled_with_the_tile, "the new tile shrunk as well, from −∞ on"),
    ("09.online_softmax", tile_by_tile(start=0.0), "the largest score starts too high"),
    ("09.online_softmax", tile_by_tile(start=-100.0), "the largest score starts too high"),
    ("09.online_softmax", tile_by_tile(start=0.0, begin=1.0), "the sum starts at 1"),
    ("09.online_softmax", tile_by_tile(top=torch.max), "one largest score for all rows"),
    ("09.online_softmax", counted_as_one, "the first tile counted as one score"),
    (
        "09.online_softmax",
        tile_by_tile(tiles=whole, factor=lambda old, new: 1),
        "old sum not shrunk + the end of the row forgotten, and a short row altogether",
    ),
    ("09.online_softmax", tile_by_tile(tiles=padded), "the last tile filled up with zeros"),
    (
        "09.online_softmax",
        tile_by_tile(tiles=lambda scores, tile: scores.chunk(tile, -1)),
        "the number of tiles instead of their length",
    ),
    ("09.online_softmax", two_loops, "every tile looked at twice"),
    (
        "09.online_softmax",
        tile_by_tile(end=lambda scores, m, s: scores.exp() / s),
        "nothing taken off at the end",
    ),
    ("09.online_softmax", lambda s, tile: F.log_softmax(s, -1), "logarithms of the weights"),
    ("09.online_softmax", lambda s, tile: s.softmax(-2), "softmax over the last axis but one"),
    ("09.online_softmax", lambda s, tile: F.softmin(s, -1), None),
    (
        "09.strassen_once",
        lambda a, b: torch.from_numpy(np.dot(a.numpy(), b.numpy())),
        "eight products",
    ),
    ("09.strassen_once", by_lists, "eight products"),
    ("09.strassen_once", lambda a, b: F.conv1d(b[None], a[..., None])[0], "eight products"),
    ("09.strassen_once", seven_then_eight, "eight products"),
    ("09.strassen_once", lambda a, b: b @ a, "b @ a instead of a @ b"),
    (
        "09.strassen_once",
        with_slip(m3=-1, m4=-1),
        "the difference in m3 the wrong way round + the difference in m4 the wrong way round",
    ),
    (
        "09.strassen_once",
        with_slip(top_left=lambda p1, p4, p5, p7: p1 - p4 + p5 + p7),
        "m4 and m5 exchanged at the top left",
    ),
    ("10.attention_flops", lambda n, d: 2 * n * n * d, "half of it"),
    ("10.attention_flops", lambda n, d: 4 * n * d**2, "n and d_model exchanged"),
    ("10.attention_flops", lambda n, d: 8 * n * n * d, "twice of it"),
    (
        "10.attention_flops",
        lambda n, d: 2 * n * n * d + 4 * n * d * d,
        "half of it + with the four projections",
    ),
    ("10.attention_flops", lambda n, d: 4 * n * n * d + 6 * n * d * d, "with three projections"),
    (
        "10.attention_flops",
        lambda n, d: n * n * (4 * d + 5),
        "with the softmax, 5 steps a score",
    ),
    (
        "10.attention_flops",
        lambda n, d: n * n * (2 * d - 1) + n * d * (2 * n - 1),
        "d − 1 additions in a dot product",
    ),
    (
        "10.attention_flops",
        lambda n, d: 4 * (n * (n - 1) // 2) * d,
        "only the pairs with an earlier word",
    ),
    ("10.attention_flops", lambda n, d: n, None),
    ("10.attention_flops", lambda n, d: f"{4 * n * n * d}", None),
    ("10.crossover_length", lambda d: d - 1, "the last length at which attention costs less"),
    ("10.crossover_length", lambda d: 2 * d, "half of attention's cost"),
    ("10.crossover_length", lambda d: d / 2, "half of the network's cost"),
    ("10.crossover_length", lambda d: 16, None),
    ("11.masked_mean", slices(lambda k: 0, lambda k: k + 1), "a word too many, and counted"),
    (
        "11.masked_mean",
        slices(lambda k: 0, lambda k: max(k - 1, 0)),
        "the last word is missing, and not counted",
    ),
    (
        "11.masked_mean",
        slices(lambda k: 1, lambda k: k),
        "the first word is missing, and not counted",
    ),
    ("11.masked_mean", slices(lambda k: k, lambda k: None), "the mean of the padding"),
    ("11.masked_mean", not_zero, "zeros taken for padding"),
    (
        "11.masked_mean",
        lambda x, lengths: x[:, : lengths[0]].mean(1),
        "the first sentence's length for all",
    ),
    (
        "11.masked_mean",
        lambda x, lengths: (x * real(x, lengths)).sum(1) / lengths.clamp(min=1),
        "no axis for the features",
    ),
    (
        "11.masked_mean",
        lambda x, lengths: (x * real(x, lengths)).sum(1) / lengths,
        "no axis for the features",  # the case with a 0 has other sizes, and does not run
    ),
    ("11.masked_mean", lambda x, lengths: x.mean(0), "mean over the batch"),
    ("11.masked_mean", lambda x, lengths: x.mean(-1), "mean over the features"),
    (
        "11.masked_mean",
        lambda x, lengths: (x * real(x, lengths)).sum(1) / lengths[:, None],
        "0 to divide by",
    ),
    (
        "11.masked_mean",
        lambda x, lengths: (x * ~real(x, lengths)).sum(1) / lengths[:, None],
        "the padding instead of the words + 0 to divide by",
    ),
    (
        "11.masked_mean",
        lambda x, lengths: (x * real(x, lengths)).sum(1) / (lengths[:, None] + 1e-5),
        "10⁻⁵ added to the divisor",
    ),
    ("11.masked_mean", clamped_too_early, "a sentence without words given its first place"),
    (
        "11.masked_mean",
        by_softmax(-1e9),
        "a sentence without words given the mean of its padding",
    ),
    ("11.masked_mean", by_softmax(-INF), "0 to divide by"),
    (
        "11.masked_mean",
        lambda x, lengths: x.masked_fill(~real(x, lengths), -INF).sum(1) / lengths[:, None],
        "padding filled with −∞",
    ),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: attend(d @ k, e @ q, e @ v, mask),
        "the weights of queries and keys exchanged",
    ),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: attend(d @ q, e @ k, e @ k, mask),
        "one weight for keys and values",
    ),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: attend(d @ q, e @ k, e, mask),
        "w_value left out",
    ),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: attend(d, e, e @ v, mask, size=1),
        "w_query left out + w_key left out + not scaled",
    ),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: attend(d @ q, e @ k, e @ v, mask, size=d.shape[1]),
        "scaled by the length of the target",
    ),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: sdpa(d, e, q, k, v, None if mask is None else ~mask[:, None]),
        "mask upside down",
    ),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: sdpa(d, e, q, k, v, mask),
        "no axis for the queries",
    ),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: sdpa(d, e, q, k, v, None, is_causal=True),
        "mask ignored + causal mask",
    ),
    ("12.cross_attention", silenced, "padded words set to 0"),
    ("12.cross_attention", minus_mask_times_inf, "NaN from infinity"),
    ("12.cross_attention", implicit_softmax, "softmax over the batch"),
    ("12.cross_attention", counted_words, None),
    ("13.previous_token_score", steps(2, 0, 1), "query 1 left out, but counted"),
    ("13.previous_token_score", steps(1, 1, 1), "the last token left out, but counted"),
    ("13.previous_token_score", steps(0, 0, 0), "divided by n"),
    ("13.previous_token_score", hits, "divided by n + how often it is the largest"),
    (
        "13.previous_token_score",
        lambda w: torch.diagonal(w, offset=-1).mean(-1),
        "the diagonal of the first two axes",
    ),
    (
        "13.previous_token_score",
        lambda w: w.tril(-1).sum(-1)[..., 1:].mean(-1),
        "all earlier tokens",
    ),
    ("13.previous_token_score", lambda w: torch.ones(w.shape[:-2]), None),
    ("13.induction_score", later(begin=1), "one query too few"),
    (
        "13.induction_score",
        later(begin=-1, divisor=lambda n, period: n - period),
        "the last token of the first copy counted in, divided by n − period",
    ),
    (
        "13.induction_score",
        later(end=1, divisor=lambda n, period: n - period),
        "the last query left out, divided by n − period",
    ),
    ("13.induction_score", later(divisor=lambda n, period: period), "divided by the period"),
    (
        "13.induction_score",
        later(shift=0, divisor=lambda n, period: n),
        "the same token, not the one after it + divided by n",
    ),
    (
        "13.induction_score",
        lambda w, p: torch.diagonal(w, 1 - p)[..., 1:].mean(-1),
        "the diagonal of the first two axes",
    ),
    (
        "13.induction_score",
        lambda w, p: w.diagonal(1 - p, -2, -1)[..., :-1].mean(-1),
        "the wrong end of the diagonal cut off",
    ),
    (
        "13.induction_score",
        lambda w, p: w.diagonal(1 - p, -2, -1)[..., 1 : p + 1].mean(-1),
        "the second copy only",
    ),
    ("13.induction_score", every_earlier_copy, "all earlier copies added up"),
    ("13.induction_score", lambda w, p: torch.full(w.shape[:-2], math.nan), None),
]

RIGHT = [
    ("09.online_softmax", tile_by_tile()),
    ("09.online_softmax", tile_by_tile(start=-1e30)),
    ("09.online_softmax", keep_both),
    ("09.online_softmax", lambda s, tile: online(s.float(), tile)),
    ("09.strassen_once", seven),
    ("09.strassen_once", interleaved),
    ("09.strassen_once", three_tables),
    ("09.strassen_once", lambda a, b: seven(a.float(), b.float())),
    ("09.strassen_once", lambda a, b: seven(b.T, a.T).T),
    ("10.attention_flops", lambda n, d: np.int64(4) * n * n * d),
    ("10.attention_flops", lambda n, d: torch.tensor(4 * n * n * d)),
    ("10.attention_flops", lambda n, d: 4.0 * n**2 * d),
    ("10.crossover_length", lambda d: float(d)),
    ("10.crossover_length", lambda d: torch.tensor(d)),
    ("11.masked_mean", slices(lambda k: 0, lambda k: k)),
    (
        "11.masked_mean",
        lambda x, lengths: x.masked_fill(~real(x, lengths), math.nan).nanmean(1).nan_to_num(0),
    ),
    ("11.masked_mean", lambda x, lengths: torch.einsum("bnd,bn->bd", x,
        F.normalize(real(x, lengths)[..., 0].to(x.dtype), p=1, dim=1))),
    (
        "11.masked_mean",
        torch.vmap(lambda x, k: torch.where(torch.arange(len(x)) < k, 1.0, 0.0).double()
                   @ x / k.clamp(min=1)),
    ),
    ("12.cross_attention", lambda d, e, q, k, v, mask: sdpa(d, e, q, k, v, between(mask))),
    ("11.masked_mean", from_running_sums),
    ("11.masked_mean", bag_of_words),
    ("12.cross_attention", by_the_module),
    ("12.cross_attention", text_by_text),
    ("12.cross_attention", renormalised),
    ("12.cross_attention", lambda d, e, q, k, v, mask: in_bfloat16(d, e, q, k, v, mask)),
    (
        "12.cross_attention",
        lambda d, e, q, k, v, mask: attend(d.float() @ q.float(), e.float() @ k.float(),
                                           e.float() @ v.float(), mask),
    ),
    ("13.previous_token_score", steps(1, 0, 1)),
    (
        "13.previous_token_score",
        lambda w: torch.einsum("...ii->...", w[..., 1:, :-1]) / (w.shape[-1] - 1),
    ),
    ("13.induction_score", later()),
    ("13.induction_score", lambda w, p: w.diagonal(1 - p, -2, -1)[..., 1:].mean(-1)),
]  # fmt: skip


@pytest.mark.parametrize("draw", [0, 1])
@pytest.mark.parametrize(("name", "answer", "misconception"), WRONG)
def test_a_wrong_answer_gets_its_name(name, answer, misconception, draw):
    result = examine(exercise(name), answer, draw)
    assert not result.passed
    assert result.misconception == misconception


@pytest.mark.parametrize("draw", [0, 1])
@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_a_right_answer_passes(name, answer, draw):
    assert examine(exercise(name), answer, draw).passed


@pytest.mark.parametrize(
    ("slip", "line"),
    [
        ({"m2": lambda a21, a22, b11, b22: (a21 + a22) @ b22}, "look at m2 = (a21 + a22) @ b11."),
        ({"m2": lambda a21, a22, b11, b22: (a21 - a22) @ b11}, "look at m2 = (a21 + a22) @ b11."),
        ({"m3": 2}, "look at m3 = a11 @ (b12 - b22)."),
        ({"m4": 0}, "look at m4 = a22 @ (b21 - b11)."),
        ({"top_left": lambda p1, p4, p5, p7: p1}, "Only the top left is wrong"),
    ],
)
def test_a_slip_in_the_table_of_seven_products_is_found(slip, line):
    result = check("09.strassen_once", with_slip(**slip))
    assert result.status == "wrong"
    assert line in result.message


def test_no_line_is_named_when_several_are_wrong():
    result = check("09.strassen_once", with_slip(m3=2, m4=3))
    assert result.status == "wrong"
    assert "in no way that this exercise knows" in result.message
