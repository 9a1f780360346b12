"""Verses in which every person and every place is marked, and how a reader of names is judged."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from attn_edu.datasets.sentiment import Vocabulary

TAGS = ("-", "person", "place")  # a tag's place is its number
_LETTERS = {"P": "person", "L": "place"}
_WORD = re.compile(r"’s\b|[^\W\d_]+(?:[-’](?!s\b)[^\W\d_]+)*|\d+(?:[,.:]\d+)*|[,.;:?!]")


@dataclass(frozen=True)
class NamedVerse:
    """One verse of `named_verses`.

    Attributes:
        where: book, chapter and verse.
        words: its words and marks in lower case. A name is always one word (``"beth-shemesh"``).
        tags: for each word one of `TAGS`.
    """

    where: str
    words: tuple[str, ...]
    tags: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.words)


def read(text: str, part: str) -> tuple[NamedVerse, ...]:
    """The verses of one part from the file's text.

    Raises:
        ValueError: the text does not have the form.
    """
    rows = (line.split("\t") for line in text.splitlines())
    return tuple(_verse(where, words) for p, where, words in rows if p == part)


def _verse(where: str, text: str) -> NamedVerse:
    pairs = [word.partition("|")[::2] for word in text.split(" ")]
    words, letters = zip(*pairs)
    unknown = sorted(set(letters) - {"", *_LETTERS})
    if unknown:
        raise ValueError(f"{where}: got the tags {unknown}; accepted are {sorted(_LETTERS)}.")
    return NamedVerse(where, words, tuple(_LETTERS.get(x, "-") for x in letters))


def verse_words(text: str) -> list[str]:
    """A text cut as the verses are: small letters, marks as words, a hyphen inside a word.

    Example:
        >>> verse_words("Ziba's son went to Lo-debar.")
        ['ziba', '’s', 'son', 'went', 'to', 'lo-debar', '.']
    """
    return _WORD.findall(text.lower().replace("'", "’"))


def names_in(verses: Iterable[NamedVerse]) -> dict[str, str]:
    """Every name that is marked there -> what it is most often, ``"person"`` or ``"place"``."""
    found = Counter()
    for verse in verses:
        found.update((w, tag) for w, tag in zip(verse.words, verse.tags) if tag != "-")
    return {name: tag for (name, tag), _ in sorted(found.items(), key=lambda item: item[1])}


def words_without_names(verses: Sequence[NamedVerse], *, at_least: int) -> Vocabulary:
    """The words that occur ``at_least`` so often and are never a name.

    To a reader with this vocabulary all names are the same unknown word, and so are rare words.
    """
    names = names_in(verses)
    kept = [[word for word in verse.words if word not in names] for verse in verses]
    return Vocabulary.of(kept, at_least=at_least)


def judged(
    verses: Sequence[NamedVerse],
    tags: Sequence[Sequence[str]],
    known: Collection[str],
) -> dict[str, float]:
    """How good the tags are, counted in names: a name is found if its word has the right tag.

    Args:
        verses: with the right tags.
        tags: what a reader gave, for each verse one tag a word.
        known: the names that it could learn from; the others are ``unseen``.

    Returns:
        ``precision``, ``recall`` and ``f1`` of all names; ``f1 person`` and ``f1 place``. Of the
        words that are no known name: ``unseen``, the recall, also as ``unseen person`` and
        ``unseen place``, and ``unseen f1``. 0 where there is nothing to count.

    Raises:
        ValueError: another number of verses or of words.
    """
    if [len(verse.words) for verse in verses] != [len(given) for given in tags]:
        raise ValueError("tags: got other lengths than the verses'; accepted is one tag a word.")
    marked, given, right = Counter(), Counter(), Counter()
    for verse, guesses in zip(verses, tags):
        for word, tag, guess in zip(verse.words, verse.tags, guesses):
            for group in ("",) if word in known else ("", "unseen "):
                marked[group + tag] += 1
                given[group + guess] += 1
                right[group + tag] += guess == tag

    def share(of: Counter, *whole: Counter, kinds=TAGS[1:], group="") -> float:
        part, *parts = (sum(c[group + kind] for kind in kinds) for c in (of, *whole))
        return len(parts) * part / sum(parts) if sum(parts) else 0.0

    return {
        "precision": share(right, given),
        "recall": share(right, marked),
        "f1": share(right, given, marked),
        "f1 person": share(right, given, marked, kinds=["person"]),
        "f1 place": share(right, given, marked, kinds=["place"]),
        "unseen": share(right, marked, group="unseen "),
        "unseen person": share(right, marked, kinds=["person"], group="unseen "),
        "unseen place": share(right, marked, kinds=["place"], group="unseen "),
        "unseen f1": share(right, given, marked, group="unseen "),
    }
