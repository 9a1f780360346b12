"""Make data/sentiment_results.json and data/sentiment_models.safetensors, for chapter 11.

Readers of short rated sentences (`rated_sentences`), judged on the test part:

    json          accuracy on validation and test for each seed; of the pairs of sentences in two
                  orders, how many are both judged right, and how many at least told apart the
                  right way round; parameters, CPU seconds of training
    safetensors   the word weights of the bag of words; attention pooling and the Transformer of
                  seed 0, float16 but for the word vectors, which are 8-bit integers times a step

All readers but the counting ones share the settings below. They were chosen on the validation
part, from a few combinations of dropout, hidden words and step size, two seeds each. So that none
loses by the shared learning rate, each is also trained with the rate that suits it best on the
validation part, three seeds a rate; where that is another one, five seeds of it are judged as well.
The penalties of the counting ones are chosen on the validation part here; their optimum is one, so
there is no seed.

    python data/scripts/sentiment_results.py        (about thirteen minutes on one free core)
"""

import json
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

from attn_edu.datasets import ORDER_PAIRS, Vocabulary, rated_sentences, split_words
from attn_edu.models import SentenceClassifier, WordWeights, count_parameters
from attn_edu.training import accuracy, train

DATA = Path(__file__).parents[1]
TARGET, WEIGHTS = DATA / "sentiment_results.json", DATA / "sentiment_models.safetensors"
PARTS, SEEDS = ("train", "validation", "test"), range(5)
WIDTH, AT_LEAST, DROPOUT, HIDDEN = 16, 3, 0.5, 0.2
STEPS, BATCH, LR, WARMUP = 800, 64, 1e-2, 40
TRIED, TRIED_SEEDS = (3e-3, 1e-2, 3e-2, 1e-1), range(3)
PENALTIES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
READERS = {
    "mean of word vectors": {"pool": "mean"},
    "attention pooling": {"pool": "attention"},
    "CNN": {"reader": "cnn", "pool": "max"},
    "CNN, mean": {"reader": "cnn", "pool": "mean"},
    "LSTM, both ways": {"reader": "lstm", "pool": "max"},
    "Transformer, 1 layer": {"reader": "transformer", "pool": "attention"},
}
STORED = {"pooling": "attention pooling", "transformer": "Transformer, 1 layer"}

SENTENCES = {part: [split_words(s.text) for s in rated_sentences(part)] for part in PARTS}
LABELS = {p: torch.tensor([int(s.positive) for s in rated_sentences(p)]) for p in PARTS}
VOCABULARY = Vocabulary.of(SENTENCES["train"], at_least=AT_LEAST)
WORDS = {part: VOCABULARY.encode(sentences) for part, sentences in SENTENCES.items()}
PAIRS = [split_words(text) for pair in ORDER_PAIRS for text in pair]


