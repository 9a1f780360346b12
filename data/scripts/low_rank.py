"""Make data/low_rank.json: small models trained with fewer keys, and with shared ones.

Chapter 07 reads it. Every number comes from a model trained here from scratch:

    recall, majority    a reader with one layer of attention over 16 positions: full, Linformer with
                        a rank, Nyström with landmarks; accuracy by seed
    sharing             a language model of two layers and eight heads on Shakespeare: its heads
                        share keys and values in groups, or make them from a latent vector;
                        numbers cached for a position, and loss on the held-out play by seed
    sharing_recall      the reader again, with eight heads that share their keys and values, or a
                        latent; accuracy by seed
    pooled              a language model, its eight heads' keys averaged into one: its loss
                        at once, and after some more training
    spectra             rank that holds 90 % of the energy of that model's maps, fresh and trained

    python data/scripts/low_rank.py        (about eight minutes on one core)
"""

import json
from functools import partial
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from attn_edu.attention import (
    GroupedQueryAttention,
    LinformerAttention,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    causal_mask,
    merge_heads,
    nystrom_attention,
    split_heads,
)
from attn_edu.datasets import keep_all, shakespeare
from attn_edu.models.language import LanguageModel
from attn_edu.training import accuracy, train

N, D, SEEDS, STEPS = 16, 32, (0, 1, 2), 800
RANKS, LANDMARKS = (1, 2, 4, 8), (2, 4, 8)
D_MODEL, N_HEADS, LENGTH, TEXT_STEPS = 64, 8, 64, 400
KV_HEADS, LATENTS = (8, 4, 2, 1), (32, 16)
TARGET = Path(__file__).parents[1] / "low_rank.json"


# one layer that reads pairs of a name and a thing


class Reader(nn.Module):
    """Tokens ``(batch, 16, 2)`` -> logits ``(batch, n_answers)``, read off at the last token."""

    def __init__(self, attention: nn.Module, n_answers: int):
        super().__init__()
        self.name, self.thing = nn.Embedding(16, D), nn.Embedding(9, D)
        self.attention = attention
        self.answer = nn.Linear(D, n_answers)

    def forward(self, tokens):
        x = self.name(tokens[..., 0]) + self.thing(tokens[..., 1])  # (batch, 16, D)
        return self.answer(self.attention(x)[:, -1])


class Landmarks(MultiHeadAttention):
    """Multi-head attention by way of a few landmarks."""

    def __init__(self, landmarks):
        super().__init__(D, 1)
        self.landmarks = landmarks

    def forward(self, x):
        parts = [split_heads(f(x), self.n_heads) for f in (self.query, self.key, self.value)]
        return self.out(merge_heads(nystrom_attention(*parts, landmarks=self.landmarks)))


def recall(generator, batch=64):
    """ "Ada hat", "Ben egg", …, "Ada ?": what has Ada? One of 15 pairs."""
    tokens, thing, _ = keep_all(batch, N - 1, generator=generator)
    return tokens, thing


def majority(generator, batch=64):
    """The same 15 pairs: are there more of the first four things than of the last four?"""
    tokens, _, _ = keep_all(batch, N - 1, generator=generator)
    return tokens, ((tokens[:, :-1, 1] < 4).sum(dim=1) > 7).long()


def readers():
    return {
        "full": lambda: MultiHeadAttention(D, 1),
        **{f"Linformer {k}": partial(LinformerAttention, D, 1, N, k) for k in RANKS},
        **{f"Nyström {m}": partial(Landmarks, m) for m in LANDMARKS},
    }


def judged_reader(make, task, seed):
    torch.manual_seed(seed)
    model = Reader(make(), 8 if task is recall else 2)
    train(model, task, steps=STEPS, lr=5e-3, seed=seed, progress=False)
    return accuracy(model, *task(torch.Generator().manual_seed(1000), batch=2000))


# a language model whose heads share


def sharers():
    """Name -> (numbers cached a position and layer, how to make the layer)."""
    d_head = D_MODEL // N_HEADS
    grouped = {
        f"{kv} kv heads": (2 * kv * d_head, partial(GroupedQueryAttention, n_kv_heads=kv))
        for kv in KV_HEADS
    }
    latent = {f"latent {d}": (d, partial(MultiHeadLatentAttention, d_latent=d)) for d in LATENTS}
    return grouped | latent


