"""Exercises of chapter 09: faster arithmetic."""

import functools
import math

import numpy as np
import torch

from attn_edu.exercises.calling import Allowance, AnswerError, Printed, call
from attn_edu.exercises.comparing import to_tensor
from attn_edu.exercises.counting import multiplications, steps
from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal, tokens

# 09.online_softmax


def online_softmax(scores, tile):
    first, *rest = scores.split(tile, dim=-1)
    largest = first.amax(dim=-1, keepdim=True)
    total = (first - largest).exp().sum(dim=-1, keepdim=True)
    for part in rest:
        before, largest = largest, torch.maximum(largest, part.amax(dim=-1, keepdim=True))
        total = total * (before - largest).exp()  # what was summed so far, seen from the new top
        total = total + (part - largest).exp().sum(dim=-1, keepdim=True)
    return (scores - largest).exp() / total


def _tiles(scores, tile, axis):
    return scores.split(tile, dim=axis)


def _whole_tiles(scores, tile, axis):
    """As ``for i in range(n // tile)``: what is left over at the end is never summed."""
    n = scores.shape[axis]
    return scores.narrow(axis, 0, max(n - n % tile, min(n, tile))).split(tile, dim=axis)


def _whole_tiles_or_none(scores, tile, axis):
    """The same in a loop that starts from nothing: a row shorter than a tile has no sum."""
    return () if tile > scores.shape[axis] else _whole_tiles(scores, tile, axis)


def _filled_up(scores, tile, axis):
    return torch.nn.functional.pad(scores, (0, -scores.shape[-1] % tile)).split(tile, dim=axis)


def _largest(part, axis):
    return part.amax(dim=axis, keepdim=True)


def _largest_of_all(part, axis):
    return _largest(part, axis).fill_(part.max())


def _shrink(total, new, before, largest):
    return total * (before - largest).exp() + new


def _shrink_both(total, new, before, largest):
    return (total + new) * (before - largest).exp()


def _shrink_wrong_way(total, new, before, largest):
    return total * (largest - before).exp() + new


def _weights(scores, largest, total, kept):
    return (scores - largest).exp() / total


def _online(
    scores,
    tile,
    *,
    instead=None,
    axis=-1,
    parts=_tiles,
    top_of=_largest,
    start=None,  # the largest score before the first tile; None: begin with that tile's own
    begin=0.0,  # the sum before the first tile
    first=lambda total: total,  # the sum after it
    top=torch.maximum,
    update=_shrink,
    against=lambda own, before, largest: largest,
    finish=_weights,
):
    if instead is not None:
        return instead(scores, tile)
    largest = torch.full_like(scores.narrow(axis, 0, 1), -math.inf if start is None else start)
    total, kept = torch.full_like(largest, begin), []
    for part in parts(scores, tile, axis):
        own = top_of(part, axis)
        before, largest = largest, top(largest, own)
        if start is None and not kept:
            before = largest
        powers = (part - against(own, before, largest)).exp()
        total = update(total, powers.sum(dim=axis, keepdim=True), before, largest)
        total = total if kept else first(total)
        kept.append((powers, total))
    return finish(scores, largest, total, kept)


def _each_tile_alone(scores, tile):
    return torch.cat([part.softmax(dim=-1) for part in scores.split(tile, dim=-1)], dim=-1)


def _tiles_twice(scores, tile):
    tiles = scores.split(tile, dim=-1)
    largest = functools.reduce(torch.maximum, [_largest(part, -1) for part in tiles])
    total = sum((part - largest).exp().sum(dim=-1, keepdim=True) for part in tiles)
    return (scores - largest).exp() / total


def _in_numpy(scores, tile):
    powers = np.exp(scores.numpy() - scores.numpy().max(axis=-1, keepdims=True))
    return torch.from_numpy(powers / powers.sum(axis=-1, keepdims=True))


def _far_apart():
    return normal(3, 5, seed=8) + torch.tensor([[-2000.0], [0], [2000]])


