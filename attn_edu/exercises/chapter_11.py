"""The exercise of chapter 11: one vector for a sentence, padding left out."""

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal

# 11.masked_mean


def masked_mean(x, lengths):
    real = torch.arange(x.shape[1]) < lengths[:, None]  # (batch, n)
    total = x.masked_fill(~real[..., None], 0).sum(dim=1)  # (batch, d)
    return total / lengths.clamp(min=1)[:, None]  # a sentence without a word: 0 / 1


def _words(position, length, x):
    return position < length


def _all_places(position, length, x):
    return (position < x.shape[1]) & (length >= 0)


def _up_to(position, length, x):
    return position <= length


def _but_one(position, length, x):
    return position < length - 1


def _but_the_first(position, length, x):
    return (position > 0) & (position < length)


def _padding(position, length, x):
    return position >= length


def _counted(lengths, real):
    """The number of places in the sum."""
    return real.sum(dim=1).flatten()


def _mean_of(axis):
    return lambda x: x.mean(dim=axis)


def _one(lengths, real):
    return torch.ones_like(lengths)


def _mean(
    x,
    lengths,
    *,
    counts=_words,
    divisor=lambda lengths, real: lengths,
    least=1,
    hide=lambda x, real: x * real,
    reduce=lambda x: x.sum(dim=1),
    column=lambda number: number[:, None],
    empty=lambda mean, lengths, x: mean,
):
    real = counts(torch.arange(x.shape[1]), lengths[:, None], x)[..., None]  # (batch, n, 1)
    number = divisor(lengths, real)
    number = number if least is None else number.clamp(min=least)
    return empty(reduce(hide(x, real)) / column(number), lengths, x)


def _empty(fill):
    """Another vector for the sentences without words."""
    return lambda mean, lengths, x: torch.where((lengths > 0)[:, None], mean, fill(x))


