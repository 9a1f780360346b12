"""Translators: nothing from the future, nothing from padding, and torch's own with our weights."""

import math

import pytest
import torch
from torch import nn

from attn_edu.attention import sinusoidal_positions
from attn_edu.datasets.translation import BEGIN, END, PAD
from attn_edu.models import RecurrentTranslator, Translator, count_parameters, matched_width

N_SOURCE, N_TARGET = 13, 11


def translator(**options):
    torch.manual_seed(3)
    return Translator(N_SOURCE, N_TARGET, 12, 3, 2, 20, **options).double().eval()


def recurrent(attention):
    torch.manual_seed(3)
    return RecurrentTranslator(N_SOURCE, N_TARGET, 10, attention=attention).double().eval()


MODELS = {
    "transformer": translator,
    "post-norm": lambda: translator(pre_norm=False),
    "looks back": lambda: recurrent(True),
    "one vector": lambda: recurrent(False),
}
LOOKING = ("transformer", "post-norm", "looks back")


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


def texts(batch=4, n_source=7, n_target=5, seed=0):
    draw = torch.Generator().manual_seed(seed)
    source = torch.randint(3, N_SOURCE, (batch, n_source), generator=draw)
    target = torch.randint(3, N_TARGET, (batch, n_target), generator=draw)
    source[:, -1], target[:, 0] = END, BEGIN
    return source, target


@torch.no_grad()
def test_a_later_token_changes_nothing_before_it(model):
    source, target = texts()
    before = model(source, target)
    for place in range(target.shape[1]):
        changed = target.clone()
        changed[:, place] = 3 + (changed[:, place] - 2) % (N_TARGET - 3)
        moves = (model(source, changed) - before).abs().amax(dim=(0, 2)) > 1e-9
        assert moves.tolist() == [after >= place for after in range(target.shape[1])]


@torch.no_grad()
def test_every_word_of_the_source_reaches_every_token(model):
    source, target = texts()
    before = model(source, target)
    for place in range(source.shape[1] - 1):
        changed = source.clone()
        changed[:, place] = 3 + (changed[:, place] - 2) % (N_SOURCE - 3)
        assert ((model(source=changed, target=target) - before).abs().amax(dim=2) > 1e-12).all()


@torch.no_grad()
def test_a_text_alone_is_a_text_in_a_batch(model):
    """Padding behind the shorter sources is neither read nor looked at."""
    source, target = texts()
    for row, length in enumerate((7, 3, 5, 1)):
        source[row, length - 1], source[row, length:] = END, PAD
    together = model(source, target)
    longer = model(torch.cat([source, torch.full((4, 3), PAD)], dim=1), target)
    torch.testing.assert_close(longer, together)
    for row, length in enumerate((7, 3, 5, 1)):
        alone = model(source[row : row + 1, :length], target[row : row + 1])
        torch.testing.assert_close(alone[0], together[row])


def test_padding_gets_no_gradient(model):
    source, target = texts()
    source[1, 2], source[1, 3:] = END, PAD
    model(source, target).sum().backward()
    assert model.source.weight.grad[PAD].abs().max() == 0
    assert model.source.weight.grad[END].abs().max() > 0


@pytest.mark.parametrize("name", MODELS)
def test_with_and_without_a_cache_the_same_is_written(name):
    model, source = MODELS[name](), texts(batch=3)[0]
    for row, length in enumerate((7, 3, 5)):
        source[row, length - 1], source[row, length:] = END, PAD
    with torch.no_grad():
        model.output.weight.mul_(3)  # so that texts end at different places
    kept, again = (model.translate(source, 8, use_cache=use) for use in (True, False))
    assert kept.equal(again)
    memory, state = model.encode(source), model.new_state()
    target = torch.cat([torch.full((3, 1), BEGIN), kept], dim=1)
    with torch.no_grad():
        parts = [model.decode(part, memory, state) for part in target.split(2, dim=1)]
        torch.testing.assert_close(torch.cat(parts, dim=1), model(source, target))


@torch.no_grad()
def test_what_is_written_is_the_likeliest_each_time_and_stops_at_its_end(model):
    source = texts(batch=2)[0]
    model.output.weight.mul_(3)
    written = model.translate(source, 6)
    for row in range(2):
        text = [BEGIN]
        while len(text) < 7 and text[-1] != END:
            logits = model(source[row : row + 1], torch.tensor([text]))
            text.append(logits[0, -1].argmax().item())
        wanted = text[1:] + [PAD] * (written.shape[1] - len(text) + 1)
        assert written[row].tolist() == wanted


def test_the_mode_is_put_back(model):
    for training in (True, False):
        model.train(training).translate(texts()[0], 2)
        assert model.training == training


