"""Loaders for ``data/``, and the synthetic tasks. Nothing here uses the network or pickle."""

import gzip
import json
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torch import Tensor

from attn_edu.datasets.alignments import Translated, read_translated
from attn_edu.datasets.entities import (
    TAGS,
    NamedVerse,
    judged,
    names_in,
    verse_words,
    words_without_names,
)
from attn_edu.datasets.entities import read as read_verses
from attn_edu.datasets.quatrains import Quatrains
from attn_edu.datasets.quatrains import read as read_quatrains
from attn_edu.datasets.questions import Question, Questions, Verse
from attn_edu.datasets.questions import read as read_questions
from attn_edu.datasets.sentiment import ORDER_PAIRS, PARTS, Rated, Vocabulary, split_words
from attn_edu.datasets.sentiment import read as read_rated
from attn_edu.datasets.tasks import (
    BAD,
    GOOD,
    MARKS,
    NAMES,
    NEUTRAL,
    REVIEW_WORDS,
    THINGS,
    keep_all,
    keep_one,
    turned_review,
)
from attn_edu.datasets.texts import Text
from attn_edu.datasets.translation import (
    Pairs,
    align_date,
    align_number,
    read_pairs,
    split_date,
    split_number,
)

INSIDE = Path(__file__).parents[1] / "data"  # of an installed package; a clone has data/ beside it
DATA = INSIDE if INSIDE.is_dir() else Path(__file__).parents[2] / "data"

__all__ = [
    "BAD",
    "DATA",
    "GOOD",
    "MARKS",
    "NAMES",
    "NEUTRAL",
    "ORDER_PAIRS",
    "REVIEW_WORDS",
    "TAGS",
    "THINGS",
    "NamedVerse",
    "Pairs",
    "Quatrains",
    "Question",
    "Questions",
    "Rated",
    "Sentence",
    "Text",
    "Translated",
    "Verse",
    "Vocabulary",
    "dates",
    "judged",
    "keep_all",
    "keep_one",
    "load_tensors",
    "named_verses",
    "names_in",
    "number_words",
    "rated_sentences",
    "recorded",
    "sentence",
    "sentence_names",
    "shakespeare",
    "split_words",
    "tang_quatrains",
    "translations",
    "turned_review",
    "verse_questions",
    "verse_words",
    "words_without_names",
]


@dataclass(frozen=True)
class Sentence:
    """One sentence inside a real pretrained encoder (all-MiniLM-L6-v2, 6 layers, 12 heads).

    Attributes:
        text: the sentence.
        tokens: its ``n`` tokens, ``[CLS]`` and ``[SEP]`` included.
        hidden: ``(6, n, 384)``, what enters each layer.
        query, key, value: ``(6, 12, n, 32)``, for each layer and head, after the projections.
    """

    text: str
    tokens: list[str]
    hidden: Tensor
    query: Tensor
    key: Tensor
    value: Tensor


def sentence_names() -> list[str]:
    """The names that `sentence` accepts."""
    return list(_sentences()[0])


def sentence(name: str) -> Sentence:
    """A sentence with the queries, keys and values that MiniLM computes for it (float32).

    Source: Wang et al., 2020, *MiniLM*; the weights of sentence-transformers/all-MiniLM-L6-v2
    (Apache-2.0). ``data/scripts/minilm_sentences.py`` made the file.

    Raises:
        KeyError: no sentence has that name.
        FileNotFoundError, ValueError: the file is missing or damaged; says how to make it again.
    """
    about, tensors = _sentences()
    if name not in about:
        raise KeyError(f"name: got {name!r}; accepted are {', '.join(map(repr, about))}.")
    parts = {p: tensors[f"{name}.{p}"].float() for p in ("hidden", "query", "key", "value")}
    return Sentence(text=about[name]["text"], tokens=list(about[name]["tokens"]), **parts)


@cache
def _sentences() -> tuple[dict, dict[str, Tensor]]:
    tensors, metadata = load_tensors("minilm_sentences.safetensors", "minilm_sentences.py")
    return json.loads(metadata["sentences"]), tensors


@cache
def translations() -> list[Translated]:
    """Sentences that Firefox's translator brought into Portuguese, and where it looked.

    Source: the "tiny" model of the Bergamot project (MPL-2.0, Mozilla);
    ``data/scripts/bergamot_maps.py`` made the file.

    Raises:
        FileNotFoundError, ValueError: the file is missing or damaged; says how to make it again.
    """
    return read_translated(*load_tensors("bergamot_maps.safetensors", "bergamot_maps.py"))


