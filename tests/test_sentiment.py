"""The rated sentences: words, numbers, parts, and the file."""

import gzip
import hashlib
import re
from collections import Counter, defaultdict

import pytest
import torch

from attn_edu import datasets
from attn_edu.datasets import DATA, ORDER_PAIRS, Vocabulary, rated_sentences, split_words

from .chapters.loading import script_of

PARTS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def script():
    return script_of("sentiment")


# Words and numbers


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop, it's GREAT!!", ["don't", "stop", ",", "it's", "great", "!", "!"]),
        ("so sad :( but :-) ;D", ["so", "sad", ":(", "but", ":-)", ";d"]),
        ("café no. 12_b", ["café", "no", ".", "12", "_", "b"]),
        ("time:do it", ["time", ":", "do", "it"]),
        ("'quoted' co writer/director", ["'", "quoted", "'", "co", "writer", "/", "director"]),
        ("", []),
    ],
)
def test_words_of_a_text(text, words):
    assert split_words(text) == words


def test_nothing_but_spaces_is_lost():
    for one in rated_sentences("test")[:300]:
        assert "".join(split_words(one.text)) == re.sub(r"\s", "", one.text.lower())


def test_numbers_of_words():
    vocabulary = Vocabulary.of([["b", "a", "b"], ["c", "a", "b"], ["d"]], at_least=2)
    assert vocabulary.words == ["b", "a"]
    assert len(vocabulary) == 4
    assert "a" in vocabulary and "c" not in vocabulary
    rows = vocabulary.encode([["c", "a", "b"], ["b"]])
    assert rows.tolist() == [[1, 3, 2], [2, 0, 0]]
    assert rows.dtype == torch.long


@pytest.mark.parametrize("sentences", [[], [["a"], []]])
def test_a_sentence_without_words_is_refused(sentences):
    with pytest.raises(ValueError, match="at least one word"):
        Vocabulary(["a"]).encode(sentences)


@pytest.mark.parametrize("text", ["a b", ["a b", "b"]])
def test_a_text_that_was_not_cut_is_refused(text):
    """Or each letter would be taken for a word."""
    with pytest.raises(ValueError, match="got a text; accepted are lists of words"):
        Vocabulary(["a"]).encode(text)


def test_a_word_twice_is_refused():
    with pytest.raises(ValueError, match="'b' twice"):
        Vocabulary(["a", "b", "b"])


def test_pairs_are_the_same_words_in_two_orders():
    for positive, negative in ORDER_PAIRS:
        first, second = split_words(positive), split_words(negative)
        assert sorted(first) == sorted(second) and first != second
    assert len({text for pair in ORDER_PAIRS for text in pair}) == 2 * len(ORDER_PAIRS) == 40


# The file


def test_checksum_is_the_one_in_the_readme():
    digest = hashlib.sha256((DATA / "sentiment.tsv.gz").read_bytes()).hexdigest()
    section = (DATA / "README.md").read_text("utf-8").split("## sentiment.tsv.gz")[1]
    assert re.search(r"SHA-256 \| `(\w+)`", section)[1] == digest


def test_three_parts_of_the_size_that_the_readme_names():
    assert [len(rated_sentences(part)) for part in PARTS] == [8627, 1274, 2522]


def test_ratings_have_a_side_and_sentences_are_short():
    for part in PARTS:
        for one in rated_sentences(part):
            assert 0.5 < abs(one.rating) <= 4
            assert 3 <= len(one.text.split()) <= 24
            assert one.positive == (one.rating > 0)
            assert one.source in {"film", "product", "tweet"}
            assert not re.search(r"https?:|@(?!user)\w|\d{3}-\d{3}-\d{4}", one.text)


def test_no_sentence_is_nearly_in_another_part():
    """Looked for by triples of words, without the script's own search."""
    holders, texts = defaultdict(set), []
    for part in PARTS:
        for one in rated_sentences(part):
            words = split_words(one.text)
            mine = set(zip(words, words[1:], words[2:]))
            shared = Counter(i for triple in mine for i in holders[triple])
            for i, count in shared.most_common(1):
                other, place = texts[i]
                both = min(len(mine), other)
                assert place == part or count < max(len(mine), other) / 2 or both < 4, one.text
            for triple in mine:
                holders[triple].add(len(texts))
            texts.append((len(mine), part))


def test_the_script_puts_a_sentence_where_the_file_has_it(script):
    for part in PARTS:
        films = [one.text for one in rated_sentences(part) if one.source != "product"]
        assert {script.part_of(text) for text in films} == {part}


def test_cleaning(script):
    text = "''Wow'' &amp;  @ann_b see https://t.co/x1 or a.b@c.org, (555) 123-4567 ok"
    assert script.cleaned(text) == '"Wow" & @user see http or mail, (number ok'


def test_near_copies_are_found(script):
    copies = script.Copies()
    assert copies.is_new("one two three four five six")
    assert not copies.is_new("So: one two three four five!")
    assert copies.is_new("one two three seven eight nine ten")
    assert copies.is_new("ha ha") and not copies.is_new("ha ha")


# Errors


def test_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match="part: got 'dev'; accepted are 'train'"):
        rated_sentences("dev")


CONTENTS = {"missing": None, "no gzip": b"no gzip", "other rows": gzip.compress(b"one\ttwo\n")}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_missing_or_damaged_file_names_the_script(content, tmp_path, monkeypatch):
    path = tmp_path / "sentiment.tsv.gz"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    rated_sentences.cache_clear()
    error = FileNotFoundError if content is None else ValueError
    with pytest.raises(error, match=r"data/scripts/sentiment\.py"):
        rated_sentences("test")
