"""A class summary as text, as a table for a notebook, and as a page of its own."""

import re
import textwrap
from html import escape

from attn_edu.assign.outcomes import OUTCOMES
from attn_edu.assign.summary_picture import COLOURS, narrow, wide

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title><style>
:root {{ color-scheme: light dark; --ink: #1b1f27; --quiet: #5a6270; --line: #c3c9d3;
  --paper: #fff }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e8eaee; --quiet: #aab1bd; --line: #4a515e; --paper: #14171c }} }}
body {{ margin: 1rem auto; max-width: 52rem; padding: 0 1rem; line-height: 1.5;
  font-family: system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
  color: var(--ink); background: var(--paper) }}
h1 {{ font-size: 1.3em }} h2 {{ font-size: 1.1em; margin-top: 2em }} h3 {{ font-size: 1em }}
figure {{ margin: 1.5rem 0 }} figcaption {{ margin-top: 1em; font-size: .9em }}
svg {{ display: block; width: 100%; height: auto; max-width: 47rem; overflow: visible }}
svg.narrow {{ display: none; max-width: 30rem }}
@media (max-width: 43rem) {{ svg.wide {{ display: none }} svg.narrow {{ display: block }} }}
.scroll {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: .85em }}
caption {{ text-align: left; padding-bottom: .5em }}
th, td {{ padding: .2em .4em; border-bottom: 1px solid var(--line) }}
dt {{ margin-top: .6em }} dd {{ margin-left: 1.5em }}
.few {{ border-left: 4px solid {few}; padding-left: 1em }}
</style><main><h1>{title}</h1>{warning}<figure>{picture}
<figcaption>n: the submissions. With each bar, the commonest of the known mistakes.</figcaption>
</figure>
<h2>The counts</h2><div class="scroll" tabindex="0" role="region" aria-label="The counts">{table}
</div>{notes}<h2>The mistakes, and why they are mistakes</h2>{mistakes}</main></html>
"""
NOTES = (
    "The six outcomes of an exercise add up to its submissions. A submission with several known "
    "mistakes is one known mistake among the outcomes, and counts at the name of each of them.",
    "Wrong otherwise: in no way that the exercise knows. Wrong form: a wrong shape or type, an "
    "error, no end. Not graded: no result was left behind, because the notebook was not run or its "
    "kernel died.",
)
WARNING = (
    "There are exercises with fewer than {few} submissions. With so few, one may guess who made "
    "which mistake; think of it before you show this to a class."
)
_COLUMN = 'th scope="col"'


def as_text(summary) -> str:
    """Lines of at most 100 characters."""
    head = [tuple(name.rpartition(" ")[::2]) for name in ("exercise", "submissions", *_names())]
    rows = [(row.exercise.id, *map(str, _counts(row))) for row in summary.exercises]
    lines = [tuple(upper for upper, _ in head), tuple(lower for _, lower in head), *rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    table = [
        "  ".join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:]))])
        for cells in lines
    ]
    mistakes = [line for row in summary.exercises for line in _mistakes_as_text(row)]
    parts = [[summary.title], table, ["Known mistakes", *mistakes] if mistakes else []]
    parts += [textwrap.wrap(note, 100) for note in _notes(summary)]
    return "\n\n".join("\n".join(line.rstrip() for line in part) for part in parts if part)


def _notes(summary) -> tuple[str, ...]:
    return (*NOTES, summary.warning) if summary.warning else NOTES


def _names() -> list[str]:
    return list(OUTCOMES.values())


def _counts(row) -> list[int]:
    return [row.submissions, *(row.counts[outcome] for outcome in OUTCOMES)]


def _mistakes_as_text(row) -> list[str]:
    lines = [f"{count:>5} × {name}" for name, count in row.mistakes.items()]
    return [f"  {row.exercise.id}", *lines] if lines else []


def as_table(summary) -> str:
    """The counts and the names of the mistakes, one row an exercise."""
    caption = " ".join((f"{summary.title}.", *_notes(summary)))
    return _table(summary, caption, mistakes=True)


def _table(summary, caption: str, *, mistakes: bool) -> str:
    heads = [_cell(_COLUMN, "left", "exercise")]
    heads += [_cell(_COLUMN, "right", name) for name in ("submissions", *_names())]
    heads += [_cell(_COLUMN, "left", "the known mistakes")] * mistakes
    rows = "".join(_row(row, mistakes) for row in summary.exercises)
    return (
        f'<table><caption style="text-align:left">{escape(caption)}</caption>'
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(row, mistakes: bool) -> str:
    names = "<br>".join(f"{n} × {escape(name)}" for name, n in row.mistakes.items())
    cells = [_cell('th scope="row"', "left", escape(row.exercise.id))]
    cells += [_cell("td", "right", str(n)) for n in _counts(row)]
    cells += [_cell("td", "left", names)] * mistakes
    return f"<tr>{''.join(cells)}</tr>"


def _cell(tag: str, side: str, html: str) -> str:
    style = f"text-align:{side};vertical-align:top"
    return f'<{tag} style="{style}">{html}</{tag.split()[0]}>'


def as_page(summary) -> str:
    """A page that needs nothing from outside: picture, counts, and why each mistake is one."""
    return _PAGE.format(
        title=escape(summary.title),
        few=COLOURS["misconception"],
        warning=f'<p class="few">{escape(summary.warning)}</p>' if summary.warning else "",
        notes="".join(f"<p>{escape(note)}</p>" for note in NOTES),
        picture=wide(summary) + narrow(summary),
        table=_table(summary, "Submissions by exercise and outcome", mistakes=False),
        mistakes="".join(_explained(row) for row in summary.exercises if row.mistakes)
        or "<p>No submission shows a known mistake.</p>",
    )


def _explained(row) -> str:
    entries = "".join(
        f"<dt>{count} × {escape(belief.name)}</dt><dd>{_with_code(belief.why)}</dd>"
        for belief, count in row.named
    )
    title = f"{escape(row.exercise.id)} · {escape(row.exercise.title)}"
    return f"<h3>{title}</h3><dl>{entries}</dl>"


def _with_code(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
