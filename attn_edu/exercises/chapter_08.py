"""Exercises of chapter 08: attention without the softmax."""

import math

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal


def _elu_plus_one(x):
    return torch.nn.functional.elu(x) + 1


def _same(x):
    return x


def _coarse(answer):
    """In float32: a guard of 1e-6 in the denominator, as in many listings, is no mistake."""
    return answer.float() if answer.dtype == torch.float64 else answer


def _features(map_query, map_key=None):
    return {"features": (map_query, map_key or map_query)}


# What both exercises let go wrong with the features; the rest of each is its own.

_FEATURES = (
    Misconception(
        "no feature map",
        "A dot product may be negative, and weights may not. Both sides go through elu(x) + 1 "
        "first, which is never negative.",
        _features(_same),
    ),
    Misconception(
        "feature map on the queries only",
        "The keys go through elu(x) + 1 as well; otherwise weights may be negative.",
        _features(_elu_plus_one, _same),
    ),
    Misconception(
        "feature map on the keys only",
        "The queries go through elu(x) + 1 as well; otherwise weights may be negative.",
        _features(_same, _elu_plus_one),
    ),
    Misconception(
        "elu without the 1",
        "elu(x) goes down to −1. The 1 lifts it above 0.",
        _features(torch.nn.functional.elu),
    ),
    Misconception(
        "the 1 added inside of elu",
        "elu(x + 1) goes down to −1. The 1 is added to what comes out: elu(x) + 1.",
        _features(lambda x: torch.nn.functional.elu(x + 1)),
    ),
    Misconception(
        "exp below 0, and x above it",
        "Above 0, elu(x) + 1 is x + 1, so that it goes on from 1, where exp(x) ends.",
        _features(lambda x: torch.where(x > 0, x, x.exp())),
    ),
    Misconception(
        "the 1 added above 0 only",
        "Below 0, elu(x) is exp(x) − 1, so elu(x) + 1 is exp(x): never negative.",
        _features(lambda x: torch.where(x > 0, x + 1, x.exp() - 1)),
    ),
    Misconception(
        "relu as the feature map",
        "relu is 0 for every negative number: a query with only negative numbers then sees "
        "nothing, and nothing there can learn. Here the map is elu(x) + 1.",
        _features(torch.relu),
    ),
    Misconception(
        "relu plus 1 as the feature map",
        "relu(x) + 1 is 1 for every negative number, however far below 0. Here the map is "
        "elu(x) + 1, which goes on falling there.",
        _features(lambda x: torch.relu(x) + 1),
    ),
    Misconception(
        "softplus as the feature map",
        "softplus is another feature map, and a legal one. Here it is elu(x) + 1.",
        _features(torch.nn.functional.softplus),
    ),
    Misconception(
        "sigmoid as the feature map",
        "A sigmoid never exceeds 1, so no feature can stand out. Here the map is elu(x) + 1.",
        _features(torch.sigmoid),
    ),
    Misconception(
        "exp as the feature map",
        "exp(x) is another feature map, and a legal one. Here it is elu(x) + 1, which above 0 "
        "grows like x.",
        _features(torch.exp),
    ),
    Misconception(
        "softmax over the features",
        "Shen et al. (2021) do that with the queries. Here each number by itself goes through "
        "elu(x) + 1.",
        _features(lambda x: x.softmax(dim=-1)),
    ),
    Misconception(
        "divided by √d",
        "The √d belongs to the scores of the softmax. Here the row is divided by its own sum, "
        "and no other scale is asked for.",
        {"scale": lambda d: (1 / math.sqrt(d), 1.0)},
    ),
    Misconception(
        "queries and keys divided by √d",
        "The √d belongs to the scores of the softmax. Here the row is divided by its own sum, "
        "and no other scale is asked for.",
        {"scale": lambda d: (1 / math.sqrt(d), 1 / math.sqrt(d))},
    ),
    Misconception(
        "queries and keys divided by the fourth root of d",
        "The Performer does that, to estimate a softmax with its √d. Here the row is divided by "
        "its own sum, and no other scale is asked for.",
        {"scale": lambda d: (d**-0.25, d**-0.25)},
    ),
    Misconception(
        "values through the feature map",
        "Only queries and keys make weights. What is averaged is the value itself.",
        {"values": _elu_plus_one},
    ),
)


