"""Exercises of chapter 02: one head of attention."""

import math

import torch

from attn_edu.exercises.beliefs_about_attention import BELIEFS, attention, weights
from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import more, normal


def _tensor(*rows):
    return torch.tensor(rows, dtype=torch.float64)


# 02.scores


def scores(query, key):
    return query @ key.mT  # (…, n_query, d) @ (…, d, n_key)


def _scores(
    query,
    key,
    *,
    exchanged=False,
    product=lambda q, k: q @ k.mT,
    factor=lambda d: 1.0,
    after=lambda s: s,
):
    query, key = (key, query) if exchanged else (query, key)
    return after(product(query, key) * factor(query.shape[-1]))


def _unit(x):
    return x / x.norm(dim=-1, keepdim=True)


def _scores_cases():
    return [
        Case((_tensor([1, 0], [2, 1]), _tensor([1, 3], [0, 2], [4, 1])), "2 queries, 3 keys"),
        Case((normal(2, 5, 4, seed=1), normal(2, 7, 4, seed=2)), "a batch of 2"),
        Case((normal(2, 3, 5, 4, seed=3), normal(2, 3, 7, 4, seed=4)), "a batch of 2, 3 heads"),
        Case((normal(1, 6, seed=5), normal(1, 6, seed=6)), "1 query, 1 key"),
    ]


SCORES = Exercise(
    id="02.scores",
    title="Scores",
    statement=(
        "`query` (…, n_query, d) and `key` (…, n_key, d): return the dot product of every query "
        "with every key, (…, n_query, n_key), not yet scaled. … stands for any leading axes, the "
        "same in both, or none."
    ),
    starter=(
        "def scores(query, key):\n"
        "    # query (…, n_query, d), key (…, n_key, d) -> (…, n_query, n_key)\n"
        "    ...  # your code here\n"
    ),
    reference=scores,
    why=(
        "Row i of the product holds the dot products of query i with all the keys. `mT` turns the "
        "last two axes and leaves batch and heads where they are."
    ),
    model=_scores,
    cases=_scores_cases,
    misconceptions=(
        Misconception(
            "keys ask and queries answer",
            "There is one row for each query and one column for each key: query first.",
            {"exchanged": True},
        ),
        Misconception(
            "key reshaped instead of transposed",
            "A reshape to (…, d, n_key) keeps the order in memory, so a column holds pieces of "
            "several keys. `key.mT` exchanges the two axes.",
            {"product": lambda q, k: q @ k.reshape(*k.shape[:-2], *k.mT.shape[-2:])},
        ),
        Misconception(
            "already divided by √d",
            "The scores are the bare dot products here; the scale is the next step.",
            {"factor": lambda d: 1 / math.sqrt(d)},
        ),
        Misconception(
            "already divided by d",
            "The scores are the bare dot products here; the scale is the next step, and it is √d.",
            {"factor": lambda d: 1 / d},
        ),
        Misconception(
            "cosine similarity",
            "The vectors are not brought to length 1: a long query or key is louder on purpose.",
            {"product": lambda q, k: _unit(q) @ _unit(k).mT},
        ),
        Misconception(
            "distance instead of dot product",
            "The score is the sum of the products of the coordinates, not how far apart they are.",
            {"product": lambda q, k: torch.cdist(q, k)},
        ),
        Misconception(
            "the negative of a distance",
            "A small distance and a large dot product are not the same: the dot product also grows "
            "with the lengths of the two vectors.",
            {"product": lambda q, k: -torch.cdist(q, k)},
        ),
        Misconception(
            "already through the softmax",
            "Scores may have any size and sign. The softmax that makes weights of them is later.",
            {"after": lambda s: s.softmax(dim=-1)},
        ),
        Misconception(
            "absolute values",
            "A negative score has a meaning: look there less than at random.",
            {"after": lambda s: s.abs()},
        ),
    ),
    hints=(
        "One query and one key: multiply coordinate by coordinate and add up. Now all pairs.",
        "A matrix product takes rows of the left with columns of the right. Are keys columns?",
        "Turn the last two axes of `key` with `key.mT`, and put `query @` in front of it.",
    ),
    minutes=4,
    difficulty=1,
)


# 02.attention_weights and 02.scaled_dot_product_attention share their misconceptions.


def attention_weights(query, key, mask):
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (…, n_query, n_key)
    if mask is None:
        return scores.softmax(dim=-1)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0)  # a row that sees nothing: zeros, not NaN


def scaled_dot_product_attention(query, key, value, mask):
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (…, n_query, n_key)
    if mask is None:
        return scores.softmax(dim=-1) @ value
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    weights = weights.masked_fill(~mask, 0)  # a row that sees nothing: zeros, not NaN
    return weights @ value  # (…, n_query, d_value)