AT_ONCE = Misconception(
    "the whole row at once",
    "The result is right, but a sum or a maximum ran over more than a tile. The point is that a "
    "row may arrive in pieces: look at one tile at a time, and keep only the largest score and the "
    "sum so far. (The powers at the end may be taken of the whole row.)",
    {"instead": lambda scores, tile: scores.softmax(dim=-1)},
)
TWICE = Misconception(
    "every tile looked at twice",
    "The result is right, but one loop looked for the largest score and a second one summed. Keep "
    "both numbers in a single loop: when a tile brings a larger score, shrink the sum.",
    {"instead": _tiles_twice},
)
CHUNKS = Misconception(
    "the number of tiles instead of their length",
    "The result is right, but the row was cut into `tile` pieces (`chunk`). `tile` is how many "
    "scores a piece has: `scores.split(tile, dim=-1)`.",
    {"parts": lambda scores, tile, axis: scores.chunk(tile, dim=axis)},
)
IN_NUMPY = Misconception(
    "worked out in numpy, out of sight",
    "The result is right, but the whole row went to numpy, and this exercise sees only what torch "
    "does: whether the work went tile by tile cannot be told. Stay in torch: `scores.split`, "
    "`torch.maximum`, `.exp()`, `.sum`.",
    {"instead": _in_numpy},
)
_TOPS = {"amax", "max", "cummax", "sort", "topk"}
_SUMS = {"sum", "mean", "_softmax", "_log_softmax", "logsumexp", "logcumsumexp", "cumsum"}


