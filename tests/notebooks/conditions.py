"""A plugin for pytest with nbval: the conditions of a chapter's run, as cells around its own.

- Before its first cell the kernel loses the network and the right to write in the course's folder.
- Below its last cell the peak of the kernel's memory is read. It ends up in the summary.
- Then its cells are run again, going up. Each must show what it showed before, though all that
  stands below it has been run. Cells whose output is not compared must still hold what they assert.
"""

from collections import defaultdict
from itertools import groupby

import pytest
from nbformat.v4 import new_code_cell
from nbval.plugin import IPyNbCell, IPyNbFile

from bench.chapters import USED
from tests.confined import NO_NETWORK, NO_WRITING

LIMIT = 1.2e9  # bytes: what the course promises for each chapter
CONFINED = f"exec({NO_WRITING + NO_NETWORK!r}, {{}})"  # no name of it is left in the kernel
PEAK = f"exec({f'{USED}{chr(10)}assert peak < {LIMIT:g}, peak'!r}, {{}})"


def around(file: IPyNbFile, name: str, source: str) -> IPyNbCell:
    """A cell that the notebook does not have, run in its kernel; what it shows is not compared."""
    cell = new_code_cell(source, execution_count=1)
    options = defaultdict(bool)  # neither compared nor skipped
    return IPyNbCell.from_parent(file, name=name, cell_num=-1, cell=cell, options=options)


def again(item: IPyNbCell) -> IPyNbCell:
    """The same cell once more, in the same kernel."""
    same = {"cell_num": item.cell_num, "cell": item.cell, "options": item.options}
    return IPyNbCell.from_parent(item.parent, name=f"{item.name} again", **same)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    ordered = []
    for file, group in groupby(items, key=lambda item: item.parent):
        cells = list(group)
        if isinstance(file, IPyNbFile):
            before, below = around(file, "Confined", CONFINED), around(file, "Peak", PEAK)
            cells = [before, *cells, below, *map(again, reversed(cells))]
        ordered += cells
    items[:] = ordered


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    result = yield
    if item.name == "Peak" and isinstance(item.parent, IPyNbFile):
        shown = "".join(one.get("text", "") for one in item.test_outputs)
        item.user_properties.append((item.path.stem, float(shown.split()[1])))
    return result


def pytest_terminal_summary(terminalreporter):
    reports = [one for some in terminalreporter.stats.values() for one in some]
    peaks = dict(p for one in reports if one_is_peak(one) for p in one.user_properties)
    if peaks:
        shown = ", ".join(f"{name[:2]} {peaks[name] / 1e6:.0f}" for name in sorted(peaks))
        terminalreporter.write_line(f"=== peak MB of each notebook: {shown}")


def one_is_peak(report) -> bool:
    return getattr(report, "when", None) == "call" and report.nodeid.endswith("::Peak")