def _masks():
    """A padding mask, and one a query in which the third query sees nothing."""
    padding = torch.arange(7) < torch.tensor([4, 7])[:, None, None]  # (2, 1, 7)
    own = normal(2, 5, 7, seed=11) > -0.3
    own[:, 2] = False
    own[:, 0, 3] = True
    return padding, own


def _weights_cases():
    padding, own = _masks()
    query, key = normal(2, 5, 6, seed=1) * 1.5, normal(2, 7, 6, seed=2) * 1.5
    small = _tensor([2, 0, 0, 0], [0, 2, 0, 0]), _tensor([2, 0, 0, 0], [0, 3, 0, 0], [1, 1, 0, 0])
    hidden = torch.tensor([[True, False, True], [True, True, False]])
    blind = torch.tensor([[True, False, True], [False, False, False]])
    heads = normal(2, 3, 5, 8, seed=3), normal(2, 3, 7, 8, seed=4)
    return [
        Case((*small, None), "2 queries, 3 keys, no mask"),
        Case((*small, hidden), "2 queries, 3 keys, one hidden from each query"),
        Case((*small, blind), "2 queries, 3 keys, the second query sees nothing"),
        Case((*(x[None] for x in small), None), "2 queries, 3 keys, a batch of 1"),
        Case((query, key, None), "a batch of 2, no mask"),
        Case((query, key, padding), "a batch of 2, padded"),
        Case((query, key, own), "a batch of 2, one query that sees nothing"),
        Case((*heads, None), "a batch of 2, 3 heads, no mask"),
        Case((*heads, own[:, None]), "a batch of 2, 3 heads, one mask for all heads"),
    ]


def _attention_cases():
    cases = []
    by_hand = _tensor([1, 10], [2, 20], [4, 40])
    for i, case in enumerate(_weights_cases()):
        query, key, mask = case.arguments
        shape = key.shape[:-1]  # (…, n_key)
        value = by_hand.expand(*shape, 2) if shape[-1] == 3 else normal(*shape, 4, seed=20 + i)
        cases.append(Case((query, key, value, mask), case.note))
    square = [normal(2, 5, 4, seed=30 + i) for i in range(3)]
    return [*cases, Case((*square, None), "as many values as queries, all of one width")]


ATTENTION_WEIGHTS = Exercise(
    id="02.attention_weights",
    title="Weights",
    statement=(
        "From `query` (…, n_query, d), `key` (…, n_key, d) and `mask` to the weights "
        "(…, n_query, n_key): scale the scores by 1/√d, hide what the mask hides, softmax. `mask` "
        "is `None` (nothing is hidden) or boolean, `True` = may attend, and broadcasts against the "
        "scores. A query that may see nothing gets a row of zeros."
    ),
    starter=(
        "def attention_weights(query, key, mask):\n"
        "    # query (…, n_query, d), key (…, n_key, d) -> (…, n_query, n_key)\n"
        "    ...  # your code here\n"
    ),
    reference=attention_weights,
    why=(
        "−∞ before the softmax gives a weight of exactly 0 and leaves the other weights to sum "
        "to 1. A row of nothing but −∞ has no softmax, so what is hidden is filled with 0 again "
        "at the end."
    ),
    model=weights,
    cases=_weights_cases,
    misconceptions=BELIEFS,
    hints=(
        "Three steps: scores divided by √d; −∞ where the mask is False; softmax over the keys.",
        "`scores.masked_fill(~mask, -math.inf)` hides, unless `mask` is None. Which axis must sum "
        "to 1?",
        "After `.softmax(dim=-1)` add `.masked_fill(~mask, 0)`: a row of only −∞ gives NaN.",
    ),
    minutes=10,
    difficulty=2,
)

SCALED_DOT_PRODUCT_ATTENTION = Exercise(
    id="02.scaled_dot_product_attention",
    title="One head",
    statement=(
        "From `query` (…, n_query, d), `key` (…, n_key, d), `value` (…, n_key, d_value) and `mask` "
        "to the output (…, n_query, d_value), with scores scaled by 1/√d. `mask` is `None` or "
        "boolean, `True` = may attend, and broadcasts against the scores. A query that may see "
        "nothing gets zeros."
    ),
    starter=(
        "def scaled_dot_product_attention(query, key, value, mask):\n"
        "    # query (…, n_query, d), key (…, n_key, d), value (…, n_key, d_value)\n"
        "    # -> (…, n_query, d_value)\n"
        "    ...  # your code here\n"
    ),
    reference=scaled_dot_product_attention,
    why="Each query's output is the average of the values, with that query's row as the weights.",
    model=attention,
    cases=_attention_cases,
    misconceptions=(
        *BELIEFS,
        Misconception(
            "the keys are averaged instead of the values",
            "The keys only decide how much of each value is taken; what is taken is the value.",
            {"takes": lambda key, value: key},
        ),
        Misconception(
            "the values are added up, not averaged",
            "A row of weights sums to 1; here it sums to the number of keys.",
            {"takes": lambda key, value: value * value.shape[-2]},
        ),
    ),
    hints=(
        "You have the weights already. What is still to be done with the values?",
        "Row i of the weights times the values gives output i: a matrix product.",
        "`my_weights(query, key, mask) @ value`, if `my_weights` passed its check. Otherwise the "
        "three steps of the weights come first, here in this function.",
    ),
    minutes=8,
    difficulty=2,
)


