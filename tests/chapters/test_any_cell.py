"""Any cell of a chapter can be run again, and shows the same: nothing in its code prevents it.

The notebooks stage runs the cells for real, first down, then up: tests/notebooks/conditions.py.
"""

import builtins

import pytest

from attn_edu.course import chapters

from .loading import code_cells, tagged
from .rerunning import Cell, bound_twice, faults


@pytest.mark.parametrize("file", [chapter.file for chapter in chapters()])
def test_no_cell_does_something_else_the_second_time(file):
    assert faults(code_cells(file), timing=tagged(file, "timing")) == []


@pytest.mark.parametrize("file", [chapter.file for chapter in chapters() if chapter.exercises])
def test_exercises_can_be_done_first_thing_after_a_restart(file):
    sources = code_cells(file)[:-1]  # the last one prints what was measured on the way
    (first,) = [i for i, source in enumerate(sources) if "import check, hint, solution" in source]
    cells = [Cell.of(source) for source in sources[first:]]
    taken = frozenset().union(*(cell.now | cell.later for cell in cells))
    bound = frozenset().union(*(cell.binds for cell in cells))
    assert taken - bound - set(dir(builtins)) - {"check", "hint", "solution"} == set()


def test_names_that_two_cells_bind_and_another_reads_are_found():
    cells = [
        "rows = 1\nshown = [rows for _ in range(2)]\ndef f(): return rows",
        "rows = 2",
        "print(shown)",
        "shown = 3\nprint(shown, f())",
        "for k in range(2): print(k)",
        "for k in range(3): print([k + i for i in range(k)], sorted([3], key=lambda i: i * k))",
        "import math",
        "import math\nmath.pi",
        "total = 1",
        "total = total + 1",
    ]
    assert bound_twice(cells) == {"rows": [0, 1], "shown": [0, 3], "total": [8, 9]}


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["x = 1", "x += 1"], "cell 1 changes x"),
        (["x = [1]", "x[0] += 1"], "cell 1 changes x"),
        (["x = [1]", "x.append(2)"], "cell 1 changes x"),
        (["x = {}", "def f(): x['a'].append(2)"], "cell 1 changes x"),
        (["x = []\ndef f(): x.append(2)", "f()"], "cell 0 changes x"),
        (["x = iter([1, 2])", "print(next(x))"], "cell 1 changes x"),
        (["model = 1", "model.weight.zero_()"], "cell 1 changes model"),
        (["optimiser = 1", "for _ in range(2): optimiser.step()"], "cell 1 changes optimiser"),
        (["x = 1", "print(x)\ndel x"], "cell 1 changes x"),
        (["import torch", "torch.randn(2)"], "cell 1: randn() without a seed"),
        (["torch.randn(2)\ntorch.manual_seed(0)"], "cell 0: randn() without a seed"),
        (["def f(): return torch.rand(2)", "f()"], "cell 1: f() without a seed"),
        (["def f(): return torch.rand(2)\nf()"], "cell 0: f() without a seed"),
        (["g = torch.Generator()", "torch.rand(2, generator=g)"], "cell 1 draws on with g"),
    ],
)
def test_each_reason_is_found(cells, reason):
    assert reason in faults(cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["x = {}", "x['a'] = 1", "print(x)"],  # the second time it says the same
        ["x = 1\nx += 1", "print(x)"],
        ["x = []\nfor i in range(3): x.append(i)", "print(x)"],
        ["def f():\n    x = []\n    x.append(2)\n    return x", "print(f())"],
        ["from torch import nn", "class A: nn.init.zeros_(3)"],
        ["torch.manual_seed(0)\nx = torch.randn(2)", "print(x)"],
        ["def f():\n    torch.manual_seed(0)\n    return torch.rand(2)", "f()"],
        ["g = torch.Generator().manual_seed(0)\ntorch.rand(2, generator=g)"],
        ["def normal(n): return torch.zeros(n)", "normal(2)"],
        ["def f(x): return x + 1\nprint(f(2))", "x = 1\nprint(f(x))", "for x in [1, 2]: print(x)"],
    ],
)
def test_nothing_is_found(cells):
    assert faults(cells) == []


def test_cells_that_time_something_may_draw_what_they_like():
    assert faults(["x = torch.randn(2)"], timing={0}) == []
