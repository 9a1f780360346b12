"""A form in which a reader guesses about claims, before anything is run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from html import escape

from attn_edu.labels import as_label
from attn_edu.views.checks import as_title
from attn_edu.views.view import SUMMARY, Output

ANSWERS = ("true", "true if …", "false")
CELL = "text-align:start;vertical-align:top;padding:2px 8px"


class Guesses(Output):
    """Claims to guess about, before anything is run: true, true if … or false.

    The guesses stay in the page. A `Ledger` of the same claims, further down in the same page,
    takes them over.

    Args:
        claims: id -> the claim in words.
        title: a caption.

    Raises:
        TypeError: a claim that is no text.
        ValueError: no claim.

    Example:
        >>> Guesses({"C1": "Water is wet.", "C2": "Fire is cold."})
        2 claims to guess about: true, true if … or false.
    """

    _entry, _start = "guesses", "mountGuesses"

    def __init__(self, claims: Mapping[str, str], *, title: str | None = None):
        self.claims, self.title = as_claims(claims), as_title(title)

    def summary(self) -> str:
        """The form in a sentence."""
        return f"{len(self.claims)} claims to guess about: true, true if … or false."

    def describe(self) -> str:
        """The claims, one after the other."""
        return " ".join(f"{name}: {claim}" for name, claim in self.claims.items())

    def _caption(self) -> str:
        return self.title or "Guess first"

    def _still(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="{CELL}">{escape(name)}</th>'
            f'<td dir="auto" style="{CELL}">{escape(claim)}</td></tr>'
            for name, claim in self.claims.items()
        )
        heads = "".join(
            f'<th scope="col" style="{CELL}">{name}</th>' for name in ("claim", "what it says")
        )
        return (
            f'<figcaption style="margin:4px 12px">{escape(self._caption())}</figcaption>'
            f"<details open>{SUMMARY}{' / '.join(ANSWERS)}?</summary>"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></details>"
        )

    def _payload(self) -> dict:
        return {"answers": ANSWERS, "claims": list(self.claims.items()), "key": key_of(self.claims)}


def as_claims(claims: Mapping[str, str]) -> dict[str, str]:
    """Id -> words, checked, as a page can hold them."""
    if not claims:
        raise ValueError("claims: got none; accepted is at least one id with its words.")
    for name, claim in claims.items():
        if not (isinstance(name, str) and isinstance(claim, str)):
            raise TypeError(f"claims must map ids to words, got {name!r}: {claim!r}")
    return {as_label(name): as_label(claim) for name, claim in claims.items()}


def key_of(claims: Mapping[str, str]) -> str:
    """By this a form and a ledger of the same claims find each other in a page."""
    return hashlib.sha256(json.dumps(list(claims.items())).encode()).hexdigest()[:12]