# 08.linear_attention


def linear_attention(query, key, value):
    query = torch.nn.functional.elu(query) + 1  # (…, n_query, d), all above 0
    key = torch.nn.functional.elu(key) + 1  # (…, n_key, d)
    state = key.mT @ value  # (…, d, d_value), no axis of words left
    total = key.sum(dim=-2).unsqueeze(-1)  # (…, d, 1)
    return (query @ state) / (query @ total)  # (…, n_query, d_value)


def _by_row(weights):
    return weights / weights.sum(dim=-1, keepdim=True)


def _linear(
    query,
    key,
    value,
    *,
    features=(_elu_plus_one, _elu_plus_one),
    scale=lambda d: (1.0, 1.0),
    scores=lambda d: 1.0,
    divide=_by_row,
    values=_same,
    total=None,
):
    on_query, on_key = scale(query.shape[-1])
    queries, keys = features[0](query * on_query), features[1](key * on_key)
    weights = queries @ keys.mT * scores(query.shape[-1])  # (…, n_query, n_key)
    if total is not None:  # in place of the sum of the row
        return weights @ values(value) / total(queries, keys, query, key)
    return divide(weights) @ values(value)


def _product(queries, total):
    return queries @ total.unsqueeze(-1)  # (…, n_query, d), (…, d) -> (…, n_query, 1)


def _softmax_attention(weights):
    return weights.softmax(dim=-1)


