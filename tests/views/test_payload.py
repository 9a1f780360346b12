"""Bytes: what an output weighs, and how exactly its numbers arrive."""

import base64
import json
import re
import zlib

import numpy as np
import pytest
import torch

from attn_edu.views import AttentionMap, AttentionSteps, HeadSplit, MaskReach
from attn_edu.views.payload import _levels, pack, to_script


def unpack(part):
    """What `js/codec.js` does, written again."""
    raw = zlib.decompress(base64.b64decode(part["data"]))
    if part["kind"] == "bits":
        bits = np.unpackbits(np.frombuffer(raw, np.uint8))[: np.prod(part["shape"])]
        return bits.astype(bool).reshape(part["shape"])
    if part["kind"] == "u1":
        levels = np.array([*part["levels"], *[np.nan] * (256 - len(part["levels"]))])
        return levels[np.frombuffer(raw, np.uint8)].reshape(part["shape"])
    array = np.frombuffer(raw, f"<{part['kind']}").reshape(part["shape"])
    return (array / 65535) ** 2 if part["kind"] == "u2" else array


def maps(spread, causal=False, shape=(12, 12, 128, 128)):
    scores = torch.randn(shape) * spread
    if causal:
        scores = scores.masked_fill(torch.ones(shape[-2:]).triu(1).bool(), -torch.inf)
    return scores.softmax(-1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_arrays_arrive_as_they_were(dtype):
    array = np.random.default_rng(0).normal(size=(3, 5, 7)).astype(dtype)
    array[0, 1, 2] = np.nan
    got = unpack(pack(array))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, array)


def test_masks_arrive_as_they_were():
    mask = np.random.default_rng(0).random((2, 5, 7)) > 0.5
    np.testing.assert_array_equal(unpack(pack(mask)), mask)


@pytest.mark.parametrize(("spread", "causal"), [(1, False), (2, True), (6, False)])
def test_12_by_12_heads_of_128_words_fit_into_a_megabyte(spread, causal):
    weights = maps(spread, causal)
    html = AttentionMap(weights, [f"word{i}" for i in range(128)])._repr_mimebundle_()["text/html"]
    assert len(html.encode()) <= 1_000_000
    part = AttentionMap(weights)._payload()["weights"]
    assert np.abs(unpack(part) - weights.numpy()).max() <= 1 / 255


def test_where_the_budget_allows_small_weights_are_finer_than_that():
    weights = maps(2, shape=(1, 6, 128, 128)).numpy()
    got, small = unpack(pack(weights)), weights < 0.02
    assert np.abs(got - weights)[small].max() < 0.001


def test_middling_maps_are_right_to_four_decimals():
    weights = maps(2, shape=(6, 12, 19, 19)).numpy()
    part = pack(weights)
    assert part["kind"] == "u2"
    assert np.abs(unpack(part) - weights).max() <= 2e-5


@pytest.mark.parametrize("fineness", [250, 64, 32, 1])
def test_levels_fit_a_byte_and_no_step_is_too_wide(fineness):
    levels = _levels(fineness)
    assert len(levels) <= 255
    assert (levels[0], levels[-1]) == (0, 1)
    steps = np.diff(levels)
    assert (steps > 0).all()
    assert steps.max() <= 1 / 128 + 1e-12


@pytest.mark.parametrize("wild", [-0.5, 3.0])
def test_weights_outside_0_to_1_keep_their_range_and_their_nan(wild):
    weights = np.full((300, 300), 0.25, np.float32)
    weights[3, 4], weights[5, 6] = wild, np.nan
    got = unpack(pack(weights))
    assert np.isnan(got[5, 6])
    step = (max(0.25, wild) - min(0.25, wild)) / 254
    np.testing.assert_allclose(np.delete(got, 1506), np.delete(weights, 1506), atol=step)


@pytest.mark.parametrize(
    "view",
    [
        AttentionMap(torch.eye(3).repeat(2, 2, 1, 1)),
        AttentionSteps(*torch.ones(3, 4, 5)),
        HeadSplit(4, 3, 2),
        MaskReach({"all": torch.ones(3, 3).bool()}),
    ],
    ids=lambda v: type(v).__name__,
)
def test_an_output_carries_at_most_30_kb_of_javascript(view):
    html = view._repr_mimebundle_()["text/html"]
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(script.encode()) - len(to_script(view._payload()).encode()) <= 30 * 1024


def test_nothing_in_a_payload_can_end_the_script():
    words = ["</script>", "<!--", "&amp;", "\u2028", "\u2029", '"', "\\"]
    script = to_script({"tokens": words})
    assert not set("<>&\u2028\u2029") & set(script)
    assert json.loads(script)["tokens"] == words
