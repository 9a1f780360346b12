"""Write data/bench.json: the table of `make bench`, and times by length, of this machine.

    .venv/bin/pip install -e ".[bench]"
    make bench ARGS="attention --store"

or, which is the same, this script. It takes some 15 minutes of a quiet machine.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.attention import main

if __name__ == "__main__":
    main(["--store", *sys.argv[1:]])
