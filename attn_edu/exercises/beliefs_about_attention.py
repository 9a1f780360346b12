"""What people believe about one head of attention, for every exercise that is about it."""

import math

from attn_edu.exercises.definition import Misconception


def _minus_inf(scores, mask, softmax):
    return softmax(scores.masked_fill(~mask, -math.inf))


def _big_negative(scores, mask, softmax):
    return softmax(scores.masked_fill(~mask, -1e9))


def _added(scores, mask, softmax):
    return softmax(scores + mask)


def _multiplied(scores, mask, softmax):
    return softmax(scores * mask)


def _after(scores, mask, softmax):
    return softmax(scores) * mask


def _zeros(weights, mask):
    return weights.masked_fill(~mask, 0)


def _as_it_is(weights, mask):
    return weights


def weights(
    query,
    key,
    mask,
    *,
    scale=lambda query, key: 1 / math.sqrt(query.shape[-1]),
    axis=-1,
    polarity=lambda mask: mask,
    hide=_minus_inf,
    blind=_zeros,
):
    """The weights (…, n_query, n_key), with a keyword for each thing that may go wrong."""

    def softmax(scores):
        return axis(scores) if callable(axis) else scores.softmax(dim=axis)

    scores = query @ key.mT * scale(query, key)
    if mask is None:
        return softmax(scores)
    mask = polarity(mask)
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
        "mask upside down",
        "`True` means may attend. Here what should be hidden is seen, and the rest is hidden. "
        "(`nn.MultiheadAttention` uses the opposite convention.)",
        {"polarity": lambda mask: ~mask},
    ),
    Misconception(
        "mask of 0 and 1 added to the scores",
        "Adding 1 to a visible score hides nothing: the others keep almost their full weight. "
        "What is hidden needs −∞.",
        {"hide": _added, "blind": _as_it_is},
    ),
    Misconception(
        "scores multiplied by the mask",
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
)
