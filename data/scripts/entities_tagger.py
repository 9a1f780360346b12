"""Make data/entities_tagger.safetensors: readers that say of each word: person, place or neither.

Chapter 11 reads it. All scores are those of `attn_edu.datasets.entities.judged` on verses that no
reader has seen, and the settings were chosen on the validation part.

    tagger.*        the weights of the first Transformer, float16: 2 layers, 4 heads, rotary
    scores.<name>   (seeds, 9) of the Transformer, of a two-way LSTM with as many parameters, of the
                    same LSTM with the learning rate of the Transformer, and of the Transformer
                    without positions
    listed.<name>   the same readers, with the names of the training verses looked up first
    tried.<name>    (3, 2) learning rates, and the F1 that one run reached on the validation part

    python data/scripts/entities_tagger.py        (about eight minutes on one free core)
"""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from attn_edu.datasets.entities import (
    TAGS,
    NamedVerse,
    judged,
    named_verses,
    names_in,
    words_without_names,
)
from attn_edu.models import Tagger, count_parameters, matched_width, tag_loss
from attn_edu.training import train

WIDTH, DROPOUT, BATCH, STEPS, SEEDS = 64, 0.2, 32, 800, (0, 1, 2)
TRIED = (3e-3, 6e-3, 1e-2)
LR = {"transformer": 3e-3, "lstm": 1e-2, "lstm at 0.003": 3e-3, "no positions": 3e-3}
TARGET = Path(__file__).parents[1] / "entities_tagger.safetensors"
TRAIN, TEST = named_verses("train"), named_verses("test")
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


def transformer(position: str | None = "rotary") -> Tagger:
    return Tagger(len(VOCABULARY), len(TAGS), WIDTH, position=position, dropout=DROPOUT)


def lstm() -> Tagger:
    def of(half):
        return Tagger(len(VOCABULARY), len(TAGS), 2 * half, reader="lstm", dropout=DROPOUT)

    return of(matched_width(of, count_parameters(transformer())))


MODELS = {
    "transformer": transformer,
    "lstm": lstm,
    "lstm at 0.003": lstm,
    "no positions": lambda: transformer(position=None),
}


def taught(name: str, seed: int, steps: int = STEPS, lr: float | None = None) -> Tagger:
    torch.manual_seed(seed)
    model, lr = MODELS[name](), lr or LR[name]
    options = {"schedule": "cosine", "warmup": 30, "weight_decay": 0.1, "progress": False}
    train(model, some(*encoded(TRAIN)), loss=tag_loss, steps=steps, lr=lr, seed=seed, **options)
    return model


def tried(name: str) -> Tensor:
    """``(3, 2)``: learning rates, and F1 on the validation part after one run with each."""
    verses, found = named_verses("validation"), []
    for lr in TRIED:
        scores = judged(verses, tagged(taught(name, SEEDS[0], lr=lr), verses), KNOWN)
        found.append([lr, round(scores["f1"], 3)])
    return torch.tensor(found)


def main():
    torch.set_num_threads(1)
    tensors, about = {}, {"steps": str(STEPS), "made": "2026-11-30"}
    tensors |= {f"tried.{name}": tried(name) for name in ("transformer", "lstm")}
    for name in MODELS:
        alone, listed = [], []
        for seed in SEEDS:
            model = taught(name, seed)
            alone.append(judged(TEST, tagged(model, TEST), KNOWN))
            listed.append(judged(TEST, tagged(model, TEST, KNOWN), KNOWN))
            print(
                name, seed, {key: round(value, 3) for key, value in alone[-1].items()}, flush=True
            )
            if name == "transformer" and seed == SEEDS[0]:
                state = model.state_dict()
                tensors |= {f"tagger.{key}": tensor.half() for key, tensor in state.items()}
        tensors[f"scores.{name}"] = torch.tensor([list(scores.values()) for scores in alone])
        tensors[f"listed.{name}"] = torch.tensor([list(scores.values()) for scores in listed])
        about[f"parameters.{name}"] = str(count_parameters(model))
        about["measures"] = json.dumps(list(alone[0]))
        save_file(tensors, TARGET, metadata=about)


if __name__ == "__main__":
    main()
