"""The notebook of an assignment: what an instructor and nbgrader find in it."""

import ast
import functools
import json
import re
from pathlib import Path

import nbformat
import pytest

from attn_edu import colab
from attn_edu.assign.notebook import STUB, assignment, draws, function_name, grade_id
from attn_edu.course import chapters, repository
from attn_edu.exercises import exercise, exercises
from attn_edu.exercises.checking import examine

ABLE = [chapter for chapter in chapters() if chapter.exercises]
ALL = pytest.mark.parametrize("chapter", ABLE, ids=lambda chapter: chapter.number)
WORDS = re.compile(r"\b(widget|input\(|interact|simply|just|obviously|!)")


draws_of = functools.cache(draws)


@functools.cache
def built(chapter, seed=3):
    return assignment(chapter, draws_of(chapter, seed), "../notebooks")


def by_kind(notebook, kind):
    return [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get(kind)]


@ALL
def test_each_exercise_has_statement_answer_check_and_points(chapter):
    notebook = built(chapter)
    nbformat.validate(notebook)
    several = [exercise(name) for name in chapter.exercises]
    graded, answers = by_kind(notebook, "grade"), by_kind(notebook, "solution")
    assert [cell.metadata.nbgrader["points"] for cell in graded] == [one.points for one in several]
    assert [cell.metadata.nbgrader["grade_id"] for cell in graded] == list(map(grade_id, several))
    assert all(cell.metadata.nbgrader["locked"] for cell in graded)
    ids = [cell.metadata.nbgrader["grade_id"] for cell in [*graded, *answers]]
    assert len(set(ids)) == 2 * len(several)
    assert all(re.fullmatch(r"[\w-]+", name) for name in ids)
    texts = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    codes = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    for one in several:
        assert one.statement in texts
        assert f"{one.points} points, about {one.minutes} minutes" in texts
        assert f'check("{one.id}", {function_name(one)})' in codes


@ALL
def test_metadata_is_what_nbgrader_wants(chapter):
    """The keys of its schema, version 3 (nbgraderformat/v3.json of nbgrader 0.9)."""
    wanted = {"grade", "grade_id", "locked", "schema_version", "solution", "task"}
    for cell in built(chapter).cells:
        settings = cell.metadata.get("nbgrader")
        if settings:
            assert set(settings) - {"points"} == wanted
            assert ("points" in settings) == settings["grade"]
            assert settings["schema_version"] == 3
            assert not (settings["grade"] and settings["solution"])


@ALL
def test_the_instructors_answers_are_right(chapter):
    notebook = built(chapter)
    for one, cell in zip(map(exercise, chapter.exercises), by_kind(notebook, "solution")):
        names = {}
        exec(cell.source, names)  # with no import but its own
        assert examine(one, names[function_name(one)], draw=4).passed, one.id


@ALL
def test_without_the_region_an_answer_is_the_starter(chapter):
    region = re.compile(r"### BEGIN SOLUTION.*### END SOLUTION", re.DOTALL)
    for one, cell in zip(map(exercise, chapter.exercises), by_kind(built(chapter), "solution")):
        assert region.sub(STUB, cell.source) == one.starter.rstrip("\n")


def test_every_starter_is_one_function_that_ends_with_the_stub():
    for one in exercises():
        (function,) = ast.parse(one.starter).body
        assert [argument.arg for argument in function.args.args] == one.arguments
        assert one.starter.rstrip().splitlines()[-1] == f"    {STUB}"


@ALL
def test_a_hidden_draw_and_nothing_else_is_hidden(chapter):
    draw = draws_of(chapter, 3)
    for one, cell in zip(map(exercise, chapter.exercises), by_kind(built(chapter), "grade")):
        hidden = re.search(r"BEGIN HIDDEN TESTS\n(.*)### END HIDDEN", cell.source, re.DOTALL)
        assert hidden.group(1) == f"    draw={draw[one.id]},\n"
        assert "draw" not in cell.source.replace(hidden.group(1), "")
        ast.parse(cell.source.replace(hidden.group(1), ""))


def test_no_output_nothing_interactive_and_the_words_of_the_house():
    for chapter in ABLE:
        notebook = built(chapter)
        assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
        for cell in notebook.cells:
            if not cell.metadata.get("nbgrader", {}).get("solution"):
                assert not WORDS.search(cell.source), cell.source


@ALL
def test_the_chapter_to_read_is_named_and_linked(chapter):
    first = built(chapter).cells[0].source
    link = re.search(r"\]\((.*?)\)", first).group(1)
    assert chapter.title in first
    assert (Path(__file__).parents[2] / "assigned" / link).resolve() == chapter.notebook
    elsewhere = assignment(chapter, draws_of(chapter, 3), "https://example.org/course/")
    assert f"(https://example.org/course/{chapter.file}.ipynb)" in elsewhere.cells[0].source


@ALL
def test_it_opens_in_colab_with_the_set_up_cell_of_the_chapters_first(chapter):
    head, first, second = built(chapter).cells[:3]
    assert first.source == colab.setup_cell(repository()).source
    assert first.metadata.nbgrader["locked"] and not first.metadata.nbgrader["grade"]
    assert second.source.startswith("import math")
    assert f"]({repository().colab(chapter.address)})" in head.source
    assert f"]({repository().binder(chapter.address)})" in head.source


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_inputs():
    chapter = ABLE[1]
    twice = [assignment(chapter, draws(chapter, 3), "..") for _ in range(2)]
    assert json.dumps(twice[0]) == json.dumps(twice[1])
    first, second, free, freer = (draws(chapter, seed) for seed in (3, 4, None, None))
    assert len({*first.values(), *second.values(), *free.values(), *freer.values()}) == 4 * 4
    assert draws(ABLE[0], 3).keys().isdisjoint(first)


def test_a_draw_that_lets_a_mistake_pass_is_not_taken(monkeypatch):
    from attn_edu.assign import notebook

    refused = []

    def blind_at_first(one, answer, draw):
        if len(refused) < 4:
            refused.append(draw)
            return examine(one, one.reference, draw)
        return examine(one, answer, draw)

    monkeypatch.setattr(notebook, "examine", blind_at_first)
    assert notebook.draws(ABLE[1], 3)["02.scores"] not in refused
    monkeypatch.setattr(notebook, "examine", lambda one, _, draw: examine(one, one.reference, draw))
    with pytest.raises(RuntimeError, match="none tells right from wrong"):
        notebook.draws(ABLE[1], 3)
