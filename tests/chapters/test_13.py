"""What chapter 13 defines and what its files of MiniLM hold, held against loops and by counting."""

import importlib
import json
import sys
from collections import Counter

import pytest
import torch

from attn_edu.attention import scaled_dot_product_attention
from attn_edu.datasets import load_tensors, recorded, sentence, sentence_names

from .loading import ROOT, definitions

FILE = "13_inside_a_real_model"


@pytest.fixture(scope="module")
def chapter():
    return definitions(FILE, {"ROLES", "stored", "by_text", "pointer", "silenced", "metadata"})


@pytest.fixture(scope="module")
def scripts():
    """The two scripts; the second reads sentences of the first."""
    sys.path.insert(0, str(ROOT / "data" / "scripts"))
    try:
        return [importlib.import_module(f"minilm_{name}") for name in ("roles", "removed")]
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def stored():
    tensors, metadata = load_tensors("minilm_roles.safetensors", "minilm_roles.py")
    return {name: x.float() for name, x in tensors.items()}, json.loads(metadata["about"])


@pytest.fixture(scope="module")
def removed():
    return recorded("minilm_removed")


# Roles


TOKENS = "[CLS] the man saw the dog , and the dog ran . [SEP]".split()  # noqa: SIM905


def looks(role, i, j):
    """Whether a head with this role looks from i to j: the rules in another form."""
    a, b = TOKENS[i], TOKENS[j]
    steps = {"previous word": -1, "word before that": -2, "next word": 1, "itself": 0}
    if role in steps:
        return j - i == steps[role]
    return i != j and a == b if role == "same word again" else b == role_mark(role) != a


def role_mark(role):
    return "." if role == "full stop" else role


def test_a_score_is_the_mean_over_words_of_what_goes_there(chapter):
    n = len(TOKENS)
    maps = torch.rand(2, 3, n, n).softmax(dim=-1)
    for role in chapter.ROLES:
        given, chance = [], []
        for i in range(1, n - 1):  # the marks at both ends do not ask
            there = [j for j in range(n) if looks(role, i, j)]
            if there:
                given.append(sum(maps[..., i, j] for j in there))
                chance.append(len(there) / n)
        ours, alone = chapter.score(maps, TOKENS, role)
        torch.testing.assert_close(ours, sum(given) / len(given))
        assert alone.item() == pytest.approx(sum(chance) / len(chance)), role


def test_the_scripts_roles_are_the_chapters(chapter, scripts, stored):
    roles, _ = scripts
    assert list(chapter.ROLES) == list(roles.ROLES) == stored[1]["roles"]
    for role in chapter.ROLES:
        assert chapter.ROLES[role](TOKENS).equal(roles.ROLES[role](TOKENS))
    assert stored[1]["sentences"] == roles.SENTENCES
    assert stored[1]["pairs"] == [list(pair) for pair in roles.PAIRS]


def test_the_playground_reads_stored_sentences_without_the_model(chapter, monkeypatch):
    monkeypatch.setenv("ATTN_EDU_PRETRAINED", "off")
    reading = chapter.read(sentence("bank").text)
    assert dict(reading.rows)["same word again"].startswith("layer 2 head 9")
    assert dict(chapter.read(sentence("full").text).rows)["previous word"] == (
        "layer 0 head 2: 1.00"
    )
    assert set(chapter.stored.values()) == set(sentence_names())
    with pytest.raises(ValueError, match="choose a stored sentence"):
        chapter.read("Something else.")


def test_the_playground_says_which_places_a_text_has_not(chapter):
    tokens = ["[CLS]", "hello", "[SEP]"]
    maps = torch.full((6, 12, 3, 3), 1 / 3)
    for role in ("same word again", "full stop"):
        assert chapter.best_at(role, tokens, maps) == "no such place in this text"
    assert chapter.best_at("[CLS]", tokens, maps).endswith(": 0.33")


def test_the_translator_reads_its_examples_without_the_model(chapter, monkeypatch):
    monkeypatch.setenv("ATTN_EDU_PRETRAINED", "off")
    text = list(chapter.by_text)[6]
    whole = chapter.translate_without()(text)
    assert whole.answer == chapter.by_text[text].translation and whole.weights.shape[:2] == (2, 8)
    without = chapter.translate_without((0, 5))(text)
    assert without.answer != whole.answer and without.weights is None
    with pytest.raises(ValueError, match="choose an example"):
        chapter.translate_without()("Something else.")


