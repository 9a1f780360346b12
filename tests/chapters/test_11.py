"""What chapter 11 defines and what its files hold, run again and held against the package."""

import hashlib
import math
import re

import pytest
import torch

from attn_edu.datasets import DATA, load_tensors, recorded
from attn_edu.models import AttentionPooling, SentenceClassifier, WordWeights
from attn_edu.training import accuracy, train

from .loading import definitions, script_of

# Feelings: the files


@pytest.fixture(scope="module")
def feelings():
    return script_of("sentiment_results")


@pytest.fixture(scope="module")
def results():
    return recorded("sentiment_results")


@pytest.fixture(scope="module")
def readers(results):
    return results["readers"]


@pytest.fixture(scope="module")
def chapter(feelings):
    given = {
        "tensors": load_tensors("sentiment_models.safetensors", "sentiment_results.py")[0],
        "known_words": feelings.VOCABULARY,
        "words": feelings.WORDS,
        "labels": feelings.LABELS,
    }
    return definitions("11_reading", **given)


@pytest.fixture(scope="module")
def models(chapter, feelings):
    size = len(feelings.VOCABULARY)
    made = {"bag": WordWeights(size)}
    for short, name in feelings.STORED.items():
        made[short] = SentenceClassifier(size, feelings.WIDTH, **feelings.READERS[name])
    return {name: chapter.stored(name, model) for name, model in made.items()}


@pytest.mark.parametrize("name", ["sentiment_results.json", "sentiment_models.safetensors"])
def test_checksum_is_the_one_in_the_readme(name):
    section = (DATA / "README.md").read_text("utf-8").split(f"## {name}")[1]
    digest = hashlib.sha256((DATA / name).read_bytes()).hexdigest()
    assert re.search(r"SHA-256 \| `(\w+)`", section)[1] == digest


def test_results_are_of_these_sentences(results, feelings):
    assert results["sentences"] == {p: len(labels) for p, labels in feelings.LABELS.items()}
    assert results["vocabulary"] == len(feelings.VOCABULARY)
    assert results["order_pairs"] == len(feelings.ORDER_PAIRS) == 20


def test_seeds_and_budgets(readers, feelings):
    sizes = [readers[name]["parameters"] for name in feelings.READERS]
    assert max(sizes) < 1.04 * min(sizes)
    for name in feelings.READERS:
        assert len(readers[name]["test"]) == len(readers[name]["pairs"]) == 5
        assert len(set(readers[name]["test"])) > 1


def test_each_reader_has_a_learning_rate_of_its_own(readers, feelings):
    """The best of those tried on validation; no reader loses by the rate that all share."""
    for name in feelings.READERS:
        row, seeds = readers[name], len(feelings.TRIED_SEEDS)
        tried = {float(rate): sum(found) for rate, found in row["tried"].items()}
        assert tuple(tried) == feelings.TRIED and feelings.LR in tried
        assert row["tried"][str(feelings.LR)] == row["validation"][:seeds]
        assert tried[row["own_lr"]] == max(tried.values())
        assert (row["own_lr"] == feelings.LR) == ("test_own_lr" not in row)
        assert len(row.get("test_own_lr", row["test"])) == 5


def test_what_the_text_says_of_rates(readers):
    own = {name: row.get("test_own_lr", row["test"]) for name, row in readers.items()}
    for name in ("attention pooling", "mean of word vectors"):
        gain = sum(own[name]) / 5 - sum(readers[name]["test"]) / 5
        assert 0 < gain < 0.005
        assert max(own["CNN"]) < min(own[name]) < max(own["CNN, mean"])
    for name in ("LSTM, both ways", "Transformer, 1 layer"):
        assert readers[name]["own_lr"] == 0.01
    assert sum(own["CNN"]) < sum(readers["CNN"]["test"])


def test_stored_models_are_as_good_as_the_results_say(models, feelings, readers):
    judge = feelings.WORDS["test"], feelings.LABELS["test"]
    names = {"bag": "bag of words", **feelings.STORED}
    for short, name in names.items():
        assert accuracy(models[short], *judge) == pytest.approx(readers[name]["test"][0], abs=5e-3)


def test_order_blind_readers_get_no_pair(models, feelings, readers):
    pairs = feelings.VOCABULARY.encode(feelings.PAIRS)
    for name in ("bag", "pooling"):
        logits = models[name](pairs).view(20, 2, 2)
        torch.testing.assert_close(logits[:, 0], logits[:, 1], rtol=1e-4, atol=1e-4)
    for name in ("bag of words", "mean of word vectors", "attention pooling"):
        assert set(readers[name]["pairs"]) == {0}


def test_a_short_run_of_the_script_learns(feelings):
    scores = []
    judge = feelings.WORDS["validation"][:400], feelings.LABELS["validation"][:400]
    model = feelings.build("attention pooling", 0)
    train(
        model,
        feelings.batches,
        steps=90,
        lr=feelings.LR,
        progress=False,
        evaluate=lambda: scores.append(accuracy(model, *judge)) or scores[-1],
        every=90,
    )
    assert scores[1] > 0.62 > scores[0]


