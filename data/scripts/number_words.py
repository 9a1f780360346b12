"""Make data/number_words.txt.gz: number words in English and in German. For chapter 12.

A line holds the part that a pair belongs to, the English words, and the pieces of the German word,
which German writes without a space: neun und sechzig. The parts:

    train     numbers of at most nine English words, without any of the pairs below
    new       the same kind, other numbers
    pairs     with one of sixteen pairs of ten and unit that train never puts together (69, say)
    longer    ten and eleven English words

num2words 0.5.14 makes the words. It has a slip in German that is mended here: 101,000 is
"einhunderteintausend", without the s of "eins".

    pip download --no-deps num2words==0.5.14
    python data/scripts/number_words.py num2words-0.5.14-py3-none-any.whl
"""

import gzip
import hashlib
import random
import re
import sys
from pathlib import Path

WHEEL = "1c8e5b00142fc2966fd8d685001e36c4a9911e070d1b120e1beb721fa1edb33d"
TARGET = Path(__file__).parents[1] / "number_words.txt.gz"
SIZES = {"train": 12_000, "new": 1_000, "pairs": 600, "longer": 600}
LONGEST = 9  # English words in train
# For each ten two units that it never meets in train; every unit still meets some other ten.
UNSEEN = {10 * t + u for t in range(2, 10) for u in ((t + 6) % 9 + 1, (t + 2) % 9 + 1)}
PIECES = re.compile(
    r"(?:drei|vier|fünf|sech|sieb|acht|neun)zehn|zehn|elf|zwölf|"
    r"(?:zwan|vier|fünf|sech|sieb|acht|neun)zig|dreißig|hundert|tausend|und|"
    r"eins?|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
)


def english(number: int) -> str:
    from num2words import num2words

    return num2words(number, lang="en").replace("-", " ").replace(",", "")


def german(number: int) -> str:
    from num2words import num2words

    return " ".join(pieces(num2words(number, lang="de").replace("einstausend", "eintausend")))


def pieces(word: str) -> list[str]:
    """What a German number word is joined from; a word such as *sechzehn* stays whole."""
    found = PIECES.findall(word)
    if "".join(found) != word:
        raise ValueError(f"word: got {word!r}; accepted is a German number word.")
    return found


def unseen(number: int) -> bool:
    """Whether its hundreds or its thousands end in a pair that train never shows."""
    return number % 100 in UNSEEN or number // 1000 % 100 in UNSEEN


def part_of(number: int) -> str:
    longer = len(english(number).split()) > LONGEST
    if unseen(number):
        return "" if longer else "pairs"
    return "longer" if longer else "train"


def drawn() -> dict[str, list[int]]:
    """The numbers of each part: as many digits as others in each, as far as there are any."""
    chance = random.Random(12)
    wanted = {"train": SIZES["train"] + SIZES["new"]} | {p: SIZES[p] for p in ("pairs", "longer")}
    found = {part: {} for part in wanted}  # a dict keeps the order of what is drawn
    while any(len(found[part]) < size for part, size in wanted.items()):
        digits = chance.randint(2, 6)
        number = chance.randrange(10 ** (digits - 1), 10**digits) if digits > 2 else 0
        number = number or chance.randrange(1, 100)
        part = part_of(number)
        if part and len(found[part]) < wanted[part]:
            found[part][number] = None
    numbers = {part: list(values) for part, values in found.items()}
    both = numbers.pop("train")
    small = [n for n in both if n < 20]  # every word must be met in training
    rest = [n for n in both if n >= 20]
    new = set(rest[-SIZES["new"] :])
    return {"train": small + [n for n in rest if n not in new], "new": sorted(new), **numbers}


def main(wheel: str):
    if hashlib.sha256(Path(wheel).read_bytes()).hexdigest() != WHEEL:
        raise SystemExit(f"{wheel} is not the wheel of num2words 0.5.14.")
    sys.path.insert(0, wheel)
    lines = [
        f"{part}\t{english(number)}\t{german(number)}"
        for part, numbers in drawn().items()
        for number in sorted(numbers)
    ]
    text = "\n".join(lines) + "\n"
    TARGET.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    print(len(lines), TARGET.stat().st_size, hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])
