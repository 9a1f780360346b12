"""Verses in which every person and every place is marked, and how a reader of names is judged."""

import gzip
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attn_edu.datasets.sentiment import PARTS, Vocabulary

FILE = Path(__file__).parents[2] / "data" / "entities.tsv.gz"
TAGS = ("-", "person", "place")  # a tag's place is its number
_LETTERS = {"P": "person", "L": "place"}


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


@cache
def named_verses(part: str) -> tuple[NamedVerse, ...]:
    """The verses of one part, from chapters that are in no other part.

    The Old Testament of the Berean Standard Bible (public domain). The tags are silver: they come
    from the parts of speech in Strong's dictionary (1894), which knows names and not sentences.
    ``data/scripts/entities.py`` made the file.

    Args:
        part: ``"train"``, ``"validation"`` or ``"test"``.

    Raises:
        ValueError: an unknown part, or a damaged file.
        FileNotFoundError: the file is missing; says how to make it again.
    """
    if part not in PARTS:
        raise ValueError(f"part: got {part!r}; accepted are {', '.join(map(repr, PARTS))}.")
    again = f"Run `git checkout -- data/{FILE.name}`, or make it again: data/scripts/entities.py."
    if not FILE.exists():
        raise FileNotFoundError(f"data/{FILE.name} is missing. {again}")
    try:
        lines = gzip.decompress(FILE.read_bytes()).decode("utf-8").splitlines()
        rows = [line.split("\t") for line in lines]
        return tuple(_verse(where, text) for p, where, text in rows if p == part)
    except (OSError, EOFError, zlib.error, ValueError, KeyError) as error:
        raise ValueError(f"data/{FILE.name} is damaged ({error}). {again}") from None


def _verse(where: str, text: str) -> NamedVerse:
    pairs = [word.partition("|")[::2] for word in text.split(" ")]
    words, letters = zip(*pairs)
    return NamedVerse(where, words, tuple(_LETTERS[x] if x else "-" for x in letters))


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
        ``precision``, ``recall``, ``f1`` of all names; ``f1 person``, ``f1 place``; and the recall
        of names not known: ``unseen``, ``unseen person``, ``unseen place``. 0 where there is none.

    Raises:
        ValueError: another number of verses or of words.
    """
    if [len(verse.words) for verse in verses] != [len(given) for given in tags]:
        raise ValueError("tags: got other lengths than the verses'; accepted is one tag a word.")
    marked, given, right = Counter(), Counter(), Counter()
    for verse, guesses in zip(verses, tags):
        for word, tag, guess in zip(verse.words, verse.tags, guesses):
            given[guess] += guess != "-"
            groups = [tag] if word in known else [tag, f"unseen {tag}"]
            for group in groups if tag != "-" else []:
                marked[group] += 1
                right[group] += guess == tag

    def share(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    def total(counts: Counter, *groups: str) -> int:
        return sum(counts[group] for group in groups)

    kinds, unseen = TAGS[1:], [f"unseen {kind}" for kind in TAGS[1:]]
    found = {
        "precision": share(total(right, *kinds), total(given, *kinds)),
        "recall": share(total(right, *kinds), total(marked, *kinds)),
    }
    for name, groups in {"f1": kinds, **{f"f1 {kind}": [kind] for kind in kinds}}.items():
        both = total(given, *groups) + total(marked, *groups)
        found[name] = share(2 * total(right, *groups), both)
    for name, groups in {"unseen": unseen, **{group: [group] for group in unseen}}.items():
        found[name] = share(total(right, *groups), total(marked, *groups))
    return found