def test_logistic_regression_is_at_its_optimum(feelings):
    """The gradient is zero there, and scaling the weights either way makes the loss larger."""
    words, penalty = feelings.WORDS["train"], 1e-3
    model = feelings.word_weights(words, len(feelings.VOCABULARY), penalty)
    weights = model.weight.weight.detach()[:, 0].double()
    total = weights[words].sum(dim=-1) + model.bias.item()
    gap = total.sigmoid() - feelings.LABELS["train"]
    slope = (
        torch.zeros(len(weights))
        .double()
        .index_add(0, words.flatten(), gap[:, None].expand(words.shape).flatten())
    )
    slope = (slope / len(words) + 2 * penalty * weights)[1:]
    assert slope.abs().max() < 2e-4
    assert weights[0] == 0


def test_both_right_counts_pairs(feelings):
    model = WordWeights(6)
    with torch.no_grad():
        model.weight.weight[:, 0] = torch.tensor([0, 0, 3.0, -3.0, 1.0, -1.0])
    pairs = torch.tensor([[2, 5], [3, 4], [2, 4], [4, 4], [5, 4], [2, 3]])
    assert feelings.both_right(model, pairs) == 1
    assert feelings.in_order(model, pairs) == 2
    pairs = torch.tensor([[2, 4], [4, 4], [4, 4], [2, 4], [3, 5], [3, 3]])
    assert (feelings.both_right(model, pairs), feelings.in_order(model, pairs)) == (0, 2)


def test_pairs_of_words_join_the_words(feelings):
    assert feelings.with_pairs([["a", "b", "c"], ["d"]]) == [["a", "b", "c", "a b", "b c"], ["d"]]


# Feelings: the text


def test_the_readers_pooling_is_the_packages(chapter):
    ours, theirs = chapter.Pooling(6), AttentionPooling(6)
    theirs.load_state_dict(ours.state_dict())
    x, mask = torch.randn(3, 5, 6), torch.arange(5) < torch.tensor([[5], [2], [1]])
    torch.testing.assert_close(ours(x, mask), theirs(x, mask))


def test_a_word_is_taken_out_and_the_rest_moves_up(chapter):
    rows = torch.tensor([[5, 6, 7, 8], [2, 3, 0, 0], [4, 9, 1, 0]])
    place = torch.tensor([3, 0, 1])
    assert chapter.without(rows, place).tolist() == [[5, 6, 7], [3, 0, 0], [4, 1, 0]]


def test_places_are_words_with_the_extreme_weights(chapter):
    rows = torch.tensor([[5, 6, 7, 8], [2, 3, 0, 0]])
    weights = torch.tensor([[0.1, 0.2, 0.6, 0.1], [0.7, 0.3, 0.0, 0.0]])
    found = chapter.places(weights, rows)
    assert found["largest weight"].tolist() == [2, 0]
    assert found["smallest weight"].tolist() in ([0, 1], [3, 1])
    many = chapter.places(torch.rand(500, 4), rows[1:].expand(500, 4))["at random"]
    assert set(many.tolist()) == {0, 1}


def test_the_log_of_the_odds(chapter):
    model = WordWeights(4)
    with torch.no_grad():
        model.weight.weight[:, 0] = torch.tensor([0, 0, 0.7, -0.2])
    rows = torch.tensor([[2, 2, 3]])
    p = chapter.positive(model, rows).item()
    assert chapter.log_odds(model, rows).item() == pytest.approx(math.log(p / (1 - p)), abs=1e-5)
    assert p == pytest.approx(1 / (1 + math.exp(-1.2)))


def test_batches_hide_words_and_no_padding(chapter, feelings):
    for draw in (chapter.batches, feelings.batches):
        rows, answers = draw(torch.Generator().manual_seed(1))
        assert rows.shape[0] == len(answers) == 64
        assert 0.1 < ((rows == 1).sum() / (rows != 0).sum()) < 0.4
        lengths = (rows != 0).sum(dim=-1)
        assert rows.ne(0).equal(torch.arange(rows.shape[1]) < lengths[:, None])


def test_playground_readers_refuse_what_is_no_sentence(models, feelings):
    spoken = definitions(
        "11_reading",
        known_words=feelings.VOCABULARY,
        bag=models["bag"],
        pooling=models["pooling"],
        transformer=models["transformer"],
    )
    for read in (spoken.by_bag, spoken.by_pooling, spoken.by_transformer):
        for text, n in (("  ", 0), ("a gorgeous zzyzx film " * 16, 64)):
            with pytest.raises(ValueError, match=f"{n} words in this text; 1 to 60"):
                read(text)
        reading = read("a gorgeous zzyzx film " * 15)
        assert reading.answer.startswith("Positive") and "zzyzx" in reading.note
        assert reading.map() is not None
