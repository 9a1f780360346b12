"""The blocks and stacks against torch's layers with the same weights, and against each other."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attn_edu.attention import (
    MultiHeadAttention,
    causal_mask,
    padding_mask,
    to_multihead_attention,
)
from attn_edu.models import (
    FeedForward,
    GatedFeedForward,
    TransformerBlock,
    TransformerDecoder,
    TransformerEncoder,
)

BATCH, N, N_MEMORY, HEADS, D_MODEL, D_FF, LAYERS = 2, 5, 7, 3, 12, 20, 4


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def shaken(module, seed=0):
    """Every parameter random: norms of 1 and biases of 0 would hide what is exchanged."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.4)
    return module.double().eval()


def torch_layer(cross=False, **options):
    options = {"activation": "gelu", "norm_first": True, **options}
    make = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
    return shaken(make(D_MODEL, HEADS, D_FF, batch_first=True, **options))


def block(**options):
    return TransformerBlock(D_MODEL, HEADS, D_FF, **options).double()


KINDS = [
    (norm, kind, bias) for norm in (True, False) for kind in ("gelu", "relu") for bias in (1, 0)
]


@pytest.mark.parametrize(("pre_norm", "activation", "bias"), KINDS)
@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
def test_an_encoder_block_equals_torchs(pre_norm, activation, bias, mask):
    theirs = torch_layer(norm_first=pre_norm, activation=activation, bias=bias)
    ours = block(pre_norm=pre_norm, activation=activation, bias=bias).load_torch(theirs)
    x = draw(BATCH, N, D_MODEL).requires_grad_()
    mine, other = {
        "none": (None, {}),
        "causal": (causal_mask(N), {"src_mask": to_multihead_attention(causal_mask(N))}),
        "padding": (
            padding_mask([3, N], N),
            {"src_key_padding_mask": to_multihead_attention(padding_mask([3, N], N).squeeze(-2))},
        ),
    }[mask]
    got, wanted = ours(x, mask=mine), theirs(x, **other)
    assert_close(got, wanted)
    (of_ours,) = torch.autograd.grad(got.square().sum(), x)
    (of_theirs,) = torch.autograd.grad(wanted.square().sum(), x)
    assert_close(of_ours, of_theirs)


@pytest.mark.parametrize(("pre_norm", "activation", "bias"), KINDS)
def test_a_decoder_block_equals_torchs(pre_norm, activation, bias):
    options = {"activation": activation, "bias": bias}
    theirs = torch_layer(cross=True, norm_first=pre_norm, **options)
    ours = block(cross=True, pre_norm=pre_norm, **options).load_torch(theirs)
    x, memory = draw(BATCH, N, D_MODEL), draw(BATCH, N_MEMORY, D_MODEL, seed=1)
    padding = padding_mask([4, N_MEMORY], N_MEMORY)
    wanted = theirs(
        x,
        memory,
        tgt_mask=to_multihead_attention(causal_mask(N)),
        memory_key_padding_mask=to_multihead_attention(padding.squeeze(-2)),
    )
    assert_close(ours(x, memory, mask=causal_mask(N), memory_mask=padding), wanted)


@pytest.mark.parametrize("final_norm", [True, False])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_stacks_equal_torchs(pre_norm, final_norm):
    norm = nn.LayerNorm(D_MODEL) if final_norm else None
    options = {"pre_norm": pre_norm, "final_norm": final_norm}
    x, memory = draw(BATCH, N, D_MODEL), draw(BATCH, N_MEMORY, D_MODEL, seed=1)

    layer = torch_layer(norm_first=pre_norm)
    theirs = shaken(nn.TransformerEncoder(layer, LAYERS, norm, enable_nested_tensor=False))
    encoder = TransformerEncoder(D_MODEL, HEADS, LAYERS, D_FF, **options).double()
    assert_close(encoder.load_torch(theirs)(x), theirs(x))

    layer = torch_layer(cross=True, norm_first=pre_norm)
    theirs = shaken(nn.TransformerDecoder(layer, LAYERS, norm), seed=1)
    decoder = TransformerDecoder(D_MODEL, HEADS, LAYERS, D_FF, **options).double()
    hidden = to_multihead_attention(causal_mask(N))
    got = decoder.load_torch(theirs)(x, memory, mask=causal_mask(N))
    assert_close(got, theirs(x, memory, tgt_mask=hidden))


def test_a_final_norm_comes_with_pre_norm_unless_told():
    for pre_norm in (True, False):
        encoder = TransformerEncoder(D_MODEL, HEADS, LAYERS, pre_norm=pre_norm)
        assert (encoder.norm is not None) == pre_norm
        assert len(encoder.blocks) == LAYERS


def test_weights_are_copied_not_shared():
    theirs = torch_layer()
    ours, x = block().load_torch(theirs), draw(BATCH, N, D_MODEL)
    before = ours(x)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.zero_()
    assert torch.equal(ours(x), before)