def _with_zeros():
    x = normal(2, 4, 3, seed=5)
    x[0, 1], x[0, 3], x[1, 2:] = 0, 0, 0  # of three words the second, and all padding
    return x


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
        Case((_with_zeros(), torch.tensor([3, 2])), "padding of zeros, and a word of zeros"),
    ],
    misconceptions=(
        Misconception(
            "padding is averaged in",
            "`x.mean(dim=1)` takes the padded places for words: the same sentence gets another "
            "mean when it is padded further.",
            {"counts": _all_places, "divisor": _counted},
        ),
        Misconception(
            "divided by n",
            "The padding is left out of the sum, but still counted: divide by the number of "
            "words. Here a short sentence gets a short vector.",
            {"divisor": lambda lengths, real: torch.full_like(lengths, real.shape[1])},
        ),
        Misconception(
            "padding in the sum",
            "You divide by the number of words, but the padded places are still in the sum. They "
            "need not be 0.",
            {"counts": _all_places},
        ),
        Misconception(
            "padding in the sum, and 0 to divide by",
            "`x.sum(dim=1) / lengths[:, None]` has two faults. The padded places are still in the "
            "sum, and they need not be 0; and a sentence without words is divided by 0.",
            {"counts": _all_places, "least": None},
        ),
        Misconception(
            "zeros taken for padding",
            "Only `lengths` says what is a word. A vector of zeros may be one, and padding may "
            "hold any numbers.",
            {"counts": lambda position, length, x: x.any(dim=-1), "divisor": _counted},
        ),
        Misconception(
            "cut at the longest sentence",
            "Cutting x at the longest sentence of the batch takes away the padding of that one "
            "alone. Each sentence ends at its own length.",
            {
                "counts": lambda position, length, x: position < length.max() + 0 * length,
                "divisor": _counted,
            },
        ),
        Misconception(
            "the first sentence's length for all",
            "`lengths` has a number for each sentence of the batch, and each ends at its own.",
            {
                "counts": lambda position, length, x: position < length[0] + 0 * length,
                "divisor": _counted,
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
                "reduce": lambda x: x.amax(dim=1),
                "divisor": _one,
                "empty": _empty(lambda x: 0.0),
            },
        ),
        Misconception(
            "padding filled with −∞",
            "−∞ is what a softmax needs. In a sum, what should not count is 0.",
            {"hide": lambda x, real: x.masked_fill(~real, -torch.inf)},
        ),
        Misconception(
            "mean over the features",
            "The axes are (batch, n, d): the mean is over the words, `dim=1`. Over `dim=-1` each "
            "word becomes one number. And padding does not count.",
            {"counts": _all_places, "divisor": lambda *_: torch.ones(1), "reduce": _mean_of(2)},
        ),
        Misconception(
            "mean over the batch",
            "`dim=0` mixes different sentences. The mean is over the words of one: `dim=1`. And "
            "padding does not count.",
            {"counts": _all_places, "divisor": lambda *_: torch.ones(1), "reduce": _mean_of(0)},
        ),
        Misconception(
            "a word too many",
            "Positions count from 0: with length 3 the words are 0, 1 and 2, so `position < "
            "length` and not `<=`.",
            {"counts": _up_to},
        ),
        Misconception(
            "a word too many, and counted",
            "Positions count from 0: with length 3 the words are 0, 1 and 2, so `position < "
            "length` and not `<=`, or `x[:length]` and not `x[: length + 1]`.",
            {"counts": _up_to, "divisor": _counted},
        ),
        Misconception(
            "the last word is missing",
            "With length 3 the words are 0, 1 and 2: `position < length`, not `length - 1`.",
            {"counts": _but_one},
        ),
        Misconception(
            "the last word is missing, and not counted",
            "With length 3 the words are 0, 1 and 2: `position < length`, not `length - 1`, or "
            "`x[:length]`, which ends before `length` by itself.",
            {"counts": _but_one, "divisor": _counted},
        ),
        Misconception(
            "the first word is missing",
            "Positions count from 0, and the first place holds a word as well.",
            {"counts": _but_the_first},
        ),
        Misconception(
            "the first word is missing, and not counted",
            "Positions count from 0, and the first place holds a word as well.",
            {"counts": _but_the_first, "divisor": _counted},
        ),
        Misconception(
            "the padding instead of the words",
            "The mask is upside down: positions before the length are words.",
            {"counts": _padding},
        ),
        Misconception(
            "the mean of the padding",
            "The mask is upside down, in the sum and in the number: positions before the length "
            "are words.",
            {"counts": _padding, "divisor": _counted},
        ),
        Misconception(
            "words at the other end",
            "The padding stands at the end here, so the words are the first `length` places.",
            {"counts": lambda position, length, x: position >= x.shape[1] - length},
        ),
        Misconception(
            "0 to divide by",
            "0 / 0 is NaN, and one NaN spoils the loss of the whole batch. Divide by at least 1.",
            {"least": None},
        ),
        Misconception(
            "a sentence without words given its first place",
            "Dividing by at least 1 is right, but the sum still needs the length 0: `clamp` the "
            "divisor, not the `lengths` that say what is a word.",
            {"empty": _empty(lambda x: x[:, 0])},
        ),
        Misconception(
            "a sentence without words given the mean of its padding",
            "With nothing to take the mean of, the answer is zeros. Equal weights over padding "
            "come from a softmax over big negative numbers, or from a mean over all places.",
            {"empty": _empty(lambda x: x.mean(dim=1))},
        ),
        Misconception(
            "one too many to divide by",
            "Adding 1 (or some ε as large) to the divisor protects from 0 / 0, but changes every "
            "mean. `lengths.clamp(min=1)` changes the empty sentence alone.",
            {"divisor": lambda lengths, real: lengths + 1},
        ),
        *(
            Misconception(
                f"{name} added to the divisor",
                "It protects from 0 / 0, but changes every mean a little. `lengths.clamp(min=1)` "
                "changes the empty sentence alone.",
                {"divisor": lambda lengths, real, little=little: lengths + little, "least": 0},
            )
            for name, little in (("10⁻⁶", 1e-6), ("10⁻⁵", 1e-5))
        ),
        Misconception(
            "one too few to divide by",
            "n − 1 belongs to the variance. A mean is divided by the number of words.",
            {"divisor": lambda lengths, real: lengths - 1},
        ),
        Misconception(
            "no axis for the features",
            "(batch, d) divided by (batch,) sets the lengths beside the features, and runs only "
            "where a batch happens to be as large as d, or 1. Put an axis of 1 behind them: "
            "`lengths[:, None]`.",
            {"column": lambda number: number},
        ),
        Misconception(
            "one divisor for the whole batch",
            "Each sentence is divided by its own length, not by the mean of all.",
            {"divisor": lambda lengths, real: lengths.double().mean() + 0 * lengths},
        ),
        Misconception(
            "divided by the words of the whole batch",
            "Each sentence is divided by its own length, not by the sum of all.",
            {"divisor": lambda lengths, real: lengths.sum() + 0 * lengths},
        ),
        Misconception(
            "divided by the longest sentence",
            "Each sentence is divided by its own length: the longest of the batch is another's.",
            {"divisor": lambda lengths, real: lengths.max() + 0 * lengths},
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
