"""Pairs of a text and its translation, as rows of numbers for a model that translates."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

PAD, BEGIN, END = 0, 1, 2  # numbers of no word; the same in every vocabulary
SIGNS = ("[pad]", "[begin]", "[end]")
Pair = tuple[tuple[str, ...], tuple[str, ...]]


class Vocabulary:
    """Words and their numbers.

    Args:
        words: in any order; they are sorted, behind the three signs.

    Example:
        >>> vocabulary = Vocabulary(["neun", "und", "ein"])
        >>> rows = vocabulary.encode([["ein", "und"], ["neun"]])
        >>> rows, vocabulary.decode(rows)
        (tensor([[3, 5, 2],
                [4, 2, 0]]), [('ein', 'und'), ('neun',)])
    """

    def __init__(self, words: Sequence[str]):
        self.words = (*SIGNS, *sorted(set(words)))
        self._number = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, texts: Sequence[Sequence[str]], *, begin: bool = False) -> Tensor:
        """``(batch, n)`` integers: each text, the sign of its end, and padding.

        With ``begin`` the sign of a beginning stands in front.

        Raises:
            ValueError: a word that is not in the vocabulary.
        """
        unknown = sorted({word for text in texts for word in text} - set(self.words[len(SIGNS) :]))
        if unknown:
            raise ValueError(
                f"texts: got {unknown}; accepted are {list(self.words[len(SIGNS) :])}."
            )
        first = [BEGIN] if begin else []
        rows = [[*first, *(self._number[word] for word in text), END] for text in texts]
        length = max(map(len, rows), default=0)
        rows = [row + [PAD] * (length - len(row)) for row in rows]
        return torch.tensor(rows, dtype=torch.long).view(len(rows), length)

    def decode(self, rows: Tensor) -> list[tuple[str, ...]]:
        """The words of each row of ``(batch, n)``, up to the sign of its end."""
        return [self._words(row) for row in rows.tolist()]

    def _words(self, row: list[int]) -> tuple[str, ...]:
        row = row[: row.index(END)] if END in row else row
        return tuple(self.words[i] for i in row if i not in (PAD, BEGIN))


@dataclass(frozen=True)
class Pairs:
    """What a translator learns from, and what it is judged on.

    Attributes:
        train: pairs of words, English first.
        held_out: name of a part -> pairs that are not in ``train``.
        split: a typed English text -> its words.
        align: ``align(english, other)`` -> for each word of the translation the place of the
            English word that it stands for, or ``None``.
    """

    train: list[Pair]
    held_out: dict[str, list[Pair]]
    split: Callable[[str], tuple[str, ...]]
    align: Callable[[Sequence[str], Sequence[str]], list[int | None]]

    @cached_property
    def source(self) -> Vocabulary:
        """The English words."""
        return Vocabulary([word for english, _ in self.train for word in english])

    @cached_property
    def target(self) -> Vocabulary:
        """The words of the other language."""
        return Vocabulary([word for _, other in self.train for word in other])

    def encode(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
        """English ``(batch, n_source)``, and translations from [begin] to [end], with padding."""
        english, other = zip(*pairs)
        return self.source.encode(english), self.target.encode(other, begin=True)

    def batches(self, size: int = 64) -> Callable:
        """A function that draws a batch to learn from: ``((source, written), next)``.

        ``source`` is ``(size, n_source)``; ``written`` and ``next`` are ``(size, n_target)``, and
        each word of ``next`` is the one that comes after the word above it.
        """
        source, target = self.encode(self.train)

        def draw(generator: torch.Generator):
            rows = torch.randint(len(source), (size,), generator=generator)
            read, written = _trimmed(source[rows]), _trimmed(target[rows])
            return (read, written[:, :-1]), written[:, 1:]

        return draw


def _trimmed(rows: Tensor) -> Tensor:
    """Without the columns that hold nothing but padding."""
    return rows[:, : (rows != PAD).any(dim=0).sum()]


def split_number(text: str) -> tuple[str, ...]:
    """The words of an English number, ``"Sixty-nine"`` -> ``("sixty", "nine")``."""
    return tuple(re.findall(r"[a-z]+|\d", text.lower()))


def split_date(text: str) -> tuple[str, ...]:
    """Names, digits and signs of an English date: ``"May 5"`` -> ``("May", "5")``.

    Names of months and weekdays get their capital if it is missing.
    """
    words = re.findall(r"[^\W\d_]+|\d|[^\w\s]", text)
    named = {*MONTHS, *DAYS}
    return tuple(w.capitalize() if w[:3].capitalize() in named else w for w in words)


MEANING = dict(
    re.findall(
        r"(\w+):(\w+)",
        "ein:one eins:one zwei:two drei:three vier:four fünf:five sechs:six sieben:seven "
        "acht:eight neun:nine zehn:ten elf:eleven zwölf:twelve dreizehn:thirteen "
        "vierzehn:fourteen fünfzehn:fifteen sechzehn:sixteen siebzehn:seventeen "
        "achtzehn:eighteen neunzehn:nineteen zwanzig:twenty dreißig:thirty vierzig:forty "
        "fünfzig:fifty sechzig:sixty siebzig:seventy achtzig:eighty neunzig:ninety "
        "hundert:hundred tausend:thousand",
    )
)


def align_number(english: Sequence[str], german: Sequence[str]) -> list[int | None]:
    """Which English word each piece of a German number stands for; *und* stands for none.

    A *drei* before *hundert* is the *three* before *hundred*, and one after it the one after it; so
    with *tausend*.
    """
    at = {key: place for place, key in enumerate(_in_place(english, "thousand", "hundred"))}
    pieces = _in_place([MEANING.get(piece, piece) for piece in german], "thousand", "hundred")
    return [at.get(key) for key in pieces]


def _in_place(words: Sequence[str], thousand: str, hundred: str) -> list[tuple]:
    """Each word with what is still to come after it: a thousand, and a hundred of its group."""
    keys, thousands, hundreds = [], False, False
    for word in reversed(words):
        thousands |= word == thousand
        hundreds = word == hundred or (hundreds and word != thousand)
        keys.append((word, thousands, hundreds))
    return keys[::-1]


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def align_date(english: Sequence[str], chinese: Sequence[str]) -> list[int | None]:
    """Which part of an English date each character of the Chinese one stands for.

    Digits of a year and of a day stand for the same digits, a month for its name or its digits, the
    last character for the name of the weekday. 年, 月, 日 and 星期 stand for none.
    """
    names = {word[:3]: place for place, word in enumerate(english)}
    weekday = next(names[name] for name in DAYS if name in names)
    month = next((names[name] for name in MONTHS if name in names), None)
    *before, day, year = _runs_of_digits(english)
    in_digits = chinese.index("月") - chinese.index("年") - 1
    months = before[0] if month is None else [month] * in_digits
    return [*year, None, *months, None, *day, None, None, None, weekday]


def _runs_of_digits(words: Sequence[str]) -> list[list[int]]:
    """Places of digits; a run ends at another word, and the last four digits are the year."""
    digits = [place for place, word in enumerate(words) if word.isdigit()]
    runs = []
    for place in digits[:-4]:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return [*runs, digits[-4:]]


def read_pairs(text: str, read: Callable[[str], tuple], write: Callable[[str], tuple], **options):
    """`Pairs` from lines of a part, an English text and its translation, separated by tabs.

    Args:
        text: the lines.
        read, write: from an English text and from a translation to their words.
        options: the rest of `Pairs`.

    Raises:
        ValueError: a line of another form, or no part called ``train``.
    """
    parts: dict[str, list[Pair]] = {}
    for line in text.splitlines():
        part, english, other = line.split("\t")
        parts.setdefault(part, []).append((read(english), write(other)))
    if "train" not in parts:
        raise ValueError(f"text: got the parts {list(parts)}; accepted are train and others.")
    return Pairs(train=parts.pop("train"), held_out=parts, split=read, **options)
