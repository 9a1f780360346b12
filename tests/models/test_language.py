"""Language models: no future, the cache changes nothing, each kind of position does its work."""

import doctest
import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import attn_edu.models.block
import attn_edu.models.language
from attn_edu.attention import causal_mask, sinusoidal_positions
from attn_edu.models import LanguageModel, RecurrentLanguageModel, count_parameters
from attn_edu.models.language import POSITIONS

BATCH, N, HEADS, D_MODEL, LAYERS, VOCABULARY, LONGEST = 2, 7, 3, 12, 4, 19, 11


def made(position="learned", seed=0, **options):
    torch.manual_seed(seed)
    sizes = VOCABULARY, D_MODEL, HEADS, LAYERS, LONGEST
    return LanguageModel(*sizes, position=position, **options).double().eval()


def recurrent(kind="lstm", seed=0, **options):
    torch.manual_seed(seed)
    return RecurrentLanguageModel(VOCABULARY, D_MODEL, kind=kind, **options).double().eval()


def text(n=N, seed=1):
    return torch.randint(VOCABULARY, (BATCH, n), generator=torch.Generator().manual_seed(seed))


MODELS = {position: lambda position=position: made(position) for position in POSITIONS}
MODELS |= {kind: lambda kind=kind: recurrent(kind, n_layers=2) for kind in ("lstm", "gru", "rnn")}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@pytest.mark.parametrize("module", [attn_edu.models.language, attn_edu.models.block])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


@every_model
def test_a_later_token_changes_no_earlier_logits(make):
    model, tokens = make(), text()
    changed = tokens.clone()
    changed[:, 4] = (changed[:, 4] + 1) % VOCABULARY
    moved = (model(tokens) - model(changed)).abs().amax(dim=(0, 2))
    assert (moved[:4] == 0).all()
    assert (moved[4:] > 1e-9).all()


@every_model
def test_reading_in_pieces_with_a_cache_is_reading_at_once(make):
    model, tokens = make(), text()
    cache = model.new_cache()
    pieces = [model(part, cache) for part in tokens.split([3, 1, 2, 1], dim=1)]
    assert_close(torch.cat(pieces, dim=1), model(tokens))


@every_model
@pytest.mark.parametrize("temperature", [0, 0.7, 1.0])
def test_the_cache_changes_no_token_of_what_is_written(make, temperature):
    model, tokens = make(), text(n=3)
    written = [
        model.generate(
            tokens,
            LONGEST - 3,
            temperature=temperature,
            generator=torch.Generator().manual_seed(5),
            use_cache=use_cache,
        )
        for use_cache in (True, False)
    ]
    assert torch.equal(*written)
    assert written[0].shape == (BATCH, LONGEST)
    assert torch.equal(written[0][:, :3], tokens)


def test_temperature_0_takes_the_likeliest_and_draws_follow_the_odds():
    model, tokens = made(), text(n=3)
    greedy = model.generate(tokens, 1, temperature=0)
    assert torch.equal(greedy[:, -1], model(tokens)[:, -1].argmax(dim=-1))

    many = tokens[:1].expand(4000, -1)
    drawn = model.generate(many, 1, temperature=0.5, generator=torch.Generator().manual_seed(0))
    share = torch.bincount(drawn[:, -1], minlength=VOCABULARY).double() / len(many)
    odds = (model(tokens)[0, -1] / 0.5).softmax(dim=-1)
    assert ((share - odds).abs() < 5 * (odds * (1 - odds) / len(many)).sqrt() + 1e-9).all()


def test_generate_puts_the_mode_back_and_leaves_no_gradient():
    model = made(dropout=0.5).train()
    first, second = (model.generate(text(n=2), 3, temperature=0) for _ in range(2))
    assert torch.equal(first, second)  # dropout is off inside
    assert model.training
    assert not first.requires_grad


@every_model
def test_leading_axes_and_a_text_alone(make):
    model, tokens = make(), text()
    assert_close(model(tokens[1]), model(tokens)[1])
    assert model.generate(tokens[0, :3], 2).shape == (5,)


# Positions


def test_without_positions_the_last_word_does_not_see_the_order():
    order = torch.tensor([2, 0, 3, 1, 5, 4, 6])  # the last one stays
    for position in POSITIONS:
        model, tokens = made(position), text()
        # one layer: through two, a causal mask alone gives the order away
        model.stack.blocks = model.stack.blocks[:1]
        same = torch.allclose(model(tokens)[:, -1], model(tokens[:, order])[:, -1])
        assert same == (position == "none"), position


@pytest.mark.parametrize("position", ["rotary", "alibi", "none"])
def test_what_counts_distances_sees_a_shifted_text_alike(position):
    """Start at position 4 instead of 0: a cache that was filled, then hidden from everyone."""
    model, tokens = made(position), text(n=5)
    block, x = model.stack.blocks[0], model._embed(tokens, 0)

    class Shifted:
        def __len__(self):
            return 4

        def update(self, key, value):
            return key, value

    at_0 = block(x, mask=causal_mask(5))
    assert_close(block(x, mask=causal_mask(5), cache=Shifted()), at_0)