def load_tensors(name: str, script: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of ``data/<name>``, a safetensors file.

    Args:
        name: the file's name in ``data/``.
        script: the script in ``data/scripts/`` that made it, named in the error.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    path = DATA / name
    again = f"Run `git checkout -- data/{name}`, or make it again: data/scripts/{script}."
    if not path.exists():
        raise FileNotFoundError(f"data/{name} is missing. {again}")
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            return {name: file.get_tensor(name) for name in names}, file.metadata() or {}
    except SafetensorError as error:
        raise ValueError(f"data/{name} is damaged ({error}). {again}") from None


def recorded(name: str) -> dict:
    """The results of a longer run, ``data/<name>.json``, made by ``data/scripts/<name>.py``.

    Raises:
        FileNotFoundError, ValueError: the file is missing or damaged; says how to make it again.
    """
    path = DATA / f"{name}.json"
    again = f"Run `git checkout -- data/{name}.json`, or make it again: data/scripts/{name}.py."
    if not path.exists():
        raise FileNotFoundError(f"data/{name}.json is missing. {again}")
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"data/{name}.json is damaged ({error}). {again}") from None


@cache
def shakespeare() -> Text:
    """Eight plays to learn from and *Macbeth*, held out (about 1 MB and 100 KB; public domain).

    The texts are those of Project Gutenberg; ``data/scripts/shakespeare.py`` made the file.

    Raises:
        FileNotFoundError, ValueError: the file is missing or damaged; says how to make it again.
    """
    plays = _unpacked("shakespeare", lambda text: text.encode("ascii").decode().split("\f"))
    return Text(train="\n".join(plays[:-1]), held_out=plays[-1])


@cache
def tang_quatrains() -> Quatrains:
    """Poems of the Tang, four lines of seven characters each; one in ten is held out.

    In traditional characters, from the *Complete Tang Poems* (1705; public domain);
    ``data/scripts/tang_quatrains.py`` made the file.

    Raises:
        FileNotFoundError, ValueError: the file is missing or damaged; says how to make it again.
    """
    return _unpacked("tang_quatrains", read_quatrains)


@cache
def number_words() -> Pairs:
    """Numbers in English words and in the pieces of the German word: *neun und sechzig*.

    Held out are ``"new"`` numbers; ``"pairs"``, numbers with one of sixteen pairs of ten and unit
    that the others never put together; and ``"longer"`` ones. ``data/scripts/number_words.py`` made
    the file.

    Raises:
        FileNotFoundError, ValueError: the file is missing or damaged; says how to make it again.
    """
    options = {"read": split_number, "write": lambda german: tuple(german.split())}
    options["align"] = align_number
    return _unpacked("number_words", lambda text: read_pairs(text, **options))


@cache
def dates() -> Pairs:
    """Dates in five English patterns, and in Traditional Chinese as Taiwan writes them in full.

    Held out are ``"new"`` dates, and ``"days"`` of the year that the others never show. From
    Unicode's CLDR; ``data/scripts/dates.py`` made the file.

    Raises:
        FileNotFoundError, ValueError: the file is missing or damaged; says how to make it again.
    """
    options = {"read": split_date, "write": tuple, "align": align_date}
    return _unpacked("dates", lambda text: read_pairs(text, **options))


@cache
def verse_questions() -> Questions:
    """Verses of three to nine names, and questions that one of the names answers.

    From the Berean Standard Bible (public domain); patterns made the questions, so that a few are
    wrong. ``data/scripts/questions.py`` made the file.

    Raises:
        FileNotFoundError, ValueError: the file is missing or damaged; says how to make it again.
    """
    return _unpacked("questions", read_questions)


@cache
def rated_sentences(part: str) -> tuple[Rated, ...]:
    """The sentences of one part: about 70 % to learn from, 10 % to choose with, 20 % to judge by.

    Films, products and tweets, 3 to 24 words each (Hutto & Gilbert, 2014, *VADER: a parsimonious
    rule-based model for sentiment analysis of social media text*); ``data/scripts/sentiment.py``
    made the file. No sentence is nearly the same as another, and the sentences of one product
    review are all in one part.

    Args:
        part: ``"train"``, ``"validation"`` or ``"test"``.

    Raises:
        ValueError: an unknown part, or a damaged file.
        FileNotFoundError: the file is missing; says how to make it again.
    """
    _check_part(part)
    return _unpacked("sentiment", lambda text: read_rated(text, part), ending="tsv")


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
    _check_part(part)
    return _unpacked("entities", lambda text: read_verses(text, part), ending="tsv")


def _check_part(part: str) -> None:
    if part not in PARTS:
        raise ValueError(f"part: got {part!r}; accepted are {', '.join(map(repr, PARTS))}.")


def _unpacked(name: str, read, ending: str = "txt"):
    """What ``read`` makes of the text in ``data/<name>.<ending>.gz``."""
    path = DATA / f"{name}.{ending}.gz"
    again = f"Run `git checkout -- data/{path.name}`, or make it again: data/scripts/{name}.py."
    if not path.exists():
        raise FileNotFoundError(f"data/{path.name} is missing. {again}")
    try:
        packed = path.read_bytes()
        if not packed:  # gzip takes no bytes for an empty text
            raise EOFError("it is empty")
        return read(gzip.decompress(packed).decode("utf-8"))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"data/{path.name} is damaged ({error}). {again}") from None
