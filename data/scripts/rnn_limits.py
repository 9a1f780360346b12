"""Make data/rnn_limits.json: what recurrent networks, attention and CNNs recall. For chapter 01.

    keep_one   accuracy by reader, length and seed: one thing kept while others pass
    patient    the same at one length, with five times the steps
    keep_all   accuracy by reader, seed and distance: 16 pairs, one of them asked for
    reviews    accuracy by task ("near", "anywhere"), reader, seed and training step

All readers of one task have the same number of parameters, within 3 %, and the same steps.

    python data/scripts/rnn_limits.py        (about a quarter of an hour on one core)
"""

import json
from functools import partial
from pathlib import Path

import torch

from attn_edu import datasets
from attn_edu.models import SequenceClassifier, count_parameters, make_reader, matched_width
from attn_edu.training import accuracy, train

TARGET = Path(__file__).parents[1] / "rnn_limits.json"
READERS = {
    "tanh-RNN": ("rnn", {}),
    "GRU": ("gru", {}),
    "LSTM": ("lstm", {}),
    "LSTM, forget bias 2": ("lstm", {"forget_bias": 2.0}),
    "attention": ("attention", {}),
}
REVIEW_READERS = {
    "attention, 1 layer": ("attention", {"causal": False}),
    "CNN, 1 layer": ("cnn", {"window": 3}),
    "CNN, 6 layers": ("cnn", {"window": 3, "layers": 6}),
}
LENGTHS = (4, 8, 16, 32, 64)
PATIENT_LENGTH, PAIRS, WORDS = 32, 16, 12
REVIEW_SEEDS, SEEDS = range(5), range(3)
STEPS, PAIR_STEPS, REVIEW_STEPS, EVERY = 600, 2500, 500, 50
BUDGET, PAIR_BUDGET = 10_000, 20_000


def build(reader, vocabularies, n_classes, budget, seed, **frame) -> SequenceClassifier:
    """A fresh model of about `budget` parameters; `reader` is a kind and its options."""
    kind, options = reader

    def make(width):
        mix = make_reader(kind, width, **options)
        return SequenceClassifier(mix, vocabularies, width, n_classes, **frame)

    width = matched_width(make, budget)
    torch.manual_seed(seed)
    return make(width)


def keep_one_model(reader: str, seed: int) -> SequenceClassifier:
    sizes = (len(datasets.MARKS), len(datasets.THINGS) + 1)
    return build(READERS[reader], sizes, len(datasets.THINGS), BUDGET, seed)


def keep_all_model(reader: str, seed: int) -> SequenceClassifier:
    sizes = (len(datasets.NAMES), len(datasets.THINGS) + 1)
    return build(READERS[reader], sizes, len(datasets.THINGS), PAIR_BUDGET, seed)


def review_model(reader: str, seed: int) -> SequenceClassifier:
    # A convolution knows the order of its window; attention is told the positions.
    frame = {"answer_from": "mean", "max_length": None if "CNN" in reader else WORDS}
    sizes = (len(datasets.REVIEW_WORDS),)
    return build(REVIEW_READERS[reader], sizes, 2, BUDGET, seed, **frame)


def fit(model, draw, steps: int, seed: int, **options):
    """Train on fresh batches of 64; `draw(batch, generator=…)` gives tokens, answers (and more)."""
    return train(
        model,
        lambda generator: draw(64, generator=generator)[:2],
        steps=steps,
        lr=3e-3,
        seed=seed,
        progress=False,
        **options,
    )


def held_out(draw, batch: int, seed: int):
    return draw(batch, generator=torch.Generator().manual_seed(1000 + seed))


def keep_one(reader: str, n: int, seed: int, steps: int = STEPS) -> float:
    model, draw = keep_one_model(reader, seed), partial(datasets.keep_one, n=n)
    fit(model, draw, steps, seed)
    return round(accuracy(model, *held_out(draw, 2000, seed)), 4)


def keep_all(reader: str, seed: int) -> list[float]:
    """Accuracy at each distance from the question, 1 to PAIRS."""
    model, draw = keep_all_model(reader, seed), partial(datasets.keep_all, n=PAIRS)
    fit(model, draw, PAIR_STEPS, seed)
    tokens, answers, distance = held_out(draw, 16_000, seed)
    rows = [distance == d for d in range(1, PAIRS + 1)]
    return [round(accuracy(model, tokens[row], answers[row]), 4) for row in rows]


def review(reader: str, near: bool, seed: int) -> list[float]:
    """Accuracy before training and after each EVERY steps."""
    model, draw = review_model(reader, seed), partial(datasets.turned_review, n=WORDS, near=near)
    test = held_out(draw, 4000, seed)
    history = fit(
        model, draw, REVIEW_STEPS, seed, evaluate=lambda: accuracy(model, *test), every=EVERY
    )
    return [round(score, 4) for _, score in history.scores]


def main(report=print) -> dict:
    """Run everything; returns what the file holds."""
    results = {
        "lengths": list(LENGTHS),
        "seeds": {"reviews": len(REVIEW_SEEDS), "others": len(SEEDS)},
        "steps": {"keep_one": STEPS, "keep_all": PAIR_STEPS, "reviews": REVIEW_STEPS},
        "review_steps": list(range(0, REVIEW_STEPS + 1, EVERY)),
        "parameters": {
            task: {reader: count_parameters(make(reader, 0)) for reader in readers}
            for task, make, readers in (
                ("keep_one", keep_one_model, READERS),
                ("keep_all", keep_all_model, READERS),
                ("reviews", review_model, REVIEW_READERS),
            )
        },
        "keep_one": {},
        "keep_all": {},
        "reviews": {"near": {}, "anywhere": {}},
        "patient": {"length": PATIENT_LENGTH, "steps": 5 * STEPS},
    }
    for task, scores in results["reviews"].items():
        for reader in REVIEW_READERS:
            scores[reader] = [review(reader, task == "near", s) for s in REVIEW_SEEDS]
            report(task, reader, [s[-1] for s in scores[reader]])
    for reader in READERS:
        results["keep_one"][reader] = [[keep_one(reader, n, s) for s in SEEDS] for n in LENGTHS]
        report("keep_one", reader, results["keep_one"][reader])
    for reader in ("tanh-RNN", "LSTM"):
        scores = [keep_one(reader, PATIENT_LENGTH, s, steps=5 * STEPS) for s in SEEDS]
        results["patient"][reader] = scores
        report("patient", reader, scores)
    for reader in READERS:
        results["keep_all"][reader] = [keep_all(reader, s) for s in SEEDS]
        report("keep_all", reader, results["keep_all"][reader][0])
    return results


if __name__ == "__main__":
    torch.set_num_threads(1)
    TARGET.write_text(json.dumps(main(partial(print, flush=True))) + "\n", "utf-8")
