"""What the numbers of a map are, and the words for it."""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """Words for one kind of map."""

    what: str
    noun: str
    row: str  # what a row does with its columns
    most: str  # what it does with the one that has its largest number
    column: str  # what a column does with its rows
    hidden: str  # what a hatched cell is
    sides: tuple[str, str, str, str]  # one row, several; one column, several

    def size(self, n: int, m: int) -> str:
        """``n`` rows and ``m`` columns in words."""
        one_row, rows, one_column, columns = self.sides
        of_rows = one_row if n == 1 else f"{n} {rows}"
        return f"{of_rows}, {one_column if m == 1 else f'{m} {columns}'}"


MEANINGS = {
    "attention": Meaning(
        "Attention map", "weights", "looks at", "looks most at", "is looked at by", "masked",
        ("1 word asks (row)", "words ask (rows)", "1 is looked at (column)",
         "are looked at (columns)"),
    ),
    "influence": Meaning(
        "Influence map", "numbers", "depends on", "depends most on", "moves", "zero",
        ("1 output (row)", "outputs (rows)", "1 input (column)", "inputs (columns)"),
    ),
    "numbers": Meaning(
        "Numbers", "numbers", "is largest for", "is largest for", "is largest in", "left out",
        ("1 row", "rows", "1 column", "columns"),
    ),
}  # fmt: skip
ATTENTION = MEANINGS["attention"]
