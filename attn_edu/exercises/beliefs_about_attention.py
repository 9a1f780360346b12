"""What people believe about one head of attention, for every exercise that is about it."""

import math

import torch

from attn_edu.exercises.definition import Misconception


def _minus_inf(scores, mask, softmax):
    return softmax(scores.masked_fill(~mask, -math.inf))


def _big_negative(scores, mask, softmax):
    return softmax(scores.masked_fill(~mask, -1e9))


def _added(scores, mask, softmax):
    return softmax(scores + mask)


def _multiplied(scores, mask, softmax):
    return softmax(scores * mask)


def _big_negative_added(scores, mask, softmax):
    return softmax(scores - 1e6 * ~mask)


def _after(scores, mask, softmax):
    return softmax(scores) * mask


def _zeros(weights, mask):
    return weights.masked_fill(~mask, 0)


def _as_it_is(weights, mask):
    return weights


def _past(mask, scores):
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()


def _past_as_well(mask, scores):
    return _past(mask, scores) if mask is None else mask & _past(mask, scores)


def weights(
    query,
    key,
    mask,
    *,
    product=lambda query, key: query @ key.mT,
    scale=lambda query, key: 1 / math.sqrt(query.shape[-1]),
    axis=-1,
    late=lambda weights, d: weights,
    polarity=lambda mask: mask,
    seen=lambda mask, scores: mask,
    hide=_minus_inf,
    blind=_zeros,
):
    """The weights (…, n_query, n_key), with a keyword for each thing that may go wrong."""

    def softmax(scores):
        weights = axis(scores) if callable(axis) else scores.softmax(dim=axis)
        return late(weights, query.shape[-1])

    scores = product(query, key) * scale(query, key)
    mask = seen(mask if mask is None else polarity(mask), scores)
    if mask is None:
        return softmax(scores)
    return blind(hide(scores, mask, softmax), mask)


def attention(query, key, value, mask, *, takes=lambda key, value: value, **knobs):
    """The output (…, n_query, d_value); ``takes`` is what is averaged, the rest as `weights`."""
    return weights(query, key, mask, **knobs) @ takes(key, value)


