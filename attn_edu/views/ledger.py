"""The ledger: a table of claims, of what a run said of each, and of what its reader had guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from attn_edu.labels import as_label
from attn_edu.views.checks import as_title, one_of
from attn_edu.views.guesses import ANSWERS, CELL, as_claims, key_of
from attn_edu.views.view import Output

_LINK = re.compile(r"(?P<chapter>\d\d)_\w+\.ipynb#(?P<heading>[^\s#]+)")


class Finding(NamedTuple):
    """What a run said of one claim.

    Args:
        verdict: one of `ANSWERS`.
        numbers: what decided it, in a few words.
        link: a section of a chapter, such as ``"03_multi_head.ipynb#A-listing-taken-apart"``.
        condition: under which the claim holds; shown, and needed, where that is "true if …".
    """

    verdict: str
    numbers: str
    link: str
    condition: str = ""


def ruled(always: bool, sometimes: bool = False) -> str:
    """A verdict: "true" where a claim always holds, "true if …" where it sometimes does, "false".

    Args:
        always: whether the claim holds as it stands, in all that was measured.
        sometimes: whether it holds under a condition that can be named.

    Example:
        >>> ruled(False, True)
        'true if …'
    """
    return "true" if always else "true if …" if sometimes else "false"


class Ledger(Output):
    """One row a claim: what it says, your guess, the verdict, what decided it, and where to go on.

    The table needs no script. A script adds the column of guesses where a form of the same claims
    (`Guesses`) stands in the same page; where it does not, there is no such column.

    Args:
        claims: id -> the claim in words, as in `Guesses`.
        findings: id -> `Finding`. A claim without one is shown as not run.
        guesses: id -> an answer, for notebooks whose outputs cannot see each other. Where given,
            the form is not asked.
        title: a caption.

    Raises:
        TypeError: a claim that is no text.
        ValueError: no claim, an unknown answer or verdict, a "true if …" without its condition, a
            link that does not lead to a section of a chapter.
        KeyError: a finding or a guess about a claim that is not there.

    Example:
        >>> fire = Finding("false", "900 °C", "01_rnn_limits.ipynb#One-thing-to-keep")
        >>> Ledger({"C1": "Water is wet.", "C2": "Fire is cold."}, {"C2": fire}, {"C2": "false"})
        2 claims: 0 true, 0 true if …, 1 false, 1 not run. 1 of your 1 guesses agree with this run.
    """

    _entry, _start = "ledger", "mountLedger"

    def __init__(
        self,
        claims: Mapping[str, str],
        findings: Mapping[str, Finding],
        guesses: Mapping[str, str] | None = None,
        *,
        title: str | None = None,
    ):
        self.claims, self.title = as_claims(claims), as_title(title)
        self.findings = {as_label(name): _finding(name, found) for name, found in findings.items()}
        self.guesses = {as_label(name): answer for name, answer in (guesses or {}).items()}
        for name, answer in self.guesses.items():
            one_of(answer, ANSWERS, f"the guess about {name}")
        for name in (*self.findings, *self.guesses):
            if name not in self.claims:
                raise KeyError(f"no claim is called {name!r}; accepted are {list(self.claims)}")

    def counts(self) -> dict[str, int]:
        """How often each verdict was given."""
        given = [found.verdict for found in self.findings.values()]
        return {verdict: given.count(verdict) for verdict in ANSWERS}

    def agreeing(self) -> int:
        """How many of the guesses given in Python are what the run said."""
        return sum(
            name in self.findings and answer == self.findings[name].verdict
            for name, answer in self.guesses.items()
        )

    def summary(self) -> str:
        """The ledger in a sentence or two."""
        counts = [f"{count} {verdict}" for verdict, count in self.counts().items()]
        if missing := len(self.claims) - len(self.findings):
            counts.append(f"{missing} not run")
        return f"{len(self.claims)} claims: {', '.join(counts)}.{self._agreement()}"

    def describe(self) -> str:
        """Every row in words."""
        rows = (
            f"{name}: {claim} {_verdict(self.findings.get(name))}."
            for name, claim in self.claims.items()
        )
        return f"{self.summary()} {' '.join(rows)}"

    def _agreement(self) -> str:
        made = sum(name in self.findings for name in self.guesses)
        return f" {self.agreeing()} of your {made} guesses agree with this run." if made else ""

    def _caption(self) -> str:
        return self.title or "The ledger"

    def _still(self) -> str:
        heads = ["claim", "what it says", "verdict of this run", "what decided it", "more"]
        if self.guesses:
            heads.insert(2, "your guess")
        head = "".join(f'<th scope="col" style="{CELL}">{name}</th>' for name in heads)
        rows = "".join(self._row(name) for name in self.claims)
        label = escape(self._caption())
        return (
            f'<figcaption style="margin:4px 12px">{label}</figcaption>'
            f'<div tabindex="0" role="group" aria-label="{label}" style="overflow-x:auto">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
            f'<p style="margin:4px 12px">{escape(self.summary())}</p>'
        )

    def _row(self, name: str) -> str:
        found = self.findings.get(name)
        cells = [escape(self.claims[name]), escape(_verdict(found))]
        if self.guesses:
            cells.insert(1, escape(self._guess(name)))
        cells += [escape(found.numbers), _anchor(found.link)] if found else ["", ""]
        inner = "".join(f'<td dir="auto" style="{CELL}">{cell}</td>' for cell in cells)
        head = f'<th scope="row" style="{CELL}">{escape(name)}</th>'
        return f'<tr data-claim="{escape(name)}">{head}{inner}</tr>'

    def _guess(self, name: str) -> str:
        answer, found = self.guesses.get(name), self.findings.get(name)
        if answer is None or found is None:
            return answer or "–"
        return f"{answer} ({'agrees' if answer == found.verdict else 'differs'})"

    def _payload(self) -> dict:
        verdicts = {name: found.verdict for name, found in self.findings.items()}
        return {"given": bool(self.guesses), "key": key_of(self.claims), "verdicts": verdicts}


def _finding(name: str, found: Finding) -> Finding:
    found = Finding(*found)
    one_of(found.verdict, ANSWERS, f"the verdict on {name}")
    if found.verdict == "true if …" and not found.condition:
        raise ValueError(f"the condition of {name}: got none; 'true if …' needs one")
    if not _LINK.fullmatch(found.link):
        raise ValueError(
            f"the link of {name}: got {found.link!r}; accepted is a section of a chapter, such as "
            "'03_multi_head.ipynb#A-listing-taken-apart'"
        )
    return found._replace(numbers=as_label(found.numbers), condition=as_label(found.condition))


def _verdict(found: Finding | None) -> str:
    if found is None:
        return "not run"
    return f"true if {found.condition}" if found.verdict == "true if …" else found.verdict


def _anchor(link: str) -> str:
    parts = _LINK.fullmatch(link)
    section = f"chapter {parts['chapter']}: {parts['heading'].replace('-', ' ')}"
    style = "color:inherit;text-decoration:underline"
    return f'<a href="{escape(link)}" style="{style}">{escape(section)}</a>'
