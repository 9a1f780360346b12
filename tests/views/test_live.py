"""The widgets' Python side: traits, checks, data, and who makes the page talk."""

from unittest.mock import Mock

import ipywidgets
import numpy as np
import pytest
import torch
from ipykernel.kernelbase import Kernel

from attn_edu.views import AttentionMap, AttentionSteps, HeadSplit, MaskReach

WORDS = ["a", "b", "c", "d", "e"]


@pytest.fixture
def live_map():
    return AttentionMap(torch.randn(2, 3, 5, 5).softmax(-1), WORDS, layer=1, head=2).live()


@pytest.fixture
def live_steps():
    return AttentionSteps(*torch.randn(3, 5, 4), WORDS, temperature=2.0, mask="causal").live()


def test_traits_start_as_the_view_was(live_map, live_steps):
    assert (live_map.layer, live_map.head, live_map.colour) == (1, 2, "linear")
    assert (live_map.temperature, live_map.selection) == (1.0, None)
    assert (live_steps.temperature, live_steps.scale, live_steps.mask) == (2.0, 0.5, "causal")
    assert HeadSplit(3, 2, 2, method="transpose").live().method == "transpose"


def test_the_view_of_a_widget_has_its_present_settings(live_map, live_steps):
    live_map.layer, live_map.colour = 0, "row"
    assert (live_map.view.layer, live_map.view.head, live_map.view.colour) == (0, 2, "row")
    live_steps.mask, live_steps.size, live_steps.temperature = "window", 3, 0.5
    view = live_steps.view
    assert (view.mask, view.size, view.temperature) == ("window", 3, 0.5)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("layer", 2, "layer must be 0 to 1, got 2"),
        ("head", -1, "head must be 0 to 2, got -1"),
        ("colour", "hot", "colour must be one of"),
        ("temperature", 0, "temperature must be positive"),
        ("selection", (5, 0), r"selection\[0\] must be 0 to 4, got 5"),
        ("selection", (0, 5), r"selection\[1\] must be 0 to 4, got 5"),
        ("selection", 3, r"selection must be \(query, key\) or None, got 3"),
    ],
)
def test_a_wrong_value_is_named_and_changes_nothing(live_map, name, value, message):
    before = getattr(live_map, name)
    with pytest.raises(ValueError, match=message):
        setattr(live_map, name, value)
    assert getattr(live_map, name) == before


def test_steps_refuse_a_mask_that_was_not_given(live_steps):
    with pytest.raises(ValueError, match="mask must be one of"):
        live_steps.mask = "given"
    own = AttentionSteps(*torch.randn(3, 5, 4), mask=torch.eye(5).bool()).live()
    assert own.mask == "given"
    own.mask = "none"
    own.mask = "given"
    assert own.view.given is not None


def test_a_selection_from_the_page_is_a_tuple(live_map):
    live_map.set_state({"selection": [3, 1]})
    assert live_map.selection == (3, 1)
    live_map.set_state({"selection": [3, None]})
    assert live_map.selection == (3, None)
    live_map.selection = (None, None)
    assert live_map.selection is None


def test_other_data_arrives_in_one_message(live_map):
    live_map.comm.kernel = Mock(spec=Kernel)  # ipywidgets 7 collects changes only where a kernel is
    live_map.selection, sent = (4, 4), []
    live_map.send_state = lambda key=None: sent.append(set(key))
    live_map.update(weights=torch.eye(2), tokens=["x", "y"])
    assert len(sent) == 1
    assert {"_payload", "layer", "head", "selection"} <= sent[0]
    assert (live_map.tokens, live_map.layer, live_map.selection) == (["x", "y"], 0, None)
    assert live_map._payload["tokens"]["query"] == ["x", "y"]


def test_data_can_be_set_one_by_one(live_map, live_steps):
    live_map.tokens = list("vwxyz")
    assert live_map.view.query_tokens == list("vwxyz")
    live_map.weights = torch.eye(3)
    assert live_map.view.query_tokens == ["0", "1", "2"]
    live_steps.value = torch.ones(5, 7)
    np.testing.assert_allclose(live_steps.view.stages()["output"], 1)


def test_words_of_two_sides_give_way_to_other_words():
    sides = {"query_tokens": ["a", "b"], "key_tokens": ["x", "y", "z"]}
    live = AttentionMap(torch.ones(2, 3), **sides).live()
    live.update(weights=torch.eye(4))
    assert (live.view.query_tokens, live.view.key_tokens) == (list("0123"), list("0123"))
    for words in (["good", "day"], ["a", "b", "c"]):  # as many as on one side, and on the other
        live.update(weights=torch.ones(2, 3), **sides)
        live.update(weights=torch.eye(len(words)), tokens=words)
        assert (live.view.query_tokens, live.view.key_tokens, live.tokens) == (words, words, words)
    live.update(weights=torch.ones(3, 2), key_tokens=["x", "y"])
    assert (live.view.query_tokens, live.view.key_tokens) == (list("012"), ["x", "y"])