@pytest.mark.parametrize(
    ("theirs", "word"),
    [
        ({"norm_first": False}, "norm_first"),
        ({"activation": "relu"}, "activation"),
        ({"bias": False}, "bias"),
        ({"layer_norm_eps": 1e-3}, "eps"),
    ],
)
def test_another_kind_of_layer_is_refused(theirs, word):
    with pytest.raises(ValueError, match=f"other: got .*{word}.*accepted"):
        block().load_torch(torch_layer(**theirs))


def test_other_sizes_and_types_are_refused():
    wide = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF + 1, norm_first=True, activation="gelu")
    with pytest.raises(ValueError, match="dim_feedforward"):
        block().load_torch(wide)
    with pytest.raises(TypeError, match="TransformerEncoderLayer"):
        block().load_torch(torch_layer(cross=True))
    with pytest.raises(TypeError, match="TransformerDecoderLayer"):
        block(cross=True).load_torch(torch_layer())
    encoder = TransformerEncoder(D_MODEL, HEADS, LAYERS, D_FF)
    with pytest.raises(TypeError, match="other"):
        encoder.load_torch(torch_layer())
    short = nn.TransformerEncoder(torch_layer(), LAYERS - 1, enable_nested_tensor=False)
    with pytest.raises(ValueError, match=r"layers.*final norm"):
        encoder.load_torch(short)


@pytest.mark.parametrize("norm", ["norm1", "norm2", "norm3"])
def test_another_epsilon_in_any_norm_is_refused(norm):
    theirs = torch_layer(cross=True)
    getattr(theirs, norm).eps = 1e-3
    with pytest.raises(ValueError, match=r"other: got .*eps.*0\.001.*accepted is .*1e-05"):
        block(cross=True).load_torch(theirs)


@pytest.mark.parametrize(
    "norm",
    [
        nn.LayerNorm(D_MODEL, eps=1e-3),
        nn.LayerNorm(D_MODEL, bias=False),
        nn.LayerNorm(D_MODEL, elementwise_affine=False),
        nn.LayerNorm(D_MODEL + 1),
        nn.GroupNorm(HEADS, D_MODEL),
        nn.Identity(),
    ],
    ids=str,
)
def test_another_final_norm_is_refused(norm):
    theirs = nn.TransformerEncoder(torch_layer(), LAYERS, norm, enable_nested_tensor=False)
    with pytest.raises(ValueError, match=r"other: got a norm .*accepted"):
        TransformerEncoder(D_MODEL, HEADS, LAYERS, D_FF).load_torch(theirs)


# Without torch's layer: what must hold by itself


@pytest.mark.parametrize("pre_norm", [True, False])
def test_a_block_is_its_parts_written_out(pre_norm):
    ours = shaken(block(pre_norm=pre_norm, cross=True))
    x, memory = draw(BATCH, N, D_MODEL), draw(BATCH, N_MEMORY, D_MODEL, seed=1)
    got = ours(x, memory, mask=causal_mask(N))
    a, c, f = ours.attention, ours.cross_attention, ours.feedforward
    norm_a, norm_c, norm_f = ours.attention_norm, ours.cross_norm, ours.feedforward_norm
    if pre_norm:
        x = x + a(norm_a(x), mask=causal_mask(N))
        x = x + c(norm_c(x), memory)
        x = x + f(norm_f(x))
    else:
        x = norm_a(x + a(x, mask=causal_mask(N)))
        x = norm_c(x + c(x, memory))
        x = norm_f(x + f(x))
    assert_close(got, x)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_the_map_is_the_one_that_was_used(pre_norm):
    ours = shaken(block(pre_norm=pre_norm))
    x, seen = draw(BATCH, N, D_MODEL), []
    ours.attention.register_forward_hook(lambda layer, inputs, _: seen.append(inputs[0]))
    ours(x)
    assert_close(ours.map(x), ours.attention.map(seen[0]))


def test_the_maps_of_a_stack_are_those_of_its_blocks():
    stack = shaken(TransformerEncoder(D_MODEL, HEADS, LAYERS))
    x, mask = draw(BATCH, N, D_MODEL), causal_mask(N)
    maps = stack.maps(x, mask=mask)
    assert maps.shape == (LAYERS, BATCH, HEADS, N, N)
    for block_, wanted in zip(stack.blocks, maps):
        assert_close(block_.map(x, mask=mask), wanted)
        x = block_(x, mask=mask)


def test_the_feedforward_network_sees_one_position_at_a_time():
    network = shaken(FeedForward(D_MODEL))
    assert network.widen.out_features == 4 * D_MODEL
    x = draw(BATCH, N, D_MODEL)
    alone = torch.stack([network(x[:, i]) for i in range(N)], dim=1)
    assert_close(network(x), alone)


@pytest.mark.parametrize("bias", [True, False])
def test_a_gated_network_multiplies_what_is_wide(bias):
    network, x = shaken(GatedFeedForward(D_MODEL, D_FF, bias=bias)), draw(BATCH, N, D_MODEL)
    assert len(list(network.parameters())) == (6 if bias else 3)
    weights = network.state_dict()

    def line(name, x):
        return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0)

    gate = line("gate", x)
    assert_close(network(x), line("narrow", gate / (1 + (-gate).exp()) * line("widen", x)))


