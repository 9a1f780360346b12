"""The stored numbers of MiniLM, some of them made again with the weights."""

import importlib
import json
import sys

import pytest
import torch

from attn_edu.cli.environment import ROOT
from attn_edu.datasets import load_tensors, recorded
from attn_edu.pretrained.minilm import minilm


@pytest.fixture(scope="module")
def scripts():
    sys.path.insert(0, str(ROOT / "data" / "scripts"))
    try:
        return [importlib.import_module(f"minilm_{name}") for name in ("roles", "removed")]
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def model(weights_of):
    weights_of("minilm")
    return minilm()


def test_scores_of_roles_and_what_it_looks_at(model, scripts):
    roles, _ = scripts
    tensors, metadata = load_tensors("minilm_roles.safetensors", "minilm_roles.py")
    about = json.loads(metadata["about"])
    for i in (0, 17, 39):
        text = about["sentences"][i]
        tokens, maps = model.tokens(text), model.maps(text)
        for k, role in enumerate(about["roles"]):
            given, chance = roles.score(maps, tokens, role)
            close = {"rtol": 0, "atol": 1e-3, "equal_nan": True}
            torch.testing.assert_close(given, tensors["roles"][i, k].float(), **close)
            torch.testing.assert_close(chance, tensors["chance"][i, k].float(), **close)
    frame, *nouns, _, ending = about["pairs"][13]
    text = frame.format(ending)
    tokens = model.tokens(text)
    row = model.maps(text)[..., tokens.index("it"), :]
    for k, noun in enumerate(nouns):
        stored = tensors["it"][13, 1, k].float()
        torch.testing.assert_close(row[..., tokens.index(noun)], stored, rtol=0, atol=1e-3)


@torch.no_grad()
def test_what_is_lost_without_some_heads(model, scripts):
    _, removed = scripts
    stored = recorded("minilm_removed")
    before = removed.vectors(model)
    group = stored["groups"]["both neighbours, 8"]
    for heads, wanted in (
        ([(0, 2)], stored["singles"][2]),
        ([tuple(head) for head in group["heads"]], group["chosen"]),
    ):
        found = removed.judged(model, before, heads)
        assert found["found"] == pytest.approx(wanted["found"], abs=0.04)  # one of thirty
        for what in ("order", "alike", "kept"):
            assert found[what] == pytest.approx(wanted[what], abs=2e-3 * (1 + wanted[what])), what
