"""`grade`: all points or none, and never an exception that hides what was wrong."""

import sys
import types

import pytest
import torch

from attn_edu.exercises import exercise, exercises
from attn_edu.exercises.grading import RESULT_MIME, grade


@pytest.fixture
def shown(monkeypatch):
    """What a notebook would show: the forms of each output."""
    outputs = []
    monkeypatch.setattr("IPython.get_ipython", object)
    monkeypatch.setattr("IPython.display.publish_display_data", outputs.append)
    return outputs


@pytest.fixture
def notebook(monkeypatch):
    """The names of a notebook."""
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    return module


def right(query, key):
    return torch.einsum("...id,...jd->...ij", query, key)


def test_a_right_answer_earns_all_points(shown):
    assert grade("02.scores", right, points=7, draw=12) == 7.0
    (forms,) = shown
    assert forms[RESULT_MIME] == {
        "exercise": "02.scores",
        "status": "passed",
        "misconceptions": [],
        "points": 7.0,
        "out_of": 7.0,
    }
    assert forms["text/plain"].startswith("02.scores · passed")
    assert forms["text/html"].startswith("<div")


@pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)
def test_every_exercise_gives_points_and_names_its_commonest_mistake(one, shown):
    assert grade(one.id, one.reference, one.points, draw=2) == one.points
    belief = one.misconceptions[0]
    assert grade(one.id, one.wrong(belief), one.points, draw=2) == 0
    outcome = shown[-1][RESULT_MIME]
    assert outcome["status"] == "misconception"
    assert outcome["misconceptions"] == [belief.name]
    assert (outcome["points"], outcome["out_of"]) == (0, one.points)


def test_two_mistakes_at_once_are_two_names(shown):
    def answer(query, key, mask):
        return (query @ key.mT).softmax(-2)  # no scale, the wrong axis, no mask

    grade("02.attention_weights", answer, 4, draw=3)
    names = shown[-1][RESULT_MIME]["misconceptions"]
    assert "softmax over the queries" in names and len(names) > 1
    known = {belief.name for belief in exercise("02.attention_weights").misconceptions}
    assert set(names) <= known


def raises(query, key):
    raise ValueError("no")


def exits(query, key):
    sys.exit(3)


def prints(query, key):
    print("a" * 100_000)
    return 3 * right(query, key)


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (raises, "form", "ValueError: no"),
        (exits, "form", "SystemExit"),
        (prints, "wrong", "aaa"),
        (lambda query, key: ..., "not attempted", "not attempted"),
        (lambda query, key: None, "not attempted", "not attempted"),
        (lambda query: query, "form", "cannot be called"),
        (17, "form", "int"),
        (torch.zeros(2), "form", "Tensor"),
        (lambda query, key: query, "form", ""),
    ],
)
def test_everything_else_earns_nothing_and_is_shown(answer, status, words, shown):
    assert grade("02.scores", answer, points=2, draw=5) == 0.0
    (forms,) = shown
    assert forms[RESULT_MIME]["status"] == status
    assert words in forms["text/plain"]


def test_by_name_it_is_the_function_of_the_notebook(notebook, shown):
    notebook.scores = right
    assert grade("02.scores", "scores", points=2, draw=5) == 2.0


def test_a_missing_function_is_told_by_its_name(notebook, shown):
    assert grade("02.scores", "scores", points=2, draw=5) == 0.0
    assert shown[-1][RESULT_MIME]["status"] == "form"
    assert "no function `scores`" in shown[-1]["text/plain"]


def test_a_hanging_answer_is_stopped(monkeypatch, shown):
    from attn_edu.exercises import calling

    monkeypatch.setattr(calling, "SECONDS", 0.3)

    def loops(query, key):
        while True:
            pass

    assert grade("02.scores", loops, points=2, draw=5) == 0.0
    assert "It was stopped after 0.3 seconds" in shown[-1]["text/plain"]


def everything_is_equal(a, b, **options):
    return torch.ones(torch.broadcast_shapes(a.shape, b.shape), dtype=torch.bool)


@pytest.mark.parametrize("when", ["before", "inside"])
def test_a_changed_comparison_earns_nothing(when, monkeypatch, shown):
    wrong = lambda query, key: right(query, key) + 1  # noqa: E731
    monkeypatch.setattr(torch, "isclose", torch.isclose)  # put back at the end
    monkeypatch.setattr(torch, "allclose", torch.allclose)

    def change():
        torch.isclose, torch.allclose = everything_is_equal, lambda *a, **k: True

    def changes_and_answers(query, key):
        change()
        return wrong(query, key)

    if when == "before":
        change()
    answer = wrong if when == "before" else changes_and_answers
    assert grade("02.scores", answer, points=2, draw=5) == 0.0
    assert "A known mistake passes" in shown[-1]["text/plain"]
    assert shown[-1][RESULT_MIME]["status"] == "form"


def test_a_broken_comparison_earns_nothing(monkeypatch, shown):
    monkeypatch.setattr(torch, "isclose", None)
    assert grade("02.scores", right, points=2, draw=5) == 0.0
    assert "could not be graded: TypeError" in shown[-1]["text/plain"]


def test_in_plain_python_it_prints(capsys):
    assert grade("02.scores", right, points=2) == 2.0
    assert capsys.readouterr().out.startswith("02.scores · passed")


def test_an_unknown_exercise_is_a_fault_of_the_assignment():
    with pytest.raises(KeyError, match=r"02\.scores"):
        grade("02.nothing", right, points=2)


def test_it_keeps_no_progress(tmp_path, monkeypatch, shown):
    monkeypatch.chdir(tmp_path)
    grade("02.scores", right, points=2)
    assert list(tmp_path.iterdir()) == []


def test_the_answer_by_heart_of_the_check_earns_nothing(shown):
    one = exercise("02.scores")
    known = {repr(case.arguments): one.reference(*case.arguments) for case in one.cases()}

    def by_heart(query, key):
        return known[repr((query, key))]

    assert grade(one.id, by_heart, 2, draw=0) == 2.0
    assert grade(one.id, by_heart, 2, draw=77) == 0.0
