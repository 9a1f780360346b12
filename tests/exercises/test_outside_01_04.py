"""Answers from outside, chapters 01 to 04: wrong ones with the name they must get, and right ones.

None shares code with the exercises. What other files hold already is not repeated here.
"""

import functools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attn_edu.exercises import check, exercise, exercises
from attn_edu.exercises.checking import examine

MINE = [one for one in exercises() if one.id[:2] in ("01", "02", "03", "04")]
EACH = pytest.mark.parametrize("one", MINE, ids=lambda one: one.id)


# 01.path_length, by three formulas


def steps(rnn="n - 1", cnn="ceil((n - 1) / (window - 1))", attention="1"):
    formulas = {"rnn": rnn, "cnn": cnn, "attention": attention}
    names = {"ceil": math.ceil, "floor": math.floor, "log": math.log, "round": round, "max": max}
    return lambda n, kind, window: eval(formulas[kind], names, {"n": n, "window": window})


PATHS = [
    (steps(cnn="n // window"), "n / window layers + rounded down"),
    (steps(cnn="n / window"), "n / window layers + not rounded to whole layers"),
    (steps(cnn="n // window + 1"), "one layer more than n // window"),
    (steps(cnn="(n - 1) // (window - 1) + 1"), "one layer too many when nothing is left over"),
    (steps(cnn="ceil(n / (window - 1))"), "one layer too many when nothing is left over"),
    (steps(cnn="round((n - 1) / (window - 1))"), "rounded to the nearest whole number"),
    (steps(cnn="ceil(log(n, 2))"), "reach doubled from layer to layer"),
    (steps(cnn="n - 1"), "a convolution goes one word at a time"),
    (steps(attention="n"), "attention visits all n words one by one"),
    (
        steps(cnn="1", attention="0"),
        "one layer of a convolution sees everything + attention needs no step at all",
    ),
    (
        steps("n", "n // window"),
        "words counted instead of the gaps between them + n / window layers + rounded down",
    ),
    # These fit a belief on many inputs, and on one at least they do not.
    (steps(cnn="max(1, (n - 1) // (window - 1))"), None),
    (steps(cnn="ceil((n - 1) / (window + 1))"), None),
    (steps(cnn="n - window + 1"), None),
    (steps(rnn="ceil(log(n, 2))"), None),
    (steps(attention="window"), None),
    (lambda n, kind, window: 1 if kind == "rnn" else n - 1, None),
]


# 01.gradient_decay

DECAYS = [
    (
        lambda g: 1 - (g[-1] / g[0]) ** (1 / (len(g) - 1)),
        "the loss of a step instead of what is left",
    ),
    (
        lambda g: math.exp(np.polyfit(range(len(g)), np.log(g.numpy()), 1)[0]),
        "a line fitted to the logarithms",
    ),
    (lambda g: (g[-1] / g[0]) ** (1 / len(g) - 1), "1 / n − 1 for 1 / (n − 1)"),
    (lambda g: g[-1] / g[-2], "only the last step"),
    (lambda g: (g[:-1] / g[1:]).mean(), "upside down + the arithmetic mean of the ratios"),
    (lambda g: (g[0] - g[-1]) / (len(g) - 1), "upside down + a difference instead of a factor"),
    (
        lambda g: (g[-1] - g[0]) / len(g),
        "words counted instead of the gaps between them + a difference instead of a factor",
    ),
    (lambda g: g.diff().mean(), "a difference instead of a factor"),
    (lambda g: (g[1:] / g[:-1]).prod(), "the decay over all steps"),
    (lambda g: (g.min() / g.max()) ** (1 / (len(g) - 1)), None),
    (lambda g: (g[1:] / g[:-1]).median(), None),
    (lambda g: round(float(g[-1] / g[0]) ** (1 / (len(g) - 1)), 2), None),
]


# 02: one head, in the style of long-winded code with a switch for each mistake


def product(q, k):
    return torch.einsum("...id,...jd->...ij", q, k)


