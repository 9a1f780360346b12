"""Exercises of chapter 04: the Transformer block."""

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import more, normal

# 04.sinusoidal_positions


def sinusoidal_positions(n, d_model):
    position = torch.arange(n, dtype=torch.float64)[:, None]  # (n, 1)
    feature = torch.arange(0, d_model, 2, dtype=torch.float64)  # 0, 2, 4, …: one for each pair
    angle = position / 10_000 ** (feature / d_model)  # (n, pairs)
    table = torch.zeros(n, d_model, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : d_model // 2]  # an odd d_model has a sine more
    return table


def _in_turn(sines, cosines, d_model):
    return torch.stack([sines, cosines], dim=-1).flatten(-2)[:, :d_model]


def _in_halves(sines, cosines, d_model):
    return torch.cat([sines, cosines[:, : d_model // 2]], dim=-1)


def _without_last_sine(sines, cosines, d_model):
    table = _in_turn(sines, cosines, d_model)
    table[:, d_model - d_model % 2 :] = 0
    return table


def _positions(
    n,
    d_model,
    *,
    first=0,
    width=lambda d_model: d_model,
    exponent=lambda feature, d_model: -feature / d_model,
    of_cosine=lambda feature: feature,
    sine=torch.sin,
    cosine=torch.cos,
    lay=_in_turn,
):
    position = torch.arange(first, n + first).double()[:, None]
    feature = torch.arange(0, d_model, 2).double()
    of_sine, of_cosine = (
        position * 10_000 ** exponent(f, width(d_model)) for f in (feature, of_cosine(feature))
    )
    return lay(sine(of_sine), cosine(of_cosine), d_model)


SINUSOIDAL_POSITIONS = Exercise(
    id="04.sinusoidal_positions",
    title="Sinusoidal positions",
    statement=(
        "Return (n, d_model): features 2i and 2i + 1 of position p, counted from 0, are the sine "
        "and the cosine of p / 10000^(2i / d_model). When `d_model` is odd, the last sine has no "
        "cosine."
    ),
    starter=(
        "def sinusoidal_positions(n, d_model):\n    # -> (n, d_model)\n    ...  # your code here\n"
    ),
    reference=sinusoidal_positions,
    why=(
        "A pair of features is one clock hand: both use the same angle, the sine for one feature "
        "and the cosine for the next. The hand of pair i turns by 10000^(-2i / d_model) a word, "
        "and 2i is the number of the pair's first feature."
    ),
    model=_positions,
    cases=lambda: [
        Case((3, 4), "3 positions, 4 features"),
        Case((12, 10), "12 positions, 10 features"),
        Case((6, 9), "an odd number of features"),
        Case((1, 6), "position 0 alone"),
        Case((40, 2), "a single pair"),
        *(
            Case(s, f"{s[0]} positions, {s[1]} features")
            for s in more(3, range(4, 30), range(3, 20))
        ),
    ],
    misconceptions=(
        Misconception(
            "the 2 in the exponent taken twice",
            "The exponent is 2i / d_model where i counts the pairs; 2i already is the number of "
            "the feature (0, 2, 4, …). Doubled once more, the hands slow down too fast.",
            {"exponent": lambda feature, d: -2 * feature / d},
        ),
        Misconception(
            "the 2 in the exponent left out",
            "With i counting the pairs the exponent is 2i / d_model, so that the slowest hand "
            "comes close to 10000 words a radian.",
            {"exponent": lambda feature, d: -feature / 2 / d},
        ),
        Misconception(
            "multiplied by the power instead of divided",
            "Later pairs turn more slowly: the position is divided by 10000^(2i / d_model).",
            {"exponent": lambda feature, d: feature / d},
        ),
        Misconception(
            "hands spaced from 1 to 1/10000 exactly",
            "Some codes divide by the number of pairs less one. In the formula the exponent is "
            "2i / d_model, and the last hand stays a little faster than 1/10000.",
            {"exponent": lambda feature, d: -feature / max(d - 2, 1)},
        ),
        Misconception(
            "each feature with a frequency of its own",
            "A sine and its cosine are one hand and share one angle: 2i is the same for both.",
            {"of_cosine": lambda feature: feature + 1},
        ),
        Misconception(
            "sines first, then cosines",
            "Here they alternate: sine, cosine, sine, cosine. (In halves works as well, but a "
            "model trained with one order cannot read the other.)",
            {"lay": _in_halves},
        ),
        Misconception(
            "sine and cosine exchanged",
            "Even features are sines, so position 0 reads 0, 1, 0, 1 and so on.",
            {"sine": torch.cos, "cosine": torch.sin},
        ),
        Misconception(
            "sines only",
            "Without the cosine a hand cannot be told from its mirror image: two angles share "
            "each height. Odd features are cosines.",
            {"cosine": torch.sin},
        ),
        Misconception(
            "positions counted from 1",
            "The first position is 0: its sines are 0 and its cosines 1.",
            {"first": 1},
        ),
        Misconception(
            "an odd d_model rounded up",
            "The exponent is 2i / d_model, also when d_model is odd. A table with one feature "
            "more, cut off at the end, has other frequencies.",
            {"width": lambda d: d + d % 2},
        ),
        Misconception(
            "an odd d_model rounded down",
            "The exponent is 2i / d_model, also when d_model is odd; 2 · (d_model // 2) is less.",
            {"width": lambda d: d - d % 2},
        ),
        Misconception(
            "the last sine left out",
            "When d_model is odd, the last column is a sine as well: only its cosine is missing.",
            {"lay": _without_last_sine},
        ),
    ),
    hints=(
        "First make the table of angles, one row a position and one column a pair.",
        "`torch.arange(0, d_model, 2)` is 2i for every pair. Sines go to columns 0::2.",
        "`angle = position / 10_000 ** (torch.arange(0, d_model, 2) / d_model)`, then fill "
        "`table[:, 0::2]` with its sine and `table[:, 1::2]` with the first d_model // 2 cosines.",
    ),
    minutes=8,
    difficulty=2,
)


# 04.layer_norm


def layer_norm(x, gain, bias):
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    return gain * (x - mean) / (variance + 1e-5).sqrt() + bias


def _norm(
    x,
    gain,
    bias,
    *,
    axis=-1,
    mean=lambda x, axis: x.mean(dim=axis, keepdim=True),
    centre=lambda x, mean: x - mean,
    fewer=0,
    epsilon=1e-5,
    spread=lambda variance, epsilon: (variance + epsilon).sqrt(),
    affine=lambda y, gain, bias: gain * y + bias,
):
    axis = tuple(range(x.ndim)) if axis == "all" else axis
    middle = mean(x, axis)
    squares = (x - middle).square()
    count = squares.numel() / squares.sum(dim=axis, keepdim=True).numel()
    variance = squares.sum(dim=axis, keepdim=True) / (count - fewer)
    return affine(centre(x, middle) / spread(variance, epsilon), gain, bias)


def _norm_cases():
    def case(*shape, seed, note, factor=1.0):
        d = shape[-1]
        x = factor * normal(*shape, seed=seed) + 0.5 * (factor == 1)
        return Case((x, 1 + 0.5 * normal(d, seed=seed + 1), normal(d, seed=seed + 2)), note)

    plain = (torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64))
    flat = torch.full((2, 3), 7.0, dtype=torch.float64)
    return [
        Case((torch.tensor([[1.0, 0.0, 0.0, 0.0]]).double(), *plain), "1 word, 4 features"),
        case(2, 5, 6, seed=1, note="2 sentences, 5 words, 6 features"),
        case(7, 3, seed=4, note="no batch"),
        case(3, 2, 5, seed=7, note="small numbers", factor=0.003),
        case(5, 4, seed=10, note="very small numbers", factor=1e-6),
        case(2, 4, 3, 6, seed=12, note="four axes"),
        Case((flat, *(normal(3, seed=s) for s in (8, 9))), "all features of a word alike"),
    ]


LAYER_NORM = Exercise(
    id="04.layer_norm",
    title="Layer norm",
    statement=(
        "`x` (…, d), `gain` (d,), `bias` (d,): give each word mean 0 and variance 1 over its own "
        "features, then multiply by `gain` and add `bias`. The variance is the mean of the squared "
        "deviations; ε = 1e-5 is added to it inside the root."
    ),
    starter=(
        "def layer_norm(x, gain, bias):\n"
        "    # x (…, d), gain (d,), bias (d,) -> (…, d)\n"
        "    ...  # your code here\n"
    ),
    reference=layer_norm,
    why=(
        "The features of one word are all there is, not a sample of more: their variance is "
        "divided by d. ε stands inside the root, where it keeps the gradient finite when all "
        "features of a word are alike."
    ),
    model=_norm,
    cases=_norm_cases,
    misconceptions=(
        Misconception(
            "variance divided by d - 1",
            "`std()` and `var()` divide by d - 1 unless told `correction=0`. Layer norm divides "
            "by d.",
            {"fewer": 1},
        ),
        Misconception(
            "ε outside the root",
            "It is √(variance + ε), not √variance + ε. Outside, ε hardly counts for small numbers, "
            "and the gradient of the root is NaN where the variance is 0.",
            {"spread": lambda variance, epsilon: variance.sqrt() + epsilon},
        ),
        Misconception(
            "no ε",
            "Where all features of a word are alike this divides 0 by 0.",
            {"spread": lambda variance, epsilon: variance.sqrt()},
        ),
        Misconception(
            "ε of 1e-6",
            "Here ε is 1e-5, as in torch. Other codes take 1e-6, and weights trained with one do "
            "not give quite the same with the other.",
            {"epsilon": 1e-6},
        ),
        Misconception(
            "ε of 1e-12",
            "Here ε is 1e-5, as in torch. Other codes take 1e-12, and weights trained with one do "
            "not give quite the same with the other.",
            {"epsilon": 1e-12},
        ),
        Misconception(
            "ε of 1e-8",
            "Here ε is 1e-5, as in torch. Other codes take 1e-8, and weights trained with one do "
            "not give quite the same with the other.",
            {"epsilon": 1e-8},
        ),
        Misconception(
            "ε of 1e-3",
            "Here ε is 1e-5, as in torch. Keras takes 1e-3, and weights trained with one do not "
            "give quite the same with the other.",
            {"epsilon": 1e-3},
        ),
        Misconception(
            "divided by the variance",
            "To reach variance 1, divide by its root, the standard deviation.",
            {"spread": lambda variance, epsilon: variance + epsilon},
        ),
        Misconception(
            "only the mean taken away",
            "The second half is missing: divide by the standard deviation, √(variance + ε).",
            {
                "mean": lambda x, axis: x.mean(dim=axis, keepdim=True),
                "centre": lambda x, mean: x - mean,
                "spread": lambda variance, epsilon: 1,
            },
        ),
        Misconception(
            "ε as the smallest divisor",
            "ε is added to every variance, inside the root. It is not a floor for small ones.",
            {"spread": lambda variance, epsilon: variance.sqrt().clamp(min=epsilon)},
        ),
        Misconception(
            "normalised over the words",
            "Every word is normalised by itself, over its features (the last axis). Over the "
            "words, each word's output would depend on its neighbours, and on padding.",
            {"axis": -2},
        ),
        Misconception(
            "normalised over the batch",
            "That is batch norm: every feature against the same feature of the other sentences. "
            "Layer norm looks at one word alone, over its features (the last axis).",
            {"axis": 0},
        ),
        Misconception(
            "normalised over axis 1",
            "`dim=1` is the axis of the features only where there is no batch. Counted from the "
            "end it is always `dim=-1`.",
            {"axis": 1},
        ),
        Misconception(
            "normalised over a whole sentence",
            "Every word is normalised by itself, over its features: the last axis alone, not the "
            "last two. No word's output depends on its neighbours.",
            {"axis": (-2, -1)},
        ),
        Misconception(
            "normalised over everything at once",
            "Every word is normalised by itself, over its features (the last axis), and no "
            "sentence of a batch changes another.",
            {"axis": "all"},
        ),
        Misconception(
            "mean not taken away",
            "Only the spread is repaired here. Subtract the mean before you divide.",
            {"centre": lambda x, mean: x},
        ),
        Misconception(
            "root mean square instead of the variance",
            "That is RMS norm (Zhang & Sennrich, 2019), which leaves the mean alone. Layer norm "
            "subtracts the mean and measures the spread around it.",
            {"mean": lambda x, axis: torch.zeros_like(x.mean(dim=axis, keepdim=True))},
        ),
        Misconception(
            "gain and bias left out",
            "The last step multiplies each feature by its gain and adds its bias.",
            {"affine": lambda y, gain, bias: y},
        ),
        Misconception(
            "bias left out",
            "After the gain, each feature gets its bias added.",
            {"affine": lambda y, gain, bias: gain * y},
        ),
        Misconception(
            "gain left out",
            "Before the bias is added, each feature is multiplied by its gain.",
            {"affine": lambda y, gain, bias: y + bias},
        ),
        Misconception(
            "bias added before the gain",
            "The gain multiplies the normalised numbers alone; the bias comes after.",
            {"affine": lambda y, gain, bias: gain * (y + bias)},
        ),
        Misconception(
            "gain and bias exchanged",
            "The gain multiplies and the bias is added.",
            {"affine": lambda y, gain, bias: bias * y + gain},
        ),
    ),
    hints=(
        "Everything happens along the last axis; keep it with `keepdim=True`.",
        "Mean, then the mean of the squared deviations. Where does ε go?",
        "`gain * (x - mean) / (variance + 1e-5).sqrt() + bias`, with "
        "`variance = (x - mean).square().mean(dim=-1, keepdim=True)`.",
    ),
    minutes=6,
    difficulty=1,
)


# 04.rotary


def rotary(x):
    n, d = x.shape[-2:]
    position = torch.arange(n, dtype=x.dtype)[:, None]  # (n, 1)
    feature = torch.arange(0, d, 2, dtype=x.dtype)  # 0, 2, 4, …: one for each pair
    angle = position / 10_000 ** (feature / d)  # (n, pairs)
    even, odd = x[..., 0::2], x[..., 1::2]  # (…, n, pairs)
    turned = torch.empty_like(x)
    turned[..., 0::2] = even * angle.cos() - odd * angle.sin()
    turned[..., 1::2] = even * angle.sin() + odd * angle.cos()
    return turned


def _pairs(x):
    return x[..., 0::2], x[..., 1::2]


def _halves(x):
    return x.chunk(2, dim=-1)


def _alternate(first, second):
    return torch.stack([first, second], dim=-1).flatten(-2)


def _one_after_the_other(first, second):
    return torch.cat([first, second], dim=-1)


def _turn(first, second, a, b):
    return first * a.cos() - second * a.sin(), first * b.sin() + second * b.cos()


def _no_minus(first, second, a, b):
    return first * a.cos() + second * a.sin(), first * b.sin() + second * b.cos()


def _overwritten(first, second, a, b):
    first = first * a.cos() - second * a.sin()
    return first, first * b.sin() + second * b.cos()


def _wave(first, second, a, b):
    return first + a.sin(), second + b.cos()


def _rotated(
    x,
    *,
    first=0,
    along=-2,
    exponent=lambda feature, d: -feature / d,
    of_second=lambda feature: feature,
    sign=1,
    cut=_pairs,
    join=_alternate,
    move=_turn,
    spread=lambda first, second: (first, second),
):
    d, n = x.shape[-1], x.shape[along]
    position = sign * torch.arange(first, n + first, dtype=x.dtype)
    position = position[:, None] if along == -2 else position[:, None, None]
    feature = torch.arange(0, d, 2, dtype=x.dtype)
    angles = (position * 10_000 ** exponent(f, d) for f in (feature, of_second(feature)))
    return join(*move(*cut(x), *spread(*angles)))


ROTARY = Exercise(
    id="04.rotary",
    title="Rotary positions",
    statement=(
        "`x` (…, n, d), d even: turn each pair of neighbouring features (2i, 2i + 1) of position "
        "p, counted from 0, by the angle p / 10000^(2i / d), from the first feature of a pair "
        "toward the second: (1, 0) becomes (cos, sin). … stands for any leading axes, or none. "
        "Return (…, n, d)."
    ),
    starter=("def rotary(x):\n    # x (…, n, d) -> (…, n, d)\n    ...  # your code here\n"),
    reference=rotary,
    why=(
        "A pair is a point in a plane, and a rotation by a takes (u, v) to (u cos a - v sin a, "
        "u sin a + v cos a). Two vectors turned by p and by q meet at the angle they had plus "
        "p - q, so their dot product knows the distance and not the place."
    ),
    model=_rotated,
    cases=lambda: [
        Case((torch.tensor([[1.0, 0.0, 1.0, 0.0]] * 3).double(),), "3 words, 2 pairs"),
        Case((normal(2, 3, 5, 8, seed=1),), "2 sentences, 3 heads, 5 words, 4 pairs"),
        Case((normal(2, 7, 6, seed=2),), "2 sentences, 7 words, 3 pairs"),
        Case((normal(30, 2, seed=3),), "30 words, a single pair"),
        Case((normal(2, 1, 4, seed=4),), "position 0 alone"),
    ],
    misconceptions=(
        Misconception(
            "halves for pairs",
            "Here neighbours are a pair: 0 with 1, 2 with 3. (Pairing feature i with i + d/2 is "
            "another convention. Each works alone; a query turned one way and a key the other do "
            "not fit together, and copied weights do not either.)",
            {"cut": _halves, "join": _one_after_the_other},
        ),
        Misconception(
            "halves turned by the angles of neighbours",
            "Features and angles must be laid out alike. `repeat_interleave` lays the angles out "
            "for neighbours, and halves are what was turned: the two features of a pair get "
            "different angles, which is no rotation.",
            {
                "cut": _halves,
                "join": _one_after_the_other,
                "spread": lambda angle, _: angle.repeat_interleave(2, dim=-1).chunk(2, dim=-1),
            },
        ),
        Misconception(
            "neighbours turned by the angles of halves",
            "Features and angles must be laid out alike. `cat([angle, angle])` lays the angles out "
            "for halves, and neighbours are what was turned: the two features of a pair get "
            "different angles, which is no rotation.",
            {"spread": lambda angle, _: _pairs(torch.cat([angle, angle], dim=-1))},
        ),
        Misconception(
            "pairs taken as neighbours, put back as halves",
            "What comes out of a pair goes back to its own two places, 2i and 2i + 1.",
            {"join": _one_after_the_other},
        ),
        Misconception(
            "pairs taken as halves, put back as neighbours",
            "Neighbours are a pair here, before and after: 2i and 2i + 1.",
            {"cut": _halves},
        ),
        Misconception(
            "first feature overwritten before the second is turned",
            "Both lines of the rotation need the old first feature. Keep it, or write to a new "
            "tensor.",
            {"move": _overwritten},
        ),
        Misconception(
            "each feature with an angle of its own",
            "The two features of a pair turn together, by one angle: 2i is the same for both.",
            {"of_second": lambda feature: feature + 1},
        ),
        Misconception(
            "turned the other way",
            "The first feature becomes u cos a - v sin a and the second u sin a + v cos a; here "
            "the signs of the sines are exchanged.",
            {"sign": -1},
        ),
        Misconception(
            "no minus sign",
            "With two plus signs the pair is not turned, and it changes its length.",
            {"move": _no_minus},
        ),
        Misconception(
            "added instead of turned",
            "That is the sinusoidal way. A rotation mixes the two features of a pair.",
            {"move": _wave},
        ),
        Misconception(
            "all pairs turned by the same angle",
            "Pair i turns by 10000^(-2i / d) a word: the first by a radian, the later ones less.",
            {"exponent": lambda feature, d: 0 * feature},
        ),
        Misconception(
            "the 2 in the exponent taken twice",
            "The exponent is 2i / d where i counts the pairs; 2i already is the number of the "
            "feature (0, 2, 4, …).",
            {"exponent": lambda feature, d: -2 * feature / d},
        ),
        Misconception(
            "the 2 in the exponent left out",
            "With i counting the pairs the exponent is 2i / d.",
            {"exponent": lambda feature, d: -feature / 2 / d},
        ),
        Misconception(
            "positions counted from 1",
            "The first word stands at 0 and is not turned. (Scores would not notice, since only "
            "differences count; a cache filled by other code would.)",
            {"first": 1},
        ),
        Misconception(
            "positions counted along the wrong axis",
            "The words are the axis before the last, `x.shape[-2]`. Counted along the axis before "
            "it, all words of a head are turned alike.",
            {"along": -3},
        ),
    ),
    hints=(
        "Take one pair of one word, and turn it by one angle. Then do all at once.",
        "`x[..., 0::2]` and `x[..., 1::2]` are the two features of every pair; the angles are "
        "those of 04.sinusoidal_positions, with d for d_model: a table (n, d / 2).",
        "With these as `even` and `odd`: `even * cos - odd * sin` goes to `[..., 0::2]` of a new "
        "tensor, `even * sin + odd * cos` to `[..., 1::2]`.",
    ),
    minutes=10,
    difficulty=2,
)

EXERCISES = (SINUSOIDAL_POSITIONS, LAYER_NORM, ROTARY)
