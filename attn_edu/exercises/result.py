"""What a check says: plain text everywhere, and a drawing in a notebook."""

from dataclasses import dataclass

from torch import Tensor

from attn_edu.exercises import drawing
from attn_edu.labels import as_label

_TITLES = {
    "passed": "passed",
    "not attempted": "not attempted yet",
    "misconception": "a known mistake",
    "wrong": "not right yet",
    "form": "not in the right form yet",
}


@dataclass(frozen=True)
class Example:
    """The smallest case that shows a mistake: its inputs, your answer, and what is expected."""

    note: str
    inputs: dict[str, object]
    yours: Tensor | None
    expected: object
    printed: str = ""


@dataclass(frozen=True, repr=False)
class Result:
    """The outcome of one check.

    Attributes:
        exercise_id: for example "02.scores".
        status: "passed", "not attempted", "misconception", "wrong" or "form".
        message: in a sentence or two, what was seen and why it is wrong.
        misconception: the name of the mistake, when it is a known one.
        example: the smallest case that shows it.
    """

    exercise_id: str
    status: str
    message: str
    misconception: str | None = None
    example: Example | None = None

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def title(self) -> str:
        """One line: the exercise and its outcome."""
        name = f": {self.misconception}" if self.misconception else ""
        return f"{self.exercise_id} · {_TITLES[self.status]}{name}"

    def __str__(self) -> str:
        plain = self.status in ("passed", "not attempted")
        lines = [self.title] if plain else [self.title, *drawing.lines(self.message)]
        if self.example:
            lines += drawing.example_as_text(self.example)
        return as_label("\n".join(lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_label(drawing.result_as_html(self))