def test_an_update_that_fails_changes_nothing(live_map, live_steps):
    before = live_map._payload
    with pytest.raises(ValueError, match="tokens must name each"):
        live_map.update(weights=torch.eye(3), tokens=["a"])
    with pytest.raises(TypeError, match="update accepts weights, tokens"):
        live_map.update(word="a")
    assert live_map._payload is before
    with pytest.raises(ValueError, match="key must have query's shape"):
        live_steps.query = torch.ones(3, 4)


def test_the_scale_follows_the_width_unless_it_was_chosen(live_steps):
    query, key, value = torch.ones(3, 5, 16)
    live_steps.update(query=query, key=key, value=value)
    assert live_steps.scale == 0.25
    live_steps.scale = 0.7
    live_steps.update(query=query[:, :4], key=key[:, :4], value=value)
    assert live_steps.scale == 0.7


@pytest.mark.parametrize("names", ["layer", ["head", "layer"], None])
def test_the_page_talks_on_the_way_only_while_somebody_listens(live_map, names):
    def hear(change):
        pass

    told = {} if names is None else {"names": names}
    assert not live_map._watched
    live_map.observe(hear, **told)
    assert live_map._watched
    live_map.unobserve(hear, **told)
    assert not live_map._watched


def test_a_link_listens_too(live_steps):
    slider = ipywidgets.FloatSlider(min=0.1, max=9.0)
    link = ipywidgets.link((live_steps, "temperature"), (slider, "value"))
    assert slider.value == 2.0
    assert live_steps._watched
    slider.value = 3.0
    assert live_steps.temperature == 3.0
    link.unlink()
    assert not live_steps._watched


def test_a_dropdown_swaps_the_sentence(live_map):
    sentences = {"short": ["x", "y"], "long": list("pqrst")}
    menu = ipywidgets.Dropdown(options=list(sentences), value="long")

    def swap(change):
        words = sentences[change["new"]]
        live_map.update(weights=torch.eye(len(words)), tokens=words)

    menu.observe(swap, "value")
    menu.value = "short"
    assert live_map.view.query_tokens == ["x", "y"]


def test_its_text_is_the_same_each_time(live_steps):
    assert repr(live_steps).startswith("Live view. Attention step by step, 5 words")
    assert "0x" not in repr(live_steps)


def test_reach_follows_a_word_through_layers():
    mask = torch.ones(4, 4).tril().bool()
    live = MaskReach({"causal": mask}, list("abcd"), layers=3, depth=2, word=1).live()
    assert (live.depth, live.selection) == (2, 1)
    live.depth, live.selection = 3, 0
    assert (live.view.depth, live.view.word) == (3, 0)
    for name, value, message in [
        ("depth", 4, "depth must be 1 to 3, got 4"),
        ("depth", 0, "depth must be at least 1, got 0"),
        ("selection", 4, "selection must be 0 to 3, got 4"),
    ]:
        with pytest.raises(ValueError, match=message):
            setattr(live, name, value)
    live.selection = 3
    live.update(kinds={"one": mask[:2, :2], "two": [mask[:2, :2]] * 2}, layers=2)
    assert (live.view.n, live.depth, live.selection) == (2, 2, None)
    assert live.view.word == 1


def test_split_deals_the_same_features_to_other_heads():
    live = HeadSplit(4, 3, 4, list("abcd")).live()
    assert (live.n, live.n_heads) == (4, 3)
    live.n, live.n_heads, live.method = 2, 6, "transpose"
    view = live.view
    assert (view.n, view.n_heads, view.d_head, view.tokens) == (2, 6, 2, ["a", "b"])
    for name, value, message in [
        ("n", 5, "n must be 1 to 4, got 5"),
        ("n", 0, "n must be at least 1, got 0"),
        ("n_heads", 5, "n_heads must divide the 12 features, got 5"),
        ("selection", 2, "selection must be 0 to 1, got 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            setattr(live, name, value)
    live.update(n=3, n_heads=2, d_head=5)
    assert (live.n, live.n_heads, live.view.tokens) == (3, 2, ["0", "1", "2"])
    assert live.view.method == "transpose"
    live.n = 9  # positions may be more
    assert live.view.n == 9
