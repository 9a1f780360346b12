"""Sentences that people rated, as words and as rows of numbers."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

PARTS = ("train", "validation", "test")
PADDING, UNKNOWN = 0, 1

# The same words in two orders, the positive order first. Written before a model was tried on them.
ORDER_PAIRS = (
    ("not bad, good", "not good, bad"),
    ("It is good, not bad.", "It is bad, not good."),
    ("It's not boring, it's fun.", "It's not fun, it's boring."),
    ("A great film, not a terrible one.", "A terrible film, not a great one."),
    ("I love it and don't hate it.", "I hate it and don't love it."),
    ("The sound is clear and never bad.", "The sound is bad and never clear."),
    ("funny and not dull", "dull and not funny"),
    ("never dull, always funny", "never funny, always dull"),
    ("It works, it never breaks.", "It breaks, it never works."),
    ("I was bored at first but happy at the end.", "I was happy at first but bored at the end."),
    ("It looks cheap but it is great.", "It looks great but it is cheap."),
    ("A bad start, but a great movie.", "A great start, but a bad movie."),
    ("more smart than stupid", "more stupid than smart"),
    ("too good to be bad", "too bad to be good"),
    ("I expected a bad film and got a good one.", "I expected a good film and got a bad one."),
    ("Nothing bad here, all good.", "Nothing good here, all bad."),
    ("Far from terrible, it is brilliant.", "Far from brilliant, it is terrible."),
    ("happy, not sad", "sad, not happy"),
    ("I am not sorry, I am glad.", "I am not glad, I am sorry."),
    ("Less annoying, more amazing.", "Less amazing, more annoying."),
)

# Letters, with what follows an apostrophe (don't, it's); digits; a face; or any other sign alone.
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[:;=]['-]?[()dp](?!\w)|[^\s\w]|_")


@dataclass(frozen=True)
class Rated:
    """One sentence of `rated_sentences`.

    Attributes:
        text: the sentence.
        rating: the mean of what at least 20 people said, from -4 to 4; never between -0.5 and 0.5.
        source: ``"film"``, ``"product"`` or ``"tweet"``.
    """

    text: str
    rating: float
    source: str

    @property
    def positive(self) -> bool:
        """Whether its readers found it positive."""
        return self.rating > 0


def split_words(text: str) -> list[str]:
    """The words of a text in lower case; each sign of punctuation is a word of its own.

    Example:
        >>> split_words("It's GREAT, isn't it? :)")
        ["it's", 'great', ',', "isn't", 'it', '?', ':)']
    """
    return _WORD.findall(text.lower())


class Vocabulary:
    """Numbers for words: 0 is padding, 1 any word that is not in it.

    Args:
        words: the words, each once; the first gets number 2.

    Raises:
        ValueError: a word that is there twice.

    Example:
        >>> vocabulary = Vocabulary(["fine", "not"])
        >>> vocabulary.encode([["not", "so", "fine"], ["fine"]])
        tensor([[3, 1, 2],
                [2, 0, 0]])
    """

    def __init__(self, words: Iterable[str]):
        self.words = list(words)
        self._numbers = {word: i for i, word in enumerate(self.words, start=2)}
        if len(self._numbers) < len(self.words):
            twice = [word for word, count in Counter(self.words).items() if count > 1]
            raise ValueError(f"words: got {twice[0]!r} twice; accepted is each word once.")

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], *, at_least: int = 2) -> "Vocabulary":
        """The words that occur ``at_least`` so often, the commonest first."""
        counts = Counter(word for sentence in sentences for word in sentence)
        kept = sorted((-n, word) for word, n in counts.items() if n >= at_least)
        return cls(word for _, word in kept)

    def __len__(self) -> int:
        return len(self.words) + 2

    def __contains__(self, word: str) -> bool:
        return word in self._numbers

    def encode(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Sentences as lists of words -> ``(len(sentences), longest)`` integers, padded with 0.

        Raises:
            ValueError: no sentence, or one without a word.
        """
        if isinstance(sentences, str) or any(isinstance(words, str) for words in sentences):
            raise ValueError("sentences: got a text; accepted are lists of words, see split_words.")
        if not sentences or not all(sentences):
            raise ValueError("sentences: got one without a word; accepted is at least one word.")
        longest = max(map(len, sentences))
        rows = [
            [self._numbers.get(w, UNKNOWN) for w in words] + [PADDING] * (longest - len(words))
            for words in sentences
        ]
        return torch.tensor(rows)


def read(text: str, part: str) -> tuple[Rated, ...]:
    """The sentences of one part from the file's text.

    Raises:
        ValueError: the text does not have the form.
    """
    rows = (line.split("\t") for line in text.splitlines())
    return tuple(Rated(text, float(r), source) for p, source, r, text in rows if p == part)
