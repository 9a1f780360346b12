"""The poems: their form, that the held-out ones are held out, and how they become numbers."""

import gzip
import re

import pytest
import torch

from attn_edu import datasets
from attn_edu.datasets import Quatrains, tang_quatrains
from attn_edu.datasets.quatrains import read

from .chapters.loading import script_of

POEMS = tang_quatrains()


def test_there_are_as_many_as_the_readme_says():
    readme = (datasets.DATA / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## tang_quatrains.txt.gz\n")[2].partition("\n## ")[0]
    for number in (len(POEMS.train), len(POEMS.held_out), len(POEMS.train + POEMS.held_out)):
        assert f"{number:,} " in section


def test_every_poem_has_the_form():
    form = re.compile("\n([\u4e00-\u9fff]{7}\n){4}")
    assert all(form.fullmatch(poem) for poem in POEMS.train + POEMS.held_out)


def test_the_held_out_poems_are_not_among_the_others():
    lines = [set("".join(part).split()) for part in (POEMS.train, POEMS.held_out)]
    assert len(lines[0]) > 8_000 and not lines[0] & lines[1]
    codes = [
        torch.tensor([[ord(c) for c in poem if c != "\n"] for poem in part], dtype=torch.int32)
        for part in (POEMS.train, POEMS.held_out)
    ]  # (poems, 28)
    most = max((codes[0] == poem).sum(dim=1).max().item() for poem in codes[1])
    assert most < script_of("tang_quatrains").ALIKE


def test_the_alphabet_is_of_the_poems_to_learn_from():
    small = Quatrains(train=("\n天天地\n", "\n地人\n"), held_out=("\n山人山\n",), rarest=2)
    assert small.alphabet == "\n□地天"
    assert small.encode("山天\n").tolist() == [1, 3, 0]
    assert small.decode(small.encode("山天\n")) == "□天\n"
    counts = {c: "".join(POEMS.train).count(c) for c in POEMS.alphabet[2::97]}
    assert min(counts.values()) >= 5
    assert POEMS.alphabet[2:] == "".join(sorted(set(POEMS.alphabet[2:])))


def test_rows_and_back():
    rows = POEMS.rows(POEMS.held_out)
    assert rows.shape == (len(POEMS.held_out), 33) and rows.dtype == torch.int64
    assert (rows[:, ::8] == 0).all() and ((rows == 0).sum(dim=1) == 5).all()
    unknown = (rows == POEMS.alphabet.index("□")).float().mean().item()
    assert 0.005 < unknown < 0.03
    known = [poem for poem in POEMS.held_out if set(poem) <= set(POEMS.alphabet)]
    assert [POEMS.decode(row) for row in POEMS.rows(known[:50])] == known[:50]


def test_versions_of_a_poem_are_found():
    script = script_of("tang_quatrains")
    poem = ("山中一夜雨聲聞", "樹杪百重泉水流", "漢女輸橦布千里", "巴人訟芋田天下")
    same_line = ("甲乙丙丁戊己庚", "辛壬癸子丑寅卯", "辰巳午未申酉戌", poem[3])
    one_changed = tuple(line[:6] + "亥" for line in poem)
    other = tuple("".join(reversed(line)) for line in poem)
    assert script.without_versions([poem, same_line, one_changed, other]) == [poem, other]


def test_a_wrong_form_is_refused():
    line = "白日依山盡天高"
    poem = "\n".join([line] * 4)
    assert read(f"{poem}\f{poem}\n\n{poem}").held_out == (f"\n{poem}\n",) * 2
    with pytest.raises(ValueError, match="1 parts; accepted is 2"):
        read(poem)
    with pytest.raises(ValueError, match="4 lines of 7"):
        read(f"{poem}\f{poem[:-1]}")


def test_a_missing_or_damaged_file_says_how_to_make_it_again(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    tang_quatrains.cache_clear()
    try:
        with pytest.raises(FileNotFoundError, match=r"scripts/tang_quatrains\.py"):
            tang_quatrains()
        for damaged in (b"no archive", gzip.compress(b"one\ftwo"), gzip.compress(b"\xff")):
            (tmp_path / "tang_quatrains.txt.gz").write_bytes(damaged)
            with pytest.raises(ValueError, match=r"damaged.*scripts/tang_quatrains\.py"):
                tang_quatrains()
    finally:
        tang_quatrains.cache_clear()
