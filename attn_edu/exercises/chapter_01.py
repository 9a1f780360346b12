"""Exercises of chapter 01: what a recurrent network forgets."""

import math

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import more, normal

# 01.path_length


def path_length(n, kind, window):
    if kind == "rnn":
        return n - 1  # from step to step
    if kind == "cnn":
        return math.ceil((n - 1) / (window - 1))  # each layer reaches window - 1 further
    return 1  # attention: every word sees every word


def _path_length(
    n,
    kind,
    window,
    *,
    rnn=lambda n: n - 1,
    cnn=lambda n, window: math.ceil((n - 1) / (window - 1)),
    attention=lambda n: 1,
):
    return {"rnn": rnn(n), "cnn": cnn(n, window), "attention": attention(n)}[kind]


def _path_cases():
    sizes = [(4, 3), (11, 4), (13, 5), (30, 7), (6, 9), *more(5, range(3, 90), range(3, 12))]
    return [
        Case((n, kind, window), f"n = {n}, {kind}, window = {window}")
        for n, window in sizes
        for kind in ("rnn", "cnn", "attention")
    ]


PATH_LENGTH = Exercise(
    id="01.path_length",
    title="Length of a path",
    statement=(
        "How many steps does it take, at the least, to bring something from the first of n words "
        "to the last (n ≥ 2)? `kind` is `rnn` (a step leads from one word to the next), `cnn` (a "
        "step is a layer, in which a word sees itself and the window − 1 words before it) or "
        "`attention` (a step is a layer). Return a whole number."
    ),
    starter=(
        "def path_length(n, kind, window):\n"
        '    # kind is "rnn", "cnn" or "attention"\n'
        "    ...  # your code here\n"
    ),
    reference=path_length,
    why=(
        "The last word is n − 1 places away from the first. A recurrent network takes one place a "
        "step. A convolution takes window − 1 places a layer, and the last layer may need fewer, "
        "so the quotient is rounded up. Attention takes any distance in one layer."
    ),
    model=_path_length,
    cases=_path_cases,
    misconceptions=(
        Misconception(
            "words counted instead of the gaps between them",
            "Between n words there are n − 1 gaps, and a recurrent step crosses one gap.",
            {"rnn": lambda n: n},
        ),
        Misconception(
            "a layer reaches as far as its window is wide",
            "The window includes the word itself, so a layer reaches window − 1 words back.",
            {"cnn": lambda n, window: math.ceil((n - 1) / window)},
        ),
        Misconception(
            "n / window layers",
            "There are n − 1 gaps to cross, and a layer crosses window − 1 of them.",
            {"cnn": lambda n, window: math.ceil(n / window)},
        ),
        Misconception(
            "rounded down",
            "A part of a layer does not exist. What is left over needs one layer more: round up.",
            {"cnn": lambda n, window: (n - 1) // (window - 1)},
        ),
        Misconception(
            "not rounded to whole layers",
            "A part of a layer does not exist: round up to the next whole number.",
            {"cnn": lambda n, window: (n - 1) / (window - 1)},
        ),
        Misconception(
            "one layer of a convolution sees everything",
            "One layer sees one window. To reach further, layers are stacked.",
            {"cnn": lambda n, window: 1},
        ),
        Misconception(
            "reach multiplied from layer to layer",
            "Layers add window − 1 each. Their reach multiplies only when they are dilated.",
            {"cnn": lambda n, window: math.ceil(math.log(n, window))},
        ),
        Misconception(
            "half of the window lies in the future",
            "Here the window ends at the word itself: all of its window − 1 others come before it.",
            {"cnn": lambda n, window: math.ceil((n - 1) / (window // 2))},
        ),
        Misconception(
            "attention walks from word to word",
            "Attention compares every word with every other in one layer, whatever the distance.",
            {"attention": lambda n: n - 1},
        ),
        Misconception(
            "work counted instead of steps",
            "Attention does about n² products, but all of them in one step.",
            {"attention": lambda n: n * n},
        ),
        Misconception(
            "attention needs no step at all",
            "One layer has to run before the last word holds anything of the first.",
            {"attention": lambda n: 0},
        ),
    ),
    hints=(
        "Draw four words as dots. How many gaps lie between the first and the last?",
        "A window of 3 sees the word itself and 2 before it. How many gaps does one layer cross?",
        "rnn: n − 1. cnn: (n − 1) / (window − 1), rounded up with `math.ceil`. attention: 1.",
    ),
    minutes=5,
    difficulty=1,
)

# 01.gradient_decay


def gradient_decay(norms):
    steps = len(norms) - 1
    return (norms[-1] / norms[0]) ** (1 / steps)


def _gradient_decay(
    norms,
    *,
    steps=lambda n: n - 1,
    ratio=lambda norms: norms[-1] / norms[0],
    per_step=lambda ratio, steps: ratio ** (1 / steps),
    mean=None,
):
    return mean(norms) if mean else per_step(ratio(norms), steps(len(norms)))


def _decay_cases():
    bumpy = torch.tensor([2.0, 1.9, 0.6, 0.5, 0.45, 0.1], dtype=torch.float64)
    return [
        Case((torch.tensor([8.0, 4.0, 2.0], dtype=torch.float64),), "halved at each step"),
        Case((0.9 ** torch.arange(7, dtype=torch.float64),), "nine tenths at each step"),
        Case((3 * 1.25 ** torch.arange(5, dtype=torch.float64),), "a gradient that grows"),
        Case((bumpy,), "uneven steps"),
        Case((torch.tensor([1.0, 1e-9], dtype=torch.float64),), "one step"),
        Case((normal(9, seed=1).exp(),), "nine random norms"),
    ]


GRADIENT_DECAY = Exercise(
    id="01.gradient_decay",
    title="Decay of a gradient",
    statement=(
        "`norms` (n,) holds gradient norms at the distances 0, 1, …, n − 1. Return the one factor "
        "that, applied at every step, leads from the first norm to the last: "
        "norms[0] · decayⁿ⁻¹ = norms[n − 1]."
    ),
    starter="def gradient_decay(norms):\n    ...  # your code here\n",
    reference=gradient_decay,
    why=(
        "The factors of n − 1 steps multiply to norms[-1] / norms[0]. Equal factors are therefore "
        "its (n − 1)-th root, the geometric mean of the single ratios."
    ),
    model=_gradient_decay,
    cases=_decay_cases,
    misconceptions=(
        Misconception(
            "words counted instead of the gaps between them",
            "n norms are n − 1 steps apart, so the root is the (n − 1)-th.",
            {"steps": lambda n: n},
        ),
        Misconception(
            "upside down",
            "A factor below 1 means decay: divide the last norm by the first.",
            {"ratio": lambda norms: norms[0] / norms[-1]},
        ),
        Misconception(
            "the decay over all steps",
            "That is the factor for the whole distance. One step is its (n − 1)-th root.",
            {"per_step": lambda ratio, steps: ratio},
        ),
        Misconception(
            "divided where a root is needed",
            "Factors multiply from step to step, so n − 1 of them are undone by a root.",
            {"per_step": lambda ratio, steps: ratio / steps},
        ),
        Misconception(
            "the logarithm of the factor",
            "This is the rate on a logarithmic axis; `exp` of it is the factor.",
            {"per_step": lambda ratio, steps: torch.log(ratio) / steps},
        ),
        Misconception(
            "the arithmetic mean of the ratios",
            "Ratios multiply, so their average is a geometric mean: uneven steps show the gap.",
            {"mean": lambda norms: (norms[1:] / norms[:-1]).mean()},
        ),
        Misconception(
            "a difference instead of a factor",
            "A gradient shrinks by a factor at each step, not by an amount.",
            {"mean": lambda norms: (norms[-1] - norms[0]) / (len(norms) - 1)},
        ),
        Misconception(
            "only the first step",
            "One step may be unusual. The factor asked for leads from the first norm to the last.",
            {"mean": lambda norms: norms[1] / norms[0]},
        ),
    ),
    hints=(
        "From 8 to 2 in two steps: which factor, applied twice?",
        "Divide the last norm by the first. That is the factor of all the steps together.",
        "Take the root: `(norms[-1] / norms[0]) ** (1 / (len(norms) - 1))`.",
    ),
    minutes=5,
    difficulty=1,
)

EXERCISES = (PATH_LENGTH, GRADIENT_DECAY)