SCORES = [
    (lambda q, k: q @ k.view(*k.shape[:-2], k.shape[-1], -1), "key reshaped instead of transposed"),
    (lambda q, k: -(q.unsqueeze(-2) - k.unsqueeze(-3)).norm(dim=-1), "the negative of a distance"),
    (
        lambda q, k: F.normalize(k, dim=-1) @ F.normalize(q, dim=-1).mT,
        "keys ask and queries answer + cosine similarity",
    ),
    (
        lambda q, k: F.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), dim=-1),
        "cosine similarity",
    ),
    (lambda q, k: (q.unsqueeze(-2) * k.unsqueeze(-3)).mean(-1), "already divided by d"),
    (
        lambda q, k: torch.softmax(product(k, q) / q.size(-1) ** 0.5, -1),
        "keys ask and queries answer + already divided by √d + already through the softmax",
    ),
    (lambda q, k: (product(k, q)).reshape(*q.shape[:-1], -1), None),
    (lambda q, k: product(q, k) / 2, None),
    (
        lambda q, k: product(q, k[:1] if k.ndim > 2 else k),
        None,
    ),  # the first sentence's keys for all
    (lambda q, k: product(q, k).cumsum(-1), None),
]


def head(
    query,
    key,
    value,
    mask,
    *,
    root=lambda d, n: d**0.5,
    dim=-1,
    hidden=-math.inf,
    keep="",
    weigh=None,
    fill=True,
):
    s = product(query, key) / root(query.size(-1), key.size(-2))
    if mask is not None and keep == "inverted":
        mask = mask == 0
    if mask is not None and keep != "after":
        s = torch.where(mask, s, torch.full_like(s, hidden))
    w = weigh(s) if weigh else torch.softmax(s, dim)
    if keep == "after" and mask is not None:
        w = w * mask.double()
    if fill:
        w = torch.where(torch.isnan(w), 0.0, w)
    return w if value is None else torch.matmul(w, value)


def tril_like(mask, query, key):
    past = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    return past if mask is None else mask & past


def bert(q, k, v, m):
    s = product(q, k) / math.sqrt(q.size(-1))
    return (s if m is None else s + (1.0 - m.to(s)) * -10000.0).softmax(-1) @ v


def scaled_late(q, k, v, m):
    s = product(q, k)
    w = torch.softmax(s if m is None else s.masked_fill(m == 0, -1e30), -1) / math.sqrt(q.size(-1))
    return (w if m is None else w * m) @ v


def exp_only(q, k, v, m):
    e = (product(q, k) / math.sqrt(q.size(-1))).exp()
    return (e if m is None else e * m) @ v


def not_in_place(q, k, v, m):
    s = product(q, k) / math.sqrt(q.size(-1))
    if m is not None:
        s.masked_fill(~m, -math.inf)  # the result is thrown away
    return s.softmax(dim=-1) @ v


NOT_SCALED = {"root": lambda d, n: 1}
BY_D = {"root": lambda d, n: d}
HEADS = [
    ({"dim": 0}, "softmax over axis 0"),
    ({"root": lambda d, n: n**0.5}, "scaled by the number of keys"),
    ({"hidden": -1e4}, "a query that may see nothing sees everything"),
    ({"hidden": 0.0}, "hidden scores set to 0"),
    ({"keep": "after"}, "masked after the softmax"),
    ({"weigh": lambda s: s}, "no softmax, and −∞ is left where the mask hides"),
    (dict(**NOT_SCALED, dim=-2), "softmax over the queries + not scaled"),
    (dict(**NOT_SCALED, keep="inverted"), "not scaled + mask upside down"),
    (dict(**NOT_SCALED, keep="after"), "not scaled + masked after the softmax"),
    (dict(**NOT_SCALED, fill=False), "not scaled + NaN for a query that may see nothing"),
    (dict(**BY_D, dim=1), "softmax over axis 1 + divided by d"),
    (dict(**BY_D, hidden=-1e9), "divided by d + a query that may see nothing sees everything"),
    ({"dim": -2, "keep": "inverted"}, "softmax over the queries + mask upside down"),
    ({"keep": "inverted", "hidden": 0.0}, "mask upside down + hidden scores set to 0"),
    (
        dict(**NOT_SCALED, keep="inverted", hidden=-1e9),
        "not scaled + mask upside down + a query that may see nothing sees everything",
    ),
    ({"root": lambda d, n: 2.0}, None),  # right for d = 4 alone
    ({"root": lambda d, n: d**0.25}, None),
    ({"weigh": lambda s: s.sigmoid()}, None),
    ({"weigh": lambda s: s.exp() / (1 + s.exp().sum(-1, keepdim=True))}, None),
]

