"""What a class got wrong: counts over all graded submissions, and nothing about any one of them."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from attn_edu.assign import summary_page
from attn_edu.assign.outcomes import NOT_GRADED, OUTCOMES, Outcome, graded_cells, outcomes
from attn_edu.exercises import Exercise, Misconception, exercises

FEW = 5  # with fewer submissions one may guess whose mistake it was


@dataclass(frozen=True)
class ExerciseSummary:
    """One exercise in the submissions of a class.

    Attributes:
        exercise: the exercise.
        counts: outcome -> submissions, for each of `OUTCOMES`.
        mistakes: each mistake that occurred -> submissions that show it, most frequent first.
    """

    exercise: Exercise
    counts: Mapping[str, int]
    mistakes: Mapping[str, int]

    @property
    def submissions(self) -> int:
        return sum(self.counts.values())

    @property
    def named(self) -> list[tuple[Misconception, int]]:
        """The mistakes as the exercise explains them, each with its count."""
        known = {belief.name: belief for belief in self.exercise.misconceptions}
        return [(known[name], count) for name, count in self.mistakes.items()]


@dataclass(frozen=True, repr=False)
class ClassSummary:
    """Counts over a class; shows itself in a terminal and in a notebook.

    Attributes:
        submissions: how many assignments were handed in, over all students.
        assignments: how many different ones.
        exercises: an `ExerciseSummary` each, in the order of the course.
    """

    submissions: int
    assignments: int
    exercises: tuple[ExerciseSummary, ...]

    @property
    def title(self) -> str:
        counts = {
            "submission": self.submissions,
            "assignment": self.assignments,
            "exercise": len(self.exercises),
        }
        said = ", ".join(f"{n} {word}{'s' * (n != 1)}" for word, n in counts.items())
        return f"Class summary: {said}"

    @property
    def warning(self) -> str:
        """What to think of when there are few submissions; empty when there are enough."""
        few = any(row.submissions < FEW for row in self.exercises)
        return summary_page.WARNING.format(few=FEW) if few else ""

    def __str__(self) -> str:
        return summary_page.as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return summary_page.as_tables(self)

    def to_html(self, path) -> Path:
        """Write one page, self-contained: picture, table, and why each mistake is one."""
        path = Path(path)
        path.write_text(summary_page.as_page(self), encoding="utf-8")
        return path

    def to_csv(self, path) -> Path:
        """Write ``exercise, outcome, mistake, submissions``, one count a line.

        Where ``mistake`` is empty the line counts an outcome, and these lines add up to the
        submissions of the exercise; the other lines say which mistakes the known ones were.
        """
        path = Path(path)
        with path.open("w", encoding="utf-8", newline="") as file:
            write = csv.writer(file).writerow
            write(["exercise", "outcome", "mistake", "submissions"])
            for row in self.exercises:
                for outcome, words in OUTCOMES.items():
                    write([row.exercise.id, words, "", row.counts[outcome]])
                for name, count in row.mistakes.items():
                    write([row.exercise.id, OUTCOMES["misconception"], name, count])
        return path


def class_summary(folder, assignments: Iterable[str] | None = None) -> ClassSummary:
    """Sum up the graded submissions of an nbgrader course.

    Args:
        folder: the course; it holds ``autograded/<student>/<assignment>/*.ipynb``.
        assignments: the names of those to sum up; all that were graded by default.

    Returns:
        A `ClassSummary`. A submission that was handed in and has no result for an exercise of its
        assignment counts there as not graded. An exercise in two assignments counts in both.

    Raises:
        ValueError: there is nothing graded in ``folder``, or an assignment is not among it.
    """
    folder = Path(folder)
    students = _folders(folder / "autograded")
    handed_in = [path for student in students for path in _folders(student) if _notebooks(path)]
    graded = sorted({path.name for path in handed_in})
    if not graded:
        raise ValueError(
            f"folder: got {str(folder)!r}, which holds no graded submission (autograded/<student>/"
            f"<assignment>/*.ipynb). Grade them first: python -m attn_edu grade {folder}"
        )
    chosen = [assignments] if isinstance(assignments, str) else dict.fromkeys(assignments or graded)
    for name in chosen:
        if name not in graded:
            raise ValueError(f"assignments: got {name!r}; graded are {', '.join(graded)}")
    classes = [_submissions(folder, name) for name in chosen]
    rows = [_row(one, classes) for one in exercises()]
    rows = tuple(row for row in rows if row.submissions)
    if not rows:
        raise ValueError(
            f"folder: got {str(folder)!r}, where no graded cell belongs to an exercise of the "
            "course. Assignments that do are made by: python -m attn_edu assign"
        )
    return ClassSummary(sum(map(len, classes)), len(classes), rows)


def _submissions(folder: Path, assignment: str) -> list[dict[str, Outcome]]:
    """What the exercises of an assignment came to, for each student who handed it in."""
    source = _notebooks(folder / "source" / assignment)
    homes = [*_folders(folder / "submitted"), *_folders(folder / "autograded")]
    students = {home.name for home in homes if (home / assignment).is_dir()}
    found = []
    for student in students:
        notebooks = _notebooks(folder / "autograded" / student / assignment)
        if source:  # a notebook of the student's own is no part of the assignment
            notebooks = [path for path in notebooks if path.name in {s.name for s in source}]
        found.append(outcomes(notebooks))
    assigned = {one.id for path in source for one, _ in graded_cells(path)}
    assigned = assigned or {name for submission in found for name in submission}
    return [{name: one.get(name, NOT_GRADED) for name in assigned} for one in found]


def _folders(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*") if path.is_dir() and not path.name.startswith(".")]


def _notebooks(folder: Path) -> list[Path]:
    return list(folder.glob("*.ipynb"))


def _row(one: Exercise, classes: list[list[dict[str, Outcome]]]) -> ExerciseSummary:
    own = [found[one.id] for submissions in classes for found in submissions if one.id in found]
    counts = Counter(outcome.status for outcome in own)
    mistakes = Counter(name for outcome in own for name in outcome.mistakes)
    in_order = [belief.name for belief in one.misconceptions if mistakes[belief.name]]
    in_order.sort(key=lambda name: -mistakes[name])  # those as frequent stay as in the exercise
    return ExerciseSummary(
        one, {name: counts[name] for name in OUTCOMES}, {name: mistakes[name] for name in in_order}
    )
