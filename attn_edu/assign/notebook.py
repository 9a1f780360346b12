"""The notebook of an assignment: a chapter's exercises with cells that nbgrader knows.

This is the instructor's copy. nbgrader makes the student's from it: what stands between
``### BEGIN SOLUTION`` and ``### END SOLUTION`` becomes `STUB`, hidden tests disappear.
"""

import ast
import random
import textwrap
from collections.abc import Mapping
from urllib.parse import quote

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attn_edu import colab
from attn_edu.course import Chapter, repository
from attn_edu.exercises.catalogue import exercise
from attn_edu.exercises.checking import examine
from attn_edu.exercises.definition import Exercise

STUB = "...  # your code here"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
IMPORTS = """\
import math

import torch

from attn_edu.exercises import check, hint"""


def grade_id(one: Exercise) -> str:
    """The id of an exercise as nbgrader accepts it: "02-scores"."""
    return one.id.replace(".", "-")


def function_name(one: Exercise) -> str:
    """The name of the function that the starter defines."""
    return ast.parse(one.starter).body[0].name


def draws(chapter: Chapter, seed: int | None = None) -> dict[str, int]:
    """For each exercise of a chapter a draw of random inputs that tells right from wrong.

    Args:
        seed: the same seed gives the same draws; without one they are new in each call.

    Returns:
        Exercise id -> number of the draw, never the 0 of `check`.

    Raises:
        RuntimeError: an exercise whose known mistakes pass on every draw that was tried.
    """
    numbers = random.SystemRandom() if seed is None else random.Random(f"{seed} {chapter.number}")
    return {name: _draw(exercise(name), numbers) for name in chapter.exercises}


def _draw(one: Exercise, numbers: random.Random, tries: int = 30) -> int:
    for _ in range(tries):
        draw = numbers.randrange(10_000, 1_000_000)
        wrong = (examine(one, one.wrong(belief), draw) for belief in one.misconceptions)
        if examine(one, one.reference, draw).passed and not any(result.passed for result in wrong):
            return draw
    raise RuntimeError(f"{one.id}: {tries} draws, and none tells right from wrong")


def assignment(chapter: Chapter, draw: Mapping[str, int], chapters_at: str) -> NotebookNode:
    """The instructor's copy, not run, with ids that depend on the chapter alone.

    Args:
        draw: exercise id -> the random inputs that its points are given on.
        chapters_at: the address of the folder with the chapters, relative or absolute.
    """
    several = [exercise(name) for name in chapter.exercises]
    cells = [_head(chapter, several, chapters_at), _for_colab(), new_code_cell(IMPORTS)]
    for one in several:
        cells += [_statement(one), _solution(one), _check(one), _graded(one, draw[one.id])]
    for number, cell in enumerate(cells):
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", f"cell-{number}")
    language = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    return new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": language})


def _head(chapter: Chapter, several: list[Exercise], chapters_at: str) -> NotebookNode:
    points = sum(one.points for one in several)
    minutes = sum(one.minutes for one in several)
    link = f"{chapters_at.rstrip('/')}/{quote(chapter.file)}.ipynb"
    binder, in_colab = repository().binder(chapter.address), repository().colab(chapter.address)
    return new_markdown_cell(
        f"# {chapter.number} · {chapter.title}: assignment\n\n"
        f"Read chapter {chapter.number} first, [{chapter.title}]({link}), on your machine, "
        f"[in Binder]({binder}) or [in Colab]({in_colab}). Here are its exercises: {points} "
        f"points, about {minutes} minutes.\n\n"
        "Write each function where it says `your code here`. The cell under it checks your answer "
        "and names the mistake if it knows it; the cell after that shows the points, and stays as "
        f'it is. In a cell of your own, `hint("{several[0].id}")` gives a hint. What you hand in '
        "is graded on other inputs than those of the check, so compute the answer; an exercise "
        "earns all its points or none.\n\n"
        "At the end, run the whole notebook from a fresh kernel, save it, and hand in this one "
        "file under the name that it has."
    )


def _for_colab() -> NotebookNode:
    """The set-up cell of the chapters. nbgrader puts it back as it was before it is run."""
    return _nbgrader(colab.setup_cell(repository()), colab.TAG, locked=True)


def _statement(one: Exercise) -> NotebookNode:
    return new_markdown_cell(
        f"## {one.title}\n\n*Exercise {one.id}: {one.points} points, about {one.minutes} minutes.*"
        f"\n\n{one.statement}"
    )


def _nbgrader(cell: NotebookNode, name: str, **given: object) -> NotebookNode:
    cell.metadata["nbgrader"] = {
        "grade": False,
        "grade_id": name,
        "locked": False,
        "schema_version": 3,
        "solution": False,
        "task": False,
        **given,
    }
    return cell


def _solution(one: Exercise) -> NotebookNode:
    """The starter, with the reference's body in the place of the dots."""
    lines = [line for line in one.starter.splitlines() if line.strip() != STUB]
    body = textwrap.indent(body_of(one), "    ", lambda line: bool(line.strip()))
    region = f"    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION"
    source = "\n".join([*lines, region])
    return _nbgrader(new_code_cell(source), f"{grade_id(one)}-answer", solution=True)


def body_of(one: Exercise) -> str:
    """What the reference does, not indented: its imports and helpers, then its own lines."""
    *before, reference = one.source.split("\n\n\n")
    _, own = reference.split("\n", 1)  # without the line of `def`
    return "\n\n".join([*before, textwrap.dedent(own)])


def _check(one: Exercise) -> NotebookNode:
    return new_code_cell(f'check("{one.id}", {function_name(one)})')


def _graded(one: Exercise, draw: int) -> NotebookNode:
    source = (
        "from attn_edu.exercises.grading import grade\n"
        "\n"
        "grade(  # here: the inputs of the check; when it is graded: others\n"
        f'    "{one.id}",\n'
        f'    "{function_name(one)}",\n'
        f"    points={one.points},\n"
        "### BEGIN HIDDEN TESTS\n"
        f"    draw={draw},\n"
        "### END HIDDEN TESTS\n"
        ")"
    )
    cell = new_code_cell(source)
    return _nbgrader(cell, grade_id(one), grade=True, locked=True, points=one.points)
