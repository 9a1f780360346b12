"""What an exercise is made of."""

import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from torch import Tensor


@dataclass(frozen=True)
class Case:
    """One set of positional arguments, and a few words on what is special about it."""

    arguments: tuple
    note: str


@dataclass(frozen=True)
class Misconception:
    """A wrong belief that answers show.

    Attributes:
        name: short, as a reader would say it: "softmax over the queries".
        why: one or two sentences on what it does, and what is right instead.
        change: what the belief changes in the exercise's ``model``, keyword -> value.
    """

    name: str
    why: str
    change: Mapping[str, object]


@dataclass(frozen=True)
class Exercise:
    """Everything about one exercise.

    Attributes:
        id: chapter and name, "02.scores".
        title: two or three words.
        statement: what to write: arguments, shapes, what is returned.
        starter: source of a function that runs as it stands and scores nothing.
        reference: a right answer; its source is the solution. It returns a tensor, a number, or two
            factors of a matrix: any pair of these shapes with the same product is right.
        why: the reasoning of the solution.
        model: the same computation with a keyword for each thing that may go wrong. The default
            of every keyword is the right one, so that a misconception is a change of keywords, and
            two misconceptions about different things combine.
        cases: gives the inputs, among them one small enough to be shown. In the others all sizes
            differ.
        misconceptions: wrong beliefs that are recognised, commonest first.
        hints: up to three, the last nearly the answer.
        minutes, difficulty: for the reader's choice; difficulty from 1 to 3.
        too_much: called with a right answer; the misconception of one that does more work than the
            exercise allows (a product too many, a whole row at once), else None.
        clue: called with the values of a wrong answer that no misconception explains, and those
            expected, of the same shape; a sentence on where the error is, or nothing.
        normal_form: turns another accepted form of an answer into the reference's own, for
            example a mask with an axis of 1 for the queries; leaves everything else alone.
    """

    id: str
    title: str
    statement: str
    starter: str
    reference: Callable
    why: str
    model: Callable
    cases: Callable[[], list[Case]]
    misconceptions: tuple[Misconception, ...]
    hints: tuple[str, ...]
    minutes: int
    difficulty: int
    normal_form: Callable[[Tensor], Tensor] = lambda answer: answer
    too_much: Callable[[Callable], Misconception | None] = lambda answer: None
    clue: Callable[[Tensor, Tensor], str] = lambda got, expected: ""

    @property
    def points(self) -> int:
        """What a right answer earns where it is graded: two points a step of difficulty."""
        return 2 * self.difficulty

    @property
    def arguments(self) -> list[str]:
        """The names of the positional arguments."""
        return list(inspect.signature(self.reference).parameters)

    @property
    def source(self) -> str:
        """The reference answer as text that runs as it is: with the imports and functions used."""
        functions, modules, waiting = [], set(), [self.reference]
        while waiting:
            function = waiting.pop()
            functions.insert(0, textwrap.dedent(inspect.getsource(function)).strip())
            for name, used in inspect.getclosurevars(function).globals.items():
                if inspect.ismodule(used):
                    modules.add(f"import {name}")
                elif inspect.isfunction(used) and used not in waiting:
                    waiting.append(used)
        return "\n\n\n".join(["\n".join(sorted(modules))] * bool(modules) + functions)

    def wrong(self, *misconceptions: Misconception) -> Callable:
        """The implementation that someone with these beliefs would write."""
        change = {name: value for one in misconceptions for name, value in one.change.items()}
        return partial(self.model, **change)

    def beliefs(self, at_once: int = 3) -> Iterator[tuple[Misconception, ...]]:
        """Each misconception, then every two (three, …) that concern different things."""
        for count in range(1, at_once + 1):
            for group in itertools.combinations(self.misconceptions, count):
                names = [name for one in group for name in one.change]
                if len(names) == len(set(names)):
                    yield group
