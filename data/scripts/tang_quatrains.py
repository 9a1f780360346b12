"""Make data/tang_quatrains.txt.gz: quatrains of the Tang, one in ten of them held out. Chapter 05.

The poems are those of the *Complete Tang Poems* in traditional characters, as the package
chinese-poetry 2.0.1 carries them. Kept are poems of four lines with seven characters each, all of
them in Unicode's block of common Chinese characters. A poem is left out if it has a line in common
with one before it, or the same character in 12 or more of its 28 places: many poems have come down
in several versions. Held out are those whose SHA-256 divides by ten. A line of the file is a line
of a poem, an empty line parts two poems, a form feed parts the held-out poems from the others.

    npm pack chinese-poetry@2.0.1
    python data/scripts/tang_quatrains.py chinese-poetry-2.0.1.tgz
"""

import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
from pathlib import Path

import torch

SOURCE = "25b549e46919c3a0569db6b68ddc96956b04a484ea4518ad2bbd4f137e307e86"
FILES = re.compile(r"package/dist/quantangshi/poet\.tang\.(\d+)\.json")
LINE = "([\u4e00-\u9fff]{7})"
FORM = re.compile(f"{LINE}，{LINE}。{LINE}，{LINE}。")
ALIKE = 12
TARGET = Path(__file__).parents[1] / "tang_quatrains.txt.gz"


def of_the_form(packed: bytes) -> list[tuple[str, ...]]:
    """All poems of four lines of seven, in the order of the package."""
    texts = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        for member in files:
            if name := FILES.fullmatch(member.name):
                texts[int(name[1])] = json.load(files.extractfile(member))
    poems = ("".join(poem["paragraphs"]) for number in sorted(texts) for poem in texts[number])
    return [found.groups() for poem in poems if (found := FORM.fullmatch(poem))]


def without_versions(poems: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The poems that are not another version of one before them."""
    known, new = set(), []
    for poem in poems:
        if known.isdisjoint(poem):
            new.append(poem)
        known.update(poem)
    codes = torch.tensor([[ord(c) for c in "".join(poem)] for poem in new], dtype=torch.int32)
    kept = [i for i, row in enumerate(codes) if ((codes[:i] == row).sum(dim=1) < ALIKE).all()]
    return [new[i] for i in kept]


def is_held_out(poem: tuple[str, ...]) -> bool:
    return int(hashlib.sha256("".join(poem).encode()).hexdigest(), 16) % 10 == 0


def main(archive: str):
    packed = Path(archive).read_bytes()
    if hashlib.sha256(packed).hexdigest() != SOURCE:
        raise SystemExit(f"{archive} is not the package chinese-poetry 2.0.1.")
    found = of_the_form(packed)
    poems = without_versions(found)
    held_out = [poem for poem in poems if is_held_out(poem)]
    learn = [poem for poem in poems if not is_held_out(poem)]
    print(f"{len(found)} of the form; {len(learn)} to learn from, {len(held_out)} held out")
    parts = ("\n\n".join("\n".join(poem) for poem in part) for part in (learn, held_out))
    TARGET.write_bytes(gzip.compress("\f".join(parts).encode(), 9, mtime=0))
    print(TARGET.stat().st_size, hashlib.sha256(TARGET.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1])
