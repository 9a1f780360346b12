"""Chapter 08: the recorded recall is complete, says what the text says, and can be made again."""

import runpy
from pathlib import Path

import pytest
import torch

from attn_edu.datasets import recorded
from attn_edu.training import train

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
