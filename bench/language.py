"""A small GPT at a published budget: our blocks beside torch's own, from the same weights.

    make bench ARGS="language"             2,000 iterations each: ten minutes of one core
    make bench ARGS="language --quick"     100 iterations

The sizes are those that nanoGPT (Karpathy, 2022) names for a CPU in its README: 4 layers, 4 heads,
128 wide, windows of 64 characters, 12 a batch, 2,000 iterations, no dropout, steps of 1e-3 after a
warm-up of 100. It reports a loss of 1.88 on the last tenth of a million characters by Shakespeare.
Ours are of the same author and number, and another part of him: eight plays, judged on *Macbeth*.
So the loss to compare with is that of the control, a stack of `nn.TransformerEncoderLayer` under a
causal mask, which starts from the same weights and sees the same batches.
"""

import argparse
import copy
import statistics
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attn_edu.attention import causal_mask, to_multihead_attention
from attn_edu.datasets import shakespeare
from attn_edu.models import LanguageModel, count_parameters
from attn_edu.training import train
from bench.meter import medians, remember

D_MODEL, HEADS, LAYERS, LENGTH, BATCH, STEPS = 128, 4, 4, 64, 12, 2000
PUBLISHED = 1.88  # nats a character; README of nanoGPT, section "i only have a macbook"


class Control(nn.Module):
    """The same language model around torch's own layers, with the weights of ours."""

    def __init__(self, ours: LanguageModel):
        super().__init__()
        layers = [
            nn.TransformerEncoderLayer(
                D_MODEL, HEADS, 4 * D_MODEL, dropout=0.0, activation="gelu",
                batch_first=True, norm_first=True, bias=False,
            )
            for _ in range(LAYERS)
        ]  # fmt: skip
        norm = nn.LayerNorm(D_MODEL, bias=False)
        self.stack = nn.TransformerEncoder(layers[0], LAYERS, norm, enable_nested_tensor=False)
        self.stack.layers = nn.ModuleList(layers)  # it would have copied the first
        ours.stack.load_torch(self.stack)
        self.tokens, self.positions = copy.deepcopy(ours.tokens), copy.deepcopy(ours.positions)
        self.scale = ours.scale

    def forward(self, tokens: Tensor) -> Tensor:
        """``(batch, n)`` integers -> ``(batch, n, vocabulary)`` logits."""
        n = tokens.shape[-1]
        x = self.tokens(tokens) * self.scale + self.positions.weight[:n]  # (batch, n, d_model)
        hidden = to_multihead_attention(causal_mask(n))  # True = may not attend
        return self.stack(x, mask=hidden, is_causal=True) @ self.tokens.weight.T


def candidates(seed: int = 0) -> dict[str, nn.Module]:
    """Both models, from the same weights."""
    torch.manual_seed(seed)
    vocabulary = len(shakespeare().alphabet)
    ours = LanguageModel(vocabulary, D_MODEL, HEADS, LAYERS, LENGTH, bias=False)
    return {"attn_edu": ours, "torch": Control(ours)}


@cache
def _tokens() -> tuple[Tensor, Tensor]:
    text = shakespeare()
    return text.encode(text.train), text.encode(text.held_out)


def draw(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """What is read and what comes next, ``(BATCH, LENGTH)`` each."""
    learn = _tokens()[0]
    start = torch.randint(len(learn) - LENGTH, (BATCH, 1), generator=generator)
    rows = learn[start + torch.arange(LENGTH + 1)]
    return rows[:, :-1], rows[:, 1:]


def loss(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten())


@torch.no_grad()
def held_out_loss(model: nn.Module, every: int = 1) -> float:
    """Nats a character of *Macbeth*, all places of windows of 64, as nanoGPT counts."""
    model.eval()
    rows = _tokens()[1].unfold(0, LENGTH + 1, LENGTH)[::every]
    losses = [loss(model(part[:, :-1]), part[:, 1:]).item() * len(part) for part in rows.split(64)]
    return sum(losses) / len(rows)


def milliseconds(models: dict[str, nn.Module], rounds: int) -> dict[str, float]:
    """One iteration of training, in turns, medians of CPU time."""
    read, answers = draw(torch.Generator().manual_seed(0))

    def iteration(model):
        model = copy.deepcopy(model).train()
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)

        def step():
            optimiser.zero_grad()
            loss(model(read), answers).backward()
            optimiser.step()

        return step

    steps = {name: iteration(model) for name, model in models.items()}
    return {name: 1000 * seconds for name, seconds in medians(steps, rounds).items()}


def main(arguments: list[str] = ()) -> None:
    """Milliseconds and characters a second of both, and the loss that they reach."""
    parser = argparse.ArgumentParser("make bench ARGS=language", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 iterations")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(arguments)
    steps = 100 if options.quick else options.steps
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        models = candidates()
        taken = milliseconds(models, rounds=25 if steps == STEPS else 7)
        losses = {name: [] for name in models}
        for seed in range(options.seeds):
            for name, model in candidates(seed).items():
                schedule = {"lr": 1e-3, "schedule": "cosine", "warmup": min(100, steps // 10)}
                train(
                    model, draw, loss=loss, steps=steps, seed=seed, weight_decay=0.1,
                    progress=False, **schedule,
                )  # fmt: skip
                losses[name].append(held_out_loss(model))
    finally:
        torch.set_num_threads(threads)
    print(f"{'':10} parameters   ms/iteration   characters/s   loss after {steps:,}")
    for name, model in models.items():
        rate = 1000 * BATCH * LENGTH / taken[name]
        mean = statistics.mean(losses[name])
        print(
            f"{name:10} {count_parameters(model):10,} {taken[name]:14.1f} {rate:14,.0f} "
            f"{mean:12.3f} nats ({', '.join(f'{value:.3f}' for value in losses[name])})"
        )
    print(f"ours takes {taken['attn_edu'] / taken['torch']:.2f} of the control's time")
    print(f"nanoGPT's README, 2,000 iterations, other plays by Shakespeare: {PUBLISHED} nats")
    remember(
        f"language, {steps} steps",
        {
            "ms_per_iteration": {name: round(ms, 2) for name, ms in taken.items()},
            "nats": {name: round(statistics.mean(found), 3) for name, found in losses.items()},
        },
    )
