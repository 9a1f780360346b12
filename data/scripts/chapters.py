"""Write data/chapters.json: seconds and peak memory of each chapter, run from top to bottom.

    make bench ARGS="chapters --store"

or, which is the same, this script. It takes some five minutes of a quiet machine.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from attn_edu.cli import bench

if __name__ == "__main__":
    sys.exit(bench.main(["chapters", "--store", *sys.argv[1:]]))
