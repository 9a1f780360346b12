"""The synthetic tasks of chapter 01: each answer is found again from the tokens, in plain loops."""

import pytest
import torch

from attn_edu.datasets import (
    BAD,
    GOOD,
    NAMES,
    REVIEW_WORDS,
    THINGS,
    keep_all,
    keep_one,
    recorded,
    turned_review,
)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_keep_one_asks_for_the_marked_thing():
    tokens, answers = keep_one(50, 6, generator=generator())
    assert tokens.shape == (50, 7, 2)
    for row, answer in zip(tokens.tolist(), answers.tolist()):
        assert [mark for mark, _ in row] == [1, 0, 0, 0, 0, 0, 2]
        assert [thing for mark, thing in row if mark == 1] == [answer]
        assert row[-1][1] == len(THINGS)
    assert len(set(answers.tolist())) == len(THINGS)


def test_keep_all_asks_for_a_name_that_was_said_once():
    tokens, answers, distance = keep_all(200, 5, generator=generator())
    assert tokens.shape == (200, 6, 2)
    for row, answer, far in zip(tokens.tolist(), answers.tolist(), distance.tolist()):
        *pairs, (asked, question) = row
        assert question == len(THINGS)
        assert len({name for name, _ in pairs}) == 5
        assert dict(pairs)[asked] == answer
        assert pairs[len(pairs) - far] == [asked, answer]
    assert set(distance.tolist()) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("near", [True, False])
def test_reviews_are_turned_as_they_say(near):
    tokens, labels = turned_review(2000, 9, near=near, generator=generator())
    for row, label in zip(tokens[..., 0].tolist(), labels.tolist()):
        words = [REVIEW_WORDS[i] for i in row]
        (place,) = [i for i, word in enumerate(words) if word in GOOD + BAD]
        turned = words[place - 1] == "not" if near else "not" in words
        assert place > 0
        assert label == (words[place] in GOOD) ^ turned
        assert words.count("not") <= (2 if near else 1)
    assert labels.double().mean().item() == pytest.approx(0.5, abs=0.05)


def test_in_near_reviews_the_number_of_nots_tells_nothing():
    tokens, labels = turned_review(4000, 9, near=True, generator=generator())
    nots = (tokens[..., 0] == len(REVIEW_WORDS) - 1).sum(dim=1)
    praise_words = ((tokens[..., 0] >= 12) & (tokens[..., 0] < 16)).any(dim=1).long()
    turned = labels ^ praise_words
    one = nots == 1  # as often the "not" that counts as the one that does not
    assert turned[one].double().mean().item() == pytest.approx(0.5, abs=0.05)


def test_the_same_generator_gives_the_same_sequences():
    assert torch.equal(
        keep_one(4, 3, generator=generator(1))[0], keep_one(4, 3, generator=generator(1))[0]
    )
    assert not torch.equal(
        keep_one(4, 3, generator=generator(1))[0], keep_one(4, 3, generator=generator(2))[0]
    )


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: keep_one(2, 0, generator=generator()), "n: got 0.*at least 1"),
        (lambda: keep_all(2, len(NAMES) + 1, generator=generator()), "n: got 17.*1 to 16"),
        (lambda: turned_review(2, 3, near=True, generator=generator()), "n: got 3.*at least 4"),
    ],
)
def test_bad_lengths_are_named(call, names):
    with pytest.raises(ValueError, match=names):
        call()


def test_recorded_results_are_read_and_a_missing_file_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("attn_edu.datasets.DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"data/some.json is missing.*data/scripts/some.py"):
        recorded("some")
    (tmp_path / "some.json").write_text('{"a": [1')
    with pytest.raises(ValueError, match=r"data/some.json is damaged"):
        recorded("some")
    (tmp_path / "some.json").write_text('{"a": [1]}')
    assert recorded("some") == {"a": [1]}
