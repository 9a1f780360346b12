"""Every exercise is complete, and its parts agree with each other."""

import itertools

import pytest
import torch

from attn_edu.costs import path_length
from attn_edu.course import chapters
from attn_edu.exercises import check, exercise, exercises, hint, solution
from attn_edu.exercises.comparing import same, to_tensor

ALL = pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)


def starter_of(one):
    names = {"torch": torch}
    exec(one.starter, names)
    return names[one.id.split(".")[1]]


@ALL
def test_solution_runs_as_it_is_printed(one):
    names = {}
    exec(one.source, names)
    assert check(one.id, names[one.reference.__name__]).passed


@ALL
def test_starter_runs_and_scores_nothing(one):
    result = check(one.id, starter_of(one))
    assert not result.passed
    assert result.status == "not attempted"
    assert str(result) == f"{one.id} · not attempted yet"


@ALL
def test_reference_passes_and_the_model_with_no_change_too(one):
    assert check(one.id, one.reference).passed
    assert check(one.id, one.model).passed


@ALL
def test_solution_passes_as_it_is_printed(one):
    names = dict(one.reference.__globals__)
    exec(solution(one.id).code, names)
    assert check(one.id, names[one.reference.__name__]).passed


@ALL
def test_texts_are_there(one):
    assert one.title
    assert len(one.statement) > 40
    assert len(one.why) > 40
    assert 1 <= len(one.hints) <= 3
    assert one.minutes > 0
    assert one.difficulty in (1, 2, 3)
    assert one.starter.startswith(f"def {one.id.split('.')[1]}({', '.join(one.arguments)}):")
    assert len(one.misconceptions) >= 3
    names = [belief.name for belief in one.misconceptions]
    assert len(set(names)) == len(names)
    assert not any(" + " in name for name in names)  # it joins the names of two mistakes
    assert all(belief.why.endswith((".", ".)")) for belief in one.misconceptions)


@ALL
def test_cases_have_different_notes_and_come_out_the_same_every_time(one):
    notes = [case.note for case in one.cases()]
    assert len(set(notes)) == len(notes)
    for first, again in zip(one.cases(), one.cases()):
        for x, y in zip(first.arguments, again.arguments):
            assert torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y


@ALL
def test_sizes_differ_in_at_least_one_case(one):
    """No axis may be taken for another: in some case the axes of each tensor all differ."""
    shapes = [[x.shape for x in case.arguments if hasattr(x, "shape")] for case in one.cases()]
    square_by_nature = ("w_query", "w_key", "w_value", "w_out", "weights")
    assert any(
        all(
            len(set(shape)) == len(shape)
            for name, shape in zip(one.arguments, of_case)
            if name not in square_by_nature
        )
        for of_case in shapes
    )


@ALL
def test_no_two_misconceptions_look_the_same(one):
    def outputs(belief):
        found = []
        for case in one.cases():
            try:
                value = one.wrong(belief)(*case.arguments)
                found.append(to_tensor(value, one.reference(*case.arguments)))
            except Exception:
                found.append(None)
        return found

    # What is right in value is told apart by its work: see `too_much`.
    by_value = [x for x in one.misconceptions if one.too_much(one.wrong(x)) is not x]
    of = {belief.name: outputs(belief) for belief in by_value}
    for a, b in itertools.combinations(of, 2):
        pairs = zip(of[a], of[b])
        assert any(
            (x is None) != (y is None) or (x is not None and not same(x, y)) for x, y in pairs
        ), (a, b)


def test_each_chapter_of_the_course_names_its_exercises():
    ours = [one.id for one in exercises()]
    known = {chapter.number for chapter in chapters() if chapter.exercises}
    listed = [name for chapter in chapters() for name in chapter.exercises]
    assert [name for name in listed if name in ours] == ours
    assert {name.split(".")[0] for name in ours} <= known


def test_path_length_means_what_the_package_counts():
    one = exercise("01.path_length")
    for case in one.cases():
        assert one.reference(*case.arguments) == path_length(*case.arguments)


@pytest.mark.parametrize("verb", [exercise, hint, solution, lambda name: check(name, abs)])
@pytest.mark.parametrize("name", ["02.score", "", None, 2, ["02.scores"]])
def test_an_unknown_id_says_which_are_known(verb, name):
    with pytest.raises(KeyError) as caught:
        verb(name)
    assert "exercise_id: got" in str(caught.value)
    assert "02.scores" in str(caught.value)