sdpa = F.scaled_dot_product_attention
WHOLE_HEADS = [
    (bert, "a query that may see nothing keeps the weights it had without a mask"),
    (scaled_late, "scaled after the softmax"),
    (exp_only, "softmax without its denominator"),
    (not_in_place, "mask ignored"),
    (
        lambda q, k, v, m: sdpa(q, k, v, m, scale=q.size(-2) ** -0.5),
        "scaled by the number of queries",
    ),
    (lambda q, k, v, m: sdpa(q, k, v, m, scale=len(q[0]) ** -0.5), "scaled by the size of axis 1"),
    (
        lambda q, k, v, m: sdpa(q, k, v, is_causal=True),
        "the future hidden instead of what the mask hides",
    ),
    (lambda q, k, v, m: sdpa(q, k, v, tril_like(m, q, k)), "the future hidden as well"),
    (
        lambda q, k, v, m: sdpa(q, k, v, None if m is None else m.double()),
        "mask of 0 and 1 added to the scores",
    ),
    (
        lambda q, k, v, m: sdpa(q, k, v, None if m is None else (~m).double()),
        "mask upside down + mask of 0 and 1 added to the scores",
    ),
    (lambda q, k, v, m: sdpa(q, k, k, m), "the keys are averaged instead of the values"),
    (
        lambda q, k, v, m: sdpa(q, k.reshape(*k.shape[:-2], k.shape[-1], -1).mT, v, m),
        "key reshaped instead of transposed",
    ),
    (lambda q, k, v, m: q @ (k.mT @ v) / q.size(-1) ** 0.5, "no softmax + mask ignored"),
    (lambda q, k, v, m: (q @ k.mT / q.size(-1) ** 0.5 @ v).softmax(-1), None),
    (lambda q, k, v, m: v.mean(-2, True).expand(*q.shape[:-1], -1), None),
    (lambda q, k, v, m: sdpa(q, k, v, m) + 1e-4, None),
]


def open_words(lengths, n, *, more=0, front=False, inverted=False):
    rows = [[(n - 1 - j if front else j) < length + more for j in range(n)] for length in lengths]
    return torch.tensor(rows) ^ inverted


PADDINGS = [
    ({"more": 1, "inverted": True}, "mask upside down + one word too many"),
    ({"more": -1, "inverted": True}, "mask upside down + one word too few"),
    ({"front": True, "inverted": True}, "mask upside down + padding at the start"),
    ({"front": True, "more": 1}, "one word too many + padding at the start"),
    (
        {"front": True, "more": -1, "inverted": True},
        "mask upside down + one word too few + padding at the start",
    ),
]

WHOLE_PADDINGS = [
    (
        lambda lengths, n: (torch.arange(n) < lengths.max()).repeat(len(lengths), 1),
        "one length for all sequences",
    ),
    (
        lambda lengths, n: (torch.arange(n) > lengths[:, None]).int(),
        "mask upside down + one word too many + integers 0 and 1 instead of booleans",
    ),
    (lambda lengths, n: (torch.arange(n) < lengths[:, None])[:, None, None], None),
    (lambda lengths, n: (torch.arange(n) < lengths[:, None])[..., None], None),
    (lambda lengths, n: (torch.arange(n) < lengths[:, None])[:, None].expand(-1, n, -1), None),
    (lambda lengths, n: (torch.arange(n) < lengths.max())[None], None),
    (lambda lengths, n: torch.arange(n) < lengths.clamp(min=1)[:, None], None),
]


# 03


