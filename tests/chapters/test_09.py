"""What chapter 09 says of counts and defines by itself, held against closed forms and torch."""

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from attn_edu.costs import count_flops
from attn_edu.datasets import sentence
from attn_edu.matmul import strassen, winograd_convolution

from .loading import code_cells, definitions

CODE = code_cells("09_faster_arithmetic")


@pytest.fixture(scope="module")
def chapter():
    """The imports and functions of the chapter."""
    return definitions("09_faster_arithmetic")


def cell(*words):
    (found,) = [source for source in CODE if all(word in source for word in words)]
    return found


def test_the_seven_lines_are_strassens_for_any_numbers(capsys):
    """The lines of the 2 × 2 cell, run on other numbers; no product exchanges its factors."""
    lines = [line for line in cell("m7 =").splitlines() if line[:1] == "m" and line[2:4] == " ="]
    results = [line for line in cell("m7 =").splitlines() if line.startswith("print([")]
    assert len(lines) == 7
    generator = torch.Generator().manual_seed(1)
    a, b = torch.randint(-99, 99, (2, 2, 2, 3, 3), generator=generator)
    names = {f"a{i}{j}": a[i - 1, j - 1] for i, j in itertools.product((1, 2), repeat=2)}
    names |= {f"b{i}{j}": b[i - 1, j - 1] for i, j in itertools.product((1, 2), repeat=2)}
    exec("\n".join(lines).replace(" * ", " @ "), names)  # quarters in the place of numbers
    rows = [eval(line.removeprefix("print(").removesuffix(")"), names) for line in results]
    whole = [torch.cat([torch.cat(list(row), dim=-1) for row in x], dim=-2) for x in (a, b)]
    got = torch.cat([torch.cat(row, dim=-1) for row in rows], dim=-2)
    assert got.equal(whole[0] @ whole[1])


def test_eighteen_additions_where_there_were_four():
    signs = sum(line.count(" + ") + line.count(" - ") for line in cell("m7 =").splitlines())
    assert signs == 18


def test_the_formula_is_torchs_attention(chapter):
    query, key, value = (chapter.normal(2, 3, 5, 4, seed=s) for s in range(3))
    torch.testing.assert_close(
        chapter.attention(query, key, value), F.scaled_dot_product_attention(query, key, value)
    )


def test_counts_of_the_formula_and_of_a_training_step(chapter):
    n, d = 24, 8
    inputs = [chapter.normal(1, 2, n, d, seed=s) for s in range(3)]
    product = 2 * 2 * n * n * d
    assert count_flops(chapter.attention, *inputs) == 2 * product
    assert count_flops(chapter.step(chapter.attention), *inputs) == 6 * product
    assert count_flops(chapter.step(chapter.tiled_attention), *inputs) == 7 * product


def test_levels_are_counted_from_the_plain_product(chapter):
    rows = chapter.levels_of(32, levels=(0, 1, 2))
    assert [row[0] for row in rows] == [7**level * (32 >> level) ** 3 for level in range(3)]
    assert rows[0][1] < rows[2][1] < 1e-5


def test_savings_of_small_windows():
    assert 9 * 32 * 32 / winograd_convolution.multiplications(34, 34) == 2.25
    assert strassen.multiplications(1024, 64, 1024, cutoff=32) == 7 / 8 * 1024 * 64 * 1024
    assert round((2 * 5 / (2 + 5 - 1)) ** 2, 2) == 2.78


def test_the_row_of_was_rises_in_three_tiles_of_four_and_picks_full():
    one = sentence("full")
    asks = one.tokens.index("was")
    row = one.query[3, 1, asks].float() @ one.key[3, 1].float().mT / math.sqrt(32)
    tops = [part.max().item() for part in row.split(4)]
    assert tops[0] < tops[1] < tops[2] > tops[3]
    assert one.tokens[row.argmax()] == "full"