# The files


def test_the_scores_are_those_that_the_text_speaks_of(stored):
    tensors, about = stored
    roles = dict(zip(about["roles"], tensors["roles"].unbind(dim=1)))  # (40, 6, 12) each
    assert roles["previous word"][:, 0, 2].min() > 0.99
    assert roles["previous word"].nanmean(0).flatten().topk(2).values[1] < 0.5
    assert (roles["[CLS]"].nanmean(0) > 0.5).sum() == 30
    assert roles["same word again"][:, 2, 9].nan_to_num(1).min() < 0.05
    repeated = [max(Counter(text.lower().split()).values()) > 1 for text in about["sentences"]]
    assert roles["same word again"][repeated].isfinite().all()
    steps = [i for i, role in enumerate(about["roles"]) if "word" in role and "same" not in role]
    assert tensors["roles"][:, steps].isfinite().all()


def test_it_stands_once_after_two_nouns_and_no_head_tells_them_apart(stored):
    tensors, about = stored
    assert tensors["it"].shape == (len(about["pairs"]), 2, 2, 6, 12)
    for frame, first, second, *endings in about["pairs"]:
        words = frame.replace(".", " .").replace("{}", "x").lower().split()
        assert words.index(first) < words.index(second) < words.index("it")
        assert words.count("it") == words.count(first) == words.count(second) == 1
        assert len({first, second, *endings}) == 4
    given = tensors["it"]
    right = (given[:, 0, 0] > given[:, 0, 1]).float() + (given[:, 1, 1] > given[:, 1, 0]).float()
    assert (right.mean(0) / 2).max() < 0.6  # no head says what "it" means


def test_the_same_words_stand_in_both_orders_and_not_in_both_ways_to_say_it(scripts):
    _, removed = scripts
    for one, other in removed.order_pairs:
        assert one != other
        one, other = (t.lower().strip(".").replace(" an ", " a ").split() for t in (one, other))
        assert Counter(one) == Counter(other)
    for one, other in removed.alike_pairs:
        assert Counter(one.lower().split()) != Counter(other.lower().split())
    flat = [text for pair in removed.order_pairs + removed.alike_pairs for text in pair]
    assert len(set(flat)) == len(flat) == 108


@pytest.mark.parametrize("place", [0, 3])
def test_emptied_and_hidden_by_loops(scripts, place):
    _, removed = scripts
    query, key, value = torch.randn(3, 2, 5, 4).double()
    scores = (query @ key.mT / 2).exp()
    gone = torch.zeros(5, dtype=torch.bool)
    gone[place] = True
    weights = scores / scores.sum(dim=-1, keepdim=True)
    emptied = sum(weights[..., j, None] * value[:, j, None] for j in range(5) if j != place)
    torch.testing.assert_close(removed.emptied(place)(query, key, value), emptied)
    left = scores.masked_fill(gone, 0)
    hidden = left / left.sum(dim=-1, keepdim=True) @ value
    whole = scaled_dot_product_attention(query, key, value)
    ours = removed.hidden(place)(query, key, value)
    torch.testing.assert_close(ours[:, ~gone], hidden[:, ~gone])
    torch.testing.assert_close(ours[:, place], whole[:, place])  # it sees all itself


def test_the_sink_is_needed_as_a_place_and_not_for_its_value(removed):
    moved = {name: found["moved"] for name, found in removed["emptied"].items()}
    assert moved["[CLS] hidden"] > 3 * moved["a word hidden"]
    assert moved["[CLS] emptied"] < moved["a word emptied"] * 0.6
    assert all(mark < 0.11 * words for mark, words in removed["lengths"][1:])


def test_each_group_stands_beside_ten_draws_in_its_layers(removed):
    for name, group in removed["groups"].items():
        assert len(group["heads"]) == int(name.split(", ")[1])
        assert len(group["random"]) == 10
    assert len(removed["singles"]) == 72 and [len(run) for run in removed["many"]] == [13] * 5
    ends = {json.dumps(run[-1]) for run in removed["many"]}
    assert len(ends) == 1  # without any head all orders are alike
    assert all(run[0] == removed["whole"] for run in removed["many"])


def test_without_any_head_sentences_are_found_and_orders_are_not_told_apart(removed):
    last = removed["many"][0][-1]
    assert last["found"] >= 0.85
    assert last["order"] < 0.1 * removed["whole"]["order"]
