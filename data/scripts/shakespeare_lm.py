"""Make data/shakespeare_lm.safetensors: language models of eight plays, judged on *Macbeth*.

Chapter 05 reads it. All bits are those for each character of the held-out play, read in windows of
128 characters of which the second half counts.

    lm.*            the weights of the Transformer, float16: 4 layers, 4 heads, 128 wide, rotary
    bits            (k, 2) steps taken and bits, for the Transformer
    bits.lstm       (k, 2) the same for two layers of LSTM with as many parameters
    bits.scaled, bits.unscaled   (3, k, 2) small models with sinusoidal positions, for three seeds,
                    with and without the factor √d_model on their token vectors

    python data/scripts/shakespeare_lm.py        (about twelve minutes on one free core)
"""

import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from attn_edu.datasets import shakespeare
from attn_edu.models import (
    LanguageModel,
    RecurrentLanguageModel,
    count_parameters,
    matched_width,
)
from attn_edu.training import train

LENGTH, BATCH, STEPS, EVERY = 128, 12, 2000, 100
SMALL_LENGTH, SMALL_STEPS, SEEDS = 64, 300, (0, 1, 2)
TARGET = Path(__file__).parents[1] / "shakespeare_lm.safetensors"
TEXT = shakespeare()
TRAIN, HELD_OUT = TEXT.encode(TEXT.train), TEXT.encode(TEXT.held_out)


def excerpts(length: int, batch: int):
    """A function that draws `batch` places of the text: what is read, and what comes next."""

    def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
        start = torch.randint(len(TRAIN) - length, (batch, 1), generator=generator)
        rows = TRAIN[start + torch.arange(length + 1)]  # (batch, length + 1)
        return rows[:, :-1], rows[:, 1:]

    return draw


def loss(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten())


@torch.no_grad()
def bits(model: nn.Module, length: int = LENGTH, every: int = 1) -> float:
    """Bits a character of the held-out play; with `every` above 1 from a part of the windows."""
    was_training, half, nats = model.training, length // 2, []
    model.eval()
    windows = HELD_OUT.unfold(0, length + 1, half)[::every]  # (windows, length + 1)
    for rows in windows.split(64):
        logits = model(rows[:, :-1])[:, half:]
        values = F.cross_entropy(
            logits.flatten(0, 1), rows[:, half + 1 :].flatten(), reduction="none"
        )
        nats.append(values)
    model.train(was_training)
    return torch.cat(nats).mean().item() / math.log(2)


def taught(model: nn.Module, length: int, steps: int, every: int, lr: float, seed: int = 0):
    """Train, and return the scores along the way, ``(k, 2)``: from one window in eight."""
    history = train(
        model,
        excerpts(length, BATCH),
        loss=loss,
        steps=steps,
        lr=lr,
        seed=seed,
        schedule="cosine",
        warmup=steps // 20,
        weight_decay=0.1,
        evaluate=lambda: bits(model, length, every=8),
        every=every,
        progress=False,
    )
    scores = torch.tensor(history.scores)
    print(count_parameters(model), scores[:, 1].tolist(), "all:", bits(model, length), flush=True)
    return scores


def large() -> LanguageModel:
    return LanguageModel(len(TEXT.alphabet), 128, 4, 4, 256, position="rotary", bias=False)


def recurrent(width: int) -> RecurrentLanguageModel:
    return RecurrentLanguageModel(len(TEXT.alphabet), width, n_layers=2)


def small(scaled: bool) -> LanguageModel:
    sizes = len(TEXT.alphabet), 64, 4, 2, SMALL_LENGTH
    return LanguageModel(*sizes, position="sinusoidal", bias=False, scale_embedding=scaled)


def main():
    torch.set_num_threads(1)
    tensors = {}
    torch.manual_seed(0)
    model = large()
    tensors["bits"] = taught(model, LENGTH, STEPS, EVERY, lr=2.5e-3)
    tensors |= {f"lm.{name}": tensor.half() for name, tensor in model.state_dict().items()}
    torch.manual_seed(0)
    lstm = recurrent(matched_width(recurrent, count_parameters(model)))
    tensors["bits.lstm"] = taught(lstm, LENGTH, STEPS, EVERY, lr=4e-3)
    for name, scaled in (("bits.scaled", True), ("bits.unscaled", False)):
        runs = []
        for seed in SEEDS:
            torch.manual_seed(seed)
            runs.append(taught(small(scaled), SMALL_LENGTH, SMALL_STEPS, 50, lr=3e-3, seed=seed))
        tensors[name] = torch.stack(runs)
    about = {
        "parameters": str(count_parameters(model)),
        "parameters.lstm": str(count_parameters(lstm)),
        "length": str(LENGTH),
        "batch": str(BATCH),
        "made": "2026-11-30",
    }
    tensors = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
    save_file(tensors, TARGET, metadata=about)


if __name__ == "__main__":
    main()
