"""The exercise of chapter 11: one vector for a sentence, padding left out."""

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal

# 11.masked_mean


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1]) < lengths[:, None]  # (batch, n)
    total = x.masked_fill(~real[..., None], 0).sum(dim=1)  # (batch, d)
    return total / lengths.clamp(min=1)[:, None]  # a sentence without a word: 0 / 1


def _mean(
    x,
    lengths,
    *,
    counts=lambda position, length, n: position < length,
    divisor=lambda lengths, n: lengths.clamp(min=1).to(torch.float64)[:, None],
    reduce=lambda x, dim: x.sum(dim=dim),
    hide=lambda x, real: x * real,
    axis=1,
    empty=lambda mean, lengths: mean,
):
    n = x.shape[1]
    real = counts(torch.arange(n), lengths[:, None], n)[..., None]  # (batch, n, 1)
    total = reduce(hide(x, real), axis)
    return empty(total / divisor(lengths, n), lengths)


def _max(x, dim):
    return x.amax(dim=dim)


def _one(lengths, n):
    return torch.ones(len(lengths), 1, dtype=torch.float64)


def _not_a_number(mean, lengths):
    return mean.masked_fill((lengths == 0)[:, None], torch.nan)


MASKED_MEAN = Exercise(
    id="11.masked_mean",
    title="The mean without padding",
    statement=(
        "`x` (batch, n, d) holds a vector for each of n places, and `lengths` (batch,) says how "
        "many places of each sentence are words; the rest is padding at the end, with any numbers "
        "in it. Return the mean over the words, (batch, d). A sentence of length 0 gets zeros."
    ),
    starter=(
        "def masked_mean(x, lengths):\n"
        "    # x (batch, n, d), lengths (batch,) -> (batch, d)\n"
        "    ...  # your code here\n"
    ),
    reference=masked_mean,
    why=(
        "Padding is set to 0 and drops out of the sum; what is divided by is the number of "
        "words, not n. A sentence without words has the sum 0, and 0 / 1 is 0 where 0 / 0 is NaN. "
        "It is attention with equal weights: `mask / mask.sum()` as a row, times `x`."
    ),
    model=_mean,
    cases=lambda: [
        Case((normal(2, 3, 2, seed=0), torch.tensor([3, 2])), "lengths 3 and 2 of 3"),
        Case((normal(3, 5, 4, seed=1) + 2, torch.tensor([5, 1, 3])), "all numbers near 2"),
        Case((normal(5, 4, 3, seed=2), torch.tensor([2, 4, 1, 3, 2])), "five sentences"),
        Case((normal(3, 6, 2, seed=3), torch.tensor([4, 0, 6])), "one sentence without a word"),
        Case((normal(1, 4, 5, seed=4), torch.tensor([3])), "a batch of 1"),
    ],
    misconceptions=(
        Misconception(
            "padding is averaged in",
            "`x.mean(dim=1)` takes the padded places for words: the same sentence gets another "
            "mean when it is padded further.",
            {
                "counts": lambda position, length, n: (position < n) & (length >= 0),
                "divisor": lambda lengths, n: n,
            },
        ),
        Misconception(
            "divided by n",
            "The padding is left out of the sum, but still counted: divide by the number of "
            "words. Here a short sentence gets a short vector.",
            {"divisor": lambda lengths, n: n},
        ),
        Misconception(
            "padding in the sum",
            "You divide by the number of words, but the padded places are still in the sum. They "
            "need not be 0.",
            {"counts": lambda position, length, n: (position < n) & (length >= 0)},
        ),
        Misconception(
            "padding in the sum, and 0 to divide by",
            "`x.sum(dim=1) / lengths[:, None]` has two faults. The padded places are still in the "
            "sum, and they need not be 0; and a sentence without words is divided by 0.",
            {
                "counts": lambda position, length, n: (position < n) & (length >= 0),
                "divisor": lambda lengths, n: lengths[:, None],
            },
        ),
        Misconception(
            "cut at the longest sentence",
            "Cutting x at the longest sentence of the batch takes away the padding of that one "
            "alone. Each sentence ends at its own length.",
            {
                "counts": lambda position, length, n: position < length.max(),
                "divisor": lambda lengths, n: lengths.max(),
            },
        ),
        Misconception(
            "summed, not averaged",
            "A sum grows with the length of the sentence: divide by the number of words.",
            {"divisor": _one},
        ),
        Misconception(
            "the largest instead of the mean",
            "The largest number of each feature is max pooling. The mean adds up and divides.",
            {
                "hide": lambda x, real: x.masked_fill(~real, -torch.inf),
                "reduce": _max,
                "divisor": _one,
                "empty": lambda top, lengths: top.masked_fill((lengths == 0)[:, None], 0),
            },
        ),
        Misconception(
            "mean over the features",
            "The axes are (batch, n, d): the mean is over the words, `dim=1`. Over `dim=-1` each "
            "word becomes one number.",
            {"axis": 2, "divisor": lambda lengths, n: 1, "reduce": lambda x, dim: x.mean(dim=dim)},
        ),
        Misconception(
            "mean over the batch",
            "`dim=0` mixes different sentences. The mean is over the words of one: `dim=1`.",
            {"axis": 0, "divisor": lambda lengths, n: 1, "reduce": lambda x, dim: x.mean(dim=dim)},
        ),
        Misconception(
            "a word too many",
            "Positions count from 0: with length 3 the words are 0, 1 and 2, so `position < "
            "length` and not `<=`.",
            {"counts": lambda position, length, n: position <= length},
        ),
        Misconception(
            "the last word is missing",
            "With length 3 the words are 0, 1 and 2: `position < length`, not `length - 1`.",
            {"counts": lambda position, length, n: position < length - 1},
        ),
        Misconception(
            "the padding instead of the words",
            "The mask is upside down: positions before the length are words.",
            {"counts": lambda position, length, n: position >= length},
        ),
        Misconception(
            "words at the other end",
            "The padding stands at the end here, so the words are the first `length` places.",
            {"counts": lambda position, length, n: position >= n - length},
        ),
        Misconception(
            "NaN for a sentence without words",
            "0 / 0 is NaN, and one NaN spoils the loss of the whole batch. Divide by at least 1.",
            {"empty": _not_a_number},
        ),
        Misconception(
            "one too many to divide by",
            "Adding 1 (or some ε as large) to the divisor protects from 0 / 0, but changes every "
            "mean. `lengths.clamp(min=1)` changes the empty sentence alone.",
            {"divisor": lambda lengths, n: (lengths + 1.0)[:, None]},
        ),
        Misconception(
            "one divisor for the whole batch",
            "Each sentence is divided by its own length, not by the mean or the largest of all.",
            {"divisor": lambda lengths, n: lengths.double().mean()},
        ),
        Misconception(
            "divided by the longest sentence",
            "Each sentence is divided by its own length: the longest of the batch is another's.",
            {"divisor": lambda lengths, n: lengths.max()},
        ),
    ),
    hints=(
        "Two things depend on the length: what is added up, and what the sum is divided by.",
        "Which places are words? `torch.arange(n) < lengths[:, None]`, (batch, n). It needs one "
        "more axis to meet x.",
        "`x.masked_fill(~real[..., None], 0).sum(dim=1) / lengths.clamp(min=1)[:, None]`.",
    ),
    minutes=6,
    difficulty=1,
)

EXERCISES = (MASKED_MEAN,)
