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
    gaps=lambda n: n - 1,
    reach=lambda window: window - 1,
    whole=math.ceil,
    layers=lambda gaps, reach, whole: whole(gaps / reach),
    attention=lambda n: 1,
):
    cnn = layers(gaps(n), reach(window), whole)
    return {"rnn": rnn(n), "cnn": cnn, "attention": attention(n)}[kind]


def _path_cases():
    sizes = [(4, 3), (8, 3), (11, 4), (13, 5), (6, 9), (5, 13)]
    sizes += [(26, 7), (27, 3), (30, 7), (65, 5), (97, 12)]  # no two wrong formulas agree on all
    sizes += more(5, range(3, 90), range(3, 12))
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
        "to the last? `kind` is `rnn` (a step leads from one word to the next), `cnn` (a step is a "
        "layer, in which a word sees itself and the window − 1 words before it) or `attention` (a "
        "step is a layer). n and window are at least 2; window matters to `cnn` alone. Return a "
        "whole number."
    ),
    starter=(
        "def path_length(n, kind, window):\n"
        '    # kind is "rnn", "cnn" or "attention" -> a whole number\n'
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
            {"reach": lambda window: window},
        ),
        Misconception(
            "n / window layers",
            "There are n − 1 gaps to cross, and a layer crosses window − 1 of them.",
            {"gaps": lambda n: n, "reach": lambda window: window},
        ),
        Misconception(
            "one layer too many when nothing is left over",
            "n − 1 gaps are crossed, window − 1 a layer. Rounding n / (window − 1) up, or adding 1 "
            "to a quotient rounded down, goes wrong where the gaps divide evenly.",
            {"gaps": lambda n: n},
        ),
        Misconception(
            "one layer more than n // window",
            "There are n − 1 gaps to cross, and a layer crosses window − 1 of them. One layer more "
            "is needed only when the quotient is not whole.",
            {"gaps": lambda n: n + 1, "reach": lambda window: window},
        ),
        Misconception(
            "rounded down",
            "A part of a layer does not exist. What is left over needs one layer more: round up.",
            {"whole": math.floor},
        ),
        Misconception(
            "rounded to the nearest whole number",
            "A part of a layer does not exist. Whatever is left over needs one layer more: round "
            "up.",
            {"whole": round},
        ),
        Misconception(
            "not rounded to whole layers",
            "A part of a layer does not exist: round up to the next whole number.",
            {"whole": lambda layers: layers},
        ),
        Misconception(
            "one layer of a convolution sees everything",
            "One layer sees one window. To reach further, layers are stacked.",
            {"layers": lambda gaps, reach, whole: 1},
        ),
        Misconception(
            "a convolution goes one word at a time",
            "A layer sees a whole window at once, and so it crosses window − 1 gaps.",
            {"reach": lambda window: 1},
        ),
        Misconception(
            "reach multiplied from layer to layer",
            "Layers add window − 1 each. Their reach multiplies only when they are dilated.",
            {
                "reach": lambda window: window - 1,
                "layers": lambda gaps, reach, whole: whole(math.log(gaps + 1, reach + 1)),
            },
        ),
        Misconception(
            "reach doubled from layer to layer",
            "Layers add window − 1 each. Their reach doubles only when they are dilated so.",
            {
                "reach": lambda window: window - 1,
                "layers": lambda gaps, reach, whole: whole(math.log2(gaps + 1)),
            },
        ),
        Misconception(
            "half of the window lies in the future",
            "Here the window ends at the word itself: all of its window − 1 others come before it.",
            {"reach": lambda window: window // 2},
        ),
        Misconception(
            "attention walks from word to word",
            "Attention compares every word with every other in one layer, whatever the distance.",
            {"attention": lambda n: n - 1},
        ),
        Misconception(
            "attention visits all n words one by one",
            "Attention compares every word with every other in one layer, however many there are.",
            {"attention": lambda n: n},
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
    turn=lambda norms: norms,
    per_step=lambda ratio, steps: ratio ** (1 / steps),
    factor=lambda norms, steps, per_step: per_step(norms[-1] / norms[0], steps),
    told=lambda decay: decay,
):
    return told(factor(turn(norms), steps(len(norms)), per_step))


def _slope(norms, steps, per_step):
    place = torch.arange(len(norms), dtype=norms.dtype)
    place = place - place.mean()
    return ((place @ norms.log()) / (place @ place)).exp()


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
        "`norms` (n,) holds the lengths of gradients at the distances 0, 1, …, n − 1; all are "
        "positive, and n is at least 2. Return the one factor that, applied at every step, leads "
        "from the first to the last: norms[0] · factorⁿ⁻¹ = norms[n − 1]. Only these two count, "
        "whatever lies between."
    ),
    starter=(
        "def gradient_decay(norms):\n    # norms (n,) -> one number\n    ...  # your code here\n"
    ),
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
            {"turn": lambda norms: norms.flip(0)},
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
            {"factor": lambda norms, steps, per_step: (norms[1:] / norms[:-1]).mean()},
        ),
        Misconception(
            "a difference instead of a factor",
            "A gradient shrinks by a factor at each step, not by an amount.",
            {"factor": lambda norms, steps, per_step: (norms[-1] - norms[0]) / steps},
        ),
        Misconception(
            "only the first step",
            "One step may be unusual. The factor asked for leads from the first norm to the last.",
            {"factor": lambda norms, steps, per_step: norms[1] / norms[0]},
        ),
        Misconception(
            "only the last step",
            "One step may be unusual. The factor asked for leads from the first norm to the last.",
            {"factor": lambda norms, steps, per_step: norms[-1] / norms[-2]},
        ),
        Misconception(
            "a line fitted to the logarithms",
            "A fit goes through the middle of all norms. The factor asked for leads from the first "
            "norm to the last, whatever lies between.",
            {"factor": _slope},
        ),
        Misconception(
            "the loss of a step instead of what is left",
            "What is asked for is the factor itself, the part that is left after a step, and not "
            "1 minus it.",
            {"told": lambda decay: 1 - decay},
        ),
        Misconception(
            "1 / n − 1 for 1 / (n − 1)",
            "Python divides before it subtracts: the exponent needs brackets around n − 1.",
            {"per_step": lambda ratio, steps: ratio ** (1 / (steps + 1) - 1)},
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
