"""Draw a counter-example: yours, expected, the difference. Legible on light and on dark."""

import re
from dataclasses import dataclass
from html import escape
from textwrap import wrap

import torch
from torch import Tensor

from attn_edu.exercises.comparing import close

_COLOURS = {"passed": "#009E73", "not attempted": "#8a8a8a"}  # Okabe & Ito (2008)
_MISTAKE = "#D55E00"
_MOST = 8  # rows and columns of a drawing
_SHOWN = 16  # numbers of an input; of a larger one the shape
_WIDE = 80  # characters of a line of plain text
_CELL = "padding:2px 8px;text-align:right;border:1px solid #8a8a8a80;background:transparent"
_HEAD = "padding:2px 8px;text-align:right;font-weight:normal;opacity:0.7;background:transparent"
_WRONG = "background:#D55E0040;font-weight:bold"


def number(value: object, digits: int = 3) -> str:
    """Three figures unless told otherwise, one more from 1000 on; no sign on a zero."""
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return f"{value + 0.0:.{digits + (abs(value) >= 1000)}g}"


def as_tensor(value: object) -> Tensor:
    return value if isinstance(value, Tensor) else torch.tensor(float(value)).double()


def matrices(yours: Tensor, expected: Tensor) -> tuple[str, list[tuple[str, Tensor]]]:
    """Two-dimensional slices to be shown side by side, and which slice it is.

    When the shapes agree it is the slice with the largest difference, and the difference itself
    comes third. When they do not, or there is nothing in it, it is the first slice of each.
    """
    if yours.shape != expected.shape or not yours.numel():
        first = [(name, _first(x)) for name, x in (("yours", yours), ("expected", expected))]
        deep = max(yours.ndim, expected.ndim) > 2
        shapes = f"the first slices of {tuple(yours.shape)} and {tuple(expected.shape)}"
        return shapes if deep else "", first
    gap = (yours.double() - expected.double()).masked_fill(close(yours, expected), 0)
    size = gap.abs().nan_to_num(nan=torch.inf)
    where = ()
    if size.ndim > 2:
        flat = int(size.flatten(-2).amax(dim=-1).flatten().argmax())
        where = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), size.shape[:-2]))
    trio = ("yours", yours), ("expected", expected), ("difference", gap)
    place = f"slice [{', '.join(map(str, where))}, :, :]" if where else ""
    return place, [(name, _matrix(x[where])) for name, x in trio]


@dataclass(frozen=True)
class _Picture:
    """The matrices of an example as text: the part of each around the largest difference."""

    place: str
    tables: list[tuple[str, Tensor]]
    wrong: Tensor | None  # where yours and expected differ
    worst: tuple[int, int]  # row and column
    digits: int

    @classmethod
    def of(cls, example) -> "_Picture":
        expected = as_tensor(example.expected)
        if example.yours is None:
            place = f"slice [{'0, ' * (expected.ndim - 2)}:, :]" if expected.ndim > 2 else ""
            return cls(place, [("expected", _first(expected))], None, (0, 0), 3)
        place, tables = matrices(example.yours, expected)
        if len(tables) < 3:
            return cls(place, tables, None, (0, 0), 3)
        (_, yours), (_, right), (_, gap) = tables
        if torch.bool in (yours.dtype, right.dtype):
            tables = tables[:2]  # what differs is plain to see
        wrong = ~close(yours, right)
        size = (gap.abs() * wrong).nan_to_num(nan=torch.inf)
        worst = divmod(int(size.argmax()), size.shape[1])
        return cls(place, tables, wrong, worst, _digits(yours[wrong], right[wrong]))

    def part(self, matrix: Tensor, columns: int = _MOST) -> tuple[range, range]:
        """The rows and columns of a matrix that are shown."""
        most = (_MOST, columns)
        return tuple(_around(*x) for x in zip(self.worst, matrix.shape, most))

    def rows(self, name: str, matrix: Tensor, columns: int = _MOST) -> list[list[str]]:
        """The cells as text; dots where rows or columns are left out."""
        down, across = self.part(matrix, columns)
        digits = 3 if name == "difference" else self.digits
        cells = [[number(matrix[i, j].item(), digits) for j in across] for i in down]
        rows = [_with_dots(row, across, matrix.shape[1], "…") for row in cells]
        dots = ["…"] * len(rows[0]) if rows else []
        return _with_dots(rows, down, len(matrix), dots)


def _digits(yours: Tensor, expected: Tensor) -> int:
    """As many figures as two numbers that differ need to look different."""
    pairs = list(zip(yours.tolist(), expected.tolist()))
    for digits in range(3, 12):
        if all(number(a, digits) != number(b, digits) for a, b in pairs):
            return digits
    return 3


