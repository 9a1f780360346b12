"""Make data/sentiment.tsv.gz: short sentences that people rated, for chapter 11.

Each sentence was rated by at least 20 people, from -4 (most negative) to 4 (Hutto & Gilbert, 2014,
*VADER*); the mean is kept. Films, products and tweets are taken, and the fourth source, a
newspaper, is left out. From these:

    kept      3 to 24 words between spaces, rating below -0.5 or above 0.5
    cleaned   HTML entities and runs of spaces; names (@…), links, addresses and telephone numbers
              become @user, http, mail and number
    dropped   a sentence that shares half or more of its triples of words with one kept before;
              one with a coarse word that a class would not read aloud (about a hundred)
    split     by a hash of the sentence, or of the review that it stands in: 70 % to learn from,
              10 % to choose settings with, 20 % to judge by

A line is: part, source, rating, sentence. The only choice made for size is that of short sentences.

    pip download --no-deps vaderSentiment==0.5
    python data/scripts/sentiment.py vaderSentiment-0.5.zip
"""

import gzip
import hashlib
import html
import io
import re
import sys
import tarfile
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

from attn_edu.datasets.sentiment import split_words

SOURCES = {"film": "movieReviewSnippets", "product": "amazonReviewSnippets", "tweet": "tweets"}
INNER = "vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz"
PACKED = "5d97c37f3ef6e24eef331122e055dbedafeb6a56abfce0608b326701116ea49a"
TARGET = Path(__file__).parents[1] / "sentiment.tsv.gz"
SHORTEST, LONGEST, LEAST = 3, 24, 0.5
COARSE = re.compile(r"fuck|shit|bitch|cunt|nigg(?!l)|fagg?\b|whore|slut|asshole|pussy", re.I)
PRIVATE = {
    r"\S+@\S+\.\w+": "mail",
    r"@\w+": "@user",
    r"https?:\S*": "http",
    r"\d{3}[-. )]+\d{3}[-. ]+\d{4}": "number",
}


def cleaned(text: str) -> str:
    """One line without entities, names, links and telephone numbers."""
    text = html.unescape(text).replace("''", '"')
    for private, word in PRIVATE.items():
        text = re.sub(private, word, text)
    return " ".join(text.split())


def part_of(group: str) -> str:
    """Where a sentence or a review goes: its name alone decides."""
    share = int(hashlib.sha256(group.encode("utf-8")).hexdigest()[:8], 16) / 16**8
    return "train" if share < 0.7 else "validation" if share < 0.8 else "test"


def triples(text: str) -> set[tuple[str, ...]]:
    """Every three words in a row; all words at once where there are fewer."""
    words = split_words(text)
    return set(zip(words, words[1:], words[2:])) or {tuple(words)}


class Copies:
    """Remembers triples of words, and finds a sentence that was nearly there before."""

    def __init__(self):
        self.holders, self.count = defaultdict(list), 0

    def is_new(self, text: str) -> bool:
        """Whether no sentence before shares half of the triples; if so it is remembered."""
        mine = triples(text)
        shared = Counter(holder for triple in mine for holder in self.holders[triple])
        if shared and max(shared.values()) >= len(mine) / 2:
            return False
        for triple in mine:
            self.holders[triple].append(self.count)
        self.count += 1
        return True


def rows(folder: tarfile.TarFile):
    """Part, source, rating and sentence, of everything that is kept."""
    copies = Copies()
    for source, name in SOURCES.items():
        file = folder.extractfile(f"hutto_ICWSM_2014/{name}_GroundTruth.txt")
        for line in file.read().decode("utf-8").splitlines():
            number, rating, text = line.split("\t")
            text, rating = cleaned(text), round(float(rating), 2)
            fits = SHORTEST <= len(text.split()) <= LONGEST and not COARSE.search(text)
            if fits and abs(rating) > LEAST and copies.is_new(text):
                review = f"product {number.split('_')[0]}"
                yield part_of(review if source == "product" else text), source, rating, text


def main(archive: str):
    packed = Path(archive).read_bytes()
    if hashlib.sha256(packed).hexdigest() != PACKED:
        raise SystemExit(f"{archive} is not the source package vaderSentiment 0.5.")
    inner = zipfile.ZipFile(io.BytesIO(packed)).read(INNER)
    with tarfile.open(fileobj=io.BytesIO(inner)) as folder:
        kept = list(rows(folder))
    lines = "".join(f"{part}\t{source}\t{rating}\t{text}\n" for part, source, rating, text in kept)
    TARGET.write_bytes(gzip.compress(lines.encode("utf-8"), 9, mtime=0))
    print(Counter(row[0] for row in kept), Counter(row[1] for row in kept))
    print(TARGET.stat().st_size, hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])
