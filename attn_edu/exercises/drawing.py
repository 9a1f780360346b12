"""Draw a counter-example: yours, expected, the difference. Legible on light and on dark."""

from html import escape

import torch
from torch import Tensor

_COLOURS = {"passed": "#009E73", "not attempted": "#8a8a8a"}  # Okabe & Ito (2008)
_MISTAKE = "#D55E00"
_MOST = 8  # rows and columns of a drawing
_CELL = "padding:2px 8px;text-align:right;border:1px solid #8a8a8a80;background:transparent"
_WRONG = "background:#D55E0040;font-weight:bold"


def number(value: object) -> str:
    """Three figures, four from 1000 on; no sign on a zero."""
    if isinstance(value, bool):
        return str(value)
    if not isinstance(value, float):
        return str(value)
    return f"{value + 0.0:.{3 if abs(value) < 1000 else 4}g}"


def as_tensor(value: object) -> Tensor:
    return value if isinstance(value, Tensor) else torch.tensor(float(value)).double()


def differs(yours: Tensor, expected: Tensor) -> Tensor:
    """Where two tensors of one shape differ beyond rounding; NaN differs from everything."""
    return ~torch.isclose(yours.double(), expected.double(), rtol=1e-4, atol=1e-4)


def matrices(yours: Tensor, expected: Tensor) -> tuple[str, list[tuple[str, Tensor]]]:
    """Two-dimensional slices to be shown side by side, and which slice it is.

    When the shapes agree it is the slice with the largest difference, and the difference itself
    comes third. When they do not, or there is nothing in it, it is the first slice of each.
    """
    if yours.shape != expected.shape or not yours.numel():
        first = [(name, _first(x)) for name, x in (("yours", yours), ("expected", expected))]
        return "", first
    gap = yours.double() - expected.double()
    size = gap.abs().nan_to_num(nan=torch.inf)
    where = ()
    if size.ndim > 2:
        flat = int(size.flatten(-2).amax(dim=-1).flatten().argmax())
        where = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), size.shape[:-2]))
    trio = ("yours", yours), ("expected", expected), ("difference", gap)
    place = f"slice [{', '.join(map(str, where))}, :, :]" if where else ""
    return place, [(name, _matrix(x[where])) for name, x in trio]


def _matrix(x: Tensor) -> Tensor:
    return x.reshape(1, -1) if x.ndim < 2 else x


def _first(x: Tensor) -> Tensor:
    while x.ndim > 2:
        x = x[0] if len(x) else x.new_zeros(0, 0)
    return _matrix(x)


def _rows(matrix: Tensor) -> list[list[str]]:
    """The cells as text; dots where rows or columns are left out."""
    rows = [[number(v) for v in row] for row in matrix[:_MOST, :_MOST].tolist()]
    if matrix.shape[1] > _MOST:
        rows = [[*row, "…"] for row in rows]
    if len(matrix) > _MOST:
        rows.append(["…"] * len(rows[0]))
    return rows


def _input(name: str, value: object) -> str:
    if not isinstance(value, Tensor):
        return f"{name} = {value!r}"
    if value.numel() > 12:
        return f"{name}: {' × '.join(map(str, value.shape))} random numbers"
    return f"{name} = {_nested(value.tolist())}"


def _nested(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    return number(value)


def example_as_text(example) -> list[str]:
    """The lines of a plain-text drawing."""
    lines = [f"The smallest case that shows it ({example.note}):"]
    lines += [f"  {_input(name, value)}" for name, value in example.inputs.items()]
    expected = as_tensor(example.expected)
    if example.yours is None:
        parts, place = [("expected", _first(expected))], ""
    else:
        place, parts = matrices(example.yours, expected)
    lines += [f"  {place}"] if place else []
    for name, matrix in parts:
        lines.append(f"  {name}:")
        rows = _rows(matrix)
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines += ["    " + "  ".join(x.rjust(w) for x, w in zip(row, widths)) for row in rows]
    return lines + _printed_lines(example)


def _printed_lines(example) -> list[str]:
    printed = example.printed.splitlines()[:10]
    return ["  it printed:", *(f"    {line[:200]}" for line in printed)] if printed else []


def _table(name: str, matrix: Tensor, wrong: Tensor | None) -> str:
    body = ""
    for i, row in enumerate(_rows(matrix)):
        cells = ""
        for j, text in enumerate(row):
            bad = wrong is not None and i < _MOST and j < _MOST and bool(wrong[i, j])
            style = f"{_CELL};{_WRONG}" if bad and name != "expected" else _CELL
            cells += f'<td style="{style}">{escape(text)}</td>'
        body += f'<tr style="background:transparent">{cells}</tr>'
    return (
        '<table style="display:inline-table;margin:4px 16px 4px 0;border-collapse:collapse;'
        'color:inherit;vertical-align:top"><caption style="text-align:left;padding:0;'
        f'color:inherit">{name}</caption><tbody>{body}</tbody></table>'
    )


def _example_as_html(example) -> str:
    expected = as_tensor(example.expected)
    inputs = "".join(
        f"<div><code>{escape(_input(name, value))}</code></div>"
        for name, value in example.inputs.items()
    )
    wrong, place = None, ""
    if example.yours is None:
        parts = [("expected", _first(expected))]
    else:
        place, parts = matrices(example.yours, expected)
        wrong = differs(parts[0][1], parts[1][1]) if len(parts) == 3 else None
    tables = "".join(_table(name, matrix, wrong) for name, matrix in parts)
    printed = "".join(f"{escape(line)}\n" for line in _printed_lines(example))
    return (
        f"<div>The smallest case that shows it ({escape(example.note)}):</div>{inputs}"
        + (f"<div>{place}</div>" if place else "")
        + f'<div style="overflow-x:auto">{tables}</div>'
        + (f"<pre>{printed}</pre>" if printed else "")
    )


def box(title: str, body: str, colour: str) -> str:
    """A frame with a coloured edge; the words carry the meaning, never the colour alone."""
    return (
        f'<div style="border-left:4px solid {colour};padding:4px 12px;margin:4px 0;'
        f'color:inherit;line-height:1.5"><div><strong>{escape(title)}</strong></div>{body}</div>'
    )


def result_as_html(result) -> str:
    body = "" if result.status == "not attempted" else f"<div>{escape(result.message)}</div>"
    body += _example_as_html(result.example) if result.example else ""
    return box(result.title, body, _COLOURS.get(result.status, _MISTAKE))
