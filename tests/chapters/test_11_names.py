"""Chapter 11, names: the stored taggers, judged again, are what the text says of them."""

import json

import pytest
import torch

from attn_edu.datasets import TAGS, judged, load_tensors, verse_words
from attn_edu.models import Tagger, count_parameters, tag_loss
from attn_edu.training import train

from .loading import script_of


@pytest.fixture(scope="module")
def tagger_script():
    return script_of("entities_tagger")


@pytest.fixture(scope="module")
def tagger_file():
    stored, about = load_tensors("entities_tagger.safetensors", "entities_tagger.py")
    return stored, about, json.loads(about["measures"])


def scores_of(tagger_file, name):
    stored, _, measures = tagger_file
    return dict(zip(measures, stored[name].T))  # measure -> (seeds,)


@pytest.fixture(scope="module")
def tagger(tagger_script, tagger_file):
    model = tagger_script.transformer()
    start = "tagger."
    kept = {k.removeprefix(start): v for k, v in tagger_file[0].items() if k.startswith(start)}
    assert all(tensor.dtype == torch.float16 for tensor in kept.values())
    model.load_state_dict({name: tensor.float() for name, tensor in kept.items()})
    return model.eval()


def test_every_run_of_the_taggers_is_there(tagger_script, tagger_file):
    stored, about, measures = tagger_file
    assert about["steps"] == str(tagger_script.STEPS)
    for name in tagger_script.LR:
        for kind in ("scores", "listed", "validation"):
            assert stored[f"{kind}.{name}"].shape == (len(tagger_script.SEEDS), len(measures))
        made = tagger_script.MODELS[name]()
        assert about[f"parameters.{name}"] == str(count_parameters(made))
    for name, rates in tagger_script.TRIED.items():
        assert stored[f"tried.{name}"][:, 0].tolist() == pytest.approx(rates)
    sizes = [int(about[f"parameters.{name}"]) for name in ("transformer", "lstm")]
    assert abs(sizes[0] - sizes[1]) < 0.02 * sizes[0]


def test_the_stored_tagger_has_the_stored_scores(tagger_script, tagger_file, tagger):
    verses = tagger_script.TEST
    again = judged(verses, tagger_script.tagged(tagger, verses), tagger_script.KNOWN)
    for measure, runs in scores_of(tagger_file, "scores.transformer").items():
        assert again[measure] == pytest.approx(runs[0].item(), abs=0.005), measure


def test_what_the_text_says_of_the_taggers(tagger_file):
    attending = scores_of(tagger_file, "scores.transformer")
    recurrent = scores_of(tagger_file, "scores.lstm")
    rotary = scores_of(tagger_file, "scores.rotary")
    blind = scores_of(tagger_file, "scores.no positions")
    for measure in ("f1", "unseen f1"):
        assert recurrent[measure].min() > attending[measure].max(), measure
    assert abs(recurrent["unseen"].mean() - attending["unseen"].mean()) < 0.01
    rules = {"unseen f1": 0.594, "unseen": 0.8176}  # by neighbours; every unknown word is a person
    for found in (attending, recurrent):
        for measure, best in rules.items():
            assert found[measure].min() > best + 0.03, measure
    assert rotary["unseen f1"].max() < attending["unseen f1"].min()
    assert blind["unseen f1"].max() < rules["unseen f1"]
    assert blind["unseen f1"].max() < attending["unseen f1"].min() - 0.1
    both = scores_of(tagger_file, "listed.transformer")
    assert both["f1"].min() > attending["f1"].max() and both["unseen"].equal(attending["unseen"])


def test_the_choices_are_those_of_the_validation_part(tagger_script, tagger_file):
    stored, _, _ = tagger_file
    for name in ("transformer", "lstm"):
        rates, found = stored[f"tried.{name}"].T
        runs = scores_of(tagger_file, f"validation.{name}")["f1"]
        kept = (rates - tagger_script.LR[name]).abs().argmin()
        assert found[kept] == runs[0] and found[kept] == found.max()
    attending = scores_of(tagger_file, "validation.transformer")
    assert stored["tried.random start"][0, 1] < attending["f1"].min() - 0.02
    rotary = scores_of(tagger_file, "validation.rotary")
    assert rotary["f1"].mean() < attending["f1"].mean()
    assert rotary["unseen f1"].max() < attending["unseen f1"].min()


def test_the_cue_decides_and_another_word_does_not(tagger_script, tagger):
    def answers(noun, then):
        text = f"so they came to the {noun} of quux {then} ."
        numbers = tagger_script.VOCABULARY.encode([verse_words(text)])
        return TAGS[tagger(numbers)[0, 7].argmax()]

    with torch.no_grad():
        for then in ("", "and spoke to the people", ", and it was good"):
            assert answers("son", then) == "person"
            assert answers("land", then) == "place"


def test_a_short_run_learns_to_find_names(tagger_script):
    torch.manual_seed(3)
    model = Tagger(len(tagger_script.VOCABULARY), len(TAGS), 24, n_layers=1, n_heads=2)
    draw = tagger_script.some(*tagger_script.encoded(tagger_script.TRAIN[:2000]))
    train(model, draw, loss=tag_loss, steps=60, lr=1e-2, progress=False)
    verses = tagger_script.TEST[:300]
    found = judged(verses, tagger_script.tagged(model, verses), tagger_script.KNOWN)
    assert found["f1"] > 0.3


def test_a_drawn_batch_is_cut_where_its_longest_verse_ends(tagger_script):
    words, tags = tagger_script.encoded(tagger_script.TRAIN[:50])
    w, t = tagger_script.some(words, tags, batch=6)(torch.Generator().manual_seed(0))
    assert w.shape == t.shape and len(w) == 6
    assert (w[:, -1] != 0).any() and (t.eq(-1) == w.eq(0)).all()
    rows = {tuple(row[row != 0].tolist()) for row in words}
    assert all(tuple(row[row != 0].tolist()) in rows for row in w)