def _looked_otherwise(answer):
    n, tile = 26, 5
    ran = [x for x in steps(answer, normal(3, n, seed=9), tile) if len(x.shapes) == 1]
    reduced = [(x.name, *x.shapes[0][-1:]) for x in ran if x.name in _TOPS | _SUMS]
    lengths = {length for _, *axis in reduced for length in axis}
    if n in lengths:
        return AT_ONCE
    if tile not in lengths and -(-n // tile) in lengths:
        return CHUNKS
    tops = [i for i, step in enumerate(reduced) if step[0] in _TOPS and step[1:] == (tile,)]
    sums = [i for i, step in enumerate(reduced) if step[0] in _SUMS and step[1:] == (tile,)]
    if not sums and any(x.name == "numpy" and math.prod(x.shapes[0]) >= n for x in ran):
        return IN_NUMPY
    return TWICE if len(tops) > 1 and sums and tops[-1] < sums[0] else None


ONLINE_SOFTMAX = Exercise(
    id="09.online_softmax",
    title="Online softmax",
    statement=(
        "`scores` (…, n): the softmax over the last axis, from tiles of `tile` scores (the last "
        "one may be shorter). Look at each tile once, one after the other, and keep only the "
        "largest score and the sum so far; at the end turn the scores into weights. The check "
        "sees what torch does, so stay in torch. Return (…, n)."
    ),
    starter=(
        "def online_softmax(scores, tile):\n"
        "    # scores (…, n) -> weights (…, n); scores.split(tile, dim=-1) gives the tiles\n"
        "    ...  # your code here\n"
    ),
    reference=online_softmax,
    why=(
        "The sum is kept as seen from the largest score so far. When a tile brings a larger one, "
        "every power in the sum was taken against the old largest, so the sum is multiplied by "
        "exp(old largest - new largest), which is at most 1. Nothing overflows, and no tile is "
        "looked at twice before the end."
    ),
    model=_online,
    cases=lambda: [
        Case((torch.tensor([[0.0, 1, 2, 3, 1, 0]]).double(), 2), "1 row of 6 scores, tiles of 2"),
        Case((normal(2, 3, 9, seed=1, size=2), 3), "6 rows of 9 scores, tiles of 3"),
        Case((normal(2, 11, seed=2, size=3), 4), "the last tile is shorter"),
        Case((normal(3, 14, seed=3, size=900), 4), "scores in the thousands"),
        Case((_far_apart(), 2), "rows near −2000, 0 and 2000"),
        Case((normal(2, 12, seed=6, size=900).sort(descending=True).values, 5), "scores that fall"),
        Case((normal(3, 10, seed=7, size=2).sort().values, 4), "scores that rise"),
        Case((normal(13, seed=4), 1), "tiles of a single score"),
        Case((normal(4, 5, seed=5), 8), "a tile longer than the row"),
    ],
    misconceptions=(
        AT_ONCE,
        TWICE,
        Misconception(
            "old sum not shrunk",
            "When a tile brings a larger score, the sum so far was taken against the old one. "
            "Multiply it by exp(old largest - new largest) before you add.",
            {"update": lambda total, new, before, largest: total + new},
        ),
        Misconception(
            "shrunk the wrong way round",
            "The factor is exp(old largest - new largest), at most 1. The other way round the sum "
            "grows where it should shrink.",
            {"update": _shrink_wrong_way},
        ),
        Misconception(
            "shrunk the wrong way round, from −∞ on",
            "Everything is NaN, as when the factor is exp(new largest - old largest): it is "
            "infinite at the first tile, where the old one is −∞, and ∞ · 0 is NaN. Turn it round.",
            {"update": _shrink_wrong_way, "start": -math.inf},
        ),
        Misconception(
            "difference used as the factor",
            "The sum holds powers of e, so the factor is exp(old largest - new largest), not the "
            "difference itself.",
            {"update": lambda total, new, before, largest: total * (before - largest) + new},
        ),
        Misconception(
            "old sum thrown away",
            "A larger score does not make the earlier tiles vanish: their sum shrinks by "
            "exp(old largest - new largest) and stays in.",
            {"update": lambda total, new, before, largest: new},
        ),
        Misconception(
            "each tile against its own largest score",
            "A tile's powers are added to the sum so far, so both must be taken against the same "
            "number: the largest score of all tiles up to here.",
            {"against": lambda own, before, largest: own},
        ),
        Misconception(
            "the new tile against the old largest score",
            "Take the new largest score first, then the powers of the tile: against the new one, "
            "as the old sum is once it has shrunk.",
            {"against": lambda own, before, largest: before},
        ),
        Misconception(
            "the new tile against the old largest score, from −∞ on",
            "Every weight is 0, as when the powers of the first tile are taken against the old "
            "largest score: it is −∞, and they are infinite. Take the new one first.",
            {"against": lambda own, before, largest: before, "start": -math.inf},
        ),
        Misconception(
            "nothing taken off the new tile",
            "The old sum was taken against the largest score, and the powers of the tile were not. "
            "Take the largest score off before every exp.",
            {"against": lambda own, before, largest: 0},
        ),
        Misconception(
            "the new tile shrunk as well",
            "Only the old sum was taken against the old largest score, so only it shrinks. "
            "Multiply it before you add the new tile.",
            {"update": _shrink_both},
        ),
        Misconception(
            "the new tile shrunk as well, from −∞ on",
            "Only the old sum was taken against the old largest score, so only it shrinks. Here "
            "the first tile is multiplied by exp(−∞), which is 0, and drops out.",
            {"update": _shrink_both, "start": -math.inf},
        ),
        Misconception(
            "the first tile left out of the sum",
            "The largest score begins with the first tile, and so does the sum: the powers of that "
            "tile belong to it.",
            {"first": torch.zeros_like},
        ),
        Misconception(
            "the first tile counted as one score",
            "The sum begins with 1 only when the first tile is a single score. Of a longer one "
            "every power belongs to the sum.",
            {"first": torch.ones_like},
        ),
        Misconception(
            "the largest score of the latest tile",
            "The largest score so far never falls: take the larger of the old one and the tile's. "
            "Otherwise the factor can exceed 1, and the powers at the end too, up to infinity.",
            {"top": lambda before, own: own},
        ),
        Misconception(
            "the largest score starts too high",
            "It starts at 0, or at another number, and the scores of a row may all lie far below: "
            "then every power is 0, and 0 / 0 is NaN. Start with −∞, or with the first tile.",
            {"start": 0.0},
        ),
        Misconception(
            "the sum starts at 1",
            "Before the first tile nothing has been summed: start at 0. With 1 a row adds up to "
            "less than 1, as if it had one more score.",
            {"start": 0.0, "begin": 1.0},
        ),
        Misconception(
            "one largest score for all rows",
            "A row that lies far below the largest score of all has nothing but powers of 0, and "
            "0 / 0 is NaN. Each row has a largest score of its own: `amax(dim=-1, keepdim=True)`.",
            {"top_of": _largest_of_all},
        ),
        Misconception(
            "powers kept from their own time",
            "The powers of an early tile were taken against the largest score of that moment. Take "
            "them against the last one: (scores - largest).exp() at the end.",
            {
                "finish": lambda scores, largest, total, kept: (
                    torch.cat([powers for powers, _ in kept], dim=-1) / total
                )
            },
        ),
        Misconception(
            "divided by the sum so far",
            "Each tile was divided by what had been summed up to then. The sum is known at the "
            "end: only then can scores become weights.",
            {
                "finish": lambda scores, largest, total, kept: torch.cat(
                    [powers / so_far for powers, so_far in kept], dim=-1
                )
            },
        ),
        Misconception(
            "one sum for all rows",
            "Every row has a largest score and a sum of its own: split and sum along the last "
            "axis, with `dim=-1, keepdim=True`.",
            {"instead": lambda scores, tile: scores.flatten().softmax(dim=0).view_as(scores)},
        ),
        Misconception(
            "each tile by itself",
            "This is one softmax a tile, and a row sums to the number of tiles. There is one sum "
            "for the whole row, carried from tile to tile.",
            {"instead": _each_tile_alone},
        ),
        Misconception(
            "the mean of each tile's softmax",
            "Divided by the number of tiles the row adds up to 1, but every tile gets the same "
            "share of it, whatever its scores. There is one sum, carried from tile to tile.",
            {
                "instead": lambda scores, tile: (
                    _each_tile_alone(scores, tile) / -(-scores.shape[-1] // tile)
                )
            },
        ),
        Misconception(
            "the end of the row forgotten",
            "When `tile` does not divide n, a shorter tile is left over at the end, and it belongs "
            "to the sum as well.",
            {"parts": _whole_tiles},
        ),
        Misconception(
            "the end of the row forgotten, and a short row altogether",
            "When `tile` does not divide n, a shorter tile is left over at the end, and it belongs "
            "to the sum as well. It can be the only one.",
            {"parts": _whole_tiles_or_none},
        ),
        Misconception(
            "the last tile left out",
            "The loop ends a tile too early: the last one belongs to the sum as well.",
            {"parts": lambda scores, tile, axis: _tiles(scores, tile, axis)[:-1]},
        ),
        Misconception(
            "the last tile filled up with zeros",
            "A score of 0 is a score like any other, and e⁰ = 1. Let the last tile be shorter, or "
            "fill it up with −∞.",
            {"parts": _filled_up},
        ),
        CHUNKS,
        IN_NUMPY,
        Misconception(
            "no largest score taken off",
            "exp of a score in the thousands is infinite, and infinite by infinite is NaN. Take "
            "the largest score off before every exp.",
            {"top": lambda before, own: torch.zeros_like(own)},
        ),
        Misconception(
            "nothing taken off at the end",
            "The sum was taken against the largest score, and so must the powers that it divides: "
            "(scores - largest).exp() / total.",
            {"finish": lambda scores, largest, total, kept: scores.exp() / total},
        ),
        Misconception(
            "not divided by the sum",
            "Powers are no weights yet: divide by the sum, so that the row adds up to 1.",
            {"finish": lambda scores, largest, total, kept: (scores - largest).exp()},
        ),
        Misconception(
            "logarithms of the weights",
            "scores - largest - log(sum) is the logarithm of a weight. Take exp of it.",
            {"finish": lambda scores, largest, total, kept: scores - largest - total.log()},
        ),
        Misconception(
            "softmax over the first axis",
            "The scores of one query lie along the last axis: `dim=-1`.",
            {"axis": 0},
        ),
        Misconception(
            "softmax over the last axis but one",
            "The scores of one query lie along the last axis: `dim=-1`.",
            {"axis": -2},
        ),
    ),
    hints=(
        "Keep two numbers a row: the largest score so far, and the sum of exp(score - largest).",
        "A tile raises the largest score from 2 to 3. Every power in the old sum was exp(score - 2)"
        " and should be exp(score - 3). Which factor does that?",
        "`total = total * (before - largest).exp() + (part - largest).exp().sum(-1, True)`, and at "
        "the end `(scores - largest).exp() / total`.",
    ),
    minutes=12,
    difficulty=3,
    too_much=_looked_otherwise,
)


# 09.strassen_once


def strassen_once(a, b):
    a11, a12, a21, a22 = quarters(a)
    b11, b12, b21, b22 = quarters(b)
    m1 = (a11 + a22) @ (b11 + b22)
    m2 = (a21 + a22) @ b11
    m3 = a11 @ (b12 - b22)
    m4 = a22 @ (b21 - b11)
    m5 = (a11 + a12) @ b22
    m6 = (a21 - a11) @ (b11 + b12)
    m7 = (a12 - a22) @ (b21 + b22)
    top = torch.cat([m1 + m4 - m5 + m7, m3 + m5], dim=1)
    bottom = torch.cat([m2 + m4, m1 - m2 + m3 + m6], dim=1)
    return torch.cat([top, bottom], dim=0)


def quarters(x):
    i, j = x.shape[0] // 2, x.shape[1] // 2
    return x[:i, :j], x[:i, j:], x[i:, :j], x[i:, j:]


def _strassen(
    a,
    b,
    *,
    instead=None,
    cut=quarters,
    multiply=lambda x, y: x @ y,
    sign3=1,
    sign4=1,
    sign6=1,
    sign7=1,
    c11=lambda m: m[1] + m[4] - m[5] + m[7],
    c12=lambda m: m[3] + m[5],
    c21=lambda m: m[2] + m[4],
    c22=lambda m: m[1] - m[2] + m[3] + m[6],
    place=lambda c11, c12, c21, c22: ((c11, c12), (c21, c22)),
):
    if instead is not None:
        return instead(a, b)
    a11, a12, a21, a22 = cut(a)
    b11, b12, b21, b22 = cut(b)
    m = {
        1: multiply(a11 + a22, b11 + b22),
        2: multiply(a21 + a22, b11),
        3: sign3 * multiply(a11, b12 - b22),
        4: sign4 * multiply(a22, b21 - b11),
        5: multiply(a11 + a12, b22),
        6: sign6 * multiply(a21 - a11, b11 + b12),
        7: sign7 * multiply(a12 - a22, b21 + b22),
    }
    rows = place(c11(m), c12(m), c21(m), c22(m))
    return torch.cat([torch.cat(row, dim=1) for row in rows], dim=0)


def _columns_first(x):
    x11, x12, x21, x22 = quarters(x)
    return x11, x21, x12, x22


def _every_second(x):
    return x[::2, ::2], x[::2, 1::2], x[1::2, ::2], x[1::2, 1::2]


def _turned(i, product):
    """One of the four differences in the table taken the wrong way round."""
    return Misconception(
        f"the difference in m{i} the wrong way round",
        f"m{i} is {product}: mind which of the two is taken off. It is added at the end.",
        {f"sign{i}": -1},
    )


EIGHT = Misconception(
    "eight products",
    "The result is right, but it took more multiplications than seven products of quarters. "
    "Add and subtract quarters first, so that seven products are enough.",
    {"instead": lambda a, b: a @ b},
)


def _more_than_seven(answer):
    a, b = normal(8, 16, seed=7), normal(16, 24, seed=8)
    counted = multiplications(answer, a, b) > 7 * (4 * 8 * 12)
    return EIGHT if counted or _exact_in_every_entry(answer) else None


def _exact_in_every_entry(answer):
    """Whether no entry of the product loses digits to the others, however small it is.

    Seven products of sums cannot do that: their sums mix large rows with small ones, and what is
    large cancels only up to rounding (Miller, Computational complexity and numerical stability,
    SIAM J. Comput. 4, 1975). So this holds where torch does not see the multiplications, too.
    """
    for seed in range(6):
        large = torch.tensor([1.0, 1e12]).double()
        rows = large[tokens(8, 1, vocabulary=2, seed=seed)]
        columns = large[tokens(1, 12, vocabulary=2, seed=10 + seed)]
        a, b = rows * normal(8, 4, seed=20 + seed), normal(4, 12, seed=30 + seed) * columns
        try:
            got = call(answer, (a.clone(), b.clone()), Allowance(), Printed())
            error = (to_tensor(got, a).double() - a @ b).abs()
        except AnswerError:
            return False
        if not bool((error <= 1e-2 * (a.abs() @ b.abs())).all()):
            return False
    return True


_ONE = "The error is that of a single wrong product: look at"
# What an error in one line of the table does to the quarters 11, 12, 21, 22 of the result.
_SPREADS = {
    (1, 0, 0, 1): f"{_ONE} m1 = (a11 + a22) @ (b11 + b22).",
    (0, 0, 1, -1): f"{_ONE} m2 = (a21 + a22) @ b11.",
    (0, 1, 0, 1): f"{_ONE} m3 = a11 @ (b12 - b22).",
    (1, 0, 1, 0): f"{_ONE} m4 = a22 @ (b21 - b11).",
    (-1, 1, 0, 0): f"{_ONE} m5 = (a11 + a12) @ b22.",
    (1, 0, 0, 0): "Only the top left is wrong: m1 + m4 - m5 + m7, "
    "or m7 = (a12 - a22) @ (b21 + b22).",
    (0, 1, 0, 0): "Only the top right is wrong: m3 + m5.",
    (0, 0, 1, 0): "Only the bottom left is wrong: m2 + m4.",
    (0, 0, 0, 1): "Only the bottom right is wrong: m1 - m2 + m3 + m6, "
    "or m6 = (a21 - a11) @ (b11 + b12).",
}


def _wrong_line(got, expected):
    """The line of the table that explains the error, if one does."""
    errors = quarters(got.double() - expected)
    for signs, line in _SPREADS.items():
        one = next(sign * error for sign, error in zip(signs, errors) if sign)
        if all(torch.allclose(e, sign * one, atol=1e-3) for sign, e in zip(signs, errors)):
            return line
    return ""


STRASSEN_ONCE = Exercise(
    id="09.strassen_once",
    title="Strassen, one level",
    statement=(
        "`a` (m, k) and `b` (k, n), all three sizes even: the product `a @ b` from seven products "
        "of quarters (and from sums and differences of quarters, as many as you like). Return "
        "(m, n)."
    ),
    starter=(
        "def strassen_once(a, b):\n"
        "    # a (m, k), b (k, n), sizes even -> (m, n)\n"
        "    ...  # your code here\n"
    ),
    reference=strassen_once,
    why=(
        "Each of the seven products is one of the seven lines in the chapter, with quarters in the "
        "place of numbers. No line exchanges its two factors, and that is why they hold for "
        "matrices."
    ),
    model=_strassen,
    cases=lambda: [
        Case(
            (torch.tensor([[1.0, 2], [3, 4]]).double(), torch.tensor([[5.0, 6], [7, 8]]).double()),
            "2 × 2 numbers",
        ),
        Case((normal(4, 4, seed=1), normal(4, 4, seed=2)), "4 × 4"),
        Case((normal(4, 6, seed=3), normal(6, 10, seed=4)), "4 × 6 by 6 × 10"),
        Case((normal(8, 2, seed=5), normal(2, 6, seed=6)), "8 × 2 by 2 × 6"),
    ],
    misconceptions=(
        EIGHT,
        Misconception(
            "number by number instead of row by column",
            "`*` multiplies the quarters number by number. The product of two quarters is a "
            "product of matrices: `@`.",
            {"multiply": lambda x, y: x * y},
        ),
        Misconception(
            "factors exchanged",
            "The quarter of a stands on the left: x @ y and y @ x are two different matrices.",
            {"multiply": lambda x, y: y @ x},
        ),
        Misconception(
            "upper right and lower left exchanged",
            "Numbered by row and column, the quarter 12 is at the top right and 21 at the bottom "
            "left, in a, in b and in the result.",
            {"cut": _columns_first},
        ),
        Misconception(
            "result put together the wrong way",
            "The quarters of the result go back to their places: 11 and 12 side by side on top, 21 "
            "and 22 below.",
            {"place": lambda c11, c12, c21, c22: ((c11, c21), (c12, c22))},
        ),
        Misconception(
            "b @ a instead of a @ b",
            "a stands on the left. The product of matrices depends on the order, and the other one "
            "exists only when the sizes happen to fit.",
            {"instead": lambda a, b: b @ a},
        ),
        Misconception(
            "every second row and column instead of halves",
            "Quarters are halves of the rows by halves of the columns. What was cut out as every "
            "second row cannot be put together side by side.",
            {"cut": _every_second},
        ),
        Misconception(
            "m4 and m5 exchanged at the top left",
            "At the top left m4 is added and m5 taken off: m1 + m4 - m5 + m7.",
            {"c11": lambda m: m[1] - m[4] + m[5] + m[7]},
        ),
        Misconception(
            "m2 and m3 exchanged at the bottom right",
            "At the bottom right m2 is taken off and m3 added: m1 - m2 + m3 + m6.",
            {"c22": lambda m: m[1] + m[2] - m[3] + m[6]},
        ),
        Misconception(
            "m5 added at the top left",
            "(a11 + a12) b22 is taken off at the top left: m1 + m4 - m5 + m7.",
            {"c11": lambda m: m[1] + m[4] + m[5] + m[7]},
        ),
        Misconception(
            "m7 missing at the top left",
            "The top left is m1 + m4 - m5 + m7.",
            {"c11": lambda m: m[1] + m[4] - m[5]},
        ),
        Misconception(
            "m2 added at the bottom right",
            "(a21 + a22) b11 is taken off at the bottom right: m1 - m2 + m3 + m6.",
            {"c22": lambda m: m[1] + m[2] + m[3] + m[6]},
        ),
        Misconception(
            "m6 missing at the bottom right",
            "The bottom right is m1 - m2 + m3 + m6.",
            {"c22": lambda m: m[1] - m[2] + m[3]},
        ),
        Misconception(
            "m6 and m7 exchanged",
            "m7 belongs to the top left and m6 to the bottom right.",
            {
                "c11": lambda m: m[1] + m[4] - m[5] + m[6],
                "c22": lambda m: m[1] - m[2] + m[3] + m[7],
            },
        ),
        Misconception(
            "m5 taken off at the top right",
            "The top right is m3 + m5.",
            {"c12": lambda m: m[3] - m[5]},
        ),
        Misconception(
            "m4 taken off at the bottom left",
            "The bottom left is m2 + m4.",
            {"c21": lambda m: m[2] - m[4]},
        ),
        _turned(3, "a11 @ (b12 - b22)"),
        _turned(4, "a22 @ (b21 - b11)"),
        _turned(6, "(a21 - a11) @ (b11 + b12)"),
        _turned(7, "(a12 - a22) @ (b21 + b22)"),
    ),
    hints=(
        "Cut both matrices into quarters, half of the rows by half of the columns, and call them "
        "a11, a12, a21, a22 and b11, b12, b21, b22. Then the seven lines of the chapter.",
        "`*` of numbers becomes `@` of quarters. Mind which factor stands on the left.",
        "`m1 = (a11 + a22) @ (b11 + b22)`, …, and at the end `torch.cat` the four quarters: "
        "`m1 + m4 - m5 + m7`, `m3 + m5`, `m2 + m4`, `m1 - m2 + m3 + m6`.",
    ),
    minutes=10,
    difficulty=2,
    too_much=_more_than_seven,
    clue=_wrong_line,
)

EXERCISES = (ONLINE_SOFTMAX, STRASSEN_ONCE)
