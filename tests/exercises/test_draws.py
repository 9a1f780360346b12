"""Other random inputs judge alike: right answers pass, and wrong ones are named the same."""

import pytest
import torch

from attn_edu.exercises import exercises
from attn_edu.exercises.checking import examine
from attn_edu.exercises.inputs import coin, drawn, more, normal, tokens

DRAWS = range(1, 6)
ALL = pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)


@ALL
@pytest.mark.parametrize("draw", DRAWS)
def test_a_right_answer_passes_and_each_belief_is_named(one, draw):
    assert examine(one, one.reference, draw).passed
    for belief in one.misconceptions:
        assert examine(one, one.wrong(belief), draw).misconception == belief.name


@ALL
def test_every_draw_has_inputs_of_its_own(one):
    def arguments(draw):
        with drawn(draw):
            return [repr(case.arguments) for case in one.cases()]

    seen = [set(arguments(draw)) for draw in range(4)]
    for draw in range(1, 4):
        fresh = seen[draw].difference(*seen[:draw])
        assert fresh, draw
        assert arguments(draw) == arguments(draw)


def test_an_answer_that_knows_the_cases_of_check_by_heart_fails_on_others():
    for one in exercises():
        known = {repr(case.arguments): one.reference(*case.arguments) for case in one.cases()}

        def by_heart(*arguments, known=known):
            return known[repr(arguments)]

        if len(one.arguments) == 2:
            by_heart = lambda a, b, f=by_heart: f(a, b)  # noqa: E731
        assert examine(one, by_heart).passed, one.id
        assert not examine(one, by_heart, draw=1).passed, one.id


def test_draw_zero_is_written_down_and_the_others_are_random():
    assert more(3, range(9)) == []
    first = normal(3, seed=1), coin(50, seed=1), tokens(50, vocabulary=7, seed=1)
    with drawn(1):
        second = normal(3, seed=1), coin(50, seed=1), tokens(50, vocabulary=7, seed=1)
        drawn_numbers = more(200, range(3, 6), range(10, 12))
    assert all(not torch.equal(a, b) for a, b in zip(first, second))
    assert {a for a, _ in drawn_numbers} == {3, 4, 5}
    assert {b for _, b in drawn_numbers} == {10, 11}
    assert torch.equal(normal(3, seed=1), first[0])
