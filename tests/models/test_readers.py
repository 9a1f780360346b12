"""Readers of sentences against loops, torch, and what must not change an answer."""

import math

import pytest
import torch

from attn_edu.models import (
    AttentionPooling,
    SentenceClassifier,
    Tagger,
    WordWeights,
    count_parameters,
)
from attn_edu.models.readers import BothWays

WORDS = torch.tensor([[3, 9, 4, 4, 7], [5, 2, 0, 0, 0], [8, 6, 1, 0, 0]])
KINDS = [
    {"pool": "mean"},
    {"pool": "max"},
    {"pool": "attention"},
    {"reader": "cnn", "pool": "max"},
    {"reader": "cnn", "pool": "mean"},
    {"reader": "lstm", "pool": "max"},
    {"reader": "lstm", "pool": "attention"},
    {"reader": "transformer", "pool": "attention"},
    {"reader": "transformer", "pool": "mean"},
]


def made(**options):
    torch.manual_seed(1)
    model = SentenceClassifier(11, 8, n_classes=3, **options).double().eval()
    with torch.no_grad():
        model.embed.weight.mul_(10)  # as far apart as trained ones
    return model


def name_of(options):
    return "-".join(options.values())


@pytest.mark.parametrize("options", KINDS, ids=name_of)
def test_padding_changes_no_answer(options):
    """Each sentence of a padded batch gets what it gets alone, and padding has no gradient."""
    model = made(**options)
    together = model(WORDS)
    assert together.shape == (3, 3)
    for row, logits in zip(WORDS, together):
        torch.testing.assert_close(model(row[None, row != 0])[0], logits)
    model(WORDS).square().sum().backward()
    assert not model.embed.weight.grad[0].any()


@pytest.mark.parametrize("options", KINDS, ids=name_of)
def test_who_can_see_the_order(options):
    """Only a reader between the words and the pooling can."""
    model, order = made(**options), torch.tensor([[4, 0, 2, 1, 3]])
    moved = model(WORDS[:1].gather(1, order)) - model(WORDS[:1])
    assert (moved.abs().max() > 1e-4) == ("reader" in options)


def test_pooling_by_loops():
    torch.manual_seed(2)
    pool, x = AttentionPooling(6).double(), torch.randn(2, 4, 6).double()
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    for b in range(2):
        odds = []
        for i in range(4):
            key = [math.tanh(value) for value in pool.key(x[b, i]).tolist()]
            score = sum(q * k for q, k in zip(pool.query[0].tolist(), key)) / math.sqrt(6)
            odds.append(math.exp(score) * mask[b, i].item())
        weights = torch.tensor(odds).double() / sum(odds)
        torch.testing.assert_close(pool.map(x, mask)[b], weights)
        torch.testing.assert_close(pool(x, mask)[b], weights @ x[b])


def test_without_a_mask_all_places_count():
    torch.manual_seed(2)
    pool, x = AttentionPooling(6), torch.randn(2, 4, 6)
    everything = torch.ones(2, 4, dtype=torch.bool)
    torch.testing.assert_close(pool(x), pool(x, everything))
    torch.testing.assert_close(pool.map(x).sum(dim=-1), torch.ones(2))


@pytest.mark.parametrize("pool", ["mean", "attention"])
@pytest.mark.parametrize("reader", ["none", "transformer"])
def test_pooling_weights_are_the_ones_used(pool, reader):
    model = made(pool=pool, reader=reader)
    weights = model.pooling(WORDS)  # (3, 5)
    assert not weights[WORDS == 0].any()
    pooled = torch.einsum("bn,bnd->bd", weights, model.states(WORDS))
    torch.testing.assert_close(model.head(pooled), model(WORDS))


def test_max_by_hand():
    model = made(pool="max")
    with torch.no_grad():
        model.embed.weight.copy_(-model.embed.weight.abs())  # padding, which is 0, would win
    vectors = model.embed.weight[WORDS[1, :2]]
    torch.testing.assert_close(model(WORDS)[1], model.head(vectors.amax(dim=0)))


def test_the_lstm_reads_from_both_ends():
    """The first half is torch's LSTM over the words, the second over the words backwards."""
    torch.manual_seed(3)
    both, x = BothWays(6).double(), torch.randn(1, 5, 6).double()
    mask = torch.tensor([[True, True, True, False, False]])
    out = both(x, mask)
    assert out.shape == x.shape
    backwards = torch.nn.LSTM(6, 3, batch_first=True).double()
    weights = dict(both.layer.named_parameters())
    backwards.load_state_dict({n: weights[f"{n}_reverse"] for n, _ in backwards.named_parameters()})
    torch.testing.assert_close(out[:, :3, 3:], backwards(x[:, :3].flip(1))[0].flip(1))
    assert not out[:, 3:].any()


def test_maps_are_those_of_the_block():
    model = made(reader="transformer", n_heads=4)
    maps = model.maps(WORDS)
    assert maps.shape == (1, 3, 4, 5, 5)
    block, x = model.layer.blocks[0], model.embed(WORDS[2:, :3])
    torch.testing.assert_close(maps[0, 2:, :, :3, :3], block.map(x))
    assert not maps[0, 1, :, :, 2:].any()


def test_word_weights_add_up():
    model = WordWeights(11)
    assert count_parameters(model) == 12
    with torch.no_grad():
        model.weight.weight[:, 0] = torch.arange(11)
        model.bias.fill_(0.5)
    logits = model(WORDS)
    assert logits.shape == (3, 2)
    assert (logits[:, 1] - logits[:, 0]).tolist() == [27.5, 7.5, 15.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reader": "gru"}, "reader: got 'gru'"),
        ({"pool": "sum"}, "pool: got 'sum'"),
        ({"width": 0}, "width: got 0"),
        ({"vocabulary": 0}, "vocabulary: got 0"),
        ({"reader": "lstm", "width": 7}, "width: got 7"),
        ({"reader": "cnn", "window": 4}, "window: got 4"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SentenceClassifier(**{"vocabulary": 11, "width": 8, **options})


def test_weights_that_do_not_exist():
    with pytest.raises(ValueError, match="pool: got 'max'"):
        made(pool="max").pooling(WORDS)
    with pytest.raises(ValueError, match="reader: got 'cnn'"):
        made(reader="cnn").maps(WORDS)


@pytest.mark.parametrize("options", KINDS, ids=name_of)
def test_a_sentence_of_padding_alone_spoils_nothing(options):
    """It is pooled to zeros, forward and backward, and leaves the rest of the batch alone."""
    model = made(**options)
    rows = torch.cat([WORDS, torch.zeros(1, 5, dtype=torch.long)])
    logits = model(rows)
    torch.testing.assert_close(logits[:3], model(WORDS))
    torch.testing.assert_close(logits[3], model.head.bias)
    logits.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    if options["pool"] != "max":
        assert not model.pooling(rows)[3].any()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (torch.tensor([[1.0, 2.0]]), r"words: got \(1, 2\) of torch.float32; accepted is"),
        (torch.tensor([1, 2]), r"words: got \(2,\) of"),
        (torch.zeros(2, 0, dtype=torch.long), r"words: got \(2, 0\) of"),
        (torch.tensor([[1, 11]]), "words: got numbers from 1 to 11; accepted is 0 to 10"),
        (torch.tensor([[-1, 3]]), "words: got numbers from -1 to 3"),
    ],
)
def test_what_are_no_words_is_refused(words, message):
    model = made(reader="transformer", pool="attention")
    for read in (WordWeights(11), model, model.pooling, model.maps, Tagger(11, 3, 8, n_heads=2)):
        with pytest.raises(ValueError, match=message):
            read(words)
