"""Sentences that a real translator translated, with its maps, and who translates whom."""

import json
from dataclasses import dataclass

import torch
from torch import Tensor

ALONE = {".", ",", ";", ":", "!", "?", "</s>"}  # tokens that belong to no word


@dataclass(frozen=True)
class Translated:
    """A sentence of the translator that Firefox uses from English to Portuguese.

    Attributes:
        text, translation: both sentences.
        source, target: their tokens, ``</s>`` at the ends; ``▁`` begins a word.
        weights: its cross-attention, ``(2, 8, n_target, n_source)``, from float16.
        pairs: ``(English word, Portuguese word)``, by hand: words that translate each other.
        part: ``"choose"``, ``"judge"`` or ``"misread"``, what the sentence was written for.
    """

    text: str
    translation: str
    source: list[str]
    target: list[str]
    weights: Tensor
    pairs: list[tuple[str, str]]
    part: str


def read_translated(tensors: dict[str, Tensor], metadata: dict[str, str]) -> list[Translated]:
    """What the file holds."""
    found = []
    for i, about in enumerate(json.loads(metadata["sentences"])):
        about["pairs"] = [tuple(pair) for pair in about["pairs"]]
        found.append(Translated(**about, weights=tensors[str(i)].float()))
    return found


def words(tokens: list[str]) -> list[str]:
    """The words that tokens make; a sign and the end of the sentence count as one each.

    Example:
        >>> words(["▁com", "eu", "▁peixe", ".", "</s>"])
        ['comeu', 'peixe', '.', '</s>']
    """
    found: list[str] = []
    for token in tokens:
        if _begins(token) or not found:
            found.append(token.removeprefix("▁"))
        else:
            found[-1] += token
    return found


def word_map(weights: Tensor, target: list[str], source: list[str]) -> Tensor:
    """A map of words from one of tokens.

    A word gets the sum of what its tokens get, and gives the mean of what its tokens give; so rows
    still sum to 1.

    Args:
        weights: ``(…, n_target, n_source)``.
        target, source: the tokens of each side.

    Returns:
        ``(…, words_target, words_source)``, in the order of `words`.

    Raises:
        ValueError: another number of tokens than weights.
    """
    shape = tuple(weights.shape[-2:])
    if shape != (len(target), len(source)):
        got = f"{len(target)} and {len(source)} tokens for weights of {shape}"
        raise ValueError(f"target, source: got {got}; accepted is one for each row and column.")
    rows, columns = _membership(target), _membership(source)
    return (rows / rows.sum(dim=-1, keepdim=True)) @ weights @ columns.mT


def _begins(token: str) -> bool:
    return token.startswith("▁") or token in ALONE


def _membership(tokens: list[str]) -> Tensor:
    """``(words, n)``, 1 where the token belongs to the word."""
    starts = torch.tensor([_begins(token) or i == 0 for i, token in enumerate(tokens)])
    word = starts.cumsum(dim=0) - 1
    return (word == torch.arange(word[-1] + 1)[:, None]).float()
