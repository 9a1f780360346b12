"""The verses with their questions: what is in them, and how they become numbers."""

import gzip
import re

import pytest
import torch

from attn_edu import datasets
from attn_edu.datasets import verse_questions
from attn_edu.datasets.questions import NAME, PAD, PARTS, SIGNS, VERSE, read

TEXT = verse_questions()
EVERY = [verse for part in PARTS for verse in getattr(TEXT, part)]


def triples(verse) -> set:
    words = [word.lower() for word in verse.words if word[0].isalnum()]
    return set(zip(words, words[1:], words[2:]))


# What is in the file


def test_the_parts_are_as_large_as_the_readme_says():
    sizes = {
        p: (len(v), sum(len(x.questions) for x in v)) for p in PARTS if (v := getattr(TEXT, p))
    }
    assert sizes == {"train": (933, 2531), "tune": (139, 368), "held_out": (283, 724)}


def test_each_question_names_what_is_asked_and_what_answers():
    for verse in EVERY:
        assert 3 <= len(verse.names) <= 9 and len(verse.words) <= 48
        assert list(verse.names) == list(dict.fromkeys(w for w in verse.words if w in verse.names))
        for question in verse.questions:
            assert question.text in TEXT.kinds and question.text.split().count(NAME) == 1
            assert question.about != question.answer
            assert {question.about, question.answer} <= set(range(len(verse.names)))
        asked = [(question.text, question.about) for question in verse.questions]
        assert len(set(asked)) == len(asked)


def test_no_verse_is_much_like_one_of_another_part():
    assert len({verse.place for verse in EVERY}) == len(EVERY)
    learnt = [triples(verse) for verse in TEXT.train]
    for verse in (*TEXT.tune[::4], *TEXT.held_out[::8]):
        own = triples(verse)
        for other in learnt:
            assert len(own & other) <= 0.5 * max(1, min(len(own), len(other))), verse.place


def test_children_and_parents_agree():
    """A father by one question is a child's father by the other, wherever both are asked."""
    parent, child = "who is the parent of @ ?", "who is a child of @ ?"
    agreeing = 0
    for verse in EVERY:
        up = {q.about: q.answer for q in verse.questions if q.text == parent}
        down = {q.about: q.answer for q in verse.questions if q.text == child}
        for young, old in up.items():
            if old in down and list(up.values()).count(old) == 1:
                assert down[old] == young, verse.place
                agreeing += 1
    assert agreeing > 500


# Numbers


def test_a_row_is_question_bar_verse():
    verse = next(v for v in TEXT.held_out if any(" " in name for name in v.names))
    row = TEXT.encode(verse, verse.questions[0])
    first, asked = len(TEXT.words), verse.questions[0].text.split()
    assert row[len(asked)] == VERSE and row.count(VERSE) == 1
    assert row[asked.index(NAME)] == first + verse.questions[0].about
    for token, word in zip(row[len(asked) + 1 :], verse.words, strict=True):
        if word in verse.names:
            assert token == first + verse.names.index(word)
        else:
            assert TEXT.words[token] in (word.lower(), "[?]")


def test_words_come_from_what_is_learnt():
    seen = {word.lower() for verse in TEXT.train for word in verse.words}
    seen |= {word for kind in TEXT.kinds for word in kind.split()}
    assert set(TEXT.words[3:]) <= seen
    assert len(set(TEXT.words)) == len(TEXT.words) == TEXT.vocabulary - SIGNS


def test_signs_are_drawn_and_keep_who_is_who():
    tokens, answers = TEXT.rows(TEXT.tune[:20])
    drawn, said = TEXT.shuffle_signs(tokens, answers, torch.Generator().manual_seed(4))
    first = len(TEXT.words)
    assert drawn[tokens < first].equal(tokens[tokens < first])
    for row, other, answer, sign in zip(tokens, drawn, answers, said):
        pairs = set(zip(row[row >= first].tolist(), other[row >= first].tolist()))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
        assert (first + answer.item(), first + sign.item()) in pairs
    again, _ = TEXT.shuffle_signs(tokens, answers, torch.Generator().manual_seed(5))
    assert not again.equal(drawn)
    counts = torch.bincount(
        torch.cat([TEXT.shuffle_signs(tokens, answers)[1] for _ in range(50)]), minlength=SIGNS
    )
    assert counts.min() > 0.5 * counts.float().mean()  # every sign as likely to answer


def test_batches_are_drawn_from_what_is_learnt():
    draw = TEXT.batches(7)
    tokens, answers = draw(torch.Generator().manual_seed(0))
    assert tokens.shape[0] == answers.shape[0] == 7 and (tokens[:, -1] != PAD).any()
    first = len(TEXT.words)
    texts = {
        tuple(min(t, first) for t in row if t != PAD) for row in TEXT.rows(TEXT.train)[0].tolist()
    }
    for row, answer in zip(tokens.tolist(), answers.tolist()):
        assert tuple(min(t, first) for t in row if t != PAD) in texts
        assert first + answer in row
    lengths = (tokens != PAD).sum(dim=1)
    assert lengths.max() - lengths.min() < 10


# What people type


def test_what_is_typed_becomes_names_and_words():
    verse = TEXT.typed(
        "The king went out. Simon Peter's brother went to Ramah. | Who went to Ramah?"
    )
    assert verse.names == ("Simon Peter", "Ramah")
    assert verse.words[:7] == ("The", "king", "went", "out", ".", "Simon Peter", "’s")
    assert verse.questions[0].text == "who went to @ ?" and verse.questions[0].about == 1
    assert verse.ask(verse.questions[0]) == "who went to Ramah ?"
    assert TEXT.typed("Omri ruled Ur. | where does Omri rule ?").names == ("Omri", "Ur")


@pytest.mark.parametrize(
    "text", ["", "Omri ruled Ur.", "| who ?", "Omri ruled Ur. | who rules Tyre?", "Omri ruled. | ?"]
)
def test_what_cannot_be_asked_is_said(text):
    with pytest.raises(ValueError, match=r"verse"):
        TEXT.typed(text)


def test_too_many_names_are_refused():
    names = ["A" + chr(97 + i) for i in range(SIGNS + 1)]
    verse = TEXT.typed("so " + " and ".join(names) + f" went . | where did {names[0]} go ?")
    with pytest.raises(ValueError, match=rf"names: got {SIGNS + 1}"):
        TEXT.encode(verse, verse.questions[0])


def test_a_missing_or_damaged_file_says_how_to_make_it_again(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    verse_questions.cache_clear()
    try:
        with pytest.raises(FileNotFoundError, match=re.escape("scripts/questions.py")):
            verse_questions()
        for text in ("no verses", "who ?\n\na\tb\tc", "who ?\n\np\tlost\tw\tw\t0:0:0"):
            (tmp_path / "questions.txt.gz").write_bytes(gzip.compress(text.encode()))
            with pytest.raises(ValueError, match=r"damaged.*scripts/questions\.py"):
                verse_questions()
    finally:
        verse_questions.cache_clear()


def test_reading_gives_what_was_written():
    text = read("who rules @ ?\n\nHere 1:1\ttune\tKing Simon_Peter of Ur .\tSimon_Peter Ur\t0:1:0")
    (verse,) = text.tune
    assert verse.words == ("King", "Simon Peter", "of", "Ur", ".") and not text.train
    assert verse.names == ("Simon Peter", "Ur") and verse.questions[0].answer == 0
