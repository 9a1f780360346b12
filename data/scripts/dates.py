"""Make data/dates.txt.gz: dates in English and in Traditional Chinese. For chapter 12.

A line holds the part that a pair belongs to, a date in one of five English patterns, and the same
date as Taiwan writes it in full. Names and patterns are those of Unicode's CLDR, as Babel 2.19.0
carries them (in Chinese without the space before the weekday). The parts:

    train     dates from 1900 to 2099, without any of the days below
    new       the same kind, other dates
    days      one of 36 days of the year, three in each month, that train never shows

    pip download --no-deps Babel==2.19.0
    python data/scripts/dates.py babel-2.19.0-py3-none-any.whl
"""

import datetime
import gzip
import hashlib
import random
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "6d49734aed1d595b2c065d012174df8c83964692f26fc461702281634dd7555b"
TARGET = Path(__file__).parents[1] / "dates.txt.gz"
SIZES = {"train": 12_000, "new": 1_000, "days": 600}
# Locale and pattern: Tuesday, March 5, 2024 · Tuesday, 5 March 2024 · Tue, Mar 5, 2024 ·
# Tue, 5 Mar 2024 · Tue, 3/5/2024
PATTERNS = [
    ("en", "full"),
    ("en_GB", "full"),
    ("en", "yMMMEd"),
    ("en_GB", "yMMMEd"),
    ("en", "yMEd"),
]
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)


def unseen(day: datetime.date) -> bool:
    """Whether train never shows this day of the year."""
    return day.day in {(7 * day.month + shift) % 28 + 1 for shift in (0, 10, 19)}


def english(day: datetime.date, locale: str, pattern: str) -> str:
    from babel.dates import format_date, format_skeleton

    if pattern == "full":
        return format_date(day, "full", locale)
    return format_skeleton(pattern, datetime.datetime(*day.timetuple()[:3]), locale=locale)


def chinese(day: datetime.date) -> str:
    from babel.dates import format_date

    return format_date(day, "full", "zh_Hant_TW").replace(" ", "")


def drawn() -> dict[str, list[tuple[datetime.date, tuple[str, str]]]]:
    """The dates of each part, each with a pattern."""
    chance = random.Random(12)
    days = [FIRST + datetime.timedelta(n) for n in range((LAST - FIRST).days + 1)]
    chance.shuffle(days)
    seen = [day for day in days if not unseen(day)]
    parts = {
        "train": seen[: SIZES["train"]],
        "new": seen[SIZES["train"] : SIZES["train"] + SIZES["new"]],
        "days": [day for day in days if unseen(day)][: SIZES["days"]],
    }
    return {
        part: [(day, chance.choice(PATTERNS)) for day in sorted(chosen)]
        for part, chosen in parts.items()
    }


def main(wheel: str):
    if hashlib.sha256(Path(wheel).read_bytes()).hexdigest() != WHEEL:
        raise SystemExit(f"{wheel} is not the wheel of Babel 2.19.0.")
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        sys.path.insert(0, folder)
        lines = [
            f"{part}\t{english(day, *pattern)}\t{chinese(day)}"
            for part, chosen in drawn().items()
            for day, pattern in chosen
        ]
    text = "\n".join(lines) + "\n"
    TARGET.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    print(len(lines), TARGET.stat().st_size, hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])
