"""A class summary as bars: one an exercise, its mistakes beside it, or below it on a phone."""

import textwrap
from html import escape

from attn_edu.assign.outcomes import OUTCOMES

# Okabe & Ito's (2008) colours, darkened to a contrast of 3 to white and to a dark page. Each
# outcome has a pattern of its own too; what was not graded is left empty.
COLOURS = {
    "passed": "#0077bb",
    "misconception": "#d55e00",
    "wrong": "#b5629b",
    "form": "#a07500",
    "not attempted": "#7b7b7b",
    "not graded": "none",
}
_LINES = {  # drawn over the colour, in the colour of the page
    "misconception": '<path d="M0 8L8 0M-2 2L2-2M6 10L10 6" stroke-width="2"/>',
    "wrong": '<path d="M0 0L8 8M-2 6L2 10M6-2L10 2M0 8L8 0M-2 2L2-2M6 10L10 6"/>',
    "form": '<circle cx="4" cy="4" r="1"/>',
    "not attempted": '<path d="M0 4H8" stroke-width="3"/>',
}
_MOST = 6  # mistakes named at a bar; the page names all
_LINE = 18  # from one line of text to the next
_LETTER = 7  # a letter at 13 px is rarely wider


def wide(summary) -> str:
    """For 720 px: the mistakes stand to the right of the bar."""
    return _picture(summary, "wide", width=720, bar=310, at=345)


def narrow(summary) -> str:
    """For a phone: the mistakes stand under the bar."""
    return _picture(summary, "narrow", width=340, bar=340, at=0)


def describe(summary) -> str:
    """What the picture shows, in words."""
    return " ".join(_sentence(row) for row in summary.exercises)


def _sentence(row) -> str:
    counts = [f"{n} {OUTCOMES[outcome]}" for outcome, n in row.counts.items() if n]
    names = ", ".join(f"{n} × {name}" for name, n in row.mistakes.items())
    mistakes = f" Known mistakes: {names}." if names else ""
    handed_in = f"{row.submissions} submission{'s' * (row.submissions != 1)}"
    return f"{row.exercise.id}, {handed_in}: {', '.join(counts)}.{mistakes}"


def _picture(summary, name: str, *, width: int, bar: int, at: int) -> str:
    parts, y = _legend(name, width)
    most = max(row.submissions for row in summary.exercises)
    for row in summary.exercises:
        total = f'<tspan font-weight="400"> · n = {row.submissions}</tspan>'
        title = f"{escape(row.exercise.id)}{total}"
        parts.append(f'<text x="0" y="{y}" font-weight="600">{title}</text>')
        parts += _bar(row, name, y + 8, bar / most)
        lines = _mistakes(row, (width - at) // _LETTER)
        top = y if at else y + 58
        parts += [_text(at, top + _LINE * i, line) for i, line in enumerate(lines)]
        y += max(72, _LINE * len(lines) + 24) if at else 72 + _LINE * len(lines)
    patterns = "".join(
        f'<pattern id="{name}-{_key(outcome)}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="{colour}"/>'
        f'<g stroke="var(--paper)" fill="var(--paper)">{_LINES.get(outcome, "")}</g></pattern>'
        for outcome, colour in COLOURS.items()
    )
    return (
        f'<svg class="{name}" viewBox="0 0 {width} {y - 24}" role="img" font-size="13"'
        f' aria-labelledby="{name}-title {name}-words" fill="var(--ink)">'
        f'<title id="{name}-title">Outcomes by exercise</title>'
        f'<desc id="{name}-words">{escape(describe(summary))}</desc>'
        f"<defs>{patterns}</defs>{''.join(parts)}</svg>"
    )


def _legend(name: str, width: int) -> tuple[list[str], int]:
    """What the patterns mean, and how far down the bars begin."""
    parts, x, y = [], 0, 0
    for outcome, words in OUTCOMES.items():
        long = 36 + _LETTER * len(words)
        if x + long > width:
            x, y = 0, y + 24
        parts += [_box(name, outcome, x + 1, y + 1, 14, 14), _text(x + 21, y + 13, words)]
        x += long
    return parts, y + 56


def _bar(row, name: str, y: int, unit: float) -> list[str]:
    """The outcomes of one exercise from left to right, and the number of each below it."""
    parts, x, free = [], 0.0, 0.0
    for outcome, count in row.counts.items():
        long, half = count * unit, _LETTER * len(str(count)) / 2
        if count:
            parts.append(_box(name, outcome, x + 1, y, max(long - 2, 1), 16))
        if long > half:  # in a very thin part a number would stand too far from it
            at = max(x + long / 2, free + half)
            parts.append(_text(at, y + 31, str(count), 'text-anchor="middle"'))
            free = at + half + 6
        x += long
    return parts


def _box(name: str, outcome: str, x: float, y: float, width: float, height: float) -> str:
    edge = COLOURS[outcome] if COLOURS[outcome] != "none" else "var(--quiet)"
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' fill="url(#{name}-{_key(outcome)})" stroke="{edge}"/>'
    )


def _mistakes(row, letters: int) -> list[str]:
    """ "3 × softmax over the queries", the commonest ones, in lines of so many letters."""
    named = [f"{n} × {mistake}" for mistake, n in row.mistakes.items()]
    more = len(named) - _MOST
    shown = named[:_MOST] + ([f"and {more} more, below"] if more > 0 else [])
    wraps = (textwrap.wrap(line, letters, subsequent_indent="\u2003 ") for line in shown)
    return [line for lines in wraps for line in lines]


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>'


def _key(outcome: str) -> str:
    return outcome.replace(" ", "-")
