"""Make assignments of chapters: the folder of an nbgrader course."""

import argparse
import os
import sys
from pathlib import Path

from attn_edu.cli.environment import quiet_variables

DEFAULT = "assignments"
CHAPTERS = "../notebooks"  # as seen from a folder that is unpacked in the clone


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m attn_edu assign",
        description="Write assignments for some chapters: for the instructor, and to hand out.",
    )
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="02, or 02_single_head")
    parser.add_argument("--out", default=DEFAULT, metavar="DIR", help="default: %(default)s")
    parser.add_argument("--seed", type=int, help="the same random inputs for the points each time")
    parser.add_argument(
        "--chapters-at",
        default=CHAPTERS,
        metavar="ADDRESS",
        help="where students find the chapters (default: %(default)s, beside the unpacked folder)",
    )
    given = parser.parse_args(arguments)
    os.environ.update(quiet_variables())

    from attn_edu.assign import folder, tools
    from attn_edu.assign.leaks import LeakError

    try:
        several = folder.chosen(given.chapters)
        tools.activate()
        made = folder.assign(
            several, Path(given.out), seed=given.seed, chapters_at=given.chapters_at
        )
    except (ValueError, OSError, folder.AssignError, LeakError, tools.ToolsError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    for one in made:
        count = len(one.chapter.exercises)
        exercises = "1 exercise" if count == 1 else f"{count} exercises"
        print(f"{one.chapter.file}: {exercises}, {one.points} points; {one.handout}")
    print(f"What comes next stands in {Path(given.out) / 'README.md'}")
    return 0
