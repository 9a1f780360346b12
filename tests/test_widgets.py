"""Controls above a map: each value of the control gives the map that its function computes."""

import numpy as np
import pytest
import torch

from attn_edu.attention import attention_map, scaled_dot_product_attention
from attn_edu.datasets import sentence, sentence_names
from attn_edu.widgets import BillWithClock, Retrain, choose, type_words


def load(name):
    one = sentence(name)
    return attention_map(scaled_dot_product_attention, one.query, one.key), one.tokens


def equal_shares(words):
    return torch.full((len(words), len(words)), 1 / len(words))


@pytest.fixture
def picker():
    return choose(sentence_names(), load, value="wide", label="Sentence", layer=3, head=1)


def test_the_map_follows_the_menu_through_every_sentence_and_back(picker):
    for name in [*sentence_names(), *reversed(sentence_names())]:
        picker.value = name
        weights, tokens = load(name)
        assert picker.tokens == tokens
        np.testing.assert_allclose(picker.map.view.weights, weights, atol=1e-6)
        assert (picker.map.layer, picker.map.head) == (3, 1)


def test_python_reads_the_word_that_was_clicked(picker):
    assert picker.picked is None
    picker.map.selection = (10, None)
    assert picker.tokens[picker.picked] == "it"
    picker.map.selection = (0, 3)
    assert picker.picked == 0
    picker.map.selection = (None, 3)  # a column was picked, and nobody who asks
    assert picker.picked is None


def test_another_sentence_lets_go_of_the_word(picker):
    picker.map.selection = (15, 2)
    picker.value = "full"  # which has only 14 tokens
    assert picker.picked is None


def test_the_menu_starts_at_the_first_name_and_refuses_an_unknown_one():
    assert choose(["full", "bank"], load, label="Sentence").value == "full"
    with pytest.raises(ValueError, match=r"value: got 'ful'; accepted are 'full', 'bank'"):
        choose(["full", "bank"], load, value="ful", label="Sentence")
    with pytest.raises(ValueError, match="names: got none"):
        choose([], load, label="Sentence")


@pytest.mark.parametrize("text", ["one", "two words", "a b c d e f g", "貓 吃 魚", '<b> & "q"'])
def test_typed_words_are_shown(text):
    typed = type_words("the first words", equal_shares, label="Words")
    typed.value = text
    assert typed.tokens == text.split()
    assert typed.map.view.weights.shape[-2:] == (len(text.split()),) * 2


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_line_leaves_the_map_and_cannot_be_the_first(text):
    typed = type_words("three small words", equal_shares, label="Words")
    typed.value = text
    assert typed.tokens == ["three", "small", "words"]
    with pytest.raises(ValueError, match="text: got"):
        type_words(text, equal_shares, label="Words")


def test_where_no_widgets_show_its_sentence_names_what_does_the_same(picker):
    assert repr(picker) == (
        "A live view: run this cell to pick in it. "
        "Where no widgets show: .map.view is the picture, .value = … chooses."
    )
    picker.value = "full"
    html = picker.map.view._repr_mimebundle_()["text/html"]
    assert "<img" in html and picker.tokens == load("full")[1]
    assert repr(picker.map).endswith(" Where no widgets show: .view is the picture.")


def test_the_button_trains_once_and_is_off_meanwhile(capsys):
    seen = []

    def run():
        seen.append(button.button.disabled)
        return f"run {len(seen)}"

    button = Retrain(run, "Train, 3 steps")
    assert (button.result, seen, button.button.description) == (None, [], "Train, 3 steps")
    assert repr(button) == (
        "A button: run this cell, and it trains. Where no widgets show: .train() does the same. "
        "“Train, 3 steps”"
    )
    for wanted in ("run 1", "run 2"):
        button.button.click()
        assert button.result == wanted and wanted in capsys.readouterr().out
        assert not button.button.disabled
    assert button.train() == "run 3"
    assert seen == [True, True, True]


def test_the_button_can_be_pressed_again_after_a_mistake():
    def run():
        raise FloatingPointError("the loss is nan")

    button = Retrain(run)
    with pytest.raises(FloatingPointError):  # outside of a notebook; inside it stands below
        button.train()
    assert not button.button.disabled
    with pytest.raises(TypeError, match="run: got int"):
        Retrain(3)


def test_what_is_kept_of_a_widgets_sentence_names_what_does_the_same(picker):
    """ipywidgets keeps the first 110 characters."""
    button = Retrain(lambda: "done", "Train a poet: 1,500 steps, some minutes")
    for widget, names in [
        (picker, [".map.view", ".value"]),
        (BillWithClock(), [".chart", ".measure()"]),
        (button, [".train()"]),
    ]:
        assert all(name in repr(widget)[:109] for name in names), repr(widget)