SPLITS = [
    (
        lambda x, h: x.transpose(1, 2).reshape(len(x), h, x.shape[1], -1),
        "transposed before the features are cut",
    ),
    (lambda x, h: torch.stack([x[..., i::h] for i in range(h)], 1), "features dealt out in turn"),
    (lambda x, h: x.unflatten(-1, (h, -1)).permute(2, 0, 1, 3), "heads before the batch"),
    (lambda x, h: torch.stack(x.chunk(h, -1), 1).flatten(0, 1), None),
    (
        lambda x, h: x[..., : x.shape[-1] // h].unsqueeze(1).expand(-1, h, -1, -1),
        None,
    ),  # head 0 alone
    (lambda x, h: torch.stack(x.chunk(h, -1)[::-1], 1), None),
    (lambda x, h: x[:1].unflatten(-1, (h, -1)).transpose(1, 2).expand(len(x), -1, -1, -1), None),
]

MERGES = [
    (
        lambda x: x.transpose(2, 3).reshape(len(x), x.shape[2], -1),
        "words exchanged with features instead of heads",
    ),
    (lambda x: torch.stack(list(x.unbind(1)), -1).flatten(2), "heads interleaved"),
    (
        lambda x: torch.cat(list(x.unbind(1)), 1),
        "heads laid one after the other along the sequence",
    ),
    (lambda x: x.mean(1).repeat(1, 1, x.shape[1]), None),
    (lambda x: torch.cat(list(x.flip(1).unbind(1)), -1), None),
]


def several(x, wq, wk, wv, wo, h, *, cut="words", join="words", root=None, dim=-1, use="qkv"):
    """Head by head in loops, so that nothing is shared with the reference."""
    batch, n, d = x.shape
    q, k, v = ({"q": x @ wq, "k": x @ wk, "v": x @ wv, "x": x}[name] for name in use)

    def piece(y, i):
        if cut == "memory":
            return y.contiguous().view(batch, h, n, d // h)[:, i]
        return y[..., i::h] if cut == "turns" else y.chunk(h, -1)[i]

    s = torch.stack([piece(q, i) @ piece(k, i).mT for i in range(h)], 1)
    w = (s / (root(d, h) if root else (d / h) ** 0.5)).softmax(dim)
    parts = torch.stack([w[:, i] @ piece(v, i) for i in range(h)], 1)
    if join == "memory":
        return parts.reshape(batch, n, d) @ wo
    return (torch.cat if join == "words" else interleave)(list(parts.unbind(1)), -1) @ wo


def interleave(parts, dim):
    return torch.stack(parts, dim).flatten(-2)


def of_torch(x, wq, wk, wv, wo, h, *, turned=True, **options):
    module = torch.nn.MultiheadAttention(x.shape[-1], h, bias=False, dtype=x.dtype, **options)
    ours = [w.T if turned else w for w in (wq, wk, wv, wo)]
    module.in_proj_weight.data, module.out_proj.weight.data = torch.cat(ours[:3]), ours[3]
    return module(x, x, x, need_weights=False)[0]


def with_linear_layers(x, wq, wk, wv, wo, h):
    return several(x, wq.T, wk.T, wv.T, wo, h)


def like_gpt(x, wq, wk, wv, wo, h):
    q, k, v = (y.view(*x.shape[:2], h, -1).transpose(1, 2) for y in (x @ wq, x @ wk, x @ wv))
    y = sdpa(q, k, v, is_causal=True)
    return y.transpose(1, 2).contiguous().view(x.shape) @ wo


WIDE = {"root": lambda d, h: d**0.5}
NO_ROOT = {"root": lambda d, h: 1}
SEVERAL = [
    ({"cut": "turns"}, "features dealt out in turn"),
    ({"join": "turns"}, "heads interleaved"),
    ({"cut": "turns", "join": "turns"}, "features dealt out in turn + heads interleaved"),
    ({"root": lambda d, h: h**0.5}, "scaled by the number of heads"),
    ({"dim": 0}, "softmax over the batch"),
    ({"use": "kqv"}, "queries and keys exchanged"),
    ({"use": "qqv"}, "keys projected with w_query"),
    ({"use": "qkk"}, "the keys are averaged instead of the values"),
    ({"use": "qkx"}, "values not projected"),
    ({"use": "xxx"}, "nothing projected but the output"),
    (dict(cut="memory", **NO_ROOT), "view instead of transpose + not scaled"),
    (
        dict(cut="memory", join="memory", **WIDE),
        "view instead of transpose + merged without transposing back + scaled by √d_model",
    ),
    ({"join": "memory", "dim": -2}, "merged without transposing back + softmax over the queries"),
    (
        {"join": "memory", "use": "kqv"},
        "merged without transposing back + queries and keys exchanged",
    ),
    (dict(cut="turns", **WIDE), "features dealt out in turn + scaled by √d_model"),
    (
        dict(join="turns", dim=-2, **NO_ROOT),
        "heads interleaved + not scaled + softmax over the queries",
    ),
    ({"use": "qvk"}, None),
    ({"use": "vkq"}, None),
]

WHOLE_SEVERAL = [
    (functools.partial(of_torch, batch_first=False), "batch taken for the sequence"),
    (functools.partial(of_torch, batch_first=True, turned=False), "weights transposed"),
    (with_linear_layers, "w_query, w_key and w_value transposed"),
    (like_gpt, "the future hidden"),
    (lambda x, wq, wk, wv, wo, h: several(x, wq, wk, wv, wo.T, h), "w_out transposed"),
    (
        lambda x, wq, wk, wv, wo, h: several(x, wq, wk, wv, torch.eye(len(wo)).to(wo), h),
        "no output projection",
    ),
    (lambda x, wq, wk, wv, wo, h: sdpa(x @ wq, x @ wk, x @ wv) @ wo, "one head only"),
    # One head could be explained by "attention across heads": every word would see itself alone.
    (lambda x, wq, wk, wv, wo, h: x @ wv @ wo, None),
    (lambda x, wq, wk, wv, wo, h: x @ wo, None),
    (lambda x, wq, wk, wv, wo, h: several(x[:1], wq, wk, wv, wo, h).expand_as(x), None),
]


# 04


def table(
    n, d, *, start=0, rate=lambda j, d: 10000 ** (-(j - j % 2) / d), wave=(math.sin, math.cos)
):
    rows = [[wave[j % 2](p * rate(j, d)) for j in range(d)] for p in range(start, n + start)]
    return torch.tensor(rows, dtype=torch.float64)


TABLES = [
    ({"rate": lambda j, d: 10000 ** (-(j - j % 2) / (d + d % 2))}, "an odd d_model rounded up"),
    ({"rate": lambda j, d: 10000 ** (-(j - j % 2) / (d - d % 2))}, "an odd d_model rounded down"),
    (
        {"rate": lambda j, d: 10000 ** (-2 * j / d)},
        "the 2 in the exponent taken twice + each feature with a frequency of its own",
    ),
    (
        {"start": 1, "wave": (math.cos, math.sin)},
        "sine and cosine exchanged + positions counted from 1",
    ),
    (
        {"rate": lambda j, d: 10000 ** (-(j // 2) / d), "start": 1},
        "the 2 in the exponent left out + positions counted from 1",
    ),
    ({"rate": lambda j, d: 10000 ** (-(j - j % 2) / 512)}, None),
    ({"rate": lambda j, d: 1000 ** (-(j - j % 2) / d)}, None),
    ({"start": -1}, None),
]


def last_column_empty(n, d):
    full = table(n, d)
    full[:, d - d % 2 :] = 0
    return full


def normed(x, gain, bias, *, unbiased=False, eps=1e-5, outside=False, dim=-1):
    mean, std = x.mean(dim, keepdim=True), x.var(dim, unbiased, keepdim=True).sqrt()
    root = std + eps if outside else torch.hypot(std, torch.tensor(eps).double().sqrt())
    return (x - mean) / root * gain + bias


NORMS = [
    ({"eps": 1e-3}, "ε of 1e-3"),
    ({"eps": 1e-8}, "ε of 1e-8"),
    (
        {"outside": True, "unbiased": True, "eps": 1e-6},
        "variance divided by d - 1 + ε outside the root + ε of 1e-6",
    ),
    ({"outside": True, "eps": 1e-6}, "ε outside the root + ε of 1e-6"),
    ({"dim": 1}, "normalised over axis 1"),
    ({"dim": (-2, -1)}, "normalised over a whole sentence"),
    ({"dim": -2, "unbiased": True}, "variance divided by d - 1 + normalised over the words"),
    ({"eps": 1e-4}, None),
]

WHOLE_NORMS = [
    (
        lambda x, g, b: F.layer_norm(x, x.shape[-2:]) * g + b if x.ndim > 1 else x,
        "normalised over a whole sentence",
    ),
    (lambda x, g, b: (x - x.mean(-1, keepdim=True)) * g + b, "only the mean taken away"),
    (
        lambda x, g, b: (
            (x - x.mean(-1, True)) / x.std(-1, correction=0, keepdim=True).clamp(1e-5) * g + b
        ),
        "ε as the smallest divisor",
    ),
    (
        lambda x, g, b: F.rms_norm(x, x.shape[-1:], g, eps=1e-6),
        "ε of 1e-6 + root mean square instead of the variance + bias left out",
    ),
    (lambda x, g, b: x * g + b, None),
    (lambda x, g, b: F.layer_norm(x, x.shape[-1:], g, b) + b, None),
    (lambda x, g, b: F.normalize(x - x.mean(-1, keepdim=True), dim=-1) * g + b, None),
]


def angles(x, each=2):
    d = x.shape[-1]
    return torch.arange(x.shape[-2])[:, None] / 10000 ** (torch.arange(0, d, each).double() / d)


def turned_in_place(x):
    y, a = x.clone(), angles(x)
    y[..., 0::2] = y[..., 0::2] * a.cos() - y[..., 1::2] * a.sin()
    y[..., 1::2] = y[..., 0::2] * a.sin() + y[..., 1::2] * a.cos()
    return y


def each_its_own(x):
    a = angles(x, each=1)
    crossed = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return x * a.cos() + crossed * a.sin()


def halves_laid_out_in_turn(x):
    (u, v), a = x.chunk(2, -1), angles(x)
    return torch.stack([u * a.cos() - v * a.sin(), u * a.sin() + v * a.cos()], -1).flatten(-2)


ROTATIONS = [
    (turned_in_place, "first feature overwritten before the second is turned"),
    (each_its_own, "each feature with an angle of its own"),
    (halves_laid_out_in_turn, "pairs taken as halves, put back as neighbours"),
    (lambda x: x * angles(x, each=1).cos(), None),
    (lambda x: exercise("04.rotary").reference(x / 2), None),
    (lambda x: exercise("04.rotary").reference(x.flip(-2)).flip(-2), None),
]


def _with(function, options):
    return lambda *arguments: function(*arguments, **options)


WRONG = [
    *(("01.path_length", *row) for row in PATHS),
    *(("01.gradient_decay", *row) for row in DECAYS),
    *(("02.scores", *row) for row in SCORES),
    *(
        ("02.attention_weights", _with(lambda q, k, m, **o: head(q, k, None, m, **o), o), name)
        for o, name in HEADS
    ),
    *(("02.scaled_dot_product_attention", _with(head, o), name) for o, name in HEADS),
    *(("02.scaled_dot_product_attention", *row) for row in WHOLE_HEADS),
    *(("02.padding_mask", _with(open_words, o), name) for o, name in PADDINGS),
    *(("02.padding_mask", *row) for row in WHOLE_PADDINGS),
    *(("03.split_heads", *row) for row in SPLITS),
    *(("03.merge_heads", *row) for row in MERGES),
    *(("03.multi_head_attention", _with(several, o), name) for o, name in SEVERAL),
    *(("03.multi_head_attention", *row) for row in WHOLE_SEVERAL),
    *(("04.sinusoidal_positions", _with(table, o), name) for o, name in TABLES),
    ("04.sinusoidal_positions", last_column_empty, "the last sine left out"),
    *(("04.layer_norm", _with(normed, o), name) for o, name in NORMS),
    *(("04.layer_norm", *row) for row in WHOLE_NORMS),
    *(("04.rotary", *row) for row in ROTATIONS),
]


@pytest.mark.parametrize(("name", "answer", "misconception"), WRONG)
def test_a_wrong_answer_gets_its_own_name_or_none(name, answer, misconception):
    for draw in (0, 1):
        result = examine(exercise(name), answer, draw)
        assert not result.passed
        assert result.misconception == misconception, result


def renormalised(q, k, m):
    w = sdpa(q, k, torch.eye(k.shape[-2]).to(k).expand(*k.shape[:-2], -1, -1))
    w = w if m is None else w * m
    return w / (w.sum(-1, keepdim=True) + 1e-12)


def row_by_row(q, k, v, m):
    rows = []
    for i in range(q.shape[-2]):
        seen = None if m is None else m[..., min(i, m.shape[-2] - 1), None, :]
        rows.append(sdpa(q[..., i : i + 1, :], k, v, seen))
    return torch.cat(rows, dim=-2)


def each_sentence(x, wq, wk, wv, wo, h):
    return torch.vmap(lambda y: several(y[None], wq, wk, wv, wo, h)[0])(x)


def slices_of_w_out(x, wq, wk, wv, wo, h):
    total = 0
    for part in torch.arange(x.shape[-1]).chunk(h):
        scores = x @ wq[:, part] @ (x @ wk[:, part]).mT / len(part) ** 0.5
        total = total + scores.softmax(-1) @ x @ wv[:, part] @ wo[part]
    return total


def in_dtype(function, dtype):
    def answer(*arguments):
        return function(
            *(a.to(dtype) if torch.is_tensor(a) and a.is_floating_point() else a for a in arguments)
        )

    return answer


def turned_by_matrices(x):
    a = angles(x)
    turn = torch.stack([a.cos(), -a.sin(), a.sin(), a.cos()], -1).unflatten(-1, (2, 2))
    return torch.einsum("npij,...npj->...npi", turn, x.unflatten(-1, (-1, 2))).flatten(-2)


def turned_as_halves_between_two_orders(x):
    d = x.shape[-1]
    y = torch.cat([x[..., 0::2], x[..., 1::2]], -1)
    a = torch.cat([angles(x)] * 2, -1)
    y = y * a.cos() + torch.cat([-y[..., d // 2 :], y[..., : d // 2]], -1) * a.sin()
    return y[..., torch.arange(d).view(2, -1).T.flatten()]


RIGHT = [
    ("01.path_length", steps(cnn="-(-(n - 1) // (window - 1))")),
    ("01.path_length", steps(cnn="(n + window - 3) // (window - 1)")),
    ("01.path_length", lambda n, kind="rnn", window=3: float(steps()(n, kind, window))),
    ("01.path_length", lambda *arguments: np.array(steps()(*arguments))),
    ("01.gradient_decay", lambda g: math.exp((math.log(g[-1]) - math.log(g[0])) / (len(g) - 1))),
    ("01.gradient_decay", lambda g: (g[-1].float() / g[0].float()) ** (1 / (g.numel() - 1))),
    ("01.gradient_decay", lambda g: np.float32(g[-1] / g[0]) ** np.float32(1 / (len(g) - 1))),
    ("02.scores", lambda q, k: torch.stack([(k @ x[..., None])[..., 0] for x in q.unbind(-2)], -2)),
    ("02.scores", lambda q, k: (k @ q.mT).mT),  # not contiguous
    (
        "02.scores",
        lambda *both: torch.from_numpy(both[0].numpy() @ both[1].numpy().swapaxes(-1, -2)),
    ),
    ("02.scores", in_dtype(product, torch.float16)),
    ("02.scores", functools.partial(torch.einsum, "...id,...jd->...ij")),
    ("02.attention_weights", renormalised),
    (
        "02.attention_weights",
        lambda q, k, m: head(
            q / q.shape[-1] ** 0.25, k / q.shape[-1] ** 0.25, None, m, root=lambda d, n: 1
        ),
    ),
    ("02.attention_weights", in_dtype(lambda q, k, m: head(q, k, None, m), torch.bfloat16)),
    ("02.scaled_dot_product_attention", row_by_row),
    ("02.scaled_dot_product_attention", in_dtype(head, torch.float16)),
    ("02.padding_mask", torch.vmap(lambda length, n: torch.arange(n) < length, (0, None))),
    (
        "02.padding_mask",
        lambda lengths, n: torch.ones(n + 1, n, dtype=torch.bool).tril(-1)[lengths],
    ),
    (
        "02.padding_mask",
        lambda lengths, n: torch.ones(len(lengths), n).cumsum(1) <= lengths[:, None],
    ),
    ("02.padding_mask", open_words),
    (
        "03.split_heads",
        lambda x, h: x.unfold(-1, x.shape[-1] // h, x.shape[-1] // h).transpose(1, 2),
    ),
    ("03.split_heads", lambda x, h: x.mT.reshape(len(x), h, -1, x.shape[1]).mT),
    ("03.split_heads", lambda x, h: torch.from_numpy(np.stack(np.split(x.numpy(), h, -1), 1))),
    ("03.merge_heads", lambda x: torch.einsum("bhnd->bnhd", x).flatten(2).float()),
    ("03.merge_heads", lambda x: x.mT.reshape(len(x), -1, x.shape[2]).mT),
    ("03.multi_head_attention", several),
    ("03.multi_head_attention", each_sentence),
    ("03.multi_head_attention", slices_of_w_out),
    ("03.multi_head_attention", functools.partial(of_torch, batch_first=True)),
    ("03.multi_head_attention", in_dtype(several, torch.bfloat16)),
    ("04.sinusoidal_positions", table),
    (
        "04.sinusoidal_positions",
        lambda n, d: torch.sin(
            torch.arange(n)[:, None] / 10000 ** ((torch.arange(d) // 2 * 2) / d)
            + torch.arange(d) % 2 * math.pi / 2
        ),
    ),
    ("04.layer_norm", normed),
    (
        "04.layer_norm",
        lambda x, g, b: F.rms_norm(x - x.mean(-1, keepdim=True), x.shape[-1:], g, 1e-5) + b,
    ),
    ("04.layer_norm", in_dtype(lambda x, g, b: F.layer_norm(x, g.shape, g, b), torch.bfloat16)),
    ("04.layer_norm", lambda x, g, b: F.group_norm(x.reshape(-1, x.shape[-1]), 1, g, b).view_as(x)),
    ("04.rotary", turned_by_matrices),
    ("04.rotary", turned_as_halves_between_two_orders),
    ("04.rotary", lambda x: turned_by_matrices(x).bfloat16()),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_a_right_answer_passes_in_any_style(name, answer):
    for draw in range(3):
        result = examine(exercise(name), answer, draw)
        assert result.passed, result


def narrow(function):
    """Single precision on the way, double precision in the end."""
    return lambda *arguments: in_dtype(function, torch.float32)(*arguments).double()


def angles_in_float32(x):
    turn = torch.polar(torch.ones(x.shape[-2], x.shape[-1] // 2), angles(x).float())
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn).flatten(-2)


@pytest.mark.parametrize(
    ("name", "answer", "misconception"),
    [
        ("02.attention_weights", narrow(lambda q, k, m: head(q, k, None, m)), None),
        ("02.scaled_dot_product_attention", narrow(not_in_place), "mask ignored"),
        ("02.scaled_dot_product_attention", narrow(head), None),
        ("03.multi_head_attention", narrow(several), None),
        ("03.multi_head_attention", narrow(like_gpt), "the future hidden"),
        ("04.layer_norm", narrow(normed), None),
        ("04.layer_norm", lambda x, g, b: F.layer_norm(x.float(), g.shape) * g + b, None),
        ("04.layer_norm", narrow(lambda *a: normed(*a, eps=1e-3)), "ε of 1e-3"),
        ("04.layer_norm", narrow(lambda *a: normed(*a, dim=1)), "normalised over axis 1"),
        ("04.rotary", angles_in_float32, None),
        ("04.rotary", narrow(each_its_own), "each feature with an angle of its own"),
    ],
)
def test_single_precision_on_the_way_is_judged_like_double(name, answer, misconception):
    for draw in range(3):
        result = examine(exercise(name), answer, draw)
        assert result.misconception == misconception, result
        assert result.passed == (misconception is None)


def test_single_precision_is_no_excuse_where_an_answer_fails():
    def fails_with_a_mask(query, key, value, mask):
        return narrow(head)(query, key, value, mask) if mask is None else 1 / 0

    result = check("02.scaled_dot_product_attention", fails_with_a_mask)
    assert result.status == "form"
    assert "ZeroDivisionError" in result.message
    assert "It is right for: 2 queries, 3 keys, no mask" in result.message


# Nonsense: made of the right answer, wrong in its form or right for part of the inputs.

BAD_FORMS = {
    "an axis more": lambda y: y[None],
    "an axis of 1 at the end": lambda y: y[..., None],
    "one row for all": lambda y: y[..., :1, :] if y.ndim > 1 else y[None],
    "complex": lambda y: y + 0j,
    "list": lambda y: y.tolist(),
    "numpy": lambda y: y.numpy(),
    "generator": lambda y: iter(y),
    "NaN everywhere": lambda y: y * math.nan,
    "infinite": lambda y: y + math.inf,
    "string": lambda y: "y",
}


@EACH
@pytest.mark.parametrize("change", BAD_FORMS.values(), ids=BAD_FORMS)
def test_a_wrong_form_never_passes_and_says_what_it_is(one, change):
    def answer(*arguments):
        value = torch.as_tensor(one.reference(*arguments))
        return change(value if value.ndim else value[None])

    result = check(one.id, answer)
    assert result.status in ("form", "wrong")
    assert "differ" in result.message or result.status == "form"


@EACH
def test_right_for_the_first_case_alone_is_not_right(one):
    """By the sizes of the first case, and for a batch of one."""
    first = [getattr(x, "shape", x) for x in one.cases()[0].arguments]

    def by_size(*arguments):
        value = one.reference(*arguments)
        known = [getattr(x, "shape", x) for x in arguments] == first
        return value if known else (value * 0 if torch.is_tensor(value) else 0)

    result = check(one.id, by_size)
    assert not result.passed
    assert one.cases()[0].note in result.message or result.misconception


@EACH
def test_a_tensor_that_is_changed_in_place_is_named(one):
    names = [name for name, x in zip(one.arguments, one.cases()[0].arguments) if torch.is_tensor(x)]

    def answer(*arguments):
        value = one.reference(*arguments)
        for x in filter(torch.is_tensor, arguments):
            x.add_(1)
        return value

    result = check(one.id, answer)
    if names:
        assert f"changed its input `{names[0]}`" in result.message
    else:
        assert result.passed


def test_what_is_right_for_some_inputs_says_for_which_when_it_fails_too():
    result = check("02.scores", lambda q, k: q @ k.T)  # with a batch, .T turns all the axes
    assert result.status == "form"
    assert "It is right for: 2 queries, 3 keys" in result.message


def test_what_failed_is_told_where_the_numbers_have_no_name():
    def no_axis_kept(x, gain, bias):  # runs for a single word alone
        return gain * (x - x.mean(-1)) / (x.std(-1) + 1e-5) + bias

    result = check("04.layer_norm", no_axis_kept)
    assert not result.passed
    assert "Besides: It raised RuntimeError: The size of tensor" in result.message


def test_randomness_is_seen_in_the_largest_case():
    def answer(query, key, mask):
        weights = 1.5 * head(query, key, None, mask)
        return weights + torch.rand(()) if query.ndim == 4 else weights

    assert "Is something random in it?" in check("02.attention_weights", answer).message
