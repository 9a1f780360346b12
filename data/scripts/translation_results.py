"""Make data/translation_results.json and data/translators.safetensors, for chapter 12.

Models learn to translate number words into German and dates into Traditional Chinese, three seeds
each, with as many parameters and as many steps: GRUs with one vector between them, GRUs with
attention, and a Transformer; for the numbers also a Transformer with rotary positions. They learn
at a rate of LR, with which those that look back leave nothing to gain on "new". The one vector
needs more, and gets the best of RATES: the one with the most faultless translations of 600 pairs
that a run of another seed was not given to learn from. The JSON holds, by task and model:

    parameters    how many
    rate          learning rate
    rates         one vector only: learning rate -> its share of those 600 pairs
    exact         by held-out part: share of pairs translated without a fault, for each seed
    curve         for each seed: the same for 200 pairs of "new", after every EVERY steps
    by_length     numbers only: exact match by the number of English words, mean of the seeds
    aligned       where a model looks: share of the words that have a counterpart at which the best
                  head puts its largest weight; the head is chosen on one half of "new" and judged
                  on the other; for each seed
    mistakes      three faults, [read, written, right], from the last look at seed 0 that had three,
                  and after how many steps that was

The safetensors file holds the Transformers of seed 0, ``dates.*`` and ``number_words.*``, float16.

    python data/scripts/translation_results.py        (about five minutes on one free core)
"""

import itertools
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from attn_edu.datasets import Pairs, dates, number_words
from attn_edu.models import RecurrentTranslator, Translator, count_parameters, matched_width
from attn_edu.training import train

DATA = Path(__file__).parents[1]
TASKS = {"dates": dates, "number_words": number_words}
STEPS, EVERY, BATCH, SEEDS = 400, 50, 64, (0, 1, 2)
LR, RATES, CHOOSING_SEED = 3e-3, (1e-3, 3e-3, 1e-2, 3e-2), 9
SIZES = {"d_model": 64, "n_heads": 4, "n_layers": 1, "d_feedforward": 128}
LONGEST = 24  # tokens written at most


def transformer(pairs: Pairs, position: str = "sinusoidal") -> Translator:
    return Translator(len(pairs.source), len(pairs.target), **SIZES, position=position)


def recurrent(pairs: Pairs, attention: bool) -> RecurrentTranslator:
    """GRUs with as many parameters as the Transformer."""

    def make(half: int) -> RecurrentTranslator:
        sizes = len(pairs.source), len(pairs.target), 2 * half
        return RecurrentTranslator(*sizes, attention=attention)

    return make(matched_width(make, count_parameters(transformer(pairs))))


MODELS = {
    "GRU, one vector": partial(recurrent, attention=False),
    "GRU, attention": partial(recurrent, attention=True),
    "Transformer": transformer,
    "Transformer, rotary": partial(transformer, position="rotary"),
}


def loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of the next token; padding does not count."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0)


def translations(model: nn.Module, pairs: Pairs, part: list) -> list[tuple[str, ...]]:
    source = pairs.source.encode([english for english, _ in part])
    return [
        words
        for rows in source.split(500)
        for words in pairs.target.decode(model.translate(rows, LONGEST))
    ]


def exact(model: nn.Module, pairs: Pairs, part: list) -> list[bool]:
    """For each pair, whether the translation is right to the last word."""
    written = translations(model, pairs, part)
    return [words == right for words, (_, right) in zip(written, part)]


def faults(model: nn.Module, pairs: Pairs, part: list) -> list[list[str]]:
    written = translations(model, pairs, part)
    return [
        [" ".join(english), "".join(words), "".join(right)]
        for words, (english, right) in zip(written, part)
        if words != right
    ]


@torch.no_grad()
def aligned(model: nn.Module, pairs: Pairs, part: list) -> Tensor:
    """``(n_layers, n_heads)``: share of the words at whose counterpart each head looks most."""
    source, target = pairs.encode(part)
    most = model.cross_maps(source, target[:, :-1]).argmax(dim=-1)  # (layers, batch, heads, n)
    places = [pairs.align(*pair) for pair in part]
    hits, count = torch.zeros(most.shape[0], most.shape[2]), 0
    for row, found in enumerate(places):
        for step, place in enumerate(found):
            if place is not None:
                hits += most[:, row, :, step] == place
                count += 1
    return hits / count


