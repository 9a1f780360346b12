"""Write data/hub.json: what ten students on a JupyterHub take of memory.

    make bench ARGS="hub --store"

or, which is the same, this script. It takes half an hour, and needs what
hub/README.md has installed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from attn_edu.cli import bench

if __name__ == "__main__":
    sys.exit(bench.main(["hub", "--store", *sys.argv[1:]]))
