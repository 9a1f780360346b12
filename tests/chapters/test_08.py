"""Chapter 08: the recorded recall is complete, says what the text says, and can be made again."""

import runpy
from pathlib import Path

import pytest
import torch

from attn_edu.datasets import recorded
from attn_edu.training import train

from .loading import script_of

SCRIPT = Path(__file__).parents[2] / "data" / "scripts" / "linear_recall.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def results():
    return recorded("linear_recall")


def runs(results, kind, d):
    return torch.tensor(results["recall"][kind][str(d)])  # (seeds, pairs)


def test_every_run_is_there(script, results):
    assert results["pairs"] == list(script["PAIRS"])
    assert results["sizes"] == list(script["SIZES"])
    assert (results["steps"], results["d_value"]) == (script["STEPS"], script["D_VALUE"])
    shape = len(script["SEEDS"]), len(script["PAIRS"])
    assert list(results["recall"]) == list(script["KINDS"])
    for kind in script["KINDS"]:
        for d in script["SIZES"]:
            assert runs(results, kind, d).shape == shape
    assert torch.tensor(results["patient"]).shape == shape


def test_softmax_recalls_with_four_numbers_and_linear_attention_with_sixteen(results):
    assert (runs(results, "softmax", 4) > 0.99).all()
    assert (runs(results, "linear", 16)[:, :2] > 0.98).all()
    for small, large in ((2, 4), (4, 8), (8, 16)):  # every run of the larger beats every smaller
        assert (
            runs(results, "linear", large)[:, 3].min() > runs(results, "linear", small)[:, 3].max()
        )


def test_it_is_not_a_matter_of_patience(results):
    assert torch.tensor(results["patient"])[:, 3].max() < 0.65


def test_the_models_differ_in_the_attention_alone(script):
    counts = {
        kind: sum(p.numel() for p in script["Recall"](attend, 4).parameters())
        for kind, attend in script["KINDS"].items()
    }
    assert len(set(counts.values())) == 1


def test_a_short_run_learns_two_pairs(script):
    """A model that is trained now goes where the recorded ones went."""
    torch.manual_seed(0)
    model = script["Recall"](script["KINDS"]["softmax"], 8)
    history = train(model, script["draw"], steps=200, lr=script["LR"], progress=False)
    assert sum(history.losses[-20:]) < 0.5 * sum(history.losses[:20])


@pytest.fixture(scope="module")
def lookup():
    return script_of("lookup")


def test_a_list_is_asked_for_what_it_holds(lookup):
    tokens = lookup.lists(5, torch.Generator().manual_seed(1))
    assert tokens.shape == (5, 2 * (lookup.PAIRS + lookup.QUESTIONS))
    for row in tokens.tolist():
        pairs = list(zip(row[::2], row[1::2]))
        told = dict(pairs[: lookup.PAIRS])
        assert len(told) == lookup.PAIRS
        assert all(told[name] == thing for name, thing in pairs[lookup.PAIRS :])
        assert max(told) < lookup.NAMES <= min(told.values())


def test_one_layer_never_looks_up_and_two_learn_it_within_some_steps(lookup):
    found = recorded("lookup")
    assert found["every"] == lookup.EVERY and list(found["accuracy"]) == ["1", "2"]
    for runs in found["accuracy"].values():
        assert [len(run) for run in runs] == 3 * [lookup.STEPS // lookup.EVERY + 1]
    assert max(max(run) for run in found["accuracy"]["1"]) < 0.25
    for run in found["accuracy"]["2"]:
        assert run[-1] > 0.95
        before = sum(accuracy < 0.3 for accuracy in run)
        assert before >= 4 and sum(0.3 <= accuracy < 0.9 for accuracy in run) <= 4


def test_the_start_of_a_run_can_be_made_again(lookup):
    again = lookup.run(1, 0, steps=2 * lookup.EVERY)
    assert again == pytest.approx(recorded("lookup")["accuracy"]["1"][0][:3], abs=0.05)