@pytest.mark.parametrize(
    ("tokens", "n_new", "error", "word"),
    [
        ([[3, 1]], 2, TypeError, "tokens: got list"),
        (torch.tensor(3), 2, ValueError, r"tokens: got \(\)"),
        (torch.tensor([[0.5]]), 0, ValueError, "tokens: got .*float32"),
        (torch.tensor([[1]]), 1.5, ValueError, "n_new: got 1.5"),
    ],
)
def test_what_cannot_be_continued_is_named(tokens, n_new, error, word):
    with pytest.raises(error, match=word):
        made("rotary").generate(tokens, n_new)


@pytest.mark.parametrize("position", POSITIONS)
def test_only_learned_positions_end(position):
    model, tokens = made(position), text(n=LONGEST + 2)
    if position == "learned":
        with pytest.raises(ValueError, match=rf"tokens: got {LONGEST + 2} .*{LONGEST}"):
            model(tokens)
        with pytest.raises(ValueError, match="tokens: got"):
            model.generate(text(n=LONGEST), 2)
    else:
        assert model(tokens).shape == (BATCH, LONGEST + 2, VOCABULARY)


def test_what_enters_the_stack_is_vector_times_root_plus_position():
    tokens = text()
    for scale, factor in ((True, math.sqrt(D_MODEL)), (False, 1.0)):
        model = made("sinusoidal", scale_embedding=scale)
        wanted = model.tokens(tokens) * factor + sinusoidal_positions(N, D_MODEL)
        assert_close(model._embed(tokens, 0), wanted)
        model = made("learned", scale_embedding=scale)
        wanted = model.tokens(tokens) * factor + model.positions.weight[:N]
        assert_close(model._embed(tokens, 0), wanted)


def test_it_is_torchs_encoder_under_a_causal_mask_between_two_tables():
    layer = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, batch_first=True, norm_first=True, activation="gelu", dim_feedforward=48
    )
    theirs = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(D_MODEL), enable_nested_tensor=False)
    theirs, model, tokens = theirs.double().eval(), made("learned", tie=False), text()
    model.stack.load_torch(theirs)
    x = model.tokens(tokens) * math.sqrt(D_MODEL) + model.positions.weight[:N]
    wanted = theirs(x, mask=~causal_mask(N)) @ model.output.weight.T
    assert_close(model(tokens), wanted)


def test_maps_are_causal_rows_that_sum_to_one():
    maps = made("rotary").maps(text())
    assert maps.shape == (LAYERS, BATCH, HEADS, N, N)
    assert_close(maps.sum(dim=-1), torch.ones(LAYERS, BATCH, HEADS, N).double())
    assert (maps[..., ~causal_mask(N)] == 0).all()


def test_tied_weights_are_one_table():
    for make in (made, recurrent):
        tied, apart = make(tie=True), make(tie=False)
        assert tied.output.weight is tied.tokens.weight
        assert count_parameters(apart) - count_parameters(tied) == VOCABULARY * D_MODEL


def test_a_recurrent_cache_does_not_grow():
    model = recurrent(n_layers=3)
    cache, sizes = model.new_cache(), []
    for part in text(n=9).split(3, dim=1):
        model(part, cache)
        sizes.append(sum(t.numel() for state in cache for t in state))
    assert sizes == [2 * 3 * BATCH * D_MODEL] * 3


def test_it_learns_to_repeat():
    """Ten words drawn, then the same again: the second half can be known, the first cannot."""
    torch.manual_seed(0)
    model = LanguageModel(10, 24, 2, 2, 12, position="rotary")
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    draw = torch.Generator().manual_seed(0)
    for _ in range(250):
        half = torch.randint(10, (32, 6), generator=draw)
        tokens = torch.cat([half, half], dim=1)
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits[:, 5:].flatten(0, 1), tokens[:, 6:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    half = torch.randint(10, (32, 6), generator=draw)
    assert (model.generate(half, 6, temperature=0)[:, 6:] == half).double().mean() > 0.9


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: LanguageModel(0, 12, 3, 2, 5), "vocabulary"),
        (lambda: LanguageModel(9, 0, 3, 2, 5), "d_model"),
        (lambda: LanguageModel(9, 12, 3, 2, 0), "max_length"),
        (lambda: LanguageModel(9, 12, 3, 0, 5), "n_layers"),
        (lambda: LanguageModel(9, 12, 5, 2, 5), "n_heads"),
        (lambda: made("rotery"), "position"),
        (lambda: RecurrentLanguageModel(9, 12, kind="cnn"), "kind"),
        (lambda: RecurrentLanguageModel(9, 12, n_layers=0), "n_layers"),
        (lambda: made()(torch.ones(2, 5)), "tokens"),
        (lambda: made()(text()[:, :0]), "tokens"),
        (lambda: made()(torch.tensor([[0, VOCABULARY]])), "tokens"),
        (lambda: made()(torch.tensor([[0, -1]])), "tokens"),
        (lambda: RecurrentLanguageModel(9, 12)(torch.tensor([[0, 9]])), "tokens"),
        (lambda: made().generate(text(n=3)[:, :0], 2), "tokens"),
        (lambda: made().generate(text(n=3), -1), "n_new"),
        (lambda: made().generate(text(n=3), 2, temperature=-1), "temperature"),
        (lambda: made().generate(text(n=3), 2, temperature=math.nan), "temperature"),
    ],
)
def test_what_does_not_fit_is_named(call, word):
    with pytest.raises(ValueError, match=f"{word}: got"):
        call()
