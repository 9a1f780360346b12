"""Exercises of chapter 09: faster arithmetic."""

import math

import torch

from attn_edu.exercises.counting import multiplications, steps
from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal

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


def _online(
    scores,
    tile,
    *,
    instead=None,
    axis=-1,
    parts=lambda scores, tile, axis: scores.split(tile, dim=axis),
    top=torch.maximum,
    shrink=lambda total, before, largest: total * (before - largest).exp(),
    against=lambda own, before, largest: largest,
    finish=lambda powers, total: powers / total,
):
    if instead is not None:
        return instead(scores, tile)
    first, *rest = parts(scores, tile, axis)
    own = first.amax(dim=axis, keepdim=True)
    largest = top(own, own)
    total = (first - largest).exp().sum(dim=axis, keepdim=True)
    for part in rest:
        own = part.amax(dim=axis, keepdim=True)
        before, largest = largest, top(largest, own)
        new = (part - against(own, before, largest)).exp().sum(dim=axis, keepdim=True)
        total = shrink(total, before, largest) + new
    return finish((scores - largest).exp(), total)


def _each_tile_alone(scores, tile):
    return torch.cat([part.softmax(dim=-1) for part in scores.split(tile, dim=-1)], dim=-1)


def _whole_tiles(scores, tile, axis):
    """As ``for i in range(n // tile)``: what is left over at the end is never summed."""
    n = scores.shape[axis]
    return scores.narrow(axis, 0, max(n - n % tile, min(n, tile))).split(tile, dim=axis)


def _whole_tiles_or_none(scores, tile):
    """The same in a loop that starts from nothing: a row shorter than a tile has no sum."""
    if tile > scores.shape[-1]:
        return torch.full_like(scores, math.inf)
    return _online(scores, tile, parts=_whole_tiles)


def _all_shrunk(scores, tile):
    first, *rest = scores.split(tile, dim=-1)
    largest = first.amax(dim=-1, keepdim=True)
    total = (first - largest).exp().sum(dim=-1, keepdim=True)
    for part in rest:
        before, largest = largest, torch.maximum(largest, part.amax(dim=-1, keepdim=True))
        total = total + (part - largest).exp().sum(dim=-1, keepdim=True)
        total = total * (before - largest).exp()
    return (scores - largest).exp() / total


def _powers_kept(scores, tile, divided=False):
    n, kept = scores.shape[-1], []
    for start in range(0, n, tile):
        seen = scores[..., : start + tile]
        powers = (seen - seen.amax(dim=-1, keepdim=True)).exp()
        total = powers.sum(dim=-1, keepdim=True)
        kept.append(powers[..., start:] / total if divided else powers[..., start:])
    return torch.cat(kept, dim=-1) if divided else torch.cat(kept, dim=-1) / total


AT_ONCE = Misconception(
    "the whole row at once",
    "The result is right, but a sum or a maximum ran over more than a tile. The point is that a "
    "row may arrive in pieces: look at one tile at a time, and keep only the largest score and the "
    "sum so far. (The powers at the end may be taken of the whole row.)",
    {"instead": lambda scores, tile: scores.softmax(dim=-1)},
)
_REDUCE = {"sum", "amax", "max", "mean", "_softmax", "_log_softmax", "logsumexp", "logcumsumexp"}
_REDUCE |= {"cumsum", "cummax", "sort", "topk"}


def _looked_at_the_whole_row(answer):
    n, tile = 26, 5
    for step in steps(answer, normal(3, n, seed=9), tile):
        if step.name in _REDUCE and len(step.shapes) == 1 and step.shapes[0][-1:] == (n,):
            return AT_ONCE
    return None