def test_norms_and_networks_of_your_own_take_the_place():
    def make(norm, wide):
        torch.manual_seed(0)
        return TransformerEncoder(D_MODEL, HEADS, LAYERS, norm=norm, feedforward=wide)

    ours = make(nn.RMSNorm, lambda d_model: GatedFeedForward(d_model, D_FF, bias=False))
    norms = [m for m in ours.modules() if isinstance(m, nn.RMSNorm | nn.LayerNorm)]
    assert [type(norm) for norm in norms] == [nn.RMSNorm] * (2 * LAYERS + 1)
    x, block_ = draw(BATCH, N, D_MODEL), shaken(ours).blocks[0]

    def rms(x, norm):
        exact = x / (x.square().mean(-1, keepdim=True) + torch.finfo(x.dtype).eps).sqrt()
        return exact * norm.weight

    y = x + block_.attention(rms(x, block_.attention_norm))
    y = y + block_.feedforward(rms(y, block_.feedforward_norm))
    assert_close(block_(x), y)
    narrow = TransformerBlock(D_MODEL, HEADS, norm=lambda d_model: nn.LayerNorm(d_model, eps=0.1))
    assert {narrow.attention_norm.eps, narrow.feedforward_norm.eps} == {0.1}


@pytest.mark.parametrize("pre_norm", [True, False])
def test_the_maps_to_a_memory_are_those_that_the_decoder_uses(pre_norm):
    decoder = shaken(TransformerDecoder(D_MODEL, HEADS, LAYERS, pre_norm=pre_norm))
    x, memory = draw(BATCH, N, D_MODEL), draw(BATCH, N_MEMORY, D_MODEL, seed=1)
    masks = {"mask": causal_mask(N), "memory_mask": padding_mask([4, N_MEMORY], N_MEMORY)}
    seen = []
    for block_ in decoder.blocks:  # what the attention to the memory is asked, and asked about
        look = block_.cross_attention
        look.register_forward_pre_hook(lambda look, inputs: seen.append(look.map(
            *inputs, mask=masks["memory_mask"])))  # fmt: skip
    decoder(x, memory, **masks)
    maps = decoder.cross_maps(x, memory, **masks)
    assert maps.shape == (LAYERS, BATCH, HEADS, N, N_MEMORY)
    assert_close(maps, torch.stack(seen[:LAYERS]))
    assert (maps[:, 0, :, :, 4:] == 0).all()
    assert_close(maps.sum(-1), torch.ones_like(maps.sum(-1)))


def test_dropout_acts_in_training_only():
    ours, x = block(dropout=0.5), draw(BATCH, N, D_MODEL)
    torch.manual_seed(0)
    assert not torch.equal(ours(x), ours(x))
    ours.eval()
    assert torch.equal(ours(x), ours(x))


def test_an_attention_of_your_own_takes_the_place():
    made = []

    def mine(d_model, n_heads):
        made.append((d_model, n_heads))
        return MultiHeadAttention(d_model, n_heads, position="rotary")

    stack = TransformerEncoder(D_MODEL, HEADS, LAYERS, attention=mine)
    assert made == [(D_MODEL, HEADS)] * LAYERS
    torch.manual_seed(0)
    wanted = TransformerEncoder(D_MODEL, HEADS, LAYERS, position="rotary")
    wanted.load_state_dict(stack.state_dict())
    x = draw(BATCH, N, D_MODEL).float()
    assert torch.equal(stack(x), wanted(x))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: block(activation="tanh"), "activation"),
        (lambda: block(position="rotery"), "position"),
        (lambda: block(position="rotary", attention=MultiHeadAttention), "position"),
        (lambda: TransformerBlock(D_MODEL, 5), "n_heads"),
        (lambda: TransformerBlock(D_MODEL, HEADS, 0), "d_feedforward"),
        (lambda: FeedForward(0), "d_model"),
        (lambda: TransformerBlock(D_MODEL, HEADS, D_FF, feedforward=FeedForward), "d_feedforward"),
        (
            lambda: TransformerBlock(D_MODEL, HEADS, feedforward=GatedFeedForward).load_torch(
                torch_layer()
            ),
            "other",
        ),
        (lambda: block().cross_map(draw(N, D_MODEL), draw(N_MEMORY, D_MODEL)), "memory"),
        (lambda: block()(draw(N, D_MODEL + 1)), "x"),
        (lambda: block(pre_norm=False)(draw(D_MODEL)), "x"),
        (lambda: block().map(draw(N, D_MODEL + 1)), "x"),
        (lambda: TransformerEncoder(D_MODEL, HEADS, 0), "n_layers"),
        (lambda: block()(draw(N, D_MODEL), draw(N_MEMORY, D_MODEL)), "memory"),
        (lambda: block(cross=True)(draw(N, D_MODEL)), "memory"),
        (
            lambda: TransformerEncoder(D_MODEL, HEADS, LAYERS)(
                draw(N, D_MODEL).float(), caches=[None]
            ),
            "caches",
        ),
    ],
)
def test_what_does_not_fit_is_named(make, word):
    with pytest.raises(ValueError, match=f"{word}: got"):
        make()
