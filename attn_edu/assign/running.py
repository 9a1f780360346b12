"""Grade what was handed in: run it, write pages of feedback, list the points.

Needs nbgrader on the path (`attn_edu.assign.tools.activate`).
"""

import contextlib
import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat

from attn_edu.assign.gradebook import CONFIG, NOT_RUN, api
from attn_edu.assign.mentions import mentions

_KINDS = ("Error", "Exception", "Entry")  # how the names of errors end
COLUMNS = ("student", "assignment", "points", "out_of", "note")


@dataclass(frozen=True)
class Graded:
    """The points of one submission.

    The note says why it has no grade, where its notebook ended, or what in it is worth a look.
    """

    student: str
    assignment: str
    points: float
    out_of: float
    note: str = ""
    has_grade: bool = True


def submissions(folder: Path, assignments: list[str]) -> list[tuple[str, str]]:
    """Pairs of student and assignment that were handed in, in order.

    Raises:
        ValueError: no course there, an assignment that it does not have, or nothing handed in.
    """
    if not (folder / CONFIG).is_file():
        raise ValueError(
            f"{folder} is no folder of assignments: it has no {CONFIG}. "
            "Make one with: python3 -m attn_edu assign CHAPTER --out DIR"
        )
    known = _assignments(folder)
    wanted = []
    for name in assignments or known:
        found = [one for one in known if name in (one, one.split("_")[0])]
        if not found:
            raise ValueError(f"no assignment is called {name!r}; there are {', '.join(known)}")
        wanted += found
    pairs = sorted(
        (path.parent.name, path.name)
        for path in (folder / "submitted").glob("*/*")
        if path.is_dir() and path.name in wanted
    )
    if not pairs:
        raise ValueError(
            f"nothing was handed in: put notebooks into {folder}/submitted/STUDENT/{wanted[0]}/"
            + "".join(f"\nin another place: {path}" for path in misplaced(folder))
        )
    return pairs


def misplaced(folder: Path) -> list[Path]:
    """Notebooks below ``submitted/`` that lie in no ``STUDENT/ASSIGNMENT/``: nobody grades them."""
    known, submitted = _assignments(folder), folder / "submitted"
    return sorted(
        path
        for path in submitted.rglob("*.ipynb")
        if ".ipynb_checkpoints" not in path.parts
        and not (path.parent.name in known and path.parents[2] == submitted)
    )


def _assignments(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "source").glob("*") if path.is_dir())


def grade_all(
    folder: Path,
    assignments: list[str],
    *,
    again: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Graded]:
    """Grade the submissions that are new, or newer than their grade; write grades.csv.

    One that cannot be graded stops no other; it gets a note.

    Args:
        folder: a course made by `attn_edu.assign.folder.assign`.
        assignments: their names or the numbers of their chapters; empty for all.
        again: grade all of them, also those that have a grade.
        tell: called with a line for each submission that is run.

    Returns:
        One entry for each submission.

    Raises:
        ValueError: see `submissions`.
    """
    pairs = submissions(folder, assignments)
    run, notes = api(folder), {}
    for student, assignment in pairs:
        if not again and _is_graded(folder, student, assignment):
            continue
        tell(f"{assignment} of {student}")
        notes[student, assignment] = _grade(run, folder, student, assignment)
    with run.gradebook as book:
        rows = [_points(book, folder, *pair, notes.get(pair, "")) for pair in pairs]
        listed = [_points(book, folder, *pair) for pair in _all(folder)]
    _write({(row.student, row.assignment): row for row in [*listed, *rows]}, folder / "grades.csv")
    return rows


def _all(folder: Path) -> list[tuple[str, str]]:
    try:
        return submissions(folder, [])
    except ValueError:
        return []


def _notebook(folder: Path, step: str, student: str, assignment: str, end: str = "ipynb") -> Path:
    return folder / step / student / assignment / f"{assignment}.{end}"


def _is_graded(folder: Path, student: str, assignment: str) -> bool:
    submitted = _notebook(folder, "submitted", student, assignment)
    graded = _notebook(folder, "autograded", student, assignment)
    page = _notebook(folder, "feedback", student, assignment, "html")
    if not (submitted.is_file() and graded.is_file() and page.is_file()):
        return False
    release = folder / "release" / assignment / f"{assignment}.ipynb"
    newest = max(_arrived(path) for path in (submitted, release) if path.is_file())
    return graded.stat().st_mtime > newest


def _arrived(path: Path) -> float:
    """When a file came to its place: out of a zip it may bear an older date than that."""
    dates = path.stat()
    return max(dates.st_mtime, dates.st_ctime)


def _grade(run, folder: Path, student: str, assignment: str) -> str:
    """Autograde and write the feedback; what went wrong in words, or nothing."""
    if missing := _missing(folder, student, assignment):
        return missing
    for work in (run.autograde, run.generate_feedback):
        done = work(assignment, student)
        if not done["success"]:
            return f"not graded: {_reason(done)}"
    return ""


def _missing(folder: Path, student: str, assignment: str) -> str:
    """What is there in the place of the notebook, if that is missing."""
    submitted = _notebook(folder, "submitted", student, assignment)
    if submitted.is_file():
        return ""
    others = sorted(path.name for path in submitted.parent.glob("*.ipynb"))
    return f"no {submitted.name}" + (f", but {', '.join(others)}" if others else "")


def _reason(done: dict) -> str:
    """The line of nbgrader's log that names the cause."""
    log = done.get("log", "") + done.get("error", "")
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    causes = [
        line
        for line in lines
        if not line.startswith(("[", "File ")) and "Exception: Please" not in line
    ]
    named = [line for line in causes if line.split(":")[0].endswith(_KINDS)]
    return (named or causes or lines or ["nbgrader gave no reason"])[0][:200]


def _points(book, folder: Path, student: str, assignment: str, note: str = "") -> Graded:
    from nbgrader.api import MissingEntry

    out_of = book.find_assignment(assignment).max_score
    graded = _notebook(folder, "autograded", student, assignment)
    if graded.is_file():
        with contextlib.suppress(MissingEntry):
            points = book.find_submission(assignment, student).score
            seen = note or " ".join(filter(None, (_ended(graded), mentions(graded))))
            return Graded(student, assignment, points, out_of, seen)
    note = note or _missing(folder, student, assignment) or "not graded"
    return Graded(student, assignment, 0.0, out_of, note, has_grade=False)


def _ended(graded: Path) -> str:
    """Where a notebook was left off; an empty text if it ran to its end."""
    for cell in nbformat.read(graded, as_version=4).cells:
        for output in cell.get("outputs", []):
            if output.get("ename") == NOT_RUN:
                return str(output.get("evalue")).partition(": ")[2][:100]
    return ""


def _write(rows: dict[tuple[str, str], Graded], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for _, row in sorted(rows.items()):
            table.writerow(getattr(row, name) for name in COLUMNS)


def table(rows: list[Graded]) -> str:
    """Student, assignment and points in columns, for a terminal."""
    lines = [("student", "assignment", "points", "note")]
    lines += [
        (row.student, row.assignment, f"{row.points:g} of {row.out_of:g}", row.note) for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(x.ljust(w) for x, w in zip(line, widths)).rstrip() for line in lines)