def taught(model: nn.Module, pairs: Pairs, seed: int, rate: float, steps: int = STEPS, **options):
    """Train; what `train` returns."""
    schedule = {"lr": rate, "schedule": "cosine", "warmup": steps // 20, "progress": False}
    draw = pairs.batches(BATCH)
    return train(model, draw, loss=loss, steps=steps, seed=seed, **schedule, **options)


def rates(task: str, name: str) -> dict[float, float]:
    """Each learning rate, and its share of faultless translations of pairs kept from training."""
    pairs, found = TASKS[task](), {}
    kept = pairs.train[::20]
    rest = replace(pairs, train=[pair for i, pair in enumerate(pairs.train) if i % 20])
    for rate in RATES:
        torch.manual_seed(CHOOSING_SEED)
        model = MODELS[name](rest)
        taught(model, rest, CHOOSING_SEED, rate)
        found[rate] = round(sum(exact(model, rest, kept)) / len(kept), 4)
    return found


def run(model: nn.Module, pairs: Pairs, seed: int, rate: float, steps: int = STEPS):
    """Train; what the results keep of it."""
    looked_at, last, looks = pairs.held_out["new"][::5], {}, itertools.count()

    def look() -> float:
        wrong, taken = faults(model, pairs, looked_at), next(looks) * EVERY
        if len(wrong) >= 3:
            last.update(steps=taken, examples=wrong[:: len(wrong) // 3][:3])
        return 1 - len(wrong) / len(looked_at)

    history = taught(model, pairs, seed, rate, steps, evaluate=look, every=EVERY)
    return [[step, round(score, 3)] for step, score in history.scores], last


def by_length(model: nn.Module, pairs: Pairs) -> dict[str, float]:
    groups = {}
    for part in (pairs.held_out["new"], pairs.held_out["longer"]):
        for right, (english, _) in zip(exact(model, pairs, part), part):
            groups.setdefault(len(english), []).append(right)
    return {length: sum(found) / len(found) for length, found in sorted(groups.items())}


def judged(task: str, name: str) -> tuple[dict, nn.Module]:
    """One model on one task: its results for all seeds, and the first seed's model."""
    pairs, kept, lengths = TASKS[task](), None, []
    results = {"rate": LR, "exact": {}, "curve": [], "aligned": []}
    if name == "GRU, one vector":
        scores = rates(task, name)
        results |= {"rate": max(scores, key=scores.get), "rates": scores}
    for seed in SEEDS:
        torch.manual_seed(seed)
        model = MODELS[name](pairs)
        curve, last = run(model, pairs, seed, results["rate"])
        results["curve"].append(curve)
        for part, held_out in pairs.held_out.items():
            share = sum(exact(model, pairs, held_out)) / len(held_out)
            results["exact"].setdefault(part, []).append(round(share, 4))
        if name != "GRU, one vector":
            choose, judge = pairs.held_out["new"][::2], pairs.held_out["new"][1::2]
            best = aligned(model, pairs, choose).argmax().item()
            share = aligned(model, pairs, judge).flatten()[best].item()
            results["aligned"].append({"head": best, "share": round(share, 4)})
        if task == "number_words":
            lengths.append(by_length(model, pairs))
        if seed == SEEDS[0]:
            results |= {"parameters": count_parameters(model), "mistakes": last}
            kept = model
    if lengths:
        keys = lengths[0]
        results["by_length"] = {
            str(k): round(sum(one[k] for one in lengths) / len(lengths), 4) for k in keys
        }
    return results, kept


def main():
    torch.set_num_threads(1)
    found, tensors = {"steps": STEPS, "batch": BATCH, "made": "2026-11-30"}, {}
    for task in TASKS:
        found[task] = {}
        for name in MODELS:
            if name == "Transformer, rotary" and task == "dates":
                continue  # no date is longer than another by much
            found[task][name], model = judged(task, name)
            print(task, name, {k: v for k, v in found[task][name].items() if k != "curve"})
            print(found[task][name]["curve"], flush=True)
            if name == "Transformer":
                state = model.state_dict().items()
                tensors |= {f"{task}.{k}": x.half().contiguous() for k, x in state}
            written = json.dumps(found, indent=1) + "\n"  # what there is so far
            (DATA / "translation_results.json").write_text(written, "utf-8")
            save_file(tensors, DATA / "translators.safetensors", metadata={"made": found["made"]})


if __name__ == "__main__":
    main()
