"""Verses with names in them, questions about the names, and both as rows of numbers.

A name becomes a sign, a number that says nothing about it. Which name gets which sign is drawn anew
each time (Hermann et al., 2015), so nothing about Moses can be learnt by heart: only reading helps.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

PAD, UNKNOWN, VERSE = 0, 1, 2  # padding, a rare word, and where the question ends
FIRST_WORDS = ("[pad]", "[?]", "|")
SIGNS = 12  # as many names can be told apart in a verse
NAME = "@"  # stands for the name in the text of a question
PARTS = ("train", "tune", "held_out")


@dataclass(frozen=True)
class Question:
    """What is asked about a verse.

    Attributes:
        text: the words of the question with ``@`` for the name.
        about: which of the verse's names is asked about.
        answer: which of them answers.
    """

    text: str
    about: int
    answer: int


@dataclass(frozen=True)
class Verse:
    """A verse and what can be asked about it.

    Attributes:
        place: where it stands, such as ``"1 Kings 16:23"``.
        words: words and signs of punctuation; a name is one of them, even *Simon Peter*.
        names: the different names, in the order in which they come.
        questions: each with one answer.
    """

    place: str
    words: tuple[str, ...]
    names: tuple[str, ...]
    questions: tuple[Question, ...]

    def ask(self, question: Question) -> str:
        """The question with its name.

        Example:
            >>> question = Question("who rules @ ?", about=1, answer=0)
            >>> Verse("here", ("Omri", "ruled", "Ur"), ("Omri", "Ur"), (question,)).ask(question)
            'who rules Ur ?'
        """
        return question.text.replace(NAME, self.names[question.about])


@dataclass(frozen=True)
class Questions:
    """Verses to learn from, others to choose settings by, and others to be judged on.

    Attributes:
        train, tune, held_out: verses; no two are much alike.
        kinds: every text of a question.
        rarest: how often a word must occur in ``train`` to get a number of its own.
    """

    train: tuple[Verse, ...]
    tune: tuple[Verse, ...]
    held_out: tuple[Verse, ...]
    kinds: tuple[str, ...]
    rarest: int = 3

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that have a number; signs come after them, from ``len(words)`` on."""
        asked = dict.fromkeys(w for kind in self.kinds for w in kind.split() if w != NAME)
        counts = Counter(
            word.lower() for verse in self.train for word in verse.words if word not in verse.names
        )
        often = sorted(w for w, n in counts.items() if n >= self.rarest and w not in asked)
        return (*FIRST_WORDS, *asked, *often)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    @property
    def vocabulary(self) -> int:
        """How many different tokens there are, signs included."""
        return len(self.words) + SIGNS

    def encode(self, verse: Verse, question: Question) -> list[int]:
        """The question, ``|``, the verse; the names numbered as they come.

        Raises:
            ValueError: more names than signs.
        """
        if len(verse.names) > SIGNS:
            raise ValueError(f"names: got {len(verse.names)}; up to {SIGNS} can be told apart.")
        sign = {name: len(self.words) + i for i, name in enumerate(verse.names)}
        about = sign[verse.names[question.about]]
        asked = [
            about if w == NAME else self._number.get(w, UNKNOWN) for w in question.text.split()
        ]
        read = [sign.get(w, self._number.get(w.lower(), UNKNOWN)) for w in verse.words]
        return [*asked, VERSE, *read]

    def typed(self, text: str) -> Verse:
        """A verse and a question as somebody types them: ``"Omri ruled Ur. | who rules Ur?"``.

        A word with a capital is a name, and neighbours with capitals are one. At the start of a
        sentence it is not, if it is one of ``words`` when written small.

        Returns:
            The verse with its one question. What answers it is not known: ``answer`` is -1.

        Raises:
            ValueError: no question, or none about a name of the verse.
        """
        verse, bar, asked = (part.strip() for part in text.partition("|"))
        if not bar or not verse or not asked:
            raise ValueError("Type a verse, a bar | and a question about one of its names.")
        words, asked = _pieces(verse), _pieces(asked.removesuffix("?") + " ?")
        capitals = self._capitals(words) | self._capitals(asked)
        words, asked = _joined(words, capitals), _joined(asked, capitals)
        names = tuple(dict.fromkeys(w for w in words if w.split()[0] in capitals))
        if len(names) < 2:
            raise ValueError("The verse must have two names or more; a capital makes a name.")
        about = [w for w in asked if w in names]
        if len(about) != 1:
            had = f"the verse has {', '.join(names)}"
            raise ValueError(f"The question must have one name of the verse; {had}.")
        kind = " ".join(NAME if w == about[0] else w.lower() for w in asked)
        return Verse("typed", words, names, (Question(kind, names.index(about[0]), -1),))

    def _capitals(self, words: list[str]) -> set[str]:
        before = [".", *words]  # what stands before each word
        return {
            word
            for word, last in zip(words, before)
            if word[0].isupper() and not (last in ".!?:“‘" and word.lower() in self._number)
        }

    def rows(self, verses: Iterable[Verse]) -> tuple[Tensor, Tensor]:
        """All questions of the verses: ``(questions, n)``, padded; and the signs that answer,
        counted from 0, ``(questions,)``."""
        pairs = [(verse, question) for verse in verses for question in verse.questions]
        rows = [torch.tensor(self.encode(*pair)) for pair in pairs]
        tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
        return tokens, torch.tensor([question.answer for _, question in pairs])

    def shuffle_signs(
        self, tokens: Tensor, answers: Tensor, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Give each row's names other signs, drawn for each row: which stays which is kept."""
        first = len(self.words)
        drawn = torch.rand(len(tokens), SIGNS, generator=generator).argsort(dim=-1)
        signs = first + drawn.gather(1, (tokens - first).clamp(min=0))  # (questions, n)
        return torch.where(tokens >= first, signs, tokens), drawn.gather(1, answers[:, None])[:, 0]

    def batches(self, size: int) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
        """A function that draws questions of ``train``, with signs drawn anew, for `train`.

        Questions of like length come together, so that little padding has to be read.
        """
        tokens, answers = self.rows(self.train)
        lengths = (tokens != PAD).sum(dim=-1)
        order = lengths.argsort(stable=True)

        def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
            start = torch.randint(len(order), (1,), generator=generator)
            near = start + torch.randperm(16 * size, generator=generator)[:size]
            rows = order[near % len(order)]
            return self.shuffle_signs(tokens[rows, : lengths[rows].max()], answers[rows], generator)

        return draw


def read(text: str) -> Questions:
    """Questions from the text of the file: the kinds, an empty line, a verse in each line.

    Raises:
        ValueError: not of that form.
    """
    kinds, verses = (block.split("\n") for block in text.split("\n\n"))
    parts = {part: [] for part in PARTS}
    for line in verses:
        place, part, words, names, asked = line.split("\t")
        numbers = (map(int, each.split(":")) for each in asked.split())
        asked = tuple(Question(kinds[kind], about, answer) for kind, about, answer in numbers)
        if part not in parts:
            raise ValueError(f"part: got {part!r}; accepted are {PARTS}.")
        parts[part].append(Verse(place, _words(words), _words(names), asked))
    return Questions(*(tuple(parts[part]) for part in PARTS), tuple(kinds))


def _pieces(text: str) -> list[str]:
    return re.findall(r"’s\b|[\w-]+|[^\w\s]", text.replace("'", "’"))


def _joined(words: list[str], capitals: set[str]) -> tuple[str, ...]:
    """Neighbouring names become one word."""
    joined: list[str] = []
    for word in words:
        if joined and word in capitals and joined[-1].split()[-1] in capitals:
            joined[-1] += " " + word
        else:
            joined.append(word)
    return tuple(joined)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.replace("_", " ") for word in text.split(" "))