LINEAR_ATTENTION = Exercise(
    id="08.linear_attention",
    title="Linear attention",
    statement=(
        "`query` (…, n_query, d), `key` (…, n_key, d), `value` (…, n_key, d_value): the weight of "
        "a key is φ(query) · φ(key) with φ(x) = elu(x) + 1, divided by the sum of its row. Every "
        "query sees every key. Return (…, n_query, d_value). It can be done without a matrix of "
        "n_query × n_key."
    ),
    starter=(
        "def linear_attention(query, key, value):\n"
        "    # (…, n_query, d), (…, n_key, d), (…, n_key, d_value) -> (…, n_query, d_value)\n"
        "    ...  # your code here\n"
    ),
    reference=linear_attention,
    why=(
        "Multiply keys and values first: φ(K)ᵀ V is a d × d_value matrix for any number of words. "
        "The sum of a row is a product as well, φ(query) · Σ φ(key), so the denominator costs one "
        "vector more."
    ),
    model=_linear,
    normal_form=_coarse,
    cases=lambda: [
        Case(
            (
                torch.tensor([[1.0, -1.0], [-2.0, 0.5]], dtype=torch.float64),
                torch.tensor([[1.0, 0.0], [-1.0, 2.0], [1.0, -1.5]], dtype=torch.float64),
                torch.tensor([[0.0], [10.0], [5.0]], dtype=torch.float64),
            ),
            "2 queries, 3 words, d = 2",
        ),
        Case(
            (normal(2, 5, 4, seed=1), normal(2, 7, 4, seed=2), normal(2, 7, 6, seed=3)),
            "2 sentences, 5 queries, 7 words",
        ),
        Case(
            (normal(2, 3, 5, 4, seed=4), normal(2, 3, 7, 4, seed=5), normal(2, 3, 7, 6, seed=6)),
            "2 sentences with 3 heads",
        ),
        Case(
            (normal(3, 1, 2, seed=7), normal(3, 4, 2, seed=8), normal(3, 4, 5, seed=9)),
            "one query alone",
        ),
    ],
    misconceptions=(
        Misconception(
            "no denominator",
            "The weights of a row must sum to 1. Without the division the output grows with the "
            "number of words.",
            {"divide": _same},
        ),
        Misconception(
            "divided by the number of keys",
            "The mean is not the denominator: a query with large features needs a larger one. "
            "Divide by the sum of the row.",
            {"divide": lambda weights: weights / weights.shape[-1]},
        ),
        Misconception(
            "feature map on the sum of the keys",
            "φ(k₁) + φ(k₂) is not φ(k₁ + k₂): first the features of each key, then their sum.",
            {
                "total": lambda queries, keys, query, key: _product(
                    queries, _elu_plus_one(key.sum(dim=-2))
                )
            },
        ),
        Misconception(
            "denominator without the feature map",
            "The denominator is the sum of the weights, and the weights are made of φ(key): the "
            "keys are summed as features here as well.",
            {"total": lambda queries, keys, query, key: _product(queries, key.sum(dim=-2))},
        ),
        Misconception(
            "denominator of raw queries and keys",
            "The denominator is the sum of the weights, and the weights are made of φ(query) and "
            "φ(key): both go through the feature map here as well.",
            {"total": lambda queries, keys, query, key: _product(query, key.sum(dim=-2))},
        ),
        Misconception(
            "mean of the keys in the denominator",
            "The mean is the sum divided by the number of keys, so the weights of a row sum to "
            "that number instead of 1. Take the sum.",
            {"total": lambda queries, keys, query, key: _product(queries, keys.mean(dim=-2))},
        ),
        Misconception(
            "√d in place of the denominator",
            "A fixed number is not the denominator: each row is divided by its own sum.",
            {"total": lambda queries, keys, query, key: math.sqrt(query.shape[-1])},
        ),
        Misconception(
            "a number added to the denominator",
            "Features of elu(x) + 1 are above 0, and so is their sum: there is nothing to guard "
            "against. 1e-3 is large enough to be seen in the output.",
            {
                "divide": lambda weights: weights / (weights.sum(dim=-1, keepdim=True) + 1e-3),
                **_features(_elu_plus_one),  # too small to be seen beside another feature map
            },
        ),
        Misconception(
            "only the keys before are seen",
            "Here every query sees every key. The causal form is the next exercise.",
            {"divide": lambda weights: _by_row(weights.tril())},
        ),
        Misconception(
            "feature map on the scores",
            "φ(query · key) cannot be taken apart again, so every score would be needed. Query "
            "and key go through the map each by itself, before the product.",
            {
                **_features(_same),
                "divide": lambda weights: _by_row(_elu_plus_one(weights)),
            },
        ),
        Misconception(
            "each key shares itself out among the queries",
            "The sum runs over the keys of a row: the rows must sum to 1, and here the columns do.",
            {"divide": lambda weights: weights / weights.sum(dim=-2, keepdim=True)},
        ),
        Misconception(
            "sum over axis 1",
            "`dim=1` is the axis of the keys only as long as there are no leading axes. Counted "
            "from the end it is always `dim=-1`.",
            {"divide": lambda weights: weights / weights.sum(dim=1, keepdim=True)},
        ),
        Misconception(
            "all weights together sum to 1",
            "Each row by itself sums to 1.",
            {"divide": lambda weights: weights / weights.sum(dim=(-2, -1), keepdim=True)},
        ),
        Misconception(
            "softmax of the products",
            "The features take the place of the softmax. Divide by the sum of the row, and no exp.",
            {"divide": _softmax_attention},
        ),
        Misconception(
            "softmax attention of the features",
            "The features take the place of the softmax. Divide by the sum of the row, and no exp.",
            {"divide": _softmax_attention, "scores": lambda d: 1 / math.sqrt(d)},
        ),
        Misconception(
            "softmax attention",
            "That is the attention of chapter 02, with the n × n matrix. Here φ(query) · φ(key) "
            "takes the place of exp(query · key).",
            {
                **_features(_same),
                "divide": _softmax_attention,
                "scale": lambda d: (1 / math.sqrt(d), 1.0),
            },
        ),
        Misconception(
            "a softmax on each side",
            "That is the efficient attention of Shen et al. (2021). Here each number of query and "
            "key by itself goes through elu(x) + 1, and the row is divided by its sum.",
            _features(lambda q: q.softmax(dim=-1), lambda k: k.softmax(dim=-2)),
        ),
        *_FEATURES,
    ),
    hints=(
        "Which of the two products can be done first, so that no axis of words is left?",
        "φ(K)ᵀ V is (d, d_value). For the denominator, put a column of ones in place of V.",
        "`(q @ (k.mT @ value)) / (q @ k.sum(dim=-2).unsqueeze(-1))`, with q and k as features.",
    ),
    minutes=8,
    difficulty=2,
)


