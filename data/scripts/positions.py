"""Make data/positions.safetensors: small Transformers that must know where the words stand.

Chapter 04 reads it. Two tasks, five ways to tell the position, three seeds each, trained on 16
words and tested on up to 128; and the first task again with 2 and with 12 layers, both places of
the layer norm, with and without a warm-up.

    back.accuracy, latest.accuracy   (5, 3, 5)     KINDS × SEEDS × LENGTHS; NaN: no such position
    back.<kind>.*, latest.<kind>.*                 the weights of the first seed, float16
    depth.loss                       (2, 2, 2, 3, 15)  DEPTHS × NORMS × WARMUPS × SEEDS, the loss of
                                                   every 20 steps, averaged

    python data/scripts/positions.py        (about six minutes on one free core)
"""

import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from attn_edu.models import LanguageModel
from attn_edu.training import train

KINDS = ("none", "learned", "sinusoidal", "rotary", "alibi")
SEEDS, LENGTHS = (0, 1, 2), (16, 24, 32, 64, 128)
DEPTHS, NORMS, WARMUPS = (2, 12), ("pre", "post"), (0, 150)
N_WORDS, N_GROUPS, D_MODEL, N_HEADS, N = 16, 4, 32, 4, 16
TARGET = Path(__file__).parents[1] / "positions.safetensors"


def three_back(batch: int, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """At each place, name the word three places before: tokens and answers, both (batch, n)."""
    words = torch.randint(N_WORDS, (batch, n), generator=generator)
    answers = words.roll(3, dims=1)
    answers[:, :3] = -100  # nothing stands there: these places do not count
    return words, answers


def latest(batch: int, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Words of four groups, and questions "the latest of this group?": both (batch, n)."""
    words = torch.randint(N_WORDS, (batch, n), generator=generator)
    asked = torch.randint(N_GROUPS, (batch, n), generator=generator)
    question = torch.rand(batch, n, generator=generator) < 0.25
    group = torch.where(question, -1, words // (N_WORDS // N_GROUPS))
    here = torch.arange(n)[:, None]
    last = torch.where(group[..., None] == torch.arange(N_GROUPS), here, -1).cummax(dim=1).values
    place = last.gather(2, asked[..., None]).squeeze(2)  # (batch, n), -1 where there was none
    answers = words.gather(1, place.clamp(min=0)).masked_fill(~question | (place < 0), -100)
    return torch.where(question, N_WORDS + asked, words), answers


def loss(logits: Tensor, answers: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), answers.flatten(), ignore_index=-100)


@torch.no_grad()
def judge(model: nn.Module, task, n: int) -> float:
    """The share of right answers at the last 8 places of 512 texts."""
    words, answers = task(512, n, torch.Generator().manual_seed(1000 + n))
    right = (model(words).argmax(dim=-1) == answers)[:, -8:]
    return right[answers[:, -8:] >= 0].double().mean().item()


def model_of(kind: str, seed: int, n_layers: int = 1, **options) -> LanguageModel:
    torch.manual_seed(seed)
    vocabulary = N_WORDS + N_GROUPS
    return LanguageModel(vocabulary, D_MODEL, N_HEADS, n_layers, N, position=kind, **options)


def compare(name: str, task, steps: int, tensors: dict) -> None:
    accuracy = torch.full((len(KINDS), len(SEEDS), len(LENGTHS)), math.nan)
    for k, kind in enumerate(KINDS):
        for s, seed in enumerate(SEEDS):
            model = model_of(kind, seed)
            draw = lambda generator: task(64, N, generator)  # noqa: E731
            train(model, draw, loss=loss, steps=steps, lr=5e-3, seed=seed, progress=False)
            for i, n in enumerate(LENGTHS):
                if kind != "learned" or n <= N:
                    accuracy[k, s, i] = judge(model, task, n)
            print(name, kind, seed, [round(a, 2) for a in accuracy[k, s].tolist()], flush=True)
            if seed == 0:
                for part, weight in model.state_dict().items():
                    if part != "output.weight":  # the same table as tokens.weight
                        tensors[f"{name}.{kind}.{part}"] = weight.half()
    tensors[f"{name}.accuracy"] = accuracy


def glorot(model: nn.Module) -> nn.Module:
    """The matrices inside the blocks as in torch's nn.Transformer (Glorot & Bengio, 2010)."""
    for matrix in model.stack.parameters():
        if matrix.ndim == 2:
            nn.init.xavier_uniform_(matrix)
    return model


def deep(tensors: dict) -> None:
    losses = torch.zeros(len(DEPTHS), len(NORMS), len(WARMUPS), len(SEEDS), 15)
    for at in torch.cartesian_prod(*map(torch.arange, losses.shape[:-1])).tolist():
        d, m, w, s = at
        model = glorot(model_of("sinusoidal", SEEDS[s], DEPTHS[d], pre_norm=NORMS[m] == "pre"))
        history = train(
            model,
            lambda generator: three_back(32, N, generator),
            loss=loss,
            steps=300,
            lr=3e-3,
            seed=SEEDS[s],
            warmup=WARMUPS[w],
            progress=False,
        )
        losses[d, m, w, s] = torch.tensor(history.losses).view(15, 20).mean(dim=1)
        last = losses[d, m, w, s, -1]
        print(f"{DEPTHS[d]} layers, {NORMS[m]}, warm-up {WARMUPS[w]}: {last:.2f}", flush=True)
    tensors["depth.loss"] = losses


def main():
    torch.set_num_threads(1)
    tensors = {}
    compare("back", three_back, 500, tensors)
    compare("latest", latest, 800, tensors)
    deep(tensors)
    about = {"kinds": str(KINDS), "seeds": str(SEEDS), "lengths": str(LENGTHS)}
    save_file(tensors, TARGET, metadata={**about, "made": "2026-11-30"})


if __name__ == "__main__":
    main()
