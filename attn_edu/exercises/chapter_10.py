"""Exercises of chapter 10: what attention costs, and where a recurrent network costs the same."""

import math

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import more

# 10.attention_flops


def attention_flops(n, d_model):
    scores = 2 * n * n * d_model  # Q Kᵀ: n · n dot products of d_model numbers
    outputs = 2 * n * n * d_model  # weights · V: n · d_model dot products of n numbers
    return scores + outputs


def _projections(count):
    """``count`` projections of (n, d_model) to (n, d_model), counted as everything else is."""
    return lambda n, d, dot: count * n * d * dot(d)


def _softmax(operations):
    return lambda n, d, dot: operations * n * n


def _attention_flops(
    n,
    d_model,
    *,
    dot=lambda length: 2 * length,
    pairs=lambda n: n * n,
    width=lambda d: d,
    extra=lambda n, d, dot: 0,
):
    scores = pairs(n) * dot(width(d_model))
    outputs = n * width(d_model) * dot(pairs(n) / n)
    return scores + outputs + extra(n, d_model, dot)


def _flops_cases():
    sizes = [(3, 2), (10, 64), (129, 48), (1000, 512), (7, 96), (1, 5)]
    sizes += more(5, range(2, 2000), range(2, 600))
    return [Case((n, d), f"n = {n}, d_model = {d}") for n, d in sizes]