# 08.causal_linear_attention


def causal_linear_attention(query, key, value):
    query = torch.nn.functional.elu(query) + 1  # (…, n, d)
    key = torch.nn.functional.elu(key) + 1  # (…, n, d)
    state = torch.zeros_like(key[..., 0, :, None] * value[..., 0, None, :])  # (…, d, d_value)
    total = torch.zeros_like(key[..., 0, :])  # (…, d)
    outputs = []
    for t in range(query.shape[-2]):
        k, v, q = key[..., t, :], value[..., t, :], query[..., t, :]
        state = state + k[..., :, None] * v[..., None, :]  # (…, d, d_value)
        total = total + k
        found = (q[..., None, :] @ state).squeeze(-2)  # (…, d_value)
        outputs.append(found / (q * total).sum(dim=-1, keepdim=True))
    return torch.stack(outputs, dim=-2)  # (…, n, d_value)


def _from_the_left(products):
    return products.cumsum(dim=-3)


def _causal(
    query,
    key,
    value,
    *,
    features=(_elu_plus_one, _elu_plus_one),
    scale=lambda d: (1.0, 1.0),
    values=_same,
    run=_from_the_left,
    divide=lambda sums, total, everything: sums / total,
    weights=None,
):
    if weights is not None:  # of a whole matrix
        return weights(query, key) @ value
    on_query, on_key = scale(query.shape[-1])
    query, key, value = features[0](query * on_query), features[1](key * on_key), values(value)
    value = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)  # the last: denominators
    products = key[..., :, None] * value[..., None, :]  # (…, n, d, d_value + 1)
    found = (query.unsqueeze(-2) @ run(products)).squeeze(-2)  # (…, n, d_value + 1)
    everything = query @ key.sum(dim=-2).unsqueeze(-1)  # (…, n, 1)
    return divide(found[..., :-1], found[..., -1:], everything)


def _positions(sums):
    return torch.arange(1, sums.shape[-2] + 1, dtype=sums.dtype).unsqueeze(-1)


def _causal_softmax(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal=1)
    return scores.masked_fill(future, -math.inf).softmax(dim=-1)


def _both(of_values, of_total):
    """The sums of the values, and of the denominators, each run in a way of its own."""
    return lambda products: torch.cat(
        [of_values(products[..., :-1]), of_total(products[..., -1:])], dim=-1
    )


def _without_itself(products):
    return products.cumsum(dim=-3) - products


def _on_to_the_next_sentence(products):
    d, d_value = products.shape[-2:]
    return products.reshape(-1, d, d_value).cumsum(dim=0).view_as(products)


def _one_ahead(products):
    sums = products.cumsum(dim=-3)
    return torch.cat([sums[..., 1:, :, :], sums[..., -1:, :, :]], dim=-3)


def _by_column(weights):
    return weights / weights.sum(dim=-2, keepdim=True)


def _everything_over_the_sum_so_far(products):
    everything = products[..., :-1].sum(dim=-3, keepdim=True).expand_as(products[..., :-1])
    return torch.cat([everything, products[..., -1:].cumsum(dim=-3)], dim=-1)