def _around(index: int, size: int, most: int) -> range:
    start = 0 if index < most else min(index - most // 2, size - most)
    return range(start, min(size, start + most))


def _with_dots(shown: list, part: range, size: int, dots: object) -> list:
    return [dots] * (part.start > 0) + shown + [dots] * (part.stop < size)


def _matrix(x: Tensor) -> Tensor:
    return x.reshape(1, -1) if x.ndim < 2 else x


def _first(x: Tensor) -> Tensor:
    while x.ndim > 2:
        x = x[0] if len(x) else x.new_zeros(0, 0)
    return _matrix(x)


def _input(name: str, value: object) -> str:
    if not isinstance(value, Tensor):
        return f"{name} = {value!r}"
    if value.numel() > _SHOWN:
        return f"{name}: {' × '.join(map(str, value.shape))} numbers"
    return f"{name} = {_nested(value.tolist())}"


def _nested(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    return number(value)


def lines(text: str) -> list[str]:
    """The text in lines of at most 80 characters; a longer word stays in one piece."""
    return wrap(text, _WIDE, break_long_words=False, break_on_hyphens=False)


def example_as_text(example) -> list[str]:
    """The lines of a plain-text drawing, at most 80 characters wide."""
    lines = [f"The smallest case that shows it ({example.note}):"]
    for name, value in example.inputs.items():
        lines += wrap(_input(name, value), _WIDE, initial_indent="  ", subsequent_indent="    ")
    picture = _Picture.of(example)
    lines += [f"  {picture.place}"] if picture.place else []
    columns = next((n for n in range(_MOST, 1, -1) if _fits(picture, n)), 1)
    for name, matrix in picture.tables:
        lines.append(f"  {name}{_cut(*picture.part(matrix, columns), matrix)}:")
        lines += _aligned(picture.rows(name, matrix, columns))
    return lines + _printed_lines(example)


def _fits(picture: _Picture, columns: int) -> bool:
    texts = (_aligned(picture.rows(*table, columns)) for table in picture.tables)
    return all(len(line) <= _WIDE for lines in texts for line in lines)


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["    " + "  ".join(x.rjust(w) for x, w in zip(row, widths)) for row in rows]


def _cut(down: range, across: range, matrix: Tensor) -> str:
    """Which rows and columns are shown, where it is not the first ones."""
    said = [
        f"{name} {part.start} to {part.stop - 1} of {size}"
        for name, part, size in zip(("rows", "columns"), (down, across), matrix.shape)
        if part.start
    ]
    return f" ({', '.join(said)}, counted from 0)" if said else ""


def _printed_lines(example) -> list[str]:
    printed = example.printed.splitlines()[:10]
    shown = [line if len(line) <= _WIDE - 4 else f"{line[: _WIDE - 5]}…" for line in printed]
    return ["  it printed:", *(f"    {line}" for line in shown)] if printed else []


def _table(name: str, matrix: Tensor, picture: _Picture) -> str:
    """A table with the numbers of its rows and columns, as in an index, for headings."""
    down, across = picture.part(matrix)
    rows = picture.rows(name, matrix)
    heads, sides = (
        _with_dots(list(map(str, part)), part, size, "")
        for part, size in zip((across, down), matrix.shape[::-1])
    )
    body = ""
    for i, row in zip(sides, rows):
        cells = f'<th scope="row" style="{_HEAD}">{i}</th>' if len(matrix) > 1 else ""
        for j, text in zip(heads, row):
            marked = name != "expected" and picture.wrong is not None and i and j
            bad = marked and bool(picture.wrong[int(i), int(j)])
            style = f"{_CELL};{_WRONG}" if bad else _CELL
            cells += f'<td style="{style}">{escape(text)}</td>'
        body += f'<tr style="background:transparent">{cells}</tr>'
    top = "".join(f'<th scope="col" style="{_HEAD}">{j}</th>' for j in heads)
    corner = "<td></td>" if len(matrix) > 1 else ""
    head = f"<thead><tr>{corner}{top}</tr></thead>" if matrix.shape[1] > 1 else ""
    return (
        '<table style="display:inline-table;margin:4px 16px 4px 0;border-collapse:collapse;'
        'color:inherit;vertical-align:top"><caption style="text-align:left;padding:0;'
        f'color:inherit">{name}</caption>{head}<tbody>{body}</tbody></table>'
    )


def _example_as_html(example) -> str:
    inputs = "".join(
        f"<div><code>{escape(_input(name, value))}</code></div>"
        for name, value in example.inputs.items()
    )
    picture = _Picture.of(example)
    tables = "".join(_table(name, matrix, picture) for name, matrix in picture.tables)
    printed = "".join(f"{escape(line)}\n" for line in _printed_lines(example))
    return (
        f"<div>The smallest case that shows it ({escape(example.note)}):</div>{inputs}"
        + (f"<div>{picture.place}</div>" if picture.place else "")
        + f'<div style="overflow-x:auto">{tables}</div>'
        + (f"<pre>{printed}</pre>" if printed else "")
    )


def prose(text: str) -> str:
    """A sentence as HTML, with `code` set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def box(title: str, body: str, colour: str) -> str:
    """A frame with a coloured edge; the words carry the meaning, never the colour alone."""
    return (
        f'<div style="border-left:4px solid {colour};padding:4px 12px;margin:4px 0;'
        f'color:inherit;line-height:1.5"><div><strong>{escape(title)}</strong></div>{body}</div>'
    )


def result_as_html(result) -> str:
    body = "" if result.status == "not attempted" else f"<div>{prose(result.message)}</div>"
    body += _example_as_html(result.example) if result.example else ""
    return box(result.title, body, _COLOURS.get(result.status, _MISTAKE))
