"""What each exercise came to in a submission, read from its graded notebooks.

Nothing in a submission is trusted: a student can print any text and display any JSON. All that is
taken from it is one of six outcomes, and names of mistakes that the exercise itself holds.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attn_edu.exercises import Exercise, exercises
from attn_edu.exercises.grading import RESULT_MIME

OUTCOMES = {  # in the words of a reader
    "passed": "passed",
    "misconception": "known mistake",
    "wrong": "wrong otherwise",
    "form": "wrong form",
    "not attempted": "not attempted",
    "not graded": "not graded",
}
# Of several graded cells for one exercise, the one that says most about what is missing.
_WORST_FIRST = ("misconception", "wrong", "form", "not graded", "not attempted", "passed")
_MOST_BYTES = 500_000_000  # a notebook that is larger is not read,
_MOST_VALUES = 20_000_000  # nor one that would become too many objects in memory


@dataclass(frozen=True)
class Outcome:
    """One of `OUTCOMES`; the names of the mistakes if it is ``"misconception"``."""

    status: str
    mistakes: frozenset[str] = frozenset()


NOT_GRADED = Outcome("not graded")


def outcomes(notebooks: Iterable[Path]) -> dict[str, Outcome]:
    """Exercise id -> outcome, for each exercise that has a graded cell in these notebooks."""
    found = {}
    for path in notebooks:
        for one, cell in graded_cells(path):
            outcome = _outcome(one, cell)
            before = found.get(one.id, outcome)
            worst = min(before, outcome, key=lambda o: _WORST_FIRST.index(o.status))
            found[one.id] = Outcome(worst.status, before.mistakes | outcome.mistakes)
    return found


def graded_cells(path: Path) -> Iterator[tuple[Exercise, dict]]:
    """The cells that nbgrader grades and whose exercise is known; none in an unreadable file."""
    for cell in _list(_read(path).get("cells")):
        settings = _dict(_dict(_dict(cell).get("metadata")).get("nbgrader"))
        if settings.get("grade") is True:
            one = _exercise(settings.get("grade_id"), cell.get("source"))
            if one is not None:
                yield one, cell


def _exercise(grade_id: object, source: object) -> Exercise | None:
    """The exercise named in the cell's id; if none is, the first one quoted in its source."""
    cell_id = _words(grade_id if isinstance(grade_id, str) else "")
    for one in exercises():
        if _words(one.id) in cell_id:
            return one
    text = "".join(line for line in _list(source) if isinstance(line, str))
    quoted = re.findall(r"[\"'](\d\d\.\w+)[\"']", source if isinstance(source, str) else text)
    known = {one.id: one for one in exercises()}
    return next((known[name] for name in quoted if name in known), None)


def _words(name: str) -> str:
    """ "02.scores" and "Test-02-scores" as "_02_scores_" and "_test_02_scores_"."""
    return "_" + re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") + "_"


def _outcome(one: Exercise, cell: dict) -> Outcome:
    shown = [_dict(_dict(output).get("data")) for output in _list(cell.get("outputs"))]
    results = [data[RESULT_MIME] for data in shown if RESULT_MIME in data]
    if not results:
        return NOT_GRADED
    result = _dict(results[-1])
    status = result.get("status") if result.get("exercise") == one.id else None
    if status == "misconception":
        named = [name for name in _list(result.get("misconceptions")) if isinstance(name, str)]
        mistakes = frozenset(named) & {belief.name for belief in one.misconceptions}
        return Outcome(status, mistakes) if mistakes else Outcome("wrong")
    if status == "passed" and any(_dict(x).get("output_type") == "error" for x in cell["outputs"]):
        return Outcome("form")  # it earned nothing, and the page of feedback says why
    given = isinstance(status, str) and status in OUTCOMES and status != NOT_GRADED.status
    return Outcome(status) if given else Outcome("wrong")


def _read(path: Path) -> dict:
    """A notebook as it was parsed; an empty one if that cannot be done."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return {}
        raw = path.read_bytes()
        values = sum(map(raw.count, (b",", b"[", b"{")))  # each value comes after one of these
        return _dict(json.loads(raw)) if values <= _MOST_VALUES else {}
    except (OSError, ValueError, RecursionError, MemoryError):
        return {}


def _dict(value: object) -> dict:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list:
    return value if isinstance(value, list) else []