ATTENTION_FLOPS = Exercise(
    id="10.attention_flops",
    title="FLOPs of attention",
    statement=(
        "How many multiplications and additions are in the two products of attention, QKᵀ and "
        "weights · V? Queries, keys and values are (n, d_model), and the heads together are as "
        "wide as one head of d_model. One multiplication and one addition count as two. Count "
        "neither the projections nor the softmax; there is no mask. Return a whole number."
    ),
    starter="def attention_flops(n, d_model):\n    ...  # your code here\n",
    reference=attention_flops,
    why=(
        "A dot product of d numbers takes d multiplications and d additions (the first one adds to "
        "0): 2d. QKᵀ has n · n of them, of d_model numbers each. weights · V has n · d_model of "
        "them, of n numbers each. Both come to 2n²d_model."
    ),
    model=_attention_flops,
    cases=_flops_cases,
    misconceptions=(
        Misconception(
            "half of it",
            "There are two products, in each of them a multiplication and an addition count as "
            "two, and no mask leaves out half of the pairs: 2 · 2 · n² · d_model.",
            {"dot": lambda length: length},
        ),
        Misconception(
            "a quarter of it: the pairs times the width",
            "n² · d_model is the number of multiplications in one of the two products. The "
            "additions and the other product are missing.",
            {"dot": lambda length: length / 2},
        ),
        Misconception(
            "twice of it",
            "Two products of 2 · n² · d_model each. The heads share the width d_model, so more "
            "of them do not make it more.",
            {"dot": lambda length: 4 * length},
        ),
        Misconception(
            "n and d_model exchanged",
            "Each of the n words is compared with all n words: the length is squared, and the "
            "width enters once.",
            {"pairs": lambda n: n, "width": lambda d: d * d},
        ),
        Misconception(
            "in proportion to the length",
            "Each of the n words is compared with all n words, so there are n² pairs.",
            {"pairs": lambda n: n, "width": lambda d: d},
        ),
        Misconception(
            "only the pairs that a causal mask leaves",
            "No mask was given; and a mask over the finished scores leaves out no product.",
            {"pairs": lambda n: n * (n + 1) // 2},
        ),
        Misconception(
            "only the pairs with an earlier word",
            "No mask was given; and a mask over the finished scores leaves out no product. Each "
            "word looks at all n, at itself too.",
            {"pairs": lambda n: n * (n - 1) // 2},
        ),
        Misconception(
            "a word is not compared with itself",
            "A word looks at itself too: n² pairs, not n² − n.",
            {"pairs": lambda n: n * (n - 1)},
        ),
        Misconception(
            "the pairs without the width",
            "Each pair costs a dot product of d_model numbers, and as much again for its weight "
            "times the value.",
            {"width": lambda d: 1},
        ),
        Misconception(
            "the width squared",
            "The width enters once: a pair costs one dot product of d_model numbers. Squares of "
            "the width come from the projections.",
            {"width": lambda d: d * d},
        ),
        Misconception(
            "with the four projections",
            "The projections cost 8 · n · d_model². They were left out here.",
            {"extra": _projections(4)},
        ),
        Misconception(
            "with three projections",
            "The projections to queries, keys and values cost 6 · n · d_model². They were left out "
            "here.",
            {"extra": _projections(3)},
        ),
        Misconception(
            "half of it, and the four projections",
            "There are two products of 2 · n² · d_model each. The projections cost 8 · n · "
            "d_model², and were left out here.",
            {"pairs": lambda n: n * n / 2, "extra": _projections(4)},
        ),
        *(
            Misconception(
                "with the softmax" if count == 1 else f"with the softmax, {count} steps a score",
                "The softmax works on n² numbers, whatever the width. It was left out here.",
                {"extra": _softmax(count)},
            )
            for count in (1, 2, 3, 4, 5)
        ),
        Misconception(
            "d − 1 additions in a dot product",
            "As FLOPs are usually counted, the first number is added to 0: d additions, not d − 1.",
            {"dot": lambda length: 2 * length - 1},
        ),
        Misconception(
            "one product, and d − 1 additions in its dot products",
            "There are two products, QKᵀ and weights · V. And as FLOPs are usually counted, the "
            "first number is added to 0: d additions, not d − 1.",
            {
                "dot": lambda length: 2 * length - 1,
                "extra": lambda n, d, dot: -n * d * dot(n),
            },
        ),
    ),
    hints=(
        "How many dot products are in QKᵀ, and how long is each?",
        "A dot product of d numbers costs 2d. Now do the same for weights · V.",
        "2 · n · n · d_model for each of the two products.",
    ),
    minutes=4,
    difficulty=1,
)

# 10.crossover_length


def crossover_length(d_model):
    # attention: 4 · n² · d_model; recurrent: n steps of 2 · (2 · d_model²)
    return d_model


def _crossover_length(
    d_model,
    *,
    attention=4,
    matrices=2,
    solve=lambda ratio, d: ratio * d,
):
    """4 n² d = 2 matrices n d², so n = (2 matrices / 4) d."""
    return solve(2 * matrices / attention, d_model)


def _crossover_cases():
    widths = [(16,), (64,), (100,), (256,), (7,), (1024,), *more(5, range(2, 2000))]
    return [Case((d,), f"d_model = {d}") for (d,) in widths]


CROSSOVER_LENGTH = Exercise(
    id="10.crossover_length",
    title="Length of the crossover",
    statement=(
        "At which length n do the two products of attention, as you counted them, take as many "
        "multiplications and additions as a recurrent network of the same width? In each of its n "
        "steps the network computes tanh(W x + U h): two products of a (d_model, d_model) matrix "
        "with a vector. Leave out attention's projections, and return the length."
    ),
    starter="def crossover_length(d_model):\n    ...  # your code here\n",
    reference=crossover_length,
    why=(
        "A matrix times a vector costs 2 · d_model², two of them in n steps cost 4 · n · d_model². "
        "Attention costs 4 · n² · d_model. Divide both by 4 · n · d_model: they are equal at "
        "n = d_model. Below it attention computes less, beyond it the recurrent network does."
    ),
    model=_crossover_length,
    cases=_crossover_cases,
    misconceptions=(
        Misconception(
            "half of the network's cost",
            "A step multiplies the word by W and the state by U, and each of these two products "
            "costs 2 · d_model². The crossover at d/2 in the chapter left W out.",
            {"matrices": 1},
        ),
        Misconception(
            "half of the network's cost, rounded down",
            "A step multiplies the word by W and the state by U, and each of these two products "
            "costs 2 · d_model². The crossover at d/2 in the chapter left W out.",
            {"matrices": 1, "solve": lambda ratio, d: int(ratio * d)},
        ),
        Misconception(
            "the first length at which attention costs more",
            "At this length attention costs more. Both cost the same one word earlier.",
            {"solve": lambda ratio, d: int(ratio * d) + 1},
        ),
        Misconception(
            "the last length at which attention costs less",
            "At this length attention costs less. Both cost the same one word later.",
            {"solve": lambda ratio, d: math.ceil(ratio * d) - 1},
        ),
        Misconception(
            "half of attention's cost",
            "Attention has two products, QKᵀ and weights · V, of 2 · n² · d_model each: a "
            "multiplication and an addition count as two. (The 2d of the chapter is the length at "
            "which attention with its projections costs as much as an LSTM.)",
            {"attention": 2},
        ),
        Misconception(
            "an LSTM in place of the plain network",
            "An LSTM has four pairs of such products in a step, and meets attention four times as "
            "late. The network here has one pair.",
            {"matrices": 8},
        ),
        Misconception(
            "a GRU in place of the plain network",
            "A GRU has three pairs of such products in a step. The network here has one pair.",
            {"matrices": 6},
        ),
        Misconception(
            "the square of the width",
            "Both sides have a factor n and a factor d_model in common. Divide them out first.",
            {"solve": lambda ratio, d: ratio * d * d},
        ),
        Misconception(
            "the square root of the width",
            "Both sides have a factor n and a factor d_model in common. Divide them out first.",
            {"solve": lambda ratio, d: ratio * math.sqrt(d)},
        ),
        Misconception(
            "attention costs less at every length",
            "Attention grows with n², the network with n. However small the factor, there is a "
            "length beyond which the square is larger.",
            {"solve": lambda ratio, d: math.inf},
        ),
        Misconception(
            "the network costs less at every length",
            "For short sequences n² is small: with n = 1, attention costs 4 · d_model and the "
            "network 4 · d_model².",
            {"solve": lambda ratio, d: 0},
        ),
    ),
    hints=(
        "Write down both counts as products of n and d_model.",
        "Attention: 4 · n² · d_model. The network: n steps of two products, 2 · d_model² each.",
        "4 · n² · d_model = 4 · n · d_model². Divide both sides by 4 · n · d_model.",
    ),
    minutes=4,
    difficulty=1,
)

EXERCISES = (ATTENTION_FLOPS, CROSSOVER_LENGTH)
