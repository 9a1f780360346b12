"""Make data/questions_results.json and data/questions.safetensors: who answers which questions.

Chapter 12 reads both. Three seeds of a Transformer that points at a name, of an LSTM from both ends
with as many parameters, and of the same LSTM when it is told which words stand in the question,
which needs fewer steps. Scores along the way are shares of right answers to the questions of
``tune``, for choosing settings by; ``held_out`` has the score at the end, on other verses. The
stored weights (float16) are those of the first seed.

    python data/scripts/questions_results.py        (about nine minutes on one free core)
"""

import json
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from attn_edu.datasets import verse_questions
from attn_edu.datasets.questions import SIGNS, Verse
from attn_edu.models import Pointer, count_parameters, matched_width
from attn_edu.training import accuracy, train

STEPS, BATCH, LR, EVERY, SEEDS = 1800, 32, 3e-3, 100, (0, 1, 2)
TOLD_STEPS = 400
WIDTH, N_HEADS = 64, 4
DATA = Path(__file__).parents[1]
TEXT = verse_questions()


def transformer(**options) -> Pointer:
    return Pointer(TEXT.vocabulary, SIGNS, WIDTH, n_heads=N_HEADS, **options)


def lstm(**options) -> Pointer:
    """As many parameters as the Transformer, as nearly as an even width allows."""

    def make(half: int) -> Pointer:
        return Pointer(TEXT.vocabulary, SIGNS, 2 * half, reader="lstm", **options)

    return make(matched_width(make, count_parameters(transformer())))


def with_signs(verses: tuple[Verse, ...], seed: int = 0) -> tuple[Tensor, Tensor]:
    """All questions of some verses, the signs drawn once."""
    return TEXT.shuffle_signs(*TEXT.rows(verses), torch.Generator().manual_seed(seed))


def taught(make, seed: int, steps: int = STEPS, every: int = EVERY):
    """A model, its score on ``tune`` along the way, and its score on ``held_out``."""
    torch.manual_seed(seed)
    model, tune = make(), with_signs(TEXT.tune)
    history = train(
        model,
        TEXT.batches(BATCH),
        steps=steps,
        lr=LR,
        seed=seed,
        schedule="cosine",
        warmup=steps // 20,
        weight_decay=0.01,
        evaluate=lambda: accuracy(model, *tune),
        every=every,
        progress=False,
    )
    return model.eval(), history.scores, accuracy(model, *with_signs(TEXT.held_out))


def main():
    torch.set_num_threads(1)
    makers = {
        "transformer": (transformer, STEPS),
        "lstm": (lstm, STEPS),
        "lstm, told what the question has": (lambda: lstm(match=True), TOLD_STEPS),
    }
    results = {"batch": BATCH, "steps": {}, "parameters": {}, "scores": {}, "held_out": {}}
    for name, (make, steps) in makers.items():
        results["steps"][name] = steps
        results["scores"][name], results["held_out"][name] = [], []
        for seed in SEEDS:
            start = time.process_time()
            model, scores, held_out = taught(make, seed, steps)
            print(f"{name}, seed {seed}: {held_out:.3f}, {time.process_time() - start:.0f} s")
            print([round(score, 3) for _, score in scores], flush=True)
            results["parameters"][name] = count_parameters(model)
            results["scores"][name].append([[step, round(score, 4)] for step, score in scores])
            results["held_out"][name].append(round(held_out, 4))
            if name == "transformer" and seed == SEEDS[0]:
                weights = {key: x.half().contiguous() for key, x in model.state_dict().items()}
                about = {"held_out": f"{held_out:.4f}", "made": "2026-11-30"}
                save_file(weights, DATA / "questions.safetensors", metadata=about)
            # after each run, so that a script that is stopped leaves what it has
            text = json.dumps(results | {"made": "2026-11-30"}, indent=1)
            (DATA / "questions_results.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