ONLINE_SOFTMAX = Exercise(
    id="09.online_softmax",
    title="Online softmax",
    statement=(
        "`scores` (…, n): the softmax over the last axis, from tiles of `tile` scores (the last "
        "one may be shorter). Look at one tile at a time, and keep only the largest score and the "
        "sum so far; at the end turn the scores into weights. Return (…, n)."
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
        Case((normal(2, 12, seed=6, size=900).sort(descending=True).values, 5), "scores that fall"),
        Case((normal(3, 10, seed=7, size=2).sort().values, 4), "scores that rise"),
        Case((normal(13, seed=4), 1), "tiles of a single score"),
        Case((normal(4, 5, seed=5), 8), "a tile longer than the row"),
    ],
    misconceptions=(
        AT_ONCE,
        Misconception(
            "old sum not shrunk",
            "When a tile brings a larger score, the sum so far was taken against the old one. "
            "Multiply it by exp(old largest - new largest) before you add.",
            {"shrink": lambda total, before, largest: total},
        ),
        Misconception(
            "shrunk the wrong way round",
            "The factor is exp(old largest - new largest), at most 1. The other way round the sum "
            "grows where it should shrink.",
            {"shrink": lambda total, before, largest: total * (largest - before).exp()},
        ),
        Misconception(
            "difference used as the factor",
            "The sum holds powers of e, so the factor is exp(old largest - new largest), not the "
            "difference itself.",
            {"shrink": lambda total, before, largest: total * (before - largest)},
        ),
        Misconception(
            "old sum thrown away",
            "A larger score does not make the earlier tiles vanish: their sum shrinks by "
            "exp(old largest - new largest) and stays in.",
            {"shrink": lambda total, before, largest: total * 0},
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
            "the new tile shrunk as well",
            "Only the old sum was taken against the old largest score, so only it shrinks. "
            "Multiply it before you add the new tile.",
            {"instead": _all_shrunk},
        ),
        Misconception(
            "the largest score of the latest tile",
            "The largest score so far never falls: take the larger of the old one and the tile's. "
            "Otherwise the factor can exceed 1, and the powers at the end too, up to infinity.",
            {"top": lambda before, own: own},
        ),
        Misconception(
            "powers kept from their own time",
            "The powers of an early tile were taken against the largest score of that moment. Take "
            "them against the last one: (scores - largest).exp() at the end.",
            {"instead": _powers_kept},
        ),
        Misconception(
            "divided by the sum so far",
            "Each tile was divided by what had been summed up to then. The sum is known at the "
            "end: only then can scores become weights.",
            {"instead": lambda scores, tile: _powers_kept(scores, tile, divided=True)},
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
            {"instead": _whole_tiles_or_none},
        ),
        Misconception(
            "no largest score taken off",
            "exp of a score in the thousands is infinite, and infinite by infinite is NaN. Take "
            "the largest score off before every exp.",
            {"top": lambda before, own: torch.zeros_like(own)},
        ),
        Misconception(
            "not divided by the sum",
            "Powers are no weights yet: divide by the sum, so that the row adds up to 1.",
            {"finish": lambda powers, total: powers},
        ),
        Misconception(
            "softmax over the first axis",
            "The scores of one query lie along the last axis: `dim=-1`.",
            {"axis": 0},
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
    too_much=_looked_at_the_whole_row,
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
    negated=None,
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
        3: multiply(a11, b12 - b22),
        4: multiply(a22, b21 - b11),
        5: multiply(a11 + a12, b22),
        6: multiply(a21 - a11, b11 + b12),
        7: multiply(a12 - a22, b21 + b22),
    }
    m = {i: -product if i == negated else product for i, product in m.items()}
    rows = place(c11(m), c12(m), c21(m), c22(m))
    return torch.cat([torch.cat(row, dim=1) for row in rows], dim=0)


def _columns_first(x):
    x11, x12, x21, x22 = quarters(x)
    return x11, x21, x12, x22


def _turned(i, product):
    """One of the four differences in the table taken the wrong way round."""
    return Misconception(
        f"the difference in m{i} the wrong way round",
        f"m{i} is {product}: mind which of the two is taken off.",
        {"negated": i},
    )


EIGHT = Misconception(
    "eight products",
    "The result is right, but it took more multiplications than seven products of quarters. "
    "Add and subtract quarters first, so that seven products are enough.",
    {"instead": lambda a, b: a @ b},
)


def _more_than_seven(answer):
    a, b = normal(8, 16, seed=7), normal(16, 24, seed=8)
    return EIGHT if multiplications(answer, a, b) > 7 * (4 * 8 * 12) else None


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
        "Each of the seven products is one of the table in the chapter, with quarters in the place "
        "of numbers. The table never exchanges two factors, and that is what makes it hold for "
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
        "Cut both matrices into quarters, and write a11, a12, a21, a22 where the table of the "
        "chapter has numbers.",
        "`*` of numbers becomes `@` of quarters. Mind which factor stands on the left.",
        "`m1 = (a11 + a22) @ (b11 + b22)`, …, and at the end `torch.cat` the four quarters: "
        "`m1 + m4 - m5 + m7`, `m3 + m5`, `m2 + m4`, `m1 - m2 + m3 + m6`.",
    ),
    minutes=10,
    difficulty=2,
    too_much=_more_than_seven,
)

EXERCISES = (ONLINE_SOFTMAX, STRASSEN_ONCE)
