"""Wrong answers to the exercises of chapter 09, written as learners write them."""

import math

import pytest
import torch

from attn_edu.exercises import check


def top(x):
    return x.amax(dim=-1, keepdim=True)


def added(x):
    return x.sum(dim=-1, keepdim=True)


def whole_tiles_only(scores, tile):
    n, largest, total = scores.shape[-1], scores.new_tensor(-math.inf), 0
    for i in range(n // tile):
        part = scores[..., i * tile : (i + 1) * tile]
        before, largest = largest, torch.maximum(largest, top(part))
        total = total * (before - largest).exp() + added((part - largest).exp())
    return (scores - largest).exp() / total


def as_the_chapter_does_for_one_row(scores, tile):
    largest, total = -math.inf, 0.0
    for start in range(0, len(scores), tile):
        part = scores[start : start + tile]
        before, largest = largest, max(largest, part.max().item())
        total = total * math.exp(before - largest) + (part - largest).exp().sum().item()
    return (scores - largest).exp() / total


def overwritten(scores, tile):
    largest, total = scores.new_tensor(-math.inf), 0
    for part in scores.split(tile, dim=-1):
        total = total * (largest - top(part)).exp() + added((part - top(part)).exp())
        largest = top(part)
    return (scores - largest).exp() / total


def too_early(scores, tile):
    first, *rest = scores.split(tile, dim=-1)
    largest = top(first)
    total = added((first - largest).exp())
    for part in rest:
        new = torch.maximum(largest, top(part))
        total = total * (largest - new).exp() + added((part - largest).exp())
        largest = new
    return (scores - largest).exp() / total


def shrunk_together(scores, tile):
    first, *rest = scores.split(tile, dim=-1)
    largest = top(first)
    total = added((first - largest).exp())
    for part in rest:
        new = torch.maximum(largest, top(part))
        total = (total + added((part - new).exp())) * (largest - new).exp()
        largest = new
    return (scores - largest).exp() / total


def collected(scores, tile, at_once=False):
    largest, total, kept = scores.new_tensor(-math.inf), 0, []
    for part in scores.split(tile, dim=-1):
        before, largest = largest, torch.maximum(largest, top(part))
        powers = (part - largest).exp()
        total = total * (before - largest).exp() + added(powers)
        kept.append(powers / total if at_once else powers)
    return torch.cat(kept, dim=-1) / (1 if at_once else total)


def averaged(scores, tile):
    tiles = scores.split(tile, dim=-1)
    return torch.cat([part.softmax(dim=-1) / len(tiles) for part in tiles], dim=-1)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (whole_tiles_only, "the end of the row forgotten, and a short row altogether"),
        (as_the_chapter_does_for_one_row, "one sum for all rows"),
        (overwritten, "the largest score of the latest tile"),
        (too_early, "the new tile against the old largest score"),
        (shrunk_together, "the new tile shrunk as well"),
        (collected, "powers kept from their own time"),
        (lambda scores, tile: collected(scores, tile, at_once=True), "divided by the sum so far"),
        (averaged, "the mean of each tile's softmax"),
    ],
)
def test_mistakes_of_the_online_softmax(answer, name):
    assert check("09.online_softmax", answer).misconception == name


LINES = {
    "m1": "(a11 + a22) @ (b11 + b22)",
    "m2": "(a21 + a22) @ b11",
    "m3": "a11 @ (b12 - b22)",
    "m4": "a22 @ (b21 - b11)",
    "m5": "(a11 + a12) @ b22",
    "m6": "(a21 - a11) @ (b11 + b12)",
    "m7": "(a12 - a22) @ (b21 + b22)",
}
RESULT = "[[m1 + m4 - m5 + m7, m3 + m5], [m2 + m4, m1 - m2 + m3 + m6]]"


def seven_products(**other):
    def strassen_once(a, b):
        names = {}
        for letter, x in (("a", a), ("b", b)):
            for i, rows in enumerate(x.chunk(2, dim=0), 1):
                names |= {f"{letter}{i}{j}": y for j, y in enumerate(rows.chunk(2, dim=1), 1)}
        for name, line in (LINES | other).items():
            names[name] = eval(line, None, names)
        return torch.cat([torch.cat(row, dim=1) for row in eval(RESULT, None, names)])

    return strassen_once


def test_differences_the_wrong_way_round():
    assert check("09.strassen_once", seven_products()).passed
    for name, line in {
        "m3": "a11 @ (b22 - b12)",
        "m4": "a22 @ (b11 - b21)",
        "m6": "(a11 - a21) @ (b11 + b12)",
        "m7": "(a22 - a12) @ (b21 + b22)",
    }.items():
        found = check("09.strassen_once", seven_products(**{name: line})).misconception
        assert found == f"the difference in {name} the wrong way round"
