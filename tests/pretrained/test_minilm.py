"""MiniLM in our blocks: its form without the weights, and its outputs against `transformers`."""

import json

import pytest
import torch
from torch import nn

from attn_edu.attention import attention_map, scaled_dot_product_attention
from attn_edu.datasets import load_tensors, sentence, sentence_names
from attn_edu.pretrained.minilm import Encoder, minilm


@pytest.fixture(scope="module")
def model(weights_of):
    weights_of("minilm")
    return minilm()


@pytest.fixture(scope="module")
def reference():
    tensors, metadata = load_tensors("minilm_reference.safetensors", "minilm_reference.py")
    return tensors, json.loads(metadata["sentences"])


# Without the weights


def test_the_encoder_is_torchs_post_norm_encoder_over_three_sums():
    encoder = Encoder(vocabulary=30, longest=9, d_model=12, n_heads=3, n_layers=2).eval()
    layer = nn.TransformerEncoderLayer(
        12, 3, 48, dropout=0, activation="gelu", batch_first=True, layer_norm_eps=1e-12
    )
    theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.4)
    nn.init.normal_(encoder.segment)
    encoder.stack.load_torch(theirs)
    ids = torch.tensor([[4, 7, 1, 7, 29], [2, 2, 8, 0, 3]])
    with torch.no_grad():
        sums = encoder.words.weight[ids] + encoder.positions.weight[:5] + encoder.segment
        embedded = nn.functional.layer_norm(sums, (12,), eps=1e-12)
        torch.testing.assert_close(encoder.embed(ids), embedded)
        torch.testing.assert_close(encoder(ids), theirs(embedded))
        assert encoder.maps(ids).shape == (2, 2, 3, 5, 5)


# With the weights


def test_maps_and_states_are_those_of_transformers(model, reference):
    tensors, sentences = reference
    for i, text in enumerate(sentences):
        torch.testing.assert_close(model.maps(text), tensors[f"{i}.maps"], rtol=0, atol=1e-5)
        torch.testing.assert_close(model.states(text), tensors[f"{i}.states"], rtol=0, atol=1e-4)
    torch.testing.assert_close(model.embed(sentences), tensors["vectors"], rtol=0, atol=1e-5)


def test_they_are_the_stored_queries_and_keys_of_the_earlier_chapters(model):
    for name in sentence_names()[:2]:
        stored = sentence(name)
        assert model.tokens(stored.text) == stored.tokens
        maps = attention_map(scaled_dot_product_attention, stored.query, stored.key)
        torch.testing.assert_close(model.maps(stored.text), maps, rtol=0, atol=2e-3)


def test_a_vector_does_not_depend_on_the_others_in_the_batch(model):
    texts = ["A cat.", "The dog didn't cross the road because it was too tired.", "Rain"]
    together = model.embed(texts)
    for text, vector in zip(texts, together):
        torch.testing.assert_close(model.embed([text])[0], vector, rtol=0, atol=1e-5)
        assert vector.norm().item() == pytest.approx(1)


def test_it_finds_the_sentence_that_says_the_same(model):
    asked, same, other = model.embed(
        ["The child is asleep.", "The kid is sleeping.", "Prices went up last year."]
    )
    assert asked @ same > 0.7 > 0.3 > asked @ other


def test_long_texts_are_refused_and_not_cut(model):
    assert len(model.ids("word " * 510)) == 512
    with pytest.raises(ValueError, match="got 513 tokens; accepted is at most 512"):
        model.ids("word " * 511)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_no_words_are_refused(model, text):
    with pytest.raises(ValueError, match="accepted is at least one"):
        model.maps(text)


def test_other_things_than_text_are_refused(model):
    with pytest.raises(TypeError, match="got int; accepted is a str"):
        model.tokens(3)
    for texts in ("a text by itself", [], None):
        with pytest.raises(ValueError, match="accepted is a list"):
            model.embed(texts)
