"""How far you are: kept beside the notebook, in one small hidden file."""

import contextlib
import json
import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

from attn_edu.exercises import drawing
from attn_edu.exercises.catalogue import exercise, exercises
from attn_edu.exercises.result import Result

FILE = ".attn_edu_progress.json"
_BEST = ("not attempted", "form", "wrong", "misconception", "passed")
_unwritten: dict[str, dict] = {}  # what this session knows, while the folder cannot be written


@dataclass(frozen=True, repr=False)
class Note:
    """A text that shows itself: a hint, a solution, the table of progress."""

    title: str
    text: str
    code: str = ""
    html: str = ""

    def __str__(self) -> str:
        return "\n\n".join(part for part in (self.title, self.code, self.text) if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        # a long line scrolls: JupyterLab would break it in the middle of a word
        region = f'tabindex="0" role="group" aria-label="{escape(self.title)}"'
        line = f'<code style="white-space:pre">{escape(self.code)}</code>'
        code = f'<pre {region} style="overflow-x:auto">{line}</pre>' if self.code else ""
        return drawing.box(
            self.title, code + (self.html or f"<div>{drawing.prose(self.text)}</div>"), "#0072B2"
        )


def _read() -> dict[str, dict]:
    """What the file says, and what could not be written. A broken file counts as empty."""
    known = {}
    with contextlib.suppress(OSError, ValueError, RecursionError):
        stored = json.loads(Path(FILE).read_text(encoding="utf-8"))
        if isinstance(stored, dict):
            known = {name: entry for name, entry in stored.items() if isinstance(entry, dict)}
    return {**known, **_unwritten}


def _write(known: dict[str, dict]) -> None:
    _unwritten.clear()
    whole = Path(f"{FILE}.{os.getpid()}")
    try:
        whole.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        whole.replace(FILE)
    except OSError:  # a folder that cannot be written, or is gone: this session still knows
        _unwritten.update(known)
        with contextlib.suppress(OSError):
            whole.unlink()


def _count(entry: dict, name: str) -> int:
    value = entry.get(name, 0)
    return value if isinstance(value, int) and value >= 0 else 0


def _status(entry: dict) -> str:
    value = entry.get("status")
    return value if value in _BEST else _BEST[0]


def record(result: Result) -> None:
    """Keep the outcome of a check. What was passed once stays passed."""
    if result.status == "not attempted":
        return
    known = _read()
    entry = known.get(result.exercise_id, {})
    passed = "passed" in (_status(entry), result.status)
    entry = {**entry, "attempts": _count(entry, "attempts") + 1}
    known[result.exercise_id] = {**entry, "status": "passed" if passed else result.status}
    _write(known)


def hint(exercise_id: str) -> Note:
    """The next hint. Each call gives one more; the last one stays, and says that it is the last.

    Raises:
        KeyError: an unknown id.
    """
    one = exercise(exercise_id)
    known = _read()
    entry = known.get(one.id, {})
    taken = _count(entry, "hints")
    count = min(taken + 1, len(one.hints))
    known[one.id] = {**entry, "hints": count}
    _write(known)
    text = one.hints[count - 1]
    if taken >= len(one.hints):
        text += f' There is no further hint: `solution("{one.id}")` shows an answer.'
    return Note(f"{one.id} · hint {count} of {len(one.hints)}", text)


def solution(exercise_id: str) -> Note:
    """A right answer and its reasoning.

    Raises:
        KeyError: an unknown id.
    """
    one = exercise(exercise_id)
    return Note(f"{one.id} · solution", one.why, one.source)


def progress() -> Note:
    """A table over all exercises: passed or not, checks run, hints taken."""
    known = _read()
    head = ("exercise", "title", "minutes", "state", "checks", "hints")
    rows = []
    for one in exercises():
        entry = known.get(one.id, {})
        counts = (str(_count(entry, name)) for name in ("attempts", "hints"))
        state = _status(entry).replace("misconception", "a known mistake")
        rows.append((one.id, one.title, str(one.minutes), state, *counts))
    done = sum(row[3] == "passed" for row in rows)
    title = f"{done} of {len(rows)} exercises passed"
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths)).rstrip() for row in (head, *rows)]
    return Note(title, "\n".join(lines), html=_table(head, rows))


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Words to the left, numbers to the right, nothing wrapped."""

    def line(tag: str, cells: tuple[str, ...]) -> str:
        sides = ("right" if text.isdigit() else "left" for text in rows[0])
        style = "text-align:{};white-space:nowrap;padding:2px 8px"
        return "".join(
            f'<{tag} style="{style.format(side)}">{escape(text)}</{tag.split()[0]}>'
            for side, text in zip(sides, cells)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    heading = line('th scope="col"', head)
    scrolls = '<div tabindex="0" role="group" aria-label="Progress" style="overflow-x:auto">'
    return f"{scrolls}<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table></div>"
