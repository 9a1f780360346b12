"""Stored sentences of the translator: their form, the words that translate each other, the maps."""

import hashlib
import json
import re

import pytest
import torch

from attn_edu.datasets import DATA, load_tensors, translations
from attn_edu.datasets.alignments import word_map, words

FILE = DATA / "bergamot_maps.safetensors"


def part(name):
    return [one for one in translations() if one.part == name]


def test_the_file_is_the_one_that_the_readme_names_and_is_small():
    told = (DATA / "README.md").read_text("utf-8").split("## bergamot_maps.safetensors")[1]
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    assert re.search(r"SHA-256 \| `(\w+)`", told)[1] == digest
    assert FILE.stat().st_size < 200_000


def test_every_sentence_is_whole():
    assert [len(part(name)) for name in ("choose", "judge", "misread")] == [10, 23, 4]
    assert len({one.text for one in translations()}) == 37
    for one in translations():
        assert one.weights.shape == (2, 8, len(one.target), len(one.source))
        torch.testing.assert_close(one.weights.sum(-1), torch.ones(one.weights.shape[:-1]),
                                   rtol=0, atol=5e-3)  # fmt: skip
        assert one.source[-1] == one.target[-1] == "</s>"
        for tokens, text in ((one.source, one.text), (one.target, one.translation)):
            assert "".join(tokens[:-1]).replace("▁", " ").strip() == text


def test_words_of_a_pair_stand_once_in_their_sentence():
    for one in translations():
        english, portuguese = words(one.source), words(one.target)
        for a, b in one.pairs:
            assert english.count(a) == 1 and portuguese.count(b) == 1


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["▁com", "eu", ",", "▁e", "▁a", "</s>"], ["comeu", ",", "e", "a", "</s>"]),
        (["▁guarda", "-", "ch", "uva", ".", "</s>"], ["guarda-chuva", ".", "</s>"]),
        (["▁", "🙂", "</s>"], ["🙂", "</s>"]),
        (["x", "y", "▁z"], ["xy", "z"]),
    ],
)
def test_words_are_put_together(tokens, expected):
    assert words(tokens) == expected


def test_a_map_of_words_is_the_mean_of_rows_and_the_sum_of_columns():
    target, source = ["▁com", "eu", ".", "</s>"], ["▁He", "▁a", "t", "e", ".", "</s>"]
    weights = torch.rand(2, 3, 4, 6).softmax(-1)
    got = word_map(weights, target, source)
    assert got.shape == (2, 3, 3, 4)
    rows, columns = [[0, 1], [2], [3]], [[0], [1, 2, 3], [4], [5]]
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            expected = sum(weights[..., r, c] for r in row for c in column) / len(row)
            torch.testing.assert_close(got[..., i, j], expected)
    with pytest.raises(ValueError, match=r"got 3 and 6 tokens for weights of \(4, 6\)"):
        word_map(weights, target[1:], source)


def test_what_is_left_without_heads_is_told_for_every_head():
    _, about = load_tensors(FILE.name, "bergamot_maps.py")
    removed = json.loads(about["removed"])
    heads = [f"{layer} {head}" for layer in range(2) for head in range(8)]
    layers = {"layer 0", "layer 1", "layer 0 but head 5", "layer 1 but head 0"}
    assert set(removed) == {"none", *layers, *heads}
    judged = part("judge")
    assert removed["none"]["said"] == [one.translation for one in judged]
    assert all(len(one["said"]) == len(judged) and one["loss"] > 0 for one in removed.values())


# ---- what chapters 12 and 13 say of them, with loops over tokens instead of words ----------------


def tokens_of(word, tokens):
    """The places of the tokens that make a word which stands once in the sentence."""
    for start in range(len(tokens)):
        for end in range(start + 1, len(tokens) + 1):
            if "".join(tokens[start:end]) == "▁" + word:
                return range(start, end)
    raise AssertionError(word)


def weight(one, layer, head, portuguese, english, later=0):
    """What the rows of one word give to the columns of another; ``later`` counts rows on."""
    rows = [t + later for t in tokens_of(portuguese, one.target)]
    columns = tokens_of(english, one.source)
    rows = rows[-1:] if later else rows
    return sum(one.weights[layer, head, t, s].item() for t in rows for s in columns) / len(rows)


def test_the_pointer_gives_most_of_a_row_to_the_partner_and_the_finger_to_the_one_before():
    pointer, finger, flat = [], [], []
    for one in part("judge"):
        for english, portuguese in one.pairs:
            pointer.append(weight(one, 1, 0, portuguese, english))
            finger.append(weight(one, 0, 5, portuguese, english, later=1))
            flat.append(1 / len(one.source))
    assert sum(pointer) / len(pointer) == pytest.approx(0.92, abs=0.01)
    # by tokens; the 0.88 of chapter 13 is the mean over all tokens of the word that follows
    assert sum(finger) / len(finger) == pytest.approx(0.94, abs=0.01)
    assert sum(flat) / len(flat) < 0.13
    assert sum(x > 0.5 for x in pointer) >= len(pointer) - 5


def test_the_finger_is_missed_and_the_pointer_is_not():
    _, about = load_tensors(FILE.name, "bergamot_maps.py")
    removed = json.loads(about["removed"])
    whole = removed["none"]["said"]
    others = {
        name: sum(a != b for a, b in zip(one["said"], whole)) for name, one in removed.items()
    }
    single = {name: count for name, count in others.items() if len(name) == 3}
    assert max(single, key=single.get) == "0 5" and single["0 5"] == 20 and single["1 0"] == 4
    assert others["layer 0 but head 5"] == 5 and others["layer 1 but head 0"] == 23
