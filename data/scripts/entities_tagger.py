"""Make data/entities_tagger.safetensors: readers that say of each word: person, place or neither.

Chapter 11 reads it. All scores are those of `attn_edu.datasets.judged`. The settings were
chosen on the validation part; the test part has verses that no reader has seen.

    tagger.*           the weights of the first Transformer, float16: 2 layers, 8 heads that start
                       at the words around
    scores.<name>      (seeds, 9) on the test part, for each model of LR
    listed.<name>      the same readers, with the names of the training verses looked up first
    validation.<name>  (seeds, 9) the same readers on the validation part
    tried.<name>       (k, 2) of one run each: learning rate, F1 on the validation part

    python data/scripts/entities_tagger.py        (two processes, of about four minutes each)
"""

import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from attn_edu.datasets import (
    TAGS,
    NamedVerse,
    judged,
    named_verses,
    names_in,
    words_without_names,
)
from attn_edu.models import Tagger, count_parameters, matched_width, tag_loss
from attn_edu.training import train

WIDTH, HEADS, DROPOUT, BATCH, STEPS, SEEDS = 64, 8, 0.2, 32, 800, (0, 1, 2)
TRIED = {  # learning rates
    "transformer": (3e-3, 6e-3, 1e-2, 2e-2),
    "lstm": (3e-3, 6e-3, 1e-2, 2e-2, 3e-2),
    "random start": (3e-3,),
}
LR = {"transformer": 3e-3, "lstm": 2e-2, "rotary": 3e-3, "no positions": 3e-3}
TARGET = Path(__file__).parents[1] / "entities_tagger.safetensors"
TRAIN, VALIDATION, TEST = (named_verses(part) for part in ("train", "validation", "test"))
KNOWN = names_in(TRAIN)
VOCABULARY = words_without_names(TRAIN, at_least=2)


def encoded(verses: Sequence[NamedVerse]) -> tuple[Tensor, Tensor]:
    """Words ``(verses, longest)``, padded with 0, and tags, padded with -1."""
    words = VOCABULARY.encode([verse.words for verse in verses])
    tags = torch.full_like(words, -1)
    for row, verse in zip(tags, verses):
        row[: len(verse.tags)] = torch.tensor([TAGS.index(tag) for tag in verse.tags])
    return words, tags


def some(words: Tensor, tags: Tensor, batch: int = BATCH):
    """A function that draws verses of about the same length, so that little is padding."""
    lengths = (words != 0).sum(dim=-1)

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        rows = torch.randint(len(words), (8 * batch,), generator=generator)
        in_order = rows[lengths[rows].argsort()].view(8, batch)
        rows = in_order[torch.randint(8, (), generator=generator)]
        longest = lengths[rows].max()
        return words[rows, :longest], tags[rows, :longest]

    return draw


@torch.no_grad()
def tagged(model: Tagger, verses: Sequence[NamedVerse], known=None) -> list[list[str]]:
    """The model's tag for every word; names in `known` are looked up instead."""
    model.eval()
    words, _ = encoded(verses)
    best = torch.cat([model(rows).argmax(dim=-1) for rows in words.split(128)]).tolist()
    known = known or {}
    return [
        [known.get(word, TAGS[tag]) for word, tag in zip(verse.words, row)]
        for verse, row in zip(verses, best)
    ]


def transformer(position: str | None = "neighbours", n_heads: int = HEADS) -> Tagger:
    options = {"n_heads": n_heads, "position": position, "dropout": DROPOUT}
    return Tagger(len(VOCABULARY), len(TAGS), WIDTH, **options)


def random_start() -> Tagger:
    """The same, but the numbers of the distances start at random."""
    model = transformer()
    for block in model.layers.blocks:
        torch.nn.init.normal_(block.attention.distance, std=0.5)
    return model


def lstm() -> Tagger:
    """As many parameters as the Transformer, as nearly as an even width allows."""

    def of(half):
        return Tagger(len(VOCABULARY), len(TAGS), 2 * half, reader="lstm", dropout=DROPOUT)

    return of(matched_width(of, count_parameters(transformer())))


MODELS = {
    "transformer": transformer,
    "lstm": lstm,
    "rotary": partial(transformer, position="rotary", n_heads=4),
    "no positions": partial(transformer, position=None),
    "random start": random_start,
}


def taught(name: str, seed: int, lr: float) -> Tagger:
    """One of MODELS after STEPS steps."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model = MODELS[name]()
    options = {"schedule": "cosine", "warmup": 30, "weight_decay": 0.1, "progress": False}
    train(model, some(*encoded(TRAIN)), loss=tag_loss, steps=STEPS, lr=lr, seed=seed, **options)
    return model


def scored(name: str, seed: int, lr: float) -> tuple[dict[str, Tensor], dict[str, dict]]:
    """The weights, and the scores by themselves, with the list, and on the validation part."""
    model = taught(name, seed, lr)
    scores = {
        "scores": judged(TEST, tagged(model, TEST), KNOWN),
        "listed": judged(TEST, tagged(model, TEST, KNOWN), KNOWN),
        "validation": judged(VALIDATION, tagged(model, VALIDATION), KNOWN),
    }
    shown = {key: round(value, 3) for key, value in scores["validation"].items()}
    print(name, seed, lr, shown, flush=True)
    return model.state_dict(), scores


def main():
    jobs = [(name, seed, lr) for name, lr in LR.items() for seed in SEEDS]
    tries = [(name, SEEDS[0], lr) for name, rates in TRIED.items() for lr in rates]
    jobs += [job for job in tries if job not in jobs]
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(jobs, pool.map(scored, *zip(*jobs))))

    weights, scores = found["transformer", SEEDS[0], LR["transformer"]]
    tensors = {f"tagger.{key}": tensor.half() for key, tensor in weights.items()}
    about = {"steps": str(STEPS), "made": "2026-11-30", "measures": json.dumps([*scores["scores"]])}
    for name, lr in LR.items():
        about[f"parameters.{name}"] = str(count_parameters(MODELS[name]()))
        for kind in scores:
            runs = [found[name, seed, lr][1][kind] for seed in SEEDS]
            tensors[f"{kind}.{name}"] = torch.tensor([list(run.values()) for run in runs])
    for name, rates in TRIED.items():
        runs = [(lr, found[name, SEEDS[0], lr][1]["validation"]["f1"]) for lr in rates]
        tensors[f"tried.{name}"] = torch.tensor(runs)
    save_file(tensors, TARGET, metadata=about)


if __name__ == "__main__":
    main()
