"""Poems of one form, four lines of seven characters, as rows of numbers."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

END, UNKNOWN = "\n", "□"  # the end of a line, and a character that is not in the alphabet
LINES, WIDTH = 4, 7


@dataclass(frozen=True)
class Quatrains:
    """Poems to learn from, and others to be judged on.

    A poem is a string of 33 characters: an end of line, which says that a poem begins, and four
    lines of seven characters with an end of line after each.

    Attributes:
        train: the poems to learn from.
        held_out: poems that no model has seen.
        rarest: how often a character must occur in ``train`` to be in the alphabet.

    Example:
        >>> poem = "\\n" + "白日依山盡天高\\n" * 4
        >>> poems = Quatrains(train=(poem,), held_out=(), rarest=1)
        >>> poems.alphabet
        '\\n□依天山日白盡高'
        >>> poems.decode(poems.encode("高山流水"))
        '高山□□'
    """

    train: tuple[str, ...]
    held_out: tuple[str, ...]
    rarest: int = 5

    @cached_property
    def alphabet(self) -> str:
        """End of line, unknown, and the characters of ``train`` sorted; the place is the number."""
        counts = Counter("".join(self.train).replace(END, ""))
        often = (character for character, count in counts.items() if count >= self.rarest)
        return END + UNKNOWN + "".join(sorted(often))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {character: i for i, character in enumerate(self.alphabet)}

    def encode(self, text: str) -> Tensor:
        """``(n,)`` integers, one a character; all that are not in the alphabet get the same."""
        unknown = self._place[UNKNOWN]
        return torch.tensor([self._place.get(c, unknown) for c in text], dtype=torch.long)

    def decode(self, tokens: Tensor | list[int]) -> str:
        """The characters of ``(n,)`` integers; □ where the character is unknown."""
        return "".join(self.alphabet[int(token)] for token in tokens)

    def rows(self, poems: Iterable[str]) -> Tensor:
        """Poems below each other, ``(poems, 33)``."""
        return torch.stack([self.encode(poem) for poem in poems])


def read(text: str) -> Quatrains:
    """Poems from text: empty lines part them, and a form feed the held-out ones from the others.

    Raises:
        ValueError: not two parts, or a poem that is not four lines of seven.
    """
    parts = text.split("\f")
    if len(parts) != 2:
        raise ValueError(f"text: got {len(parts)} parts; accepted is 2.")
    train, held_out = (part.split(END * 2) for part in parts)
    for poem in (*train, *held_out):
        if [len(line) for line in poem.split(END)] != [WIDTH] * LINES:
            raise ValueError(f"text: got {poem!r}; accepted is {LINES} lines of {WIDTH}.")
    return Quatrains(*(tuple(END + poem + END for poem in part) for part in (train, held_out)))
