"""Linear attention beyond the table: chunks, the recurrence, feature maps, long sequences."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from attn_edu.attention import (
    attention_map,
    causal_mask,
    elu_plus_one,
    linear_attention,
    linear_attention_step,
    performer_features,
    scaled_dot_product_attention,
)
from attn_edu.attention.linear import CHUNK
from attn_edu.costs import measure

from .explicit_linear import linear_explicit

BATCH, HEADS, D, D_VALUE = 2, 3, 4, 6


def draw(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def drawn(n_query, n_key, *lead, dtype=torch.float64):
    shapes = (n_query, D), (n_key, D), (n_key, D_VALUE)
    return [draw(*lead, *shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


MAPS = {
    "elu_plus_one": elu_plus_one,
    "performer": performer_features(D, 10, generator=generator(), scale=0.5),
    "signed": lambda x: torch.cat([x, x.cos(), 3 + 0 * x[..., :1]], dim=-1),
}
SIZES = [(1, 1), (CHUNK, CHUNK), (CHUNK + 1, CHUNK + 1), (2 * CHUNK + 7, 3 * CHUNK + 5), (1, 150)]


@pytest.mark.parametrize(("n_query", "n_key"), SIZES)
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("grad", [True, False])
def test_causal_is_its_explicit_form_over_many_chunks(name, n_query, n_key, grad):
    inputs = drawn(n_query, n_key, BATCH)
    with torch.set_grad_enabled(grad):
        inputs = [x.requires_grad_(grad) for x in inputs]
        got = linear_attention(*inputs, feature_map=MAPS[name], causal=True)
    wanted = linear_explicit(MAPS[name])(*inputs, causal_mask(n_query, n_key))
    assert_close(got, wanted.detach() if not grad else wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", MAPS)
def test_causal_is_the_recurrence_step_by_step(name):
    n = CHUNK + 9
    query, key, value = drawn(n, n, BATCH, HEADS)
    state, outputs = None, []
    for t in range(n):
        position = query[..., t, :], key[..., t, :], value[..., t, :]
        state, output = linear_attention_step(state, *position, feature_map=MAPS[name])
        outputs.append(output)
    wanted = linear_attention(query, key, value, feature_map=MAPS[name], causal=True)
    assert_close(torch.stack(outputs, dim=-2), wanted, rtol=1e-11, atol=1e-11)
    phi = MAPS[name](key)
    assert state[0].shape == (BATCH, HEADS, phi.shape[-1], D_VALUE)
    assert_close(state[0], torch.einsum("bhnm,bhnv->bhmv", phi, value))
    assert_close(state[1], phi.sum(dim=-2))


def test_a_step_leaves_the_state_alone_and_takes_single_vectors():
    query, key, value = (x[0] for x in drawn(1, 1))
    first, _ = linear_attention_step(None, query, key, value)
    copies = [x.clone() for x in first]
    _, output = linear_attention_step(first, query, -key, 2 * value)
    assert all(torch.equal(a, b) for a, b in zip(first, copies))
    weights = [(elu_plus_one(query) * elu_plus_one(k)).sum() for k in (key, -key)]
    assert_close(output, (weights[0] * value + weights[1] * 2 * value) / sum(weights))


@pytest.mark.parametrize("name", ["elu_plus_one", "performer"])
def test_nothing_comes_back_from_the_future(name):
    """The exact derivative of every output by every later key and value is 0."""
    n = CHUNK + 6
    query, key, value = drawn(n, n)

    def outputs(key, value):
        return linear_attention(query, key, value, feature_map=MAPS[name], causal=True).sum(dim=-1)

    later = ~causal_mask(n)
    for jacobian in torch.autograd.functional.jacobian(outputs, (key, value)):
        by_pair = jacobian.abs().sum(dim=-1)  # (n, n)
        assert (by_pair[later] == 0).all()
        assert (by_pair[~later][1:] > 0).all()  # a first row has one key, whatever it is


def test_the_last_key_does_not_move_the_first_rows_however_large():
    n = CHUNK // 2
    for features in MAPS.values():
        query, key, value = drawn(n, n, dtype=torch.float32)
        output = linear_attention(query, key, value, feature_map=features, causal=True)
        key[-1] *= 8
        again = linear_attention(query, key, value, feature_map=features, causal=True)
        assert torch.equal(output[:-1], again[:-1])


def test_blind_queries_before_the_first_key_may_hold_anything():
    """Left padding under causal attention."""
    n, padded = CHUNK + 5, 3
    query, key, value = drawn(n, n, BATCH)
    mask = torch.ones(BATCH, 1, n, dtype=torch.bool)
    mask[1, :, :padded] = False
    for x in (query, key, value):
        x[1, :padded] = math.nan
        x.requires_grad_()
    output = linear_attention(query, key, value, mask=mask, causal=True)
    assert (output[1, :padded] == 0).all()
    alone = linear_attention(*(x[1, padded:] for x in (query, key, value)), causal=True)
    assert_close(output[1, padded:], alone)
    for gradient in torch.autograd.grad(output.square().sum(), (query, key, value)):
        assert gradient.isfinite().all() and (gradient[1, :padded] == 0).all()


def test_a_seen_nan_is_not_hidden():
    query, key, value = drawn(5, 7)
    key[3, 1] = math.nan
    assert linear_attention(query, key, value).isnan().all()
    reached = linear_attention(query, key, value, causal=True).isnan().all(dim=-1)
    assert reached.tolist() == [False, True, True, True, True]  # query 1 is position 3
    query, key, value = drawn(5, 7)
    value[3, 1] = math.inf
    output = linear_attention(query, key, value, causal=True)
    assert (output == math.inf).sum() == 4 and (output[1:, 1] == math.inf).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_sums_over_16384_keys_neither_overflow_nor_lose_their_digits(dtype):
    n, tolerance = 16_384, {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    query, key, value = (x.to(dtype) for x in drawn(n, n))
    value = value + 3
    for options in ({}, {"causal": True}):
        with torch.no_grad():
            got = linear_attention(query, key, value, **options)
            wanted = linear_attention(query.double(), key.double(), value.double(), **options)
        assert got.dtype == dtype
        assert_close(got.double(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("given", [torch.float32, torch.bfloat16])
def test_autocast_leaves_the_sums_in_float32(given):
    n = 16_384
    query, key, value = (x.to(given) for x in drawn(n, n))
    value = value + 3  # a state of bfloat16 would be off by 0.3 here
    for name in ("elu_plus_one", "performer"):
        for causal in (False, True):
            options = {"feature_map": MAPS[name], "causal": causal}
            wanted = linear_attention(query, key, value, **options)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                got = linear_attention(query, key, value, **options)
            assert got.dtype == given
            assert_close(got, wanted, rtol=1e-6, atol=1e-6)


def test_autocast_leaves_the_state_and_the_random_features_in_float32():
    query, key, value = (x[0].float() for x in drawn(1, 1))
    wanted = linear_attention_step(None, query, key, value)
    features = MAPS["performer"](query)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        state, output = linear_attention_step(None, query, key, value)
        assert_close(MAPS["performer"](query), features)
        learned = torch.nn.Linear(D, 5)  # a map with weights still runs under autocast
        mapped = linear_attention_step(None, query, key, value, feature_map=learned)
    assert_close((state, output), wanted)  # dtypes as well
    assert mapped[0][0].dtype == torch.float32


def test_huge_inputs_give_finite_outputs_within_the_values():
    query, key, value = drawn(5, 7)
    for size in (30, 1e6):
        for features in (elu_plus_one, MAPS["performer"]):
            for causal in (False, True):
                big = [(size * x).requires_grad_() for x in (query, key)]
                output = linear_attention(*big, value, feature_map=features, causal=causal)
                assert output.isfinite().all() and output.abs().max() <= value.abs().max() + 1e-12
                for gradient in torch.autograd.grad(output.sum(), big):
                    assert gradient.isfinite().all()


def test_memory_is_that_of_the_output():
    """Of n × n numbers there would be 1024 times as many as here at n = 8192, d = 8."""
    peaks = {}
    for n in (2048, 8192):
        inputs = [torch.randn(HEADS, n, 8, generator=generator()) for _ in range(3)]
        with torch.no_grad():
            for causal in (True, False):
                run = measure(
                    lambda q, k, v, c=causal: linear_attention(q, k, v, causal=c),
                    *inputs,
                    repeats=1,
                )
                peaks[causal, n] = run.peak_bytes / (4 * HEADS * n * 8)
    assert peaks[True, 8192] < 1.2
    assert peaks[False, 8192] < 5
    for causal in (True, False):
        assert peaks[causal, 8192] < 1.02 * peaks[causal, 2048]


def test_training_memory_grows_with_the_length_not_its_square():
    def both_ways(*inputs):
        linear_attention(*inputs, causal=True).sum().backward()

    peaks = [
        measure(both_ways, *(draw(n, 8, dtype=torch.float32).requires_grad_() for _ in "qkv"))
        for n in (1024, 4096)
    ]
    assert peaks[1].peak_bytes < 4.1 * peaks[0].peak_bytes


# Feature maps


def test_elu_plus_one_is_torch_elu_plus_one_and_keeps_small_features():
    x = torch.linspace(-15, 15, 301, dtype=torch.float64).requires_grad_()
    assert_close(elu_plus_one(x), F.elu(x) + 1)
    ours, theirs = (
        torch.autograd.grad(f(x).sum(), x)[0] for f in (elu_plus_one, lambda x: F.elu(x))
    )
    assert_close(ours, theirs)  # at 0 as well: 1
    far = torch.tensor([-20.0, -80.0])
    assert_close(elu_plus_one(far).double(), far.double().exp(), rtol=1e-5, atol=0)
    with pytest.raises(TypeError, match="x: got list"):
        elu_plus_one([1.0])


def test_a_learned_feature_map_gets_gradients():
    torch.manual_seed(0)
    layer = torch.nn.Linear(D, 5).double()
    inputs = drawn(CHUNK + 3, CHUNK + 3)
    linear_attention(
        *inputs, feature_map=lambda x: F.softplus(layer(x)), causal=True
    ).sum().backward()
    assert (layer.weight.grad != 0).all()


def test_rows_of_signed_features_sum_to_one_and_may_be_negative():
    query, key, _ = drawn(5, 7)
    weights = attention_map(linear_attention, query, key, feature_map=lambda x: x)
    assert_close(weights.sum(dim=-1), torch.ones(5, dtype=torch.float64))
    assert (weights < 0).any() and weights.max() > 1


@pytest.mark.parametrize("n_features", [6, 16, 24])
def test_performer_features_are_unbiased(n_features):
    """The mean over many draws lies within five standard errors of exp(scale · q · k)."""
    d, scale, source = 6, 0.7, generator(1)
    query, key = 0.35 * draw(3, d, seed=1), 0.35 * draw(4, d, seed=2)
    estimates = []
    for _ in range(800):
        features = performer_features(d, n_features, generator=source, scale=scale)
        estimates.append(features(query) @ features(key).mT)
    estimates = torch.stack(estimates)  # (draws, 3, 4)
    error = estimates.mean(dim=0) - (scale * query @ key.mT).exp()
    standard = estimates.std(dim=0) / math.sqrt(len(estimates))
    assert (error.abs() < 5 * standard).all()
    assert (standard < 0.08).all()  # narrow enough to say something


def test_a_single_random_feature_has_the_error_of_lemma_2():
    """Choromanski et al. (2021), lemma 2: exp(|q + k|²) exp(2 q · k) (1 - exp(-|q + k|²)) / m."""
    d, source = 5, generator(2)
    query, key = torch.full((d,), 0.25).double(), torch.tensor([0.3, -0.1, 0.2, 0.0, 0.1]).double()
    features = performer_features(d, 1, generator=source)
    draws = [performer_features(d, 1, generator=source) for _ in range(6000)]
    products = torch.stack([(phi(query) * phi(key)).sum() for phi in draws])
    exact, length = (query @ key).exp(), (query + key).square().sum()
    wanted = length.exp() * exact**2 * (1 - (-length).exp())
    assert_close((products - exact).square().mean(), wanted, rtol=0.15, atol=0)
    assert features(query).shape == (1,)


def test_orthogonal_directions_beat_independent_ones():
    """The error of groups of orthogonal directions lies below lemma 2, of independent ones."""
    d, m, source = 8, 8, generator(3)
    query = draw(d, seed=5) / math.sqrt(d)
    key = draw(d, seed=6) / math.sqrt(d)
    exact, length = (query @ key).exp(), (query + key).square().sum()
    draws = [performer_features(d, m, generator=source) for _ in range(3000)]
    products = torch.stack([(phi(query) * phi(key)).sum() for phi in draws])
    independent = length.exp() * exact**2 * (1 - (-length).exp()) / m
    assert (products - exact).square().mean() < 0.9 * independent


def test_directions_are_orthogonal_in_groups_uniform_and_as_long_as_normal_ones():
    d, source = 5, generator(4)
    x = torch.eye(d, dtype=torch.float64)

    def directions(m):  # read off the features: log φ(e_i) + 1/2 + log √m = ω_i
        features = performer_features(d, m, generator=source)
        return (features(x).log() + 0.5 + math.log(m) / 2).mT  # (m, d)

    omega = directions(12)
    for rows in (omega[:5], omega[5:10], omega[10:]):
        products = rows @ rows.mT
        assert_close(products, torch.diag(products.diagonal()), rtol=0, atol=1e-9)
    many = torch.stack([directions(5) for _ in range(2000)])  # (draws, 5, d)
    assert many.mean(dim=0).abs().max() < 5 / math.sqrt(2000)  # no side is preferred, in any row
    lengths = many.square().sum(dim=-1)
    assert abs(lengths.mean() - d) < 0.2 and abs(lengths.var() - 2 * d) < 0.8  # chi-squared


def test_performer_comes_nearer_to_softmax_with_more_features():
    query, key, value = (x / 2 for x in drawn(9, 11))
    wanted = scaled_dot_product_attention(query, key, value)
    errors = []
    for m in (4, 64, 1024, 16_384):
        phi = performer_features(D, m, generator=generator(), scale=1 / math.sqrt(D))
        errors.append((linear_attention(query, key, value, feature_map=phi) - wanted).norm())
    assert errors[0] > errors[1] > 2 * errors[2] and errors[3] < 0.01 * wanted.norm()


def test_performer_features_come_from_the_generator_and_stay():
    x = draw(3, D)
    first, second = (performer_features(D, 7, generator=generator(5)) for _ in range(2))
    assert torch.equal(first(x), second(x)) and torch.equal(first(x), first(x))
    source = generator(5)
    performer_features(D, 7, generator=source)
    assert not torch.equal(performer_features(D, 7, generator=source)(x), first(x))
    torch.manual_seed(5)
    assert torch.equal(performer_features(D, 7)(x), first(x))
    assert first(x.half()).dtype == first(x.float()).dtype == torch.float32


# Errors

QUERY, KEY, VALUE = torch.ones(2, 5, D), torch.ones(2, 7, D), torch.ones(2, 7, D_VALUE)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"query": None}, TypeError, "query: got NoneType"),
        ({"key": KEY.double()}, ValueError, "key: got dtype torch.float64"),
        ({"mask": torch.ones(5, 7).bool()}, ValueError, r"mask: got \(5, 7\).*\(…, 1, n_key\)"),
        ({"mask": torch.ones(1, 7)}, ValueError, "mask: got dtype torch.float32"),
        ({"query": torch.ones(2, 8, D), "causal": True}, ValueError, "key: got 7 keys for 8"),
        ({"feature_map": "elu"}, TypeError, "feature_map: got str"),
        ({"feature_map": lambda x: x.mT}, ValueError, r"feature_map: gave \(2, 4, 7\)"),
        ({"feature_map": lambda x: x.shape}, ValueError, "feature_map: gave Size"),
    ],
)
def test_bad_input_is_named(change, error, says):
    arguments = {"query": QUERY, "key": KEY, "value": VALUE, **change}
    with pytest.raises(error, match=says):
        linear_attention(
            arguments.pop("query"), arguments.pop("key"), arguments.pop("value"), **arguments
        )


@pytest.mark.parametrize(
    ("state", "error", "says"),
    [
        (torch.ones(3), TypeError, "state: got Tensor"),
        ((torch.ones(D, D_VALUE),), TypeError, "the pair"),
        ((torch.ones(D, D_VALUE), [1.0]), TypeError, r"state \(z\): got list"),
        ((torch.ones(D, 3), torch.ones(D)), ValueError, r"state: got S \(4, 3\)"),
        (
            (torch.ones(D, D_VALUE), torch.ones(9)),
            ValueError,
            r"z \(9,\); accepted is S \(…, 4, 6\)",
        ),
    ],
)
def test_a_bad_state_is_named(state, error, says):
    position = torch.ones(D), torch.ones(D), torch.ones(D_VALUE)
    with pytest.raises(error, match=says):
        linear_attention_step(state, *position)
    with pytest.raises(ValueError, match="key: got"):
        linear_attention_step(None, position[0], torch.ones(3), position[2])


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ((0, 8), {}, "d_head: got 0"),
        ((4, 2.5), {}, "n_features: got 2.5"),
        ((4, True), {}, "n_features: got True"),
        ((4, 8), {"scale": 0}, "scale: got 0"),
        ((4, 8), {"scale": math.inf}, "scale: got inf"),
        ((4, 8), {"scale": "1"}, "scale: got '1'"),
    ],
)
def test_bad_performer_features_are_named(arguments, options, says):
    with pytest.raises(ValueError, match=says):
        performer_features(*arguments, **options)
    with pytest.raises(ValueError, match=r"x: got \(2, 5\)"):
        performer_features(4, 8)(torch.ones(2, 5))
