"""A class summary as text, as tables for a notebook, and as a page of its own."""

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
table {{ border-collapse: collapse; font-size: .85em }}
caption {{ text-align: left; padding-bottom: .5em }}
th, td {{ padding: .2em .4em; border-bottom: 1px solid var(--line) }}
dt {{ margin-top: .6em }} dd {{ margin-left: 1.5em }}
.few {{ border-left: 4px solid {few}; padding-left: 1em }}
</style><main><h1>{title}</h1>{warning}<figure>{picture}
<figcaption>n: the submissions. With each bar, the commonest of the known mistakes.</figcaption>
</figure>
<h2>The counts</h2>{table}{notes}
<h2>The mistakes, and why they are mistakes</h2>{mistakes}</main></html>
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


def as_text(summary) -> str:
    """Lines of at most 100 characters."""
    head, *rows = _counts(summary)
    broken = [name.rpartition(" ") for name in head]  # in two lines, at the last space
    lines = [tuple(name[0] for name in broken), tuple(name[2] for name in broken), *rows]
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


def _counts(summary) -> list[tuple[str, ...]]:
    """The headings, then a row for each exercise."""
    rows = [
        (row.exercise.id, *map(str, (row.submissions, *(row.counts[name] for name in OUTCOMES))))
        for row in summary.exercises
    ]
    return [("exercise", "submissions", *OUTCOMES.values()), *rows]


def _mistakes_as_text(row) -> list[str]:
    lines = [f"{count:>5} × {name}" for name, count in row.mistakes.items()]
    return [f"  {row.exercise.id}", *lines] if lines else []


def as_tables(summary) -> str:
    """For a notebook: the counts, then the mistakes that occurred."""
    names = [
        (row.exercise.id, str(count), name)
        for row in summary.exercises
        for name, count in row.mistakes.items()
    ]
    head = ("exercise", "submissions", "mistake")
    tables = _counts_table(summary, summary.title)
    tables += _table("Known mistakes", head, "lrl", names) if names else ""
    return tables + "".join(f"<p>{escape(note)}</p>" for note in _notes(summary))


def _counts_table(summary, caption: str) -> str:
    head, *rows = _counts(summary)
    return _table(caption, head, "l" + "r" * (len(head) - 1), rows)


def _table(caption: str, head: tuple, sides: str, rows: list[tuple]) -> str:
    """Columns to the left or right, as ``sides`` says; the first names the row."""
    first, other = 'th scope="row"', "td"
    lines = "".join(_line([first, *[other] * (len(row) - 1)], sides, row) for row in rows)
    headings = _line(['th scope="col"'] * len(head), sides, head)
    label = f'tabindex="0" role="group" aria-label="{escape(caption)}"'
    return (
        f'<div {label} style="overflow-x:auto"><table><caption style="text-align:left">'
        f"{escape(caption)}</caption><thead>{headings}</thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def _line(tags: list[str], sides: str, cells: tuple) -> str:
    html = ""
    for tag, side, text in zip(tags, sides, cells):
        style = f"text-align:{'left' if side == 'l' else 'right'};vertical-align:bottom"
        html += f'<{tag} style="{style}">{escape(text)}</{tag.split()[0]}>'
    return f"<tr>{html}</tr>"


def as_page(summary) -> str:
    """A page that needs nothing from outside: picture, counts, and why each mistake is one."""
    return _PAGE.format(
        title=escape(summary.title),
        few=COLOURS["misconception"],
        warning=f'<p class="few">{escape(summary.warning)}</p>' if summary.warning else "",
        notes="".join(f"<p>{escape(note)}</p>" for note in NOTES),
        picture=wide(summary) + narrow(summary),
        table=_counts_table(summary, "Submissions by exercise and outcome"),
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
