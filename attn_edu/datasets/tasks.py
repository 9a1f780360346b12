"""Synthetic tasks. Tokens are integers with one axis of fields, and every integer has a word."""

import torch
from torch import Tensor

THINGS = ("apple", "bread", "coin", "drum", "egg", "feather", "glove", "hat")
NAMES = (
    *("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana"),
    *("Ida", "Jo", "Kim", "Leo", "Mia", "Ned", "Olga", "Pam"),
)
MARKS = ("", "keep ", "")
NEUTRAL = ("the", "film", "was", "long", "we", "saw", "it", "on", "a", "day", "and", "then")
GOOD, BAD = ("good", "funny", "moving", "clever"), ("bad", "dull", "weak", "silly")
REVIEW_WORDS = (*NEUTRAL, *GOOD, *BAD, "not")


def keep_one(batch: int, n: int, *, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Keep the first thing while ``n - 1`` others pass, then name it ("keep hat", "egg", …, "?").

    Args:
        batch: how many sequences.
        n: how many things, at least 1; the question follows as one more token.

    Returns:
        Tokens ``(batch, n + 1, 2)``, each a mark (`MARKS`) and a thing (`THINGS`, or 8 for "?"),
        and the answers ``(batch,)``. Chance is 1/8. In the manner of Hochreiter & Schmidhuber
        (1997), whose tasks put time between what matters and the question.
    """
    _check_length(n, 1, None)
    things = torch.randint(len(THINGS), (batch, n + 1), generator=generator)
    marks = torch.zeros_like(things)
    answers = things[:, 0].clone()
    marks[:, 0], marks[:, -1] = 1, 2
    things[:, -1] = len(THINGS)
    return torch.stack([marks, things], dim=-1), answers


def keep_all(batch: int, n: int, *, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Who has what, then one name: "Ada hat", "Ben egg", …, "Ada ?".

    Args:
        batch: how many sequences.
        n: how many pairs, 1 to 16; no name comes twice. The question follows as one more token.

    Returns:
        Tokens ``(batch, n + 1, 2)``, each a name (`NAMES`) and a thing (`THINGS`, or 8 for "?");
        the answers ``(batch,)``; and how many tokens before the question the asked pair stands
        ``(batch,)``, 1 to ``n``. After associative recall (Graves et al., 2014).
    """
    _check_length(n, 1, len(NAMES))
    names = torch.rand(batch, len(NAMES), generator=generator).argsort(dim=-1)[:, :n]
    things = torch.randint(len(THINGS), (batch, n), generator=generator)
    asked = torch.randint(n, (batch, 1), generator=generator)
    question = torch.stack([names.gather(1, asked), torch.full_like(asked, len(THINGS))], dim=-1)
    tokens = torch.cat([torch.stack([names, things], dim=-1), question], dim=1)
    return tokens, things.gather(1, asked)[:, 0], n - asked[:, 0]


def turned_review(
    batch: int, n: int, *, near: bool, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """A short "review" of fixed length with one word of praise or blame, which "not" may turn.

    Half of all reviews hold one "not" that counts, and every label is equally frequent.

    Args:
        batch: how many reviews.
        n: words in each, at least 4.
        near: if True, "not" turns the word right after it, and in half of all reviews another "not"
            stands elsewhere and means nothing. If False, one "not" anywhere turns the review.

    Returns:
        Tokens ``(batch, n, 1)``, indices into `REVIEW_WORDS`, and labels ``(batch,)``, 1 = praise.
    """
    _check_length(n, 4, None)

    def draw(high):
        return torch.randint(high, (batch,), generator=generator)

    rows = torch.arange(batch)
    words = torch.randint(len(NEUTRAL), (batch, n), generator=generator)
    turned, praise, decoy = draw(2).bool(), draw(2), draw(2).bool()
    place = 1 + draw(n - 1)  # where the word of praise or blame stands
    away = 1 + draw(n - 2)  # 1 … n-2: with this shift, "not" is neither at `place` nor before it
    elsewhere = (place + away) % n
    anywhere = (place + 1 + draw(n - 1)) % n
    not_ = len(REVIEW_WORDS) - 1
    if near:
        words[rows[decoy], elsewhere[decoy]] = not_
        words[rows[turned], place[turned] - 1] = not_
    else:
        words[rows[turned], anywhere[turned]] = not_
    mood = len(NEUTRAL) + draw(len(GOOD)) + len(GOOD) * (1 - praise)
    words[rows, place] = mood
    return words[..., None], praise ^ turned.long()


def _check_length(n: int, low: int, high: int | None) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < low or (high is not None and n > high):
        accepted = f"{low} to {high}" if high is not None else f"at least {low}"
        raise ValueError(f"n: got {n!r}; accepted is an integer, {accepted}.")
