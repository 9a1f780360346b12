"""Where attention and recurrent networks take the same time: makes data/crossovers.json.

    python data/scripts/crossovers.py

A forward pass and a step of training of four layers, three widths, lengths up to 8,192: the
processor's time of one thread, the faster of two runs. About six minutes on one free core.
"""

import datetime
import json
import platform
import time
from pathlib import Path

import torch

from attn_edu.costs import collected, matmul_rate, survey

PATH = Path(__file__).parents[1] / "crossovers.json"
KINDS = ("attention", "fused", "lstm", "gru")
WIDTHS = (64, 256, 512)
LENGTHS = tuple(2**k for k in range(6, 14))
LIMITS = {"most_seconds": 6.0, "most_bytes": 600_000_000, "repeats": 2}
LIMITS |= {"clock": time.process_time, "memory": False}


def main() -> dict:
    torch.set_num_threads(1)
    seconds = {}
    for d in WIDTHS:
        for training in (False, True):
            found = survey(KINDS, LENGTHS, d, d // 64, training=training, **LIMITS)
            mode = "training" if training else "forward"
            seconds.setdefault(str(d), {})[mode] = {
                kind: {str(n): float(f"{one.seconds:.3g}") for n, one in at.items()}
                for kind, at in collected(found).items()
            }
            print(d, mode, seconds[str(d)][mode], flush=True)
    return {
        "processor": processor(),
        "torch": torch.__version__.partition("+")[0],
        "date": datetime.date.today().isoformat(),
        "matmul_rate": float(f"{matmul_rate(clock=time.process_time):.3g}"),
        "seconds": seconds,
    }


def processor() -> str:
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text("utf-8").splitlines() if cpus.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


if __name__ == "__main__":
    PATH.write_text(json.dumps(main(), indent=1) + "\n", "utf-8")