@torch.no_grad()
@pytest.mark.parametrize("pre_norm", [True, False])
def test_it_is_torchs_transformer(pre_norm):
    options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": pre_norm}
    torch.manual_seed(5)
    encoder = nn.TransformerEncoderLayer(12, 3, 20, **options).double()
    decoder = nn.TransformerDecoderLayer(12, 3, 20, **options).double()
    norms = [nn.LayerNorm(12).double() if pre_norm else None for _ in range(2)]
    encoder = nn.TransformerEncoder(encoder, 2, norms[0], enable_nested_tensor=False).eval()
    decoder = nn.TransformerDecoder(decoder, 2, norms[1]).eval()
    for p in [*encoder.parameters(), *decoder.parameters()]:
        p.copy_(torch.randn_like(p) / 3)
    ours = translator(pre_norm=pre_norm)
    ours.encoder.load_torch(encoder)
    ours.decoder.load_torch(decoder)
    source, target = texts()
    source[2, 3], source[2, 4:] = END, PAD

    def vectors(table, tokens):
        return table(tokens) * math.sqrt(12) + sinusoidal_positions(tokens.shape[1], 12).double()

    memory = encoder(vectors(ours.source, source), src_key_padding_mask=source == PAD)
    hidden = decoder(
        vectors(ours.target, target),
        memory,
        tgt_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
        memory_key_padding_mask=source == PAD,
    )
    torch.testing.assert_close(ours(source, target), ours.output(hidden))


@torch.no_grad()
def test_with_attention_by_loops():
    """Bahdanau's formula written out: score, softmax over the words, mixture, one step."""
    model, (source, target) = recurrent(True), texts(batch=2)
    source[1, 4], source[1, 5:] = END, PAD
    whole, maps = model(source, target), model.cross_maps(source, target)
    assert maps.shape == (1, 2, 1, 5, 7)
    for b, length in enumerate((7, 5)):
        states, last = model.reader(model.source(source[b, :length]) * math.sqrt(10))
        own = torch.tanh(model.start(last.flatten()))
        for t in range(5):
            scores = [model.score(torch.tanh(model.query(own) + model.key(h))) for h in states]
            odds = [math.exp(score) for score in scores]
            row = [odd / sum(odds) for odd in odds] + [0.0] * (7 - length)
            torch.testing.assert_close(maps[0, b, 0, t], torch.tensor(row).double())
            seen = sum(weight * h for weight, h in zip(row, states))
            inputs = torch.cat([model.target(target[b, t]) * math.sqrt(10), seen])
            own = model.writer(inputs[None], own[None])[0][0]
            torch.testing.assert_close(whole[b, t], model.output(torch.cat([own, seen])))


@torch.no_grad()
@pytest.mark.parametrize("name", LOOKING)
def test_maps_are_rows_of_weights_without_padding(name):
    model, (source, target) = MODELS[name](), texts()
    source[2, 3], source[2, 4:] = END, PAD
    maps = model.cross_maps(source, target)
    layers, heads = (1, 1) if name == "looks back" else (2, 3)
    assert maps.shape == (layers, 4, heads, 5, 7)
    torch.testing.assert_close(maps.sum(dim=-1), torch.ones(maps.shape[:-1]).double())
    assert maps[:, 2, :, :, 4:].abs().max() == 0
    assert maps[:, 2, :, :, :4].min() > 0


def test_one_vector_has_no_map():
    with pytest.raises(ValueError, match="attention: got False"):
        recurrent(False).cross_maps(*texts())


def test_rivals_can_be_as_large():
    budget = count_parameters(Translator(50, 30, 64, 4, 1, 128))
    for attention in (True, False):

        def make(half, attention=attention):
            return RecurrentTranslator(50, 30, 2 * half, attention=attention)

        assert abs(count_parameters(make(matched_width(make, budget))) - budget) < 0.03 * budget


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((texts()[0].double(), texts()[1]), "source: got"),
        ((texts()[0], texts()[1][:2]), "target: got"),
        ((texts()[0] + 20, texts()[1]), r"source: got numbers from .* to 32; accepted is 0 to 12"),
        ((texts()[0], texts()[1][:, :0]), "target: got"),
        ((texts()[0] * 0, texts()[1]), "padding alone"),
        ((texts()[0][:0], texts()[1][:0]), "source: got"),
        ((texts()[0][0, 0], texts()[1]), "source: got"),
        ((texts()[0], -texts()[1]), "target: got numbers from"),
    ],
)
def test_what_does_not_fit_is_named(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model(*arguments)
    if getattr(model, "attention", True):
        with pytest.raises(ValueError, match=message):
            model.cross_maps(*arguments)


def test_a_list_is_no_tensor(model):
    with pytest.raises(TypeError, match="source: got list"):
        model([[3, 4]], texts()[1])


def test_sizes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match="width: got 7; accepted is an even number"):
        RecurrentTranslator(9, 9, 7, attention=True)
    with pytest.raises(ValueError, match="d_model"):
        Translator(9, 9, 0, 1)
    with pytest.raises(ValueError, match="max_length"):
        translator().translate(texts()[0], 0)