def sharing_readers():
    grouped = {f"{kv} kv heads": partial(GroupedQueryAttention, D, N_HEADS, kv) for kv in KV_HEADS}
    latent = {f"latent {d}": partial(MultiHeadLatentAttention, D, N_HEADS, d) for d in (16, 8)}
    return grouped | latent


def windows(tokens, generator, batch=16):
    starts = torch.randint(len(tokens) - LENGTH, (batch, 1), generator=generator)
    places = starts + torch.arange(LENGTH + 1)
    text = tokens[places]  # (batch, LENGTH + 1)
    return text[:, :-1], text[:, 1:]


def next_token_loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def language_model(make, vocabulary, seed):
    torch.manual_seed(seed)
    return LanguageModel(vocabulary, D_MODEL, N_HEADS, 2, LENGTH, attention=make)


@torch.no_grad()
def held_out_loss(model, tokens):
    """Nats a character, over 256 windows of the held-out play."""
    model.eval()
    inputs, targets = windows(tokens, torch.Generator().manual_seed(1000), batch=256)
    return next_token_loss(model(inputs), targets).item()


@torch.no_grad()
def ranks(model, tokens, share=0.9):
    """Median and largest rank for 90 % of the energy, over maps and windows."""
    inputs, _ = windows(tokens, torch.Generator().manual_seed(1000), batch=16)
    x = model.tokens(inputs) * model.scale + model.positions.weight
    maps = model.stack.maps(x, mask=causal_mask(LENGTH))  # (layers, batch, heads, n, n)
    energy = torch.linalg.svdvals(maps).square().cumsum(dim=-1)
    rank = (energy < share * energy[..., -1:]).sum(dim=-1) + 1
    return {"median": rank.median().item(), "largest": rank.max().item()}


def sharing(text):
    learn, held = text.encode(text.train), text.encode(text.held_out)
    draw = partial(windows, learn)
    options = {"loss": next_token_loss, "lr": 4e-3, "progress": False}
    results, pooled, spectra = {}, {}, {}
    for name, (numbers, make) in sharers().items():
        losses = []
        for seed in SEEDS:
            model = language_model(make, len(text.alphabet), seed)
            first = name == "8 kv heads" and seed == 0
            if first:
                spectra["fresh"] = ranks(model, held)
            train(model, draw, steps=TEXT_STEPS, seed=seed, **options)
            losses.append(round(held_out_loss(model, held), 4))
            print(f"{name:12} seed {seed}  {losses[-1]:.3f}", flush=True)
            if first:
                spectra["trained"] = ranks(model, held)
                pooled = pool(model, text, draw, held, options)
        size = sum(p.numel() for p in model.parameters())
        results[name] = {"cached": numbers, "parameters": size, "loss": losses}
    return results, pooled, spectra


def pool(model, text, draw, held, options):
    """Eight keys and values averaged into one, then trained for a tenth of the steps."""
    one = language_model(partial(GroupedQueryAttention, n_kv_heads=1), len(text.alphabet), 0)
    whole = {k: v for k, v in model.state_dict().items() if ".key." not in k and ".value." not in k}
    one.load_state_dict(whole, strict=False)
    for mine, theirs in zip(one.stack.blocks, model.stack.blocks):
        for part in ("key", "value"):
            for what in ("weight", "bias"):
                many = getattr(getattr(theirs.attention, part), what).detach()
                mean = many.unflatten(0, (N_HEADS, -1)).mean(dim=0)
                getattr(getattr(mine.attention, part), what).data.copy_(mean)
    at_once = held_out_loss(one, held)
    train(one, draw, steps=TEXT_STEPS // 10, seed=100, **{**options, "lr": 2e-3})
    return {"at once": round(at_once, 4), "after": round(held_out_loss(one, held), 4)}


def main():
    torch.set_num_threads(1)
    found = {"steps": STEPS, "text_steps": TEXT_STEPS, "seeds": SEEDS}
    for task in (recall, majority):
        found[task.__name__] = {}
        for name, make in readers().items():
            shares = [round(judged_reader(make, task, seed), 4) for seed in SEEDS]
            found[task.__name__][name] = shares
            print(f"{task.__name__:9} {name:12}", shares, flush=True)
    found["sharing_recall"] = {
        name: [round(judged_reader(make, recall, seed), 4) for seed in SEEDS]
        for name, make in sharing_readers().items()
    }
    print(found["sharing_recall"], flush=True)
    found["sharing"], found["pooled"], found["spectra"] = sharing(shakespeare())
    TARGET.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(TARGET.name, TARGET.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
