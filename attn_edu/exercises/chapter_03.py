"""Exercises of chapter 03: several heads."""

import math

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal


def _count(*shape):
    return torch.arange(math.prod(shape), dtype=torch.float64).view(shape)


# 03.split_heads


def split_heads(x, n_heads):
    batch, n, d_model = x.shape
    x = x.reshape(batch, n, n_heads, d_model // n_heads)  # (batch, n, n_heads, d_head)
    return x.transpose(1, 2)  # (batch, n_heads, n, d_head)


def _by_view(x, n_heads):
    batch, n, d_model = x.shape
    return x.reshape(batch, n_heads, n, d_model // n_heads)


def _interleaved(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


def _transposed_first(x, n_heads):
    batch, n, d_model = x.shape
    return x.mT.reshape(batch, n_heads, n, d_model // n_heads)


def _split(x, n_heads, *, layout=split_heads):
    return layout(x, n_heads)


SPLIT_HEADS = Exercise(
    id="03.split_heads",
    title="Split into heads",
    statement=(
        "`x` (batch, n, n_heads · d_head): give each head its own slice of every word's features, "
        "head 0 the first d_head of them. Return (batch, n_heads, n, d_head)."
    ),
    starter=(
        "def split_heads(x, n_heads):\n"
        "    # (batch, n, n_heads · d_head) -> (batch, n_heads, n, d_head)\n"
        "    ...  # your code here\n"
    ),
    reference=split_heads,
    why=(
        "A reshape may cut an axis in two, but it never moves a number past another. Cut the "
        "features first, which leaves every word in its place; then exchange the axes of words "
        "and heads, which is what transpose does."
    ),
    model=_split,
    cases=lambda: [
        Case((_count(1, 3, 4), 2), "1 sentence, 3 words, 2 heads of width 2"),
        Case((normal(2, 5, 12, seed=1), 3), "2 sentences, 5 words, 3 heads of width 4"),
        Case((normal(3, 7, 10, seed=2), 5), "3 sentences, 7 words, 5 heads of width 2"),
        Case((normal(2, 4, 6, seed=3).mT.contiguous().mT, 3), "memory in another order"),
        Case((normal(2, 5, 4, seed=4), 1), "a single head"),
    ],
    misconceptions=(
        Misconception(
            "view instead of transpose",
            "The shape is right and the numbers are in the wrong places: a reshape keeps the order "
            "in memory, so a head gets whole words instead of a slice of every word. Cut the last "
            "axis, then transpose.",
            {"layout": _by_view},
        ),
        Misconception(
            "transposed before the features are cut",
            "The order matters: cut the features of every word first, then exchange the axes of "
            "words and heads. Transposed first, a reshape cuts across both.",
            {"layout": _transposed_first},
        ),
        Misconception(
            "not transposed",
            "The features are cut, but the axis of heads still comes after the axis of words. "
            "Attention works on the last two axes, which must be (n, d_head).",
            {"layout": lambda x, h: x.unflatten(-1, (h, -1))},
        ),
        Misconception(
            "features dealt out in turn",
            "Head 0 gets the first d_head features, not every n_heads-th one.",
            {"layout": _interleaved},
        ),
        Misconception(
            "number and width of the heads exchanged",
            "There are n_heads heads of the width d_model / n_heads, not the other way round.",
            {"layout": lambda x, h: split_heads(x, x.shape[-1] // h)},
        ),
        Misconception(
            "heads before the batch",
            "The batch stays the first axis: (batch, n_heads, n, d_head).",
            {"layout": lambda x, h: split_heads(x, h).transpose(0, 1)},
        ),
        Misconception(
            "words and features of a head exchanged",
            "The last two axes are (n, d_head), in this order.",
            {"layout": lambda x, h: split_heads(x, h).mT},
        ),
    ),
    hints=(
        "Take one word and cut its features into n_heads pieces. Only then think of the order.",
        "First (batch, n, n_heads, d_head). Which two axes must now change places?",
        "`x.reshape(batch, n, n_heads, d_head).transpose(1, 2)`.",
    ),
    minutes=6,
    difficulty=2,
)


# 03.merge_heads


def merge_heads(x):
    batch, n_heads, n, d_head = x.shape
    x = x.transpose(1, 2)  # (batch, n, n_heads, d_head)
    return x.reshape(batch, n, n_heads * d_head)


def _reshaped(x):
    batch, n_heads, n, d_head = x.shape
    return x.reshape(batch, n, n_heads * d_head)


def _dealt_back(x):
    return x.permute(0, 2, 3, 1).flatten(-2)


def _merge(x, *, layout=merge_heads):
    return layout(x)


MERGE_HEADS = Exercise(
    id="03.merge_heads",
    title="Merge the heads",
    statement=(
        "`x` (batch, n_heads, n, d_head): lay the heads' features side by side, head 0 first. "
        "Return (batch, n, n_heads · d_head)."
    ),
    starter=(
        "def merge_heads(x):\n"
        "    # (batch, n_heads, n, d_head) -> (batch, n, n_heads · d_head)\n"
        "    ...  # your code here\n"
    ),
    reference=merge_heads,
    why=(
        "The way back of the split, step by step: first the words come before the heads again, "
        "then the heads of a word are laid side by side."
    ),
    model=_merge,
    cases=lambda: [
        Case((_count(1, 2, 3, 2),), "1 sentence, 2 heads, 3 words, width 2"),
        Case((normal(2, 3, 5, 4, seed=1),), "2 sentences, 3 heads, 5 words, width 4"),
        Case((normal(2, 5, 3, 4, seed=2).transpose(1, 2),), "as it comes out of a split"),
        Case((normal(2, 1, 5, 4, seed=3),), "a single head"),
    ],
    misconceptions=(
        Misconception(
            "merged without transposing back",
            "The shape is right and the words are mixed up: a reshape keeps the order in memory, "
            "where all words of head 0 come first. Transpose heads and words, then reshape.",
            {"layout": _reshaped},
        ),
        Misconception(
            "heads interleaved",
            "The features of head 0 stay together and come first, then those of head 1.",
            {"layout": _dealt_back},
        ),
        Misconception(
            "words exchanged with features instead of heads",
            "The axes to exchange are those of heads and words, `x.transpose(1, 2)`. Then the "
            "features of a word can be laid side by side.",
            {"layout": lambda x: x.mT.reshape(len(x), x.shape[2], -1)},
        ),
        Misconception(
            "heads averaged",
            "Averaging throws away what each head found. They are laid side by side.",
            {"layout": lambda x: x.mean(dim=1)},
        ),
        Misconception(
            "heads added up",
            "Adding throws away what each head found. They are laid side by side.",
            {"layout": lambda x: x.sum(dim=1)},
        ),
        Misconception(
            "transposed but not merged",
            "The last two axes are still apart; reshape them into one of n_heads · d_head.",
            {"layout": lambda x: x.transpose(1, 2)},
        ),
        Misconception(
            "heads laid one after the other along the sequence",
            "The sentence must not get longer: it is the features that the heads share out.",
            {"layout": lambda x: x.flatten(1, 2)},
        ),
    ),
    hints=(
        "Undo the two steps of the split, last one first.",
        "Exchange heads and words: (batch, n, n_heads, d_head). Now the last two axes are one.",
        "`x.transpose(1, 2).reshape(batch, n, n_heads * d_head)`.",
    ),
    minutes=4,
    difficulty=1,
)


# 03.multi_head_attention


def multi_head_attention(x, w_query, w_key, w_value, w_out, n_heads):
    query = split_heads(x @ w_query, n_heads)  # (batch, n_heads, n, d_head)
    key = split_heads(x @ w_key, n_heads)
    value = split_heads(x @ w_value, n_heads)
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (batch, n_heads, n, n)
    heads = scores.softmax(dim=-1) @ value  # (batch, n_heads, n, d_head)
    return merge_heads(heads) @ w_out  # (batch, n, d_model)


def _multi_head(
    x,
    w_query,
    w_key,
    w_value,
    w_out,
    n_heads,
    *,
    order=lambda x: x,
    apply=lambda x, w: x @ w,
    value=lambda x, w_value, apply: apply(x, w_value),
    roles=lambda query, key, value: (query, key, value),
    heads=lambda n_heads: n_heads,
    split=split_heads,
    scale=lambda query, n_heads: 1 / math.sqrt(query.shape[-1]),
    seen=lambda scores: scores,
    axis=-1,
    merge=merge_heads,
    apply_out=lambda merged, w_out: merged @ w_out,
):
    x, n_heads = order(x), heads(n_heads)
    projected = roles(apply(x, w_query), apply(x, w_key), value(x, w_value, apply))
    query, key, value = (split(each, n_heads) for each in projected)
    scores = seen(query @ key.mT * scale(query, n_heads))
    weights = axis(scores) if callable(axis) else scores.softmax(dim=axis)
    return order(apply_out(merge(weights @ value), w_out))


def _turned(x, w):
    return x @ w.mT


def _past(scores):
    return scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1) == 1, -math.inf)


def _multi_head_cases():
    def weights(d_model, seed):
        return [normal(d_model, d_model, seed=seed + i) / d_model**0.5 for i in range(4)]

    return [
        Case((_count(1, 3, 4) / 4 - 1, *weights(4, 1), 2), "1 sentence, 3 words, 2 heads"),
        Case((_count(1, 3, 4) / 4 - 1, *weights(4, 40), 1), "1 sentence, 3 words, a single head"),
        Case((2 * normal(2, 5, 12, seed=9), *weights(12, 10), 3), "2 sentences, 5 words, 3 heads"),
        Case((2 * normal(3, 7, 10, seed=8), *weights(10, 20), 5), "3 sentences, 7 words, 5 heads"),
        Case(
            (2 * normal(2, 5, 6, seed=7), *weights(6, 30), 1), "2 sentences, 5 words, a single head"
        ),
    ]


MULTI_HEAD_ATTENTION = Exercise(
    id="03.multi_head_attention",
    title="Several heads",
    statement=(
        "`x` (batch, n, d_model) and four matrices (d_model, d_model), each applied as `x @ w`: "
        "project with three of them, split into `n_heads`, attend in each head (with its scale, no "
        "mask), merge, project with `w_out`. Return (batch, n, d_model)."
    ),
    starter=(
        "def multi_head_attention(x, w_query, w_key, w_value, w_out, n_heads):\n"
        "    # x (batch, n, d_model), w_… (d_model, d_model) -> (batch, n, d_model)\n"
        "    ...  # your code here\n"
    ),
    reference=multi_head_attention,
    why=(
        "Every head attends in its own d_head features, so the scale is 1/√d_head. The heads meet "
        "only in the last product: w_out mixes what they found."
    ),
    model=_multi_head,
    cases=_multi_head_cases,
    misconceptions=(
        Misconception(
            "view instead of transpose",
            "The shape is right and the numbers are in the wrong places: a head gets whole words "
            "instead of a slice of every word. Cut the last axis, then transpose.",
            {"split": _by_view},
        ),
        Misconception(
            "merged without transposing back",
            "The shape is right and the words are mixed up: transpose heads and words before the "
            "reshape.",
            {"merge": _reshaped},
        ),
        Misconception(
            "attention across heads instead of words",
            "Without the transpose the last two axes are (n_heads, d_head): at each word the heads "
            "are compared with each other, and no word ever looks at another.",
            {
                "heads": lambda n_heads: n_heads,
                "split": lambda x, h: x.unflatten(-1, (h, -1)),
                "merge": lambda x: x.flatten(-2),
            },
        ),
        Misconception(
            "features dealt out in turn",
            "Head 0 gets the first d_head features, not every n_heads-th one.",
            {"split": _interleaved},
        ),
        Misconception(
            "heads interleaved",
            "When the heads are merged, the features of head 0 stay together and come first.",
            {"merge": _dealt_back},
        ),
        Misconception(
            "scaled by √d_model",
            "A head's dot product runs over d_head features, so the scale is 1/√d_head.",
            {"scale": lambda query, n_heads: 1 / math.sqrt(query.shape[-1] * n_heads)},
        ),
        Misconception(
            "scaled by the number of heads",
            "A dot product grows with the features that it adds up: a head has d_head of them.",
            {"scale": lambda query, n_heads: 1 / math.sqrt(n_heads)},
        ),
        Misconception(
            "not scaled",
            "Divide the scores by √d_head, as with one head.",
            {"scale": lambda query, n_heads: 1.0},
        ),
        Misconception(
            "divided by d_head",
            "The standard deviation of a dot product grows with √d_head, not with d_head.",
            {"scale": lambda query, n_heads: 1 / query.shape[-1]},
        ),
        Misconception(
            "multiplied by √d_head",
            "The scale makes the scores smaller: divide by √d_head.",
            {"scale": lambda query, n_heads: math.sqrt(query.shape[-1])},
        ),
        Misconception(
            "scaled by the number of words",
            "The length of the sentence is another axis. d_head is the last axis of a split query.",
            {"scale": lambda query, n_heads: 1 / math.sqrt(query.shape[-2])},
        ),
        Misconception(
            "softmax over the queries",
            "Each query divides its attention among the keys: the rows must sum to 1 (`dim=-1`).",
            {"axis": -2},
        ),
        Misconception(
            "softmax over the heads",
            "The heads do not share out weight among them: the rows must sum to 1 (`dim=-1`).",
            {"axis": 1},
        ),
        Misconception(
            "softmax over the batch",
            "No sentence of a batch may change another: the rows must sum to 1 (`dim=-1`).",
            {"axis": 0},
        ),
        Misconception(
            "no softmax",
            "Scores may be negative and of any size; the softmax makes a row of weights of them.",
            {"axis": lambda scores: scores},
        ),
        Misconception(
            "the future hidden",
            "There is no mask here: every word sees every word, also those that come after it.",
            {"seen": _past},
        ),
        Misconception(
            "batch taken for the sequence",
            "The batch is the first axis here, and words attend to the words of their own "
            "sentence. (`nn.MultiheadAttention` has the words first unless it is told "
            "`batch_first=True`.)",
            {"order": lambda x: x.transpose(0, 1)},
        ),
        Misconception(
            "no output projection",
            "`w_out` is missing: without it the heads never mix.",
            {"apply_out": lambda merged, w_out: merged},
        ),
        Misconception(
            "weights transposed",
            "Here a weight is applied as `x @ w`. (`nn.Linear` keeps the transposed matrix.)",
            {"apply": _turned, "apply_out": _turned},
        ),
        Misconception(
            "w_out transposed",
            "Here a weight is applied as `x @ w`, and so is `w_out`.",
            {"apply_out": _turned},
        ),
        Misconception(
            "w_query, w_key and w_value transposed",
            "Here a weight is applied as `x @ w`. (`nn.Linear` keeps the transposed matrix.)",
            {"apply": _turned},
        ),
        Misconception(
            "queries and keys exchanged",
            "A row of scores belongs to a query: `query @ key.mT`, with the query made by "
            "`w_query`.",
            {"roles": lambda query, key, value: (key, query, value)},
        ),
        Misconception(
            "keys projected with w_query",
            "The keys have a matrix of their own, `w_key`.",
            {"roles": lambda query, key, value: (query, query, value)},
        ),
        Misconception(
            "the keys are averaged instead of the values",
            "The keys only decide how much of each value is taken; what is taken is `x @ w_value`.",
            {"roles": lambda query, key, value: (query, key, key)},
        ),
        Misconception(
            "nothing projected but the output",
            "Queries, keys and values are `x @ w_query`, `x @ w_key` and `x @ w_value`, not x "
            "itself.",
            {"apply": lambda x, w: x},
        ),
        Misconception(
            "values not projected",
            "What is averaged is `x @ w_value`, not x itself.",
            {"value": lambda x, w_value, apply: x},
        ),
        Misconception(
            "one head only",
            "`n_heads` plays no part: there is one map, and all features share it.",
            {"heads": lambda n_heads: 1},
        ),
    ),
    hints=(
        "You have written the three parts: split and merge above, attention in chapter 02.",
        "Project, then split: `my_split_heads(x @ w_query, n_heads)`. Which d is in the scale?",
        "With query, key and value split into heads: "
        "`weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)`, then "
        "`my_merge_heads(weights @ value) @ w_out`.",
    ),
    minutes=12,
    difficulty=3,
)

EXERCISES = (SPLIT_HEADS, MERGE_HEADS, MULTI_HEAD_ATTENTION)
