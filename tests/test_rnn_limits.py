"""The recorded results of chapter 01: complete, at equal budgets, and still what the code does."""

import runpy
from pathlib import Path

import pytest

from attn_edu.datasets import recorded

SCRIPT = Path(__file__).parents[1] / "data" / "scripts" / "rnn_limits.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def results():
    return recorded("rnn_limits")


def shape(table):
    sizes = []
    while isinstance(table, list):
        sizes.append(len(table))
        table = table[0]
    return tuple(sizes)


def test_every_reader_has_every_run(script, results):
    lengths, seeds = len(script["LENGTHS"]), len(script["SEEDS"])
    assert results["lengths"] == list(script["LENGTHS"])
    assert list(results["keep_one"]) == list(results["keep_all"]) == list(script["READERS"])
    assert {shape(t) for t in results["keep_one"].values()} == {(lengths, seeds)}
    assert {shape(t) for t in results["keep_all"].values()} == {(seeds, script["PAIRS"])}
    points = len(results["review_steps"])
    for scores in results["reviews"].values():
        assert list(scores) == list(script["REVIEW_READERS"])
        assert {shape(t) for t in scores.values()} == {(len(script["REVIEW_SEEDS"]), points)}


def test_the_readers_of_a_task_have_equal_budgets(results):
    for counts in results["parameters"].values():
        assert max(counts.values()) < 1.05 * min(counts.values())


def test_the_budgets_are_those_of_the_models(script, results):
    for task, name in (("keep_one", "keep_one_model"), ("reviews", "review_model")):
        for reader, count in results["parameters"][task].items():
            model = script[name](reader, 0)
            assert sum(p.numel() for p in model.parameters()) == count


def test_a_run_made_again_finds_what_is_recorded(script, results):
    """The shortest run: four things, 600 steps."""
    score = script["keep_one"]("LSTM, forget bias 2", 4, 0)
    assert score == pytest.approx(results["keep_one"]["LSTM, forget bias 2"][0][0], abs=0.02)
