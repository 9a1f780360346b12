"""A plugin for pytest with nbval: below the last cell of a notebook its cells again, going up.

Each must show what it showed before, though all that stands below it has been run. Left out are the
cells whose output is not compared, which train or time something, and take long; their code is read
by tests/chapters/test_any_cell.py.
"""

from itertools import groupby

import pytest
from nbval.plugin import IPyNbCell


def again(item: IPyNbCell) -> IPyNbCell:
    """The same cell once more, in the same kernel."""
    same = {"cell_num": item.cell_num, "cell": item.cell, "options": item.options}
    return IPyNbCell.from_parent(item.parent, name=f"{item.name} again", **same)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    ordered = []
    for _, group in groupby(items, key=lambda item: item.parent):
        down = list(group)
        cells = [item for item in down if isinstance(item, IPyNbCell)]
        ordered += down + [again(item) for item in reversed(cells) if item.options["check"]]
    items[:] = ordered