CAUSAL_LINEAR_ATTENTION = Exercise(
    id="08.causal_linear_attention",
    title="Causal linear attention",
    statement=(
        "`query` and `key` (…, n, d), `value` (…, n, d_value), with one or two leading axes: as "
        "08.linear_attention, but a word sees only itself and the words before it, in the sums of "
        "values and in the denominator alike. Return (…, n, d_value)."
    ),
    starter=(
        "def causal_linear_attention(query, key, value):\n"
        "    # (…, n, d), (…, n, d), (…, n, d_value) -> (…, n, d_value)\n"
        "    ...  # your code here\n"
    ),
    reference=causal_linear_attention,
    why=(
        "What a word sees is what the word before it saw, and itself. So two sums are enough to "
        "carry along, a d × d_value matrix and a vector of length d: the state of a recurrent "
        "network."
    ),
    model=_causal,
    normal_form=_coarse,
    cases=lambda: [
        Case(
            (
                torch.tensor([[[1.0, -1.0], [0.0, 1.0], [2.0, 0.0]]], dtype=torch.float64),
                torch.tensor([[[1.0, 0.5], [-1.0, 2.0], [1.0, -1.5]]], dtype=torch.float64),
                torch.tensor([[[10.0], [0.0], [-5.0]]], dtype=torch.float64),
            ),
            "1 sentence, 3 words, d = 2",
        ),
        Case(
            (normal(1, 2, 3, 2, seed=1), normal(1, 2, 3, 2, seed=2), normal(1, 2, 3, 1, seed=3)),
            "1 sentence with 2 heads, 3 words",
        ),
        Case(
            (normal(2, 7, 4, seed=1), normal(2, 7, 4, seed=2), normal(2, 7, 6, seed=3)),
            "2 sentences, 7 words",
        ),
        Case(
            (normal(2, 3, 5, 4, seed=4), normal(2, 3, 5, 4, seed=5), normal(2, 3, 5, 6, seed=6)),
            "2 sentences with 3 heads",
        ),
        Case(
            (normal(3, 9, 2, seed=7), normal(3, 9, 2, seed=8), normal(3, 9, 5, seed=9)),
            "3 sentences, 9 words",
        ),
    ],
    misconceptions=(
        Misconception(
            "not causal",
            "The sums run over the whole sentence, so every word sees the words after it. At word "
            "t only the words up to t are in them.",
            {"run": lambda products: products.sum(dim=-3, keepdim=True).expand_as(products)},
        ),
        Misconception(
            "denominator of the whole sentence",
            "The sum of values stops at word t, the denominator does not: the weights of a row no "
            "longer sum to 1, and the future acts through it.",
            {"divide": lambda sums, total, everything: sums / everything},
        ),
        Misconception(
            "no denominator",
            "The weights of a row must sum to 1. Carry Σ φ(key) along as well, and divide.",
            {"divide": lambda sums, total, everything: sums},
        ),
        Misconception(
            "values of the whole sentence",
            "The denominator stops at word t, the sum of values does not: every word sees the "
            "words after it.",
            {"run": _everything_over_the_sum_so_far},
        ),
        Misconception(
            "a number added to the denominator",
            "Features of elu(x) + 1 are above 0, and so is their sum: there is nothing to guard "
            "against. 1e-3 is large enough to be seen in the output. If the first word gave NaN, "
            "add to the state first, then read.",
            {
                "divide": lambda sums, total, everything: sums / (total + 1e-3),
                **_features(_elu_plus_one),  # too small to be seen beside another feature map
            },
        ),
        Misconception(
            "softmax attention",
            "That is causal attention with the softmax and the n × n matrix. Here φ(query) · "
            "φ(key) takes the place of exp(query · key).",
            {"weights": lambda q, k: _causal_softmax(q @ k.mT / math.sqrt(q.shape[-1]))},
        ),
        Misconception(
            "softmax of the products",
            "The features take the place of the softmax: the future becomes 0, not −∞, and the "
            "row is divided by its sum.",
            {"weights": lambda q, k: _causal_softmax(_elu_plus_one(q) @ _elu_plus_one(k).mT)},
        ),
        Misconception(
            "softmax attention of the features",
            "The features take the place of the softmax: the future becomes 0, not −∞, and the "
            "row is divided by its sum.",
            {
                "weights": lambda q, k: _causal_softmax(
                    _elu_plus_one(q) @ _elu_plus_one(k).mT / math.sqrt(q.shape[-1])
                )
            },
        ),
        Misconception(
            "each key shares itself out among the queries",
            "The sum runs over the keys of a row: the rows must sum to 1, and here the columns do.",
            {"weights": lambda q, k: _by_column((_elu_plus_one(q) @ _elu_plus_one(k).mT).tril())},
        ),
        Misconception(
            "a softmax on each side",
            "That is the efficient attention of Shen et al. (2021); the softmax over the keys even "
            "sees the future. Here each number goes through elu(x) + 1 by itself.",
            _features(lambda q: q.softmax(dim=-1), lambda k: k.softmax(dim=-2)),
        ),
        Misconception(
            "feature map on the scores",
            "φ(query · key) cannot be taken apart again, so no state could be carried along. Query "
            "and key go through the map each by itself, before the product.",
            {"weights": lambda q, k: _by_row(_elu_plus_one(q @ k.mT).tril())},
        ),
        Misconception(
            "divided by the number of words so far",
            "The mean is not the denominator. Carry Σ φ(key) along, and divide by its product "
            "with the query.",
            {"divide": lambda sums, total, everything: sums / _positions(sums)},
        ),
        Misconception(
            "divided by the number of words",
            "The mean is not the denominator. Carry Σ φ(key) along, and divide by its product "
            "with the query.",
            {"divide": lambda sums, total, everything: sums / sums.shape[-2]},
        ),
        Misconception(
            "sum running over the heads",
            "`dim=1` is the axis of the words only with a single leading axis; with heads it is "
            "the heads. Counted from the end it stays the same axis.",
            {"run": lambda products: products.cumsum(dim=1)},
        ),
        Misconception(
            "denominator running over the heads",
            "The sum of the values runs over the words, the one of the denominator over axis 1: "
            "with heads that is the heads. Counted from the end it stays the same axis.",
            {"run": _both(_from_the_left, lambda products: products.cumsum(dim=1))},
        ),
        Misconception(
            "sum running over the sentences",
            "`dim=0` is the axis of the sentences, which know nothing of each other. Counted from "
            "the end the axis of the words stays the same.",
            {"run": lambda products: products.cumsum(dim=0)},
        ),
        Misconception(
            "state carried on to the next sentence",
            "Each sentence, and each head, begins with a state of zeros.",
            {"run": _on_to_the_next_sentence},
        ),
        Misconception(
            "sum running backwards",
            "Each word sees itself and the words after it: the future, and only that.",
            {"run": lambda products: products.flip(-3).cumsum(dim=-3).flip(-3)},
        ),
        Misconception(
            "state replaced, not added to",
            "The state is overwritten at each word, so every word sees itself alone. Add to it.",
            {"run": _same},
        ),
        Misconception(
            "denominator replaced, not added to",
            "The sum of the values grows from word to word, the denominator holds one word alone. "
            "Add to both.",
            {"run": _both(_from_the_left, _same)},
        ),
        Misconception(
            "values replaced, not added to",
            "The denominator grows from word to word, the sum of the values holds one word alone. "
            "Add to both.",
            {"run": _both(_same, _from_the_left)},
        ),
        Misconception(
            "one word of the future",
            "Each word sees the next one as well. At word t only the words up to it count.",
            {"run": _one_ahead},
        ),
        Misconception(
            "the word itself left out",
            "The state is read before the word is added, so a word sees only those before it, and "
            "the first sees nothing. Add first, then read.",
            {"run": _without_itself},
        ),
        Misconception(
            "the word itself left out, and zeros for the first",
            "The state is read before the word is added, so a word sees only those before it. That "
            "the first word sees nothing was covered up. Add first, then read.",
            {
                "run": _without_itself,
                "divide": lambda sums, total, everything: torch.where(total == 0, 0, sums / total),
            },
        ),
        Misconception(
            "the word itself left out of the values",
            "The sum of the values is read before the word is added, the denominator after it. Add "
            "to both first, then read.",
            {"run": _both(_without_itself, _from_the_left)},
        ),
        Misconception(
            "the word itself left out of the denominator",
            "The denominator is read before the word is added, the sum of the values after it. Add "
            "to both first, then read.",
            {"run": _both(_from_the_left, _without_itself)},
        ),
        *_FEATURES,
    ),
    hints=(
        "What does word t see that word t − 1 did not? Which two sums have to be remembered?",
        "Go through the words: S ← S + φ(k) vᵀ and z ← z + φ(k). Then read with φ(q).",
        "`torch.cumsum` of φ(k) vᵀ along the words gives all S at once; the output at t is "
        "φ(q) S / (φ(q) · z).",
    ),
    minutes=12,
    difficulty=3,
)

EXERCISES = (LINEAR_ATTENTION, CAUSAL_LINEAR_ATTENTION)
