"""Make data/linear_recall.json: what softmax and linear attention recall. For chapter 08.

    recall     accuracy by kind ("softmax", "linear"), d, seed and number of pairs
    patient    the same for linear attention with d = 4 and four times the steps

The task is `attn_edu.datasets.keep_all`, "who has what", with 2, 4, 8 or 16 pairs. All models see
the same stories in the same order; they differ in the kind of attention and in d, the size of query
and key.

    python data/scripts/linear_recall.py        (three to four minutes on one free core)
"""

import json
from pathlib import Path

import torch
from torch import nn

from attn_edu.attention import linear_attention, scaled_dot_product_attention
from attn_edu.datasets import NAMES, THINGS, keep_all
from attn_edu.training import accuracy, train

TARGET = Path(__file__).parents[1] / "linear_recall.json"
KINDS = {"softmax": scaled_dot_product_attention, "linear": linear_attention}
PAIRS, SIZES, SEEDS = (2, 4, 8, 16), (2, 4, 8, 16), range(5)
STEPS, LR, BATCH, TESTED = 1500, 1e-2, 64, 2000
WIDTH, D_VALUE = 32, 16


class Recall(nn.Module):
    """One attention from the question to the pairs of the story, and an answer from what it got."""

    def __init__(self, attention, d: int):
        super().__init__()
        self.attention = attention
        self.name = nn.Embedding(len(NAMES), WIDTH)
        self.thing = nn.Embedding(len(THINGS) + 1, WIDTH)  # one more: the question mark
        self.query, self.key = nn.Linear(WIDTH, d), nn.Linear(WIDTH, d)
        self.value, self.out = nn.Linear(WIDTH, D_VALUE), nn.Linear(D_VALUE, len(THINGS))

    def forward(self, tokens):
        """``(batch, pairs + 1, 2)`` -> logits ``(batch, things)``; the question comes last."""
        x = self.name(tokens[..., 0]) + self.thing(tokens[..., 1])  # (batch, pairs + 1, width)
        story, question = x[:, :-1], x[:, -1:]
        found = self.attention(self.query(question), self.key(story), self.value(story))
        return self.out(found[:, 0])


def draw(generator):
    """A batch of stories and answers; how many pairs they have is drawn as well."""
    n = PAIRS[torch.randint(len(PAIRS), (1,), generator=generator).item()]
    return keep_all(BATCH, n, generator=generator)[:2]


def run(kind: str, d: int, seed: int, steps: int = STEPS) -> list[float]:
    """Train a fresh model; its accuracy for each number of pairs, on the same stories for all."""
    torch.manual_seed(seed)
    model = Recall(KINDS[kind], d)
    train(model, draw, steps=steps, lr=LR, seed=seed, progress=False)
    generator = torch.Generator().manual_seed(1234)
    tests = [keep_all(TESTED, n, generator=generator)[:2] for n in PAIRS]
    return [round(accuracy(model, *test), 4) for test in tests]


def main() -> None:
    torch.set_num_threads(1)
    recall = {}
    for kind in KINDS:
        for d in SIZES:
            runs = [run(kind, d, seed) for seed in SEEDS]
            recall.setdefault(kind, {})[str(d)] = runs
            print(kind, d, runs, flush=True)
    patient = [run("linear", 4, seed, 4 * STEPS) for seed in SEEDS]
    print("patient", patient)
    found = {
        "pairs": PAIRS,
        "sizes": SIZES,
        "d_value": D_VALUE,
        "steps": STEPS,
        "recall": recall,
        "patient": patient,
    }
    TARGET.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
