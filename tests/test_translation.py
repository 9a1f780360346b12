"""Number words and dates: both sides mean the same, parts are apart, and who stands for whom."""

import calendar
import datetime
import gzip

import pytest
import torch

from attn_edu import datasets
from attn_edu.datasets import dates, number_words, read_pairs
from attn_edu.datasets.translation import BEGIN, END, PAD, Vocabulary, split_date, split_number


def numbered(words, start=0, step=1):
    return {word: start + step * i for i, word in enumerate(words.split())}


ENGLISH = (
    numbered("one two three four five six seven eight nine ten eleven twelve", 1)
    | numbered("thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 13)
    | numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
)
GERMAN = (
    numbered("ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf", 1)
    | numbered("dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn", 13)
    | numbered("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 20, 10)
    | {"eins": 1}
)


def value_of(words, values, hundred, thousand):
    total = group = 0
    for word in words:
        if word == hundred:
            group *= 100
        elif word == thousand:
            total, group = 1000 * group, 0
        else:
            group += values.get(word, 0)
    return total + group


def english_value(words):
    return value_of(words, ENGLISH, "hundred", "thousand")


def everything(pairs):
    return {"train": pairs.train, **pairs.held_out}


def test_both_sides_of_a_number_are_the_same_number():
    for part in everything(number_words()).values():
        for english, german in part:
            assert english_value(english) == value_of(german, GERMAN, "hundert", "tausend")
            assert set(english) <= {*ENGLISH, "hundred", "thousand", "and"}
            assert set(german) <= {*GERMAN, "hundert", "tausend", "und"}


def test_german_says_the_unit_before_the_ten():
    by_number = {english_value(e): g for e, g in everything(number_words())["pairs"]}
    by_number |= {english_value(e): g for e, g in number_words().train}
    assert by_number[13] == ("dreizehn",) and by_number[1] == ("eins",)
    for number, german in by_number.items():
        if 20 < number < 100 and number % 10:
            assert german[1] == "und" and GERMAN[german[0]] == number % 10, number


def date_of(english):
    names = {name: i for i, name in enumerate(calendar.month_abbr) if name}
    words = [w for w in english if w.isalpha()]
    text = "".join(w if w.isdigit() else " " for w in english).split()
    month = next((names[w[:3]] for w in words if w[:3] in names), None)
    if month is None:
        month, day, year = map(int, text)
    else:  # a name between or before the digits
        joined = "".join(w for w in english if w.isdigit())
        day, year = int(joined[:-4]), int(joined[-4:])
    return datetime.date(year, month, day), words[0][:3]


def test_both_sides_of_a_date_are_the_same_day_of_the_calendar():
    for part in everything(dates()).values():
        for english, chinese in part:
            day, weekday = date_of(english)
            assert calendar.day_abbr[day.weekday()] == weekday
            name = "一二三四五六日"[day.weekday()]
            assert "".join(chinese) == f"{day.year}年{day.month}月{day.day}日星期{name}"


@pytest.mark.parametrize(
    ("pairs", "sizes"),
    [
        (number_words, {"train": 12_000, "new": 1_000, "pairs": 600, "longer": 600}),
        (dates, {"train": 12_000, "new": 1_000, "days": 600}),
    ],
)
def test_no_part_holds_what_another_holds(pairs, sizes):
    parts = everything(pairs())
    assert {name: len(part) for name, part in parts.items()} == sizes
    meanings = [other for part in parts.values() for _, other in part]
    assert len(set(meanings)) == len(meanings)


def test_what_is_held_out_in_kind_is_not_in_train():
    parts = {n: [english_value(e) for e, _ in p] for n, p in everything(number_words()).items()}

    def ends(numbers):
        return {end for n in numbers for end in (n % 100, n // 1000 % 100)}

    never = set(range(100)) - ends(parts["train"])
    assert len(never) == 16
    assert all({n % 100, n // 1000 % 100} & never for n in parts["pairs"])
    assert not ends(parts["new"]) & never and not ends(parts["longer"]) & never
    assert {end % 10 for end in ends(parts["train"]) if end > 20} == set(range(10))
    lengths = {n: {len(e) for e, _ in p} for n, p in everything(number_words()).items()}
    assert max(lengths["train"]) == max(lengths["pairs"]) == 9 and lengths["longer"] == {10, 11}
    days = {
        n: {date_of(e)[0].timetuple()[1:3] for e, _ in p} for n, p in everything(dates()).items()
    }
    assert len(days["days"]) == 36 and not days["days"] & (days["train"] | days["new"])


def test_a_number_is_aligned_with_its_words():
    align = number_words().align
    english = split_number("three hundred and three thousand three hundred and sixty three")
    german = ("drei", "hundert", "drei", "tausend", "drei", "hundert", "drei", "und", "sechzig")
    assert align(english, german) == [0, 1, 3, 4, 5, 6, 9, None, 8]
    for english, german in number_words().held_out["longer"]:
        for piece, place in zip(german, align(english, german)):
            assert (place is None) == (piece == "und")
            if place is not None and piece in GERMAN:
                assert ENGLISH[english[place]] == GERMAN[piece]


def test_a_date_is_aligned_with_its_words():
    align = dates().align
    english, chinese = split_date("Tuesday, March 15, 2024"), tuple("2024年3月15日星期二")
    assert [None if i is None else english[i] for i in align(english, chinese)] == [
        *"2024", None, "March", None, "1", "5", None, None, None, "Tuesday"
    ]  # fmt: skip
    english, chinese = split_date("Tue, 12/3/2024"), tuple("2024年12月3日星期二")
    assert align(english, chinese) == [7, 8, 9, 10, None, 2, 3, None, 5, None, None, None, 0]
    for english, chinese in dates().train:
        for sign, place in zip(chinese, align(english, chinese), strict=True):
            assert place is None or not english[place].isdigit() or english[place] == sign


def test_rows_end_and_are_filled_up():
    pairs = dates()
    (read, written), following = pairs.batches(5)(torch.Generator().manual_seed(1))
    assert len(read) == len(written) == len(following) == 5
    assert (written[:, 0] == BEGIN).all() and written[:, 1:].equal(following[:, :-1])
    for rows in (read, following):
        ends = (rows == END).int()
        assert (ends.sum(dim=1) == 1).all()
        assert ((rows == PAD) == (ends.cumsum(dim=1) - ends).bool()).all()
        assert (rows[:, -1] != PAD).any()  # no column of padding alone
    known = set(pairs.train)
    both = zip(pairs.source.decode(read), pairs.target.decode(following))
    assert all(pair in known for pair in both)


def test_typed_text_is_split():
    assert split_number("Sixty-nine thousand, ONE") == ("sixty", "nine", "thousand", "one")
    assert split_date("Tue, 3/5/2024") == ("Tue", ",", *"3/5/2024")
    assert split_date("tuesday, MAR 5") == ("Tuesday", ",", "Mar", "5")


def test_unknown_words_are_named():
    with pytest.raises(ValueError, match=r"texts: got \['zwo'\]; accepted are \['ein'"):
        Vocabulary(["ein"]).encode([["ein", "zwo"]])
    with pytest.raises(ValueError, match="accepted are"):
        Vocabulary(["ein"]).encode([["[pad]"]])


@pytest.mark.parametrize("pairs", [number_words, dates])
def test_a_missing_or_damaged_file_says_how_to_make_it_again(pairs, tmp_path, monkeypatch):
    name = pairs.__name__
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    pairs.cache_clear()
    try:
        with pytest.raises(FileNotFoundError, match=rf"scripts/{name}\.py"):
            pairs()
        for damaged in (b"no archive", gzip.compress(b"train\tone"), gzip.compress(b"new\ta\tb")):
            (tmp_path / f"{name}.txt.gz").write_bytes(damaged)
            with pytest.raises(ValueError, match=rf"damaged.*scripts/{name}\.py"):
                pairs()
    finally:
        pairs.cache_clear()


def test_a_line_of_another_form_is_refused():
    with pytest.raises(ValueError, match="train and others"):
        read_pairs("new\ta\tb", split_date, tuple, align=None)
