"""Make data/lookup.json: how one and two layers learn to look a name up. For chapter 08.

    accuracy   by number of layers and seed: after every 20 steps, on new lists

A list of 8 pairs, a name and a thing, each a token of its own; then 24 questions and answers, each
a name of the list and its thing. What is asked for is the thing after a name (Arora et al., 2023,
*Zoology*, call it multi-query associative recall).

    python data/scripts/lookup.py        (two minutes on one free core)
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F

from attn_edu.models import LanguageModel
from attn_edu.training import train

TARGET = Path(__file__).parents[1] / "lookup.json"
NAMES, THINGS, PAIRS, QUESTIONS = 32, 32, 8, 24
LAYERS, SEEDS = (1, 2), range(3)
STEPS, EVERY, BATCH, TESTED, LR = 400, 20, 64, 200, 3e-3
WIDTH, HEADS = 64, 2


def lists(count: int, generator: torch.Generator) -> torch.Tensor:
    """``(count, 2 · (PAIRS + QUESTIONS))`` tokens; names come first in the vocabulary."""
    names = torch.rand(count, NAMES, generator=generator).argsort(dim=-1)[:, :PAIRS]
    things = NAMES + torch.randint(THINGS, (count, PAIRS), generator=generator)
    asked = torch.randint(PAIRS, (count, QUESTIONS), generator=generator)
    order = torch.cat([torch.arange(PAIRS).expand(count, -1), asked], dim=-1)
    pairs = torch.stack([names.gather(1, order), things.gather(1, order)], dim=-1)
    return pairs.flatten(1)  # name, thing, name, thing, …


def flat(logits: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits at the names that ask ``(…, vocabulary)``, and the things that should come ``(…)``."""
    first = 2 * PAIRS
    return logits[:, first::2].flatten(0, 1), tokens[:, first + 1 :: 2].flatten()


def run(layers: int, seed: int, steps: int = STEPS) -> list[float]:
    """Train a fresh model; its accuracy after every EVERY steps."""
    torch.manual_seed(seed)
    length = 2 * (PAIRS + QUESTIONS)
    options = {"d_feedforward": WIDTH, "tie": False}
    model = LanguageModel(NAMES + THINGS, WIDTH, HEADS, layers, length, **options)
    test = lists(TESTED, torch.Generator().manual_seed(1234))
    history = train(
        model,
        lambda generator: (lists(BATCH, generator),) * 2,
        loss=lambda logits, tokens: F.cross_entropy(*flat(logits, tokens)),
        steps=steps,
        lr=LR,
        seed=seed,
        progress=False,
        evaluate=lambda: score(model, test),
        every=EVERY,
    )
    return [round(value, 3) for _, value in history.scores]


@torch.no_grad()
def score(model: LanguageModel, tokens: torch.Tensor) -> float:
    """The share of questions whose most likely answer is the right one."""
    logits, wanted = flat(model(tokens), tokens)
    return (logits.argmax(dim=-1) == wanted).double().mean().item()


def main():
    torch.set_num_threads(1)
    found = {"every": EVERY, "accuracy": {}}
    for layers in LAYERS:
        found["accuracy"][str(layers)] = [run(layers, seed) for seed in SEEDS]
        print(layers, found["accuracy"][str(layers)])
    TARGET.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
