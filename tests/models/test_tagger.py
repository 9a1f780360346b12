"""A tag for each word: padding, order, and the maps against the blocks that make them."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from attn_edu.models import Tagger, count_parameters, tag_loss

VOCABULARY, N_TAGS, WIDTH, HEADS, LAYERS, BATCH, N = 11, 3, 12, 2, 4, 5, 7
both = pytest.mark.parametrize("reader", ["transformer", "lstm"])


def made(reader="transformer", **options):
    torch.manual_seed(0)
    sizes = {"n_layers": LAYERS, "n_heads": HEADS}
    return Tagger(VOCABULARY, N_TAGS, WIDTH, reader=reader, **sizes, **options).double().eval()


def text(n=N):
    return torch.randint(1, VOCABULARY, (BATCH, n), generator=torch.Generator().manual_seed(1))


@both
def test_a_word_gets_as_many_numbers_as_there_are_tags(reader):
    assert made(reader)(text()).shape == (BATCH, N, N_TAGS)


@both
def test_padding_changes_no_tag(reader):
    model, words = made(reader), text()
    padded = F.pad(words, (0, 4))
    padded[2, 3:] = 0
    assert_close(model(padded)[[0, 1, 3, 4], :N], model(words)[[0, 1, 3, 4]])
    assert_close(model(padded)[2, :3], model(words[2:3, :3])[0])


@both
def test_every_word_hears_of_every_other(reader):
    model, words = made(reader), text(n=5)
    for j in range(5):
        changed = words.clone()
        changed[:, j] = changed[:, j] % (VOCABULARY - 1) + 1  # another word
        moved = (model(changed) - model(words)).abs().amax(dim=(0, 2))
        assert (moved > 1e-6).all(), j


@both
def test_order_counts_unless_there_are_no_positions(reader):
    words, order = text(), torch.tensor([2, 0, 3, 1, 6, 4, 5])
    for model in (made(reader), made(position="neighbours")):
        assert not torch.allclose(model(words[:, order]), model(words)[:, order])
    blind = made("transformer", position=None)
    assert_close(blind(words[:, order]), blind(words)[:, order])


def test_each_head_starts_at_another_word_nearby():
    sizes = {"n_layers": 2, "n_heads": 6, "position": "neighbours"}
    model = Tagger(VOCABULARY, N_TAGS, WIDTH, **sizes).double().eval()
    for block in model.layers.blocks:
        block.attention.query.weight.data.zero_()  # only the distances speak
        block.attention.query.bias.data.zero_()
    maps = model.maps(torch.ones(1, 9, dtype=torch.long))[:, 0]  # (2, 6, 9, 9)
    for head, start in enumerate((-1, 1, -2, 2, -3, 3)):
        for i in range(9):
            row = torch.tensor([-abs(j - i - start) for j in range(9)]).double().softmax(dim=-1)
            assert_close(maps[:, head, i], row.expand(2, 9))


@pytest.mark.parametrize("position", ["rotary", "neighbours"])
def test_the_maps_are_those_of_the_blocks(position):
    model, words = made(position=position), text()
    words[1, 4:] = 0
    maps = model.maps(words)
    assert maps.shape == (LAYERS, BATCH, HEADS, N, N)
    assert_close(maps.sum(dim=-1), torch.ones(LAYERS, BATCH, HEADS, N).double())
    assert maps[:, 1, :, :, 4:].eq(0).all()
    x, mask = model.embed(words), (words != 0).unsqueeze(-2)
    for block, weights in zip(model.layers.blocks, maps):
        assert_close(block.map(x, mask=mask), weights)
        x = block(x, mask=mask)


def test_the_loss_leaves_padding_out_as_a_loop_does():
    logits = torch.randn(BATCH, N, N_TAGS, generator=torch.Generator().manual_seed(2)).double()
    tags = text() % N_TAGS
    tags[0, 3:], tags[4, 6:] = -1, -1
    nats = [
        -logits[i, j].log_softmax(dim=-1)[tags[i, j]]
        for i in range(BATCH)
        for j in range(N)
        if tags[i, j] >= 0
    ]
    assert len(nats) == BATCH * N - 4 - 1
    assert_close(tag_loss(logits, tags), torch.stack(nats).mean())


def test_what_is_no_tagger_is_named():
    with pytest.raises(ValueError, match="reader: got 'gru'; accepted are 'transformer', 'lstm'"):
        made("gru")
    with pytest.raises(ValueError, match="n_tags: got 0"):
        Tagger(VOCABULARY, 0, WIDTH)
    with pytest.raises(ValueError, match="only 'transformer' has maps"):
        made("lstm").maps(text())


def test_the_two_readers_can_be_made_equally_large():
    attending = Tagger(3811, 3, 64, n_heads=8, position="neighbours")
    counts = [count_parameters(m) for m in (attending, Tagger(3811, 3, 68, reader="lstm"))]
    assert abs(counts[0] - counts[1]) < 0.05 * counts[0]


@both
def test_a_sentence_of_padding_alone_spoils_nothing(reader):
    model, words = made(reader), text()
    with_empty = torch.cat([words, torch.zeros(1, N, dtype=torch.long)])
    assert model(with_empty).isfinite().all()
    assert_close(model(with_empty)[:BATCH], model(words))