BELIEFS = (
    Misconception(
        "softmax over the queries",
        "Each query divides its attention among the keys: the rows must sum to 1 (`dim=-1`), and "
        "here the columns do.",
        {"axis": -2},
    ),
    Misconception(
        "softmax over axis 1",
        "`dim=1` is the axis of the keys only as long as there are no leading axes. Counted from "
        "the end it is always `dim=-1`.",
        {"axis": 1},
    ),
    Misconception(
        "softmax over axis 0",
        "Axis 0 is the batch, or the queries where there is no batch. The axis of the keys is the "
        "last one: `dim=-1`.",
        {"axis": 0},
    ),
    Misconception(
        "softmax over all scores at once",
        "Each row of its own sums to 1, not the whole matrix.",
        {"axis": lambda scores: scores.flatten(-2).softmax(dim=-1).view_as(scores)},
    ),
    Misconception(
        "no softmax",
        "Scores may be negative and of any size; the softmax makes a row of weights of them.",
        {"axis": lambda scores: scores},
    ),
    Misconception(
        "no softmax, and −∞ is left where the mask hides",
        "Scores may be negative and of any size; the softmax makes a row of weights of them, and "
        "of −∞ a weight of 0.",
        {"axis": lambda scores: scores, "blind": _as_it_is},
    ),
    Misconception(
        "softmax without its denominator",
        "`exp` makes every score positive, but a row sums to 1 only after it is divided by its "
        "sum.",
        {"axis": lambda scores: scores.exp()},
    ),
    Misconception(
        "not scaled",
        "The variance of a dot product grows with d. Divide the scores by √d.",
        {"scale": lambda query, key: 1.0},
    ),
    Misconception(
        "divided by d",
        "The standard deviation of a dot product grows with √d, not with d: this is too flat.",
        {"scale": lambda query, key: 1 / query.shape[-1]},
    ),
    Misconception(
        "multiplied by √d",
        "The scale makes the scores smaller: divide by √d.",
        {"scale": lambda query, key: math.sqrt(query.shape[-1])},
    ),
    Misconception(
        "scaled by the number of keys",
        "The length of the sentence is another axis. d is the last axis of the query.",
        {"scale": lambda query, key: 1 / math.sqrt(key.shape[-2])},
    ),
    Misconception(
        "scaled by the number of queries",
        "How many queries there are is another axis. d is the last axis of the query.",
        {"scale": lambda query, key: 1 / math.sqrt(query.shape[-2])},
    ),
    Misconception(
        "scaled by the size of axis 1",
        "`query.shape[1]` is d only as long as there are no leading axes. Counted from the end it "
        "is always `query.shape[-1]`.",
        {"scale": lambda query, key: 1 / math.sqrt(query.shape[1])},
    ),
    Misconception(
        "scaled after the softmax",
        "√d tames the scores, so they are divided before the softmax. After it, the rows no longer "
        "sum to 1, and they are as sharp as without a scale.",
        {
            "scale": lambda query, key: 1.0,
            "late": lambda weights, d: weights / math.sqrt(d),
        },
    ),
    Misconception(
        "key reshaped instead of transposed",
        "A reshape to (…, d, n_key) keeps the order in memory, so a column holds pieces of several "
        "keys. `key.mT` exchanges the two axes.",
        {"product": lambda query, key: query @ key.reshape(*key.shape[:-2], *key.mT.shape[-2:])},
    ),
    Misconception(
        "the future hidden as well",
        "Here a query may see the keys that come after it, unless the mask hides them.",
        {"seen": _past_as_well},
    ),
    Misconception(
        "the future hidden instead of what the mask hides",
        "What may be seen is in the mask. A triangle (or `is_causal=True`) is another mask, and "
        "here it takes the place of the one that is given.",
        {"seen": _past},
    ),
    Misconception(
        "mask upside down",
        "`True` means may attend. Here what should be hidden is seen, and the rest is hidden. "
        "(`nn.MultiheadAttention` uses the opposite convention.)",
        {"polarity": lambda mask: ~mask},
    ),
    Misconception(
        "mask of 0 and 1 added to the scores",
        "A difference of 1 in the scores hides nothing: what should be hidden keeps a good part of "
        "its weight. It needs −∞.",
        {"hide": _added, "blind": _as_it_is},
    ),
    Misconception(
        "hidden scores set to 0",
        "A score of 0 is a score like any other, and e⁰ = 1. What is hidden needs −∞.",
        {"hide": _multiplied, "blind": _as_it_is},
    ),
    Misconception(
        "masked after the softmax",
        "The hidden keys have already taken their share, so the rows no longer sum to 1. "
        "Hide them before the softmax.",
        {"hide": _after},
    ),
    Misconception(
        "mask ignored",
        "Every key is seen, also those where the mask is `False`.",
        {"hide": lambda scores, mask, softmax: softmax(scores), "blind": _as_it_is},
    ),
    Misconception(
        "NaN for a query that may see nothing",
        "A row of nothing but −∞ has no softmax: it is 0 / 0. Fill what is hidden with 0 after "
        "the softmax as well.",
        {"blind": _as_it_is},
    ),
    Misconception(
        "a query that may see nothing sees everything",
        "A row that is all equally hidden (by a big negative number, say) becomes uniform, and so "
        "it looks at padding. It must be 0.",
        {"hide": _big_negative, "blind": _as_it_is},
    ),
    Misconception(
        "a query that may see nothing keeps the weights it had without a mask",
        "A big negative number is added to every score of such a row, and the softmax does not "
        "notice what all have in common. The row must be 0.",
        {"hide": _big_negative_added, "blind": _as_it_is},
    ),
)
