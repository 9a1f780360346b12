"""Grade the submissions in a folder of assignments, and sum up the class."""

import argparse
import os
import sys
from pathlib import Path

from attn_edu.cli.assign import DEFAULT
from attn_edu.cli.environment import quiet_variables


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m attn_edu grade",
        description="Grade what lies in DIR/submitted/STUDENT/ASSIGNMENT.",
    )
    parser.add_argument("folder", nargs="?", default=DEFAULT, metavar="DIR", help="%(default)s")
    parser.add_argument("assignments", nargs="*", metavar="ASSIGNMENT", help="default: all")
    parser.add_argument("--again", action="store_true", help="also what has been graded already")
    given = parser.parse_args(arguments)
    os.environ.update(quiet_variables())

    from attn_edu.assign import tools

    try:
        tools.activate()
        from attn_edu.assign import running

        folder = Path(given.folder)
        rows = running.grade_all(
            folder,
            given.assignments,
            again=given.again,
            tell=lambda line: print(f"running {line} ...", file=sys.stderr, flush=True),
        )
        print(running.table(rows))
        print(f"\nPoints: {folder / 'grades.csv'}; a page for each student: {folder / 'feedback'}")
        _sum_up(folder)
    except (ValueError, OSError, tools.ToolsError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    lost = running.misplaced(folder)
    for path in lost:
        print(f"\nNot graded, for it lies in no STUDENT/ASSIGNMENT/: {path}", file=sys.stderr)
    without = sum(not row.has_grade for row in rows)
    if without:
        print(f"\nWithout a grade, for the reason in the note: {without}", file=sys.stderr)
    return int(without > 0 or len(lost) > 0)


def _sum_up(folder: Path) -> None:
    """The class summary: printed, and written as a page and as a table."""
    from attn_edu.assign.summary import class_summary

    try:
        summary = class_summary(folder)
    except (ValueError, FileNotFoundError) as error:  # nothing could be graded
        print(error, file=sys.stderr)
        return
    summary.to_html(folder / "summary.html")
    summary.to_csv(folder / "summary.csv")
    print(f"\n{summary}\n\nWhich mistakes were made how often: {folder / 'summary.html'}")
