"""The plays: what is in them, and that the held-out one is held out."""

import gzip

import pytest
import torch

from attn_edu import datasets
from attn_edu.datasets import Text, shakespeare


def test_the_texts_are_what_the_readme_says():
    text = shakespeare()
    assert len(text.train) > 1_000_000
    assert len(text.held_out) > 100_000
    assert len(text.alphabet) == 64
    assert text.alphabet.isascii()
    assert text.held_out.startswith("Macbeth\n\nACT I.\n")
    assert text.train.startswith("As You Like It\n\n")
    assert "\n\nOTHELLO.\n" in text.train and "\n\nMACBETH.\n" not in text.train


def test_nothing_of_the_held_out_play_is_learnt_by_heart():
    text = shakespeare()
    long_lines = [line for line in text.held_out.splitlines() if len(line) > 40]
    assert len(long_lines) > 500
    assert not [line for line in long_lines if line in text.train]


def test_encoding_goes_both_ways():
    text = shakespeare()
    tokens = text.encode(text.held_out)
    assert tokens.dtype == torch.int64
    assert tokens.shape == (len(text.held_out),)
    assert (tokens.min().item(), tokens.max().item()) == (0, 63)
    assert text.decode(tokens) == text.held_out
    assert text.encode("").shape == (0,)


def test_an_unknown_character_is_named():
    with pytest.raises(ValueError, match=r"\['ü', '§'\]|\['§', 'ü'\]"):
        Text("abc", "bcd").encode("aü§")


def test_a_number_without_a_character_is_named():
    with pytest.raises(ValueError, match=r"tokens: got \[-1, 4\]; accepted is 0 to 3"):
        Text("abc", "bcd").decode([0, 4, -1])


def test_a_missing_or_damaged_file_says_how_to_make_it_again(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    shakespeare.cache_clear()
    try:
        with pytest.raises(FileNotFoundError, match=r"scripts/shakespeare\.py"):
            shakespeare()
        whole = gzip.compress(b"one\ftwo" * 100)
        for damaged in (b"no archive", whole[:-12], gzip.compress("é".encode())):
            (tmp_path / "shakespeare.txt.gz").write_bytes(damaged)
            with pytest.raises(ValueError, match=r"damaged.*scripts/shakespeare\.py"):
                shakespeare()
    finally:
        shakespeare.cache_clear()
