"""Names in a submission that an exercise does not need, and a look at its code is worth.

Answers run in the same Python as the check, so points alone cannot show that code has replaced it,
or has called what the exercise asks for. Its words can: a hint for a reader, never a verdict.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat

from attn_edu.assign.notebook import IMPORTS

_GIVEN = re.compile(  # what each assignment imports of the course, also in a copy of its cell
    rf"^(?:{re.escape(IMPORTS.splitlines()[-1])}|from attn_edu\.exercises\.grading import grade)$",
    re.MULTILINE,
)
_NAMES = re.compile(
    r"(?P<course>\battn[-_]edu\b(?:\.\w+)*)"
    r"|(?P<reach>\bsys\.modules\b|\b_getframe\b|\bf_(?:back|locals|globals)\b|\b__\w+__\b"
    r"|\bget_ipython\b|\bpublish_display_data\b|\b(?:setattr|globals|vars)(?=\s*\()"
    r"|(?<!\.)\b(?:exec|eval)(?=\s*\()|\b(?:gc|inspect|ctypes|importlib|builtins|atexit)\b)"
    r"|(?P<changed>\btorch(?:\.\w+)+)\s*=(?!=)"
)


def mentions(path: Path) -> str:
    """Cells of a graded notebook and the names in them, as a note; an empty text if there are none.

    Cells that nbgrader has put back are left out: they are the instructor's.
    """
    notebook = nbformat.read(path, as_version=4)
    found = [(n, name) for n, cell in enumerate(notebook.cells, 1) for name in _names(cell)]
    if not found:
        return ""
    cells = ", ".join(map(str, dict.fromkeys(number for number, _ in found)))
    names = list(dict.fromkeys(name for _, name in found))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"worth a look, cell {cells}: {', '.join(names[:3])}{more}"[:200]


def _names(cell) -> Iterator[str]:
    if cell.cell_type != "code" or cell.metadata.get("nbgrader", {}).get("grade"):
        return
    for match in _NAMES.finditer(_GIVEN.sub("", cell.source)):
        yield match["course"] or match["reach"] or match["changed"]
