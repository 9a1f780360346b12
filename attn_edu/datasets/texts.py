"""A text as a row of characters, each a number."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Text:
    """What a language model learns from, and what it is judged on.

    Attributes:
        train: the text to learn from.
        held_out: a text that no model has seen.

    Example:
        >>> text = Text(train="to be or not to be", held_out="to err")
        >>> text.alphabet
        ' benort'
        >>> text.encode("be"), text.decode([2, 1])
        (tensor([1, 2]), 'eb')
    """

    train: str
    held_out: str

    @cached_property
    def alphabet(self) -> str:
        """Every character of both texts, sorted; a character's place is its number."""
        return "".join(sorted(set(self.train) | set(self.held_out)))

    def encode(self, text: str) -> Tensor:
        """``(n,)`` integers, one a character.

        Raises:
            ValueError: a character that is not in the alphabet.
        """
        place = {character: i for i, character in enumerate(self.alphabet)}
        unknown = sorted(set(text) - set(place))
        if unknown:
            raise ValueError(f"text: got {unknown}; accepted are {list(self.alphabet)}.")
        return torch.tensor([place[character] for character in text], dtype=torch.long)

    def decode(self, tokens: Tensor | list[int]) -> str:
        """The characters of ``(n,)`` integers.

        Raises:
            ValueError: a number that is no place in the alphabet.
        """
        places = [int(token) for token in tokens]
        unknown = sorted({place for place in places if not 0 <= place < len(self.alphabet)})
        if unknown:
            raise ValueError(f"tokens: got {unknown}; accepted is 0 to {len(self.alphabet) - 1}.")
        return "".join(self.alphabet[place] for place in places)
