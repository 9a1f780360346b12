"""Exercises of chapter 13: what a head does, as a number."""

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal


def _causal(*shape, seed):
    """Random causal weights, each row adding up to 1, in float64."""
    scores = normal(*shape, seed=seed, size=2)
    future = torch.ones(shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(dim=-1)


def _nothing_else(n):
    """The first token looks at itself, every other at the one before: ``(n, n)``."""
    weights = torch.zeros(n, n, dtype=torch.float64)
    weights[torch.arange(n), torch.arange(-1, n - 1).clamp(min=0)] = 1
    return weights


def _over_heads_too(values):
    return values.mean()


def _over_the_last_leading_axis_too(values):
    return values.mean(dim=-1) if values.ndim else values


# 13.previous_token_score


def previous_token_score(weights):
    before = weights.diagonal(offset=-1, dim1=-2, dim2=-1)  # (…, n - 1), rows 1 … n-1
    return before.mean(dim=-1)


def _largest_in_row(weights):
    """1 where the largest weight of a row stands, else 0."""
    return torch.nn.functional.one_hot(weights.argmax(dim=-1), weights.shape[-1]).to(weights.dtype)


def _earlier(weights):
    """At column i − 1 of row i, all that the row gives to earlier tokens."""
    return weights.tril(-1).sum(dim=-1, keepdim=True).expand_as(weights)


def _mean(values, n, queries):
    return values.mean(dim=-1)


def _over_n(values, n, queries):
    return values.sum(dim=-1) / n


def _over_queries(values, n, queries):
    """Divided by the right number, whatever was added up."""
    return values.sum(dim=-1) / queries


def _sum(values, n, queries):
    return values.sum(dim=-1)


def _top(values, n, queries):
    return values.amax(dim=-1)


def _previous(
    weights,
    *,
    of=lambda weights: weights,
    step=-1,
    axes=(-2, -1),
    rows=lambda values: values,
    score=_mean,
    reduce=lambda values: values,
):
    n = weights.shape[-1]
    values = of(weights).diagonal(offset=step, dim1=axes[0], dim2=axes[1])
    return reduce(score(rows(values), n, n - 1))


PREVIOUS = Exercise(
    id="13.previous_token_score",
    title="A score for the token before",
    statement=(
        "`weights` (…, n, n) are causal: row i is a query, column j a key. How much of its row "
        "does a query give to the token before it? Return the mean over the queries 1 … n − 1, "
        "one number for each leading index: (…)."
    ),
    starter=(
        "def previous_token_score(weights):\n    # (…, n, n) -> (…)\n    ...  # your code here\n"
    ),
    reference=previous_token_score,
    why=(
        "Query i and key i − 1 stand on the diagonal below the main one. It has n − 1 numbers, "
        "because the first token has nothing before it. Every head, layer and text keeps its own "
        "mean: the difference between heads is what you are after."
    ),
    model=_previous,
    cases=lambda: [
        Case((_causal(3, 3, seed=1),), "one head, 3 tokens"),
        Case((_causal(2, 5, 5, seed=2),), "2 heads, 5 tokens"),
        Case((_causal(4, 2, 3, 7, 7, seed=3),), "4 layers, 2 texts, 3 heads, 7 tokens"),
        Case((_causal(3, 2, 2, seed=4),), "3 heads, 2 tokens"),
        Case((_nothing_else(6),), "a head that looks nowhere else, 6 tokens"),
    ],
    misconceptions=(
        Misconception(
            "the next token",
            "It is 0 for every head: the diagonal above the main one is the future, where a causal "
            "map has zeros. The token before stands below: column i − 1 of row i.",
            {"step": 1},
        ),
        Misconception(
            "the token itself",
            "This is the main diagonal: how much each token looks at itself.",
            {"step": 0},
        ),
        Misconception(
            "two tokens before",
            "The diagonal is one too far from the main one: it holds the weights on i − 2.",
            {"step": -2},
        ),
        Misconception(
            "two tokens before, but n − 1 of them",
            "The diagonal is one too far from the main one: it holds the weights on i − 2.",
            {"step": -2, "score": _over_queries},
        ),
        Misconception(
            "divided by n",
            "The first token has nothing before it, so there are n − 1 weights to average. With n, "
            "even a head that does nothing else stays below 1.",
            {"score": _over_n},
        ),
        Misconception(
            "summed, not averaged",
            "A sum grows with the length of the text, so two texts could not be compared.",
            {"score": _sum},
        ),
        Misconception(
            "how often it is the largest",
            "A row that gives 0.4 to the token before and 0.3 to two others is no full hit. Asked "
            "for is the weight itself, not the share of rows in which it is the largest.",
            {"of": _largest_in_row},
        ),
        Misconception(
            "the largest instead of the mean",
            "One query that looks back does not make a head that does. Take the mean over all.",
            {"score": _top, "step": -1},
        ),
        Misconception(
            "all earlier tokens",
            "Asked for is the one token before, i − 1, not all that came earlier.",
            {"of": _earlier, "step": -1},
        ),
        Misconception(
            "query 1 left out",
            "Positions count from 0, so query 1 has a token before it: 0.",
            {"rows": lambda values: values[..., 1:]},
        ),
        Misconception(
            "query 1 left out, but counted",
            "Positions count from 0, so query 1 has a token before it, 0, and belongs to the sum.",
            {
                "rows": lambda values: values[..., 1:],
                "score": _over_queries,
            },
        ),
        Misconception(
            "the last token left out",
            "The last query, n − 1, has a token before it. A Python range ends before its end: "
            "`range(1, n)`.",
            {"rows": lambda values: values[..., :-1]},
        ),
        Misconception(
            "the last token left out, but counted",
            "The last query, n − 1, has a token before it and belongs to the sum. A Python range "
            "ends before its end: `range(1, n)`.",
            {
                "rows": lambda values: values[..., :-1],
                "score": _over_queries,
            },
        ),
        Misconception(
            "the diagonal of the first two axes",
            "The first two axes may be layers, texts or heads. Queries and keys are the last two: "
            "`weights[..., i, j]`, or `diagonal` with `dim1=-2, dim2=-1`, as by itself it takes "
            "the first two.",
            {"axes": (0, 1)},
        ),
        Misconception(
            "the last query only",
            "One row is one observation. Take the mean over all that have a token before.",
            {"rows": lambda values: values[..., -1:]},
        ),
        Misconception(
            "a number for each query",
            "The queries are averaged: one number for each leading index remains.",
            {"score": lambda values, n, queries: values},
        ),
        Misconception(
            "averaged over everything",
            "Layers, texts and heads keep their own numbers. In a mean over all heads the one that "
            "you are looking for disappears.",
            {"reduce": _over_heads_too},
        ),
        Misconception(
            "averaged over the heads",
            "Each head keeps its own number. In their mean the one that you are looking for "
            "disappears.",
            {"reduce": _over_the_last_leading_axis_too},
        ),
    ),
    hints=(
        "Write a causal map for four tokens on paper, and mark the cells that count. How many?",
        "`weights.diagonal(offset=…, dim1=-2, dim2=-1)` takes one diagonal of each map.",
        "`weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)`.",
    ),
    minutes=5,
    difficulty=1,
)


# 13.induction_score


def induction_score(weights, period):
    query = torch.arange(period, weights.shape[-1])  # from the second copy on
    followed = query - period + 1  # what came next the last time
    return weights[..., query, followed].mean(dim=-1)


def _read(weights, query, key):
    return weights[..., query, key]


def _all_copies(weights, query, key):
    """What the queries give to the token that followed, in every copy before their own."""
    n, shift = weights.shape[-1], query[:1] - key[:1]  # period − 1
    back = torch.arange(n)[:, None] - torch.arange(n)
    period = shift + 1
    followed = (back % period == shift % period) & (back > 0)
    return (weights * followed).sum(dim=-1)[..., query]


def _oldest_copy(weights, query, key):
    period = query[:1] - key[:1] + 1
    return weights[..., query, query % period + 1]


def _of_first_axes(weights, query, key):
    """`weights.diagonal(offset)` without its axes."""
    return weights.diagonal(offset=int(key[0] - query[0]))[..., int(key[0]) :]


def _with_either_divisor(name, why, change):
    """A wrong choice of queries: divided by their number, or by the right number."""
    yield Misconception(name, why, change)
    divided = f"{name}, divided by n − period"
    yield Misconception(divided, why, {**change, "score": _over_queries})


def _induction(
    weights,
    period,
    *,
    start=lambda period: period,
    stop=lambda period, n: n,
    back=lambda period: period - 1,
    of=lambda weights: weights,
    turn=lambda weights: weights,
    read=_read,
    rows=lambda values: values,
    score=_mean,
    reduce=lambda values: values,
):
    weights, n = turn(of(weights)), weights.shape[-1]
    begin, end = max(start(period), back(period)), stop(period, n)
    query = torch.arange(min(begin, end), end)
    values = read(weights, query, query - back(period))
    return reduce(score(rows(values), n, n - period))


INDUCTION = Exercise(
    id="13.induction_score",
    title="A score for going on with a pattern",
    statement=(
        "A text repeats itself: token i is the same as token i − `period`. `weights` (…, n, n) are "
        "causal, row i is a query. How much of its row does a query of the later copies "
        "(i ≥ `period`) give to the token that *followed* the last time, at i − `period` + 1? "
        "Return the mean over these queries, one number for each leading index: (…). `period` is "
        "at least 2."
    ),
    starter=(
        "def induction_score(weights, period):\n"
        "    # (…, n, n), an integer -> (…)\n"
        "    ...  # your code here\n"
    ),
    reference=induction_score,
    why=(
        "The head has read this token before, at i − period, and what it needs in order to go on "
        "stands one place later. On the map this is a diagonal, period − 1 below the main one. It "
        "has one cell too many: row period − 1 is still in the first copy."
    ),
    model=_induction,
    cases=lambda: [
        Case((_causal(4, 4, seed=1), 2), "one head, 4 tokens, period 2"),
        Case((_causal(2, 6, 6, seed=2), 3), "2 heads, 6 tokens, period 3"),
        Case((_causal(4, 2, 3, 10, 10, seed=3), 5), "4 layers, 2 texts, 3 heads, period 5"),
        Case((_causal(7, 7, seed=6), 2), "7 tokens, period 2: three copies and a bit"),
        Case((_causal(3, 2, 11, 11, seed=4), 4), "11 tokens, period 4: three copies, one cut off"),
        Case((_causal(2, 8, 8, seed=5), 7), "8 tokens, period 7: one query"),
    ],
    misconceptions=(
        Misconception(
            "the same token, not the one after it",
            "At i − period stands the token itself, as it was read the last time. What a head "
            "needs in order to go on came one place later.",
            {"back": lambda period: period},
        ),
        Misconception(
            "the token before it",
            "The step from the last occurrence goes forward: i − period + 1, not i − period − 1.",
            {"back": lambda period: period + 1},
        ),
        Misconception(
            "two places after it",
            "One place after the last occurrence is enough: i − period + 1.",
            {"back": lambda period: period - 2},
        ),
        *_with_either_divisor(
            "the last token of the first copy counted in",
            "The diagonal begins at row period − 1, in the first copy, where nothing has been "
            "repeated yet. Leave its first cell out.",
            {"start": lambda period: period - 1},
        ),
        *_with_either_divisor(
            "one query too few",
            "The first token of the second copy, at i = period, counts as well: what followed it "
            "stands at 1.",
            {"start": lambda period: period + 1},
        ),
        Misconception(
            "rows and columns exchanged",
            "It is 0 for every head. Row i is what query i gives; transposed, the second copy "
            "would have to look into its future, where a causal map has zeros.",
            {"turn": lambda weights: weights.mT},
        ),
        Misconception(
            "divided by n",
            "The first copy has nothing to go on with. Divide by the n − period queries that have.",
            {"score": _over_n},
        ),
        Misconception(
            "divided by the period",
            "That is the number of queries as long as there are two copies. In general there are "
            "n − period.",
            {"score": lambda values, n, queries: values.sum(dim=-1) / (n - queries)},
        ),
        Misconception(
            "summed, not averaged",
            "A sum grows with the number of copies, so two texts could not be compared.",
            {"score": _sum},
        ),
        Misconception(
            "how often it is the largest",
            "Asked for is the weight itself, not the share of queries that give their largest "
            "weight there.",
            {"of": _largest_in_row, "score": _mean},
        ),
        Misconception(
            "the largest instead of the mean",
            "One query that goes on with the pattern does not make a head that does. Take the mean "
            "over all.",
            {"score": _top},
        ),
        *_with_either_divisor(
            "the second copy only",
            "Every copy after the first has queries that count, the third too: i from `period` to "
            "n − 1.",
            {"stop": lambda period, n: min(2 * period, n)},
        ),
        Misconception(
            "the second copy left out",
            "The queries begin with the second copy, at i = period. With two copies nothing is "
            "left, and a mean of nothing is NaN.",
            {"start": lambda period: 2 * period, "stop": lambda period, n: n},
        ),
        *_with_either_divisor(
            "the last query left out",
            "The last query, n − 1, counts as well. A Python range ends before its end: "
            "`range(period, n)`.",
            {"stop": lambda period, n: n - 1},
        ),
        Misconception(
            "the wrong end of the diagonal cut off",
            "The cell too many is the first one, row period − 1, in the first copy. The last query "
            "counts.",
            {"start": lambda period: period - 1, "stop": lambda period, n: n - 1},
        ),
        Misconception(
            "all earlier copies added up",
            "Asked for is the token that followed the last time, at i − period + 1; not, besides, "
            "what followed in the copies before.",
            {"read": _all_copies},
        ),
        Misconception(
            "the first copy instead of the last one",
            "In the third copy, the last time was in the second: i − period + 1, counted from the "
            "query and not from the start of the text.",
            {"read": _oldest_copy},
        ),
        Misconception(
            "the diagonal of the first two axes",
            "The first two axes may be layers, texts or heads. Queries and keys are the last two: "
            "`weights[..., i, j]`, or `diagonal` with `dim1=-2, dim2=-1`, as by itself it takes "
            "the first two.",
            {"read": _of_first_axes},
        ),
        Misconception(
            "the last query only",
            "One row is one observation. Take the mean over all queries of the later copies.",
            {"rows": lambda values: values[..., -1:]},
        ),
        Misconception(
            "averaged over everything",
            "Layers, texts and heads keep their own numbers. Few heads do this, and in a mean over "
            "all of them they disappear.",
            {"reduce": _over_heads_too},
        ),
        Misconception(
            "averaged over the heads",
            "Each head keeps its own number. Few do this, and in a mean they disappear.",
            {"reduce": _over_the_last_leading_axis_too},
        ),
    ),
    hints=(
        "Write the tokens `a b c a b c` in a row. At the second `a`, what comes next, and where "
        "has it been read?",
        "The queries are `torch.arange(period, n)`. Which key belongs to each of them?",
        "`weights[..., query, query - period + 1].mean(dim=-1)`.",
    ),
    minutes=8,
    difficulty=2,
)

EXERCISES = (PREVIOUS, INDUCTION)