# 02.padding_mask


def padding_mask(lengths, n):
    return torch.arange(n) < lengths[:, None]  # (n,) against (batch, 1) -> (batch, n)


def _padding(
    lengths,
    n,
    *,
    of_each=lambda lengths: lengths,
    more=0,
    width=lambda lengths, n: n,
    place=lambda position, n: position,
    polarity=lambda mask: mask,
    form=lambda mask: mask,
):
    position = place(torch.arange(width(lengths, n)), n)
    return form(polarity(position < of_each(lengths)[:, None] + more))


def _additive(mask):
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


def _without_query_axis(mask):
    """(batch, 1, n) -> (batch, n); anything else as it is."""
    return mask.squeeze(1) if mask.ndim == 3 else mask


PADDING_MASK = Exercise(
    id="02.padding_mask",
    title="A mask for padding",
    statement=(
        "`lengths` (batch,), from 0 to n, says how many of the n words of each sequence are real; "
        "the rest is padding at the end. Return (batch, n), boolean, `True` = may attend. "
        "(batch, 1, n) is accepted as well: that is what `attn_edu.attention.padding_mask` "
        "returns, with an axis for the queries."
    ),
    starter=(
        "def padding_mask(lengths, n):\n"
        "    # lengths (batch,) -> (batch, n), boolean\n"
        "    ...  # your code here\n"
    ),
    reference=padding_mask,
    why=(
        "A position, counted from 0, is real as long as it is smaller than the length. The two "
        "vectors become a matrix by broadcasting (n,) against (batch, 1)."
    ),
    model=_padding,
    cases=lambda: [
        Case((torch.tensor([1, 3]), 4), "lengths 1 and 3 of 4"),
        Case((torch.tensor([4, 7, 2]), 7), "one sequence without padding"),
        Case((torch.tensor([2, 0, 5, 3]), 6), "one sequence of padding alone"),
        Case((torch.tensor([3]), 5), "a batch of 1"),
        *(
            Case((torch.tensor(lengths), 9), f"lengths {', '.join(map(str, lengths))} of 9")
            for lengths in more(2, *[range(10)] * 5)
        ),
    ],
    misconceptions=(
        Misconception(
            "mask upside down",
            "`True` means may attend, so it marks the real words, not the padding.",
            {"polarity": lambda mask: ~mask},
        ),
        Misconception(
            "one word too many",
            "Positions are counted from 0: the last real word has the position length − 1.",
            {"more": 1},
        ),
        Misconception(
            "one word too few",
            "Positions are counted from 0: the position length − 1 is still a real word.",
            {"more": -1},
        ),
        Misconception(
            "padding at the start",
            "Here the padding is at the end of each sequence: the real words come first.",
            {"place": lambda position, n: n - 1 - position},
        ),
        Misconception(
            "one length for all sequences",
            "Each sequence has a length of its own. Compared with the longest alone, the words "
            "that the shorter ones do not have are open.",
            {"of_each": lambda lengths: lengths.max().expand(len(lengths))},
        ),
        Misconception(
            "as wide as the longest sequence",
            "The mask has n columns, whatever the lengths are.",
            {"width": lambda lengths, n: int(lengths.max())},
        ),
        Misconception(
            "numbers 0 and 1 instead of booleans",
            "A mask of numbers is added to the scores by torch, and hides almost nothing.",
            {"form": lambda mask: mask.float()},
        ),
        Misconception(
            "integers 0 and 1 instead of booleans",
            "The mask must be boolean (`torch.bool`): `~mask` of an integer 1 is −2.",
            {"form": lambda mask: mask.long()},
        ),
        Misconception(
            "already additive",
            "0 and −∞ are what is added to the scores later. Here the mask is boolean.",
            {"form": _additive},
        ),
        Misconception(
            "rows and columns exchanged",
            "One row for each sequence, one column for each position: (batch, n).",
            {"form": lambda mask: mask.mT},
        ),
    ),
    hints=(
        "Position 0 is real when the length is at least 1. And position j?",
        "`torch.arange(n)` gives the positions; compare them with the lengths.",
        "Give the lengths an axis for the positions: `lengths[:, None]`, which is (batch, 1).",
    ),
    minutes=5,
    difficulty=1,
    normal_form=_without_query_axis,
)

EXERCISES = (SCORES, ATTENTION_WEIGHTS, SCALED_DOT_PRODUCT_ATTENTION, PADDING_MASK)