def batches(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sentences drawn to learn from; one word in five is hidden behind the unknown word."""
    rows = torch.randint(len(LABELS["train"]), (BATCH,), generator=generator)
    words = WORDS["train"][rows]
    words = words[:, : int((words != 0).sum(dim=-1).max())]
    hidden = torch.rand(words.shape, generator=generator) < HIDDEN
    return words.masked_fill(hidden & (words != 0), 1), LABELS["train"][rows]


def build(name: str, seed: int) -> SentenceClassifier:
    torch.manual_seed(seed)
    return SentenceClassifier(len(VOCABULARY), WIDTH, dropout=DROPOUT, **READERS[name])


def taught(name: str, seed: int, lr: float = LR) -> SentenceClassifier:
    model, schedule = build(name, seed), {"schedule": "cosine", "warmup": WARMUP}
    train(model, batches, steps=STEPS, lr=lr, seed=seed, progress=False, **schedule)
    return model.eval()


def word_weights(words: Tensor, size: int, penalty: float) -> WordWeights:
    """Logistic regression with the squares of its weights added to the loss, to its optimum."""
    model = WordWeights(size)
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def loss():
        optimiser.zero_grad()
        value = F.cross_entropy(model(words), LABELS["train"])
        value = value + penalty * model.weight.weight.square().sum()
        value.backward()
        return value

    optimiser.step(loss)
    return model.eval()


def with_pairs(sentences):
    """Each sentence's words, and every two in a row as one more word."""
    return [words + [f"{a} {b}" for a, b in pairwise(words)] for words in sentences]


@torch.no_grad()
def both_right(model, pairs: Tensor) -> int:
    """Of how many pairs the positive order is called positive, and the negative one negative."""
    answers = model(pairs).argmax(dim=-1).view(-1, 2)  # (pairs, 2)
    return int((answers == torch.tensor([1, 0])).all(dim=-1).sum())


@torch.no_grad()
def in_order(model, pairs: Tensor) -> int:
    """In how many pairs the positive order gets the larger odds of being positive."""
    logits = model(pairs)
    odds = (logits[:, 1] - logits[:, 0]).view(-1, 2)  # (pairs, 2)
    return int((odds[:, 0] > odds[:, 1] + 1e-4).sum())


def counted(name: str, prepare) -> tuple[dict, WordWeights]:
    """A counting reader's row of results, with the penalty that is best on validation."""
    vocabulary = Vocabulary.of(prepare(SENTENCES["train"]), at_least=AT_LEAST)
    words = {part: vocabulary.encode(prepare(s)) for part, s in SENTENCES.items()}
    start = time.process_time()
    models = {p: word_weights(words["train"], len(vocabulary), p) for p in PENALTIES}
    seconds = (time.process_time() - start) / len(PENALTIES)
    found = {p: accuracy(m, words["validation"], LABELS["validation"]) for p, m in models.items()}
    best = max(found, key=found.get)
    pairs = vocabulary.encode(prepare(PAIRS))
    row = {
        "parameters": count_parameters(models[best]),
        "validation": [round(found[best], 4)],
        "test": [round(accuracy(models[best], words["test"], LABELS["test"]), 4)],
        "pairs": [both_right(models[best], pairs)],
        "in_order": [in_order(models[best], pairs)],
        "seconds": round(seconds, 1),
        "penalty": best,
    }
    print(name, row, flush=True)
    return row, models[best]


def trained(name: str) -> tuple[dict, SentenceClassifier]:
    """A trained reader's row of results over the seeds, and the model of the first."""
    start = time.process_time()
    models = [taught(name, seed) for seed in SEEDS]
    seconds = (time.process_time() - start) / len(SEEDS)
    row = {"parameters": count_parameters(models[0])}
    for part in ("validation", "test"):
        row[part] = right(models, part)
    row["pairs"] = [both_right(m, VOCABULARY.encode(PAIRS)) for m in models]
    row["in_order"] = [in_order(m, VOCABULARY.encode(PAIRS)) for m in models]
    row["seconds"] = round(seconds, 1)
    print(name, row, flush=True)
    return row, models[0]


def right(models: list, part: str) -> list[float]:
    return [round(accuracy(model, WORDS[part], LABELS[part]), 4) for model in models]


def with_own_rate(name: str, shared: list[float]) -> dict:
    """Validation for every rate tried (`shared`: with the shared one), and test with the best."""
    tried = {
        lr: shared if lr == LR else right([taught(name, s, lr) for s in TRIED_SEEDS], "validation")
        for lr in TRIED
    }
    tried = {lr: found[: len(TRIED_SEEDS)] for lr, found in tried.items()}
    best = max(tried, key=lambda lr: sum(tried[lr]))
    row = {"tried": {str(lr): found for lr, found in tried.items()}, "own_lr": best}
    if best != LR:
        row["test_own_lr"] = right([taught(name, seed, best) for seed in SEEDS], "test")
    print(name, row, flush=True)
    return row


def packed(model: SentenceClassifier) -> dict[str, Tensor]:
    """The weights: float16, and word vectors as integers from -127 to 127 with their step."""
    weights = {name: tensor.half() for name, tensor in model.state_dict().items()}
    vectors = model.embed.weight.detach()
    step = vectors.abs().max() / 127
    weights["embed.weight"] = (vectors / step).round().to(torch.int8)
    return weights | {"embed.step": step.reshape(1)}


def main():
    torch.set_num_threads(1)
    most = Counter(LABELS["train"].tolist()).most_common(1)[0][0]
    rows = {"majority": {"test": [round((LABELS["test"] == most).double().mean().item(), 4)]}}
    rows["bag of words"], bag = counted("bag of words", lambda sentences: sentences)
    rows["words and pairs of words"], _ = counted("words and pairs of words", with_pairs)
    models = {}
    for name in READERS:
        rows[name], models[name] = trained(name)
        rows[name] |= with_own_rate(name, rows[name]["validation"])
    results = {
        "sentences": {part: len(labels) for part, labels in LABELS.items()},
        "vocabulary": len(VOCABULARY),
        "settings": {"steps": STEPS, "batch": BATCH, "lr": LR, "dropout": DROPOUT},
        "order_pairs": len(ORDER_PAIRS),
        "readers": rows,
    }
    TARGET.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    tensors = {f"bag.{name}": tensor.half() for name, tensor in bag.state_dict().items()}
    for short, name in STORED.items():
        tensors |= {f"{short}.{key}": t for key, t in packed(models[name]).items()}
    tensors = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
    save_file(tensors, WEIGHTS, metadata={"made": "2026-11-30", "width": str(WIDTH)})


if __name__ == "__main__":
    main()
