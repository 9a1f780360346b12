"""Factors, Linformer and Nyström: what the table of invariants does not ask."""

import math
import re
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from attn_edu.attention import (
    LinformerAttention,
    attention_map,
    causal_mask,
    linformer_attention,
    low_rank_linear,
    nystrom_attention,
    padding_mask,
    truncated_svd,
)
from attn_edu.costs import measure

from .explicit_low_rank import nystrom_explicit, softmax


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# truncated_svd


@pytest.mark.parametrize("shape", [(5, 7), (7, 5), (2, 3, 6, 4), (1, 6), (6, 1)])
def test_what_is_missing_are_the_singular_values_left_out(shape):
    matrix = draw(*shape)
    values = torch.linalg.eigvalsh(matrix @ matrix.mT).clamp(min=0).flip(-1)  # their squares
    for rank in range(1, min(shape[-2:]) + 1):
        left, right = truncated_svd(matrix, rank)
        assert left.shape == (*shape[:-1], rank)
        assert right.shape == (*shape[:-2], rank, shape[-1])
        missing = (matrix - left @ right).square().sum(dim=(-2, -1))
        assert_close(missing, values[..., rank:].sum(dim=-1), atol=1e-10, rtol=1e-10)
        assert_close(left.mT @ left, right @ right.mT, atol=1e-10, rtol=0)  # equally large


def test_no_other_matrix_of_that_rank_is_closer():
    matrix = draw(6, 7)
    left, right = truncated_svd(matrix, 2)
    best = (matrix - left @ right).norm()
    for seed in range(20):
        for size in (1e-3, 0.1, 1.0):
            other = left + size * draw(6, 2, seed=seed), right + size * draw(2, 7, seed=-seed - 1)
            assert (matrix - other[0] @ other[1]).norm() > best


def test_a_matrix_of_that_rank_comes_back():
    matrix = draw(2, 6, 3) @ draw(2, 3, 7, seed=1)
    left, right = truncated_svd(matrix, 3)
    assert_close(left @ right, matrix, atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_dtype_is_kept(dtype):
    matrix = draw(5, 7).to(dtype)
    left, right = truncated_svd(matrix, 5)
    assert left.dtype == right.dtype == dtype
    assert_close(left @ right, matrix, atol=2e-5 if dtype == torch.float32 else 0.05, rtol=0)


@pytest.mark.parametrize(
    ("matrix", "rank", "error", "message"),
    [
        ([[1.0]], 1, TypeError, "matrix: got list"),
        (torch.ones(5), 1, ValueError, "matrix: got (5,)"),
        (torch.ones(5, 7).long(), 1, ValueError, "matrix: got dtype torch.int64"),
        (torch.full((5, 7), math.nan), 1, ValueError, "matrix: got infinite numbers or NaN"),
        (torch.ones(5, 7), 0, ValueError, "rank: got 0; accepted is an integer from 1 to 5"),
        (torch.ones(5, 7), 6, ValueError, "rank: got 6; accepted is an integer from 1 to 5"),
        (torch.ones(5, 7), 2.0, ValueError, "rank: got 2.0"),
        (torch.ones(5, 7), True, ValueError, "rank: got True"),
    ],
)
def test_truncated_svd_refuses(matrix, rank, error, message):
    with pytest.raises(error) as caught:
        truncated_svd(matrix, rank)
    assert str(caught.value).startswith(message)


# low_rank_linear


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_of_low_rank(bias):
    linear, x = nn.Linear(7, 5, bias=bias).double(), draw(2, 3, 7)
    weight, kept = linear.weight.detach(), linear.weight.clone()
    for rank in range(1, 6):
        narrow = low_rank_linear(linear, rank)
        left, right = truncated_svd(weight, rank)
        wanted = x @ (left @ right).mT + (linear.bias if bias else 0)
        assert_close(narrow(x), wanted, atol=1e-12, rtol=0)
        assert [p.numel() for p in narrow.parameters()] == [rank * 7, rank * 5] + [5] * bias
        assert all(p.requires_grad for p in narrow.parameters())
    assert_close(narrow(x), linear(x), atol=1e-12, rtol=0)  # the full rank
    with torch.no_grad():
        for parameter in narrow.parameters():
            parameter.zero_()
    assert torch.equal(linear.weight, kept)  # nothing is shared with the layer it came from
    if bias:
        assert linear.bias.abs().max() > 0


def test_low_rank_linear_refuses():
    with pytest.raises(TypeError, match=r"linear: got Tensor; accepted is nn\.Linear"):
        low_rank_linear(torch.ones(5, 7), 2)
    with pytest.raises(ValueError, match="rank: got 6; accepted is an integer from 1 to 5"):
        low_rank_linear(nn.Linear(7, 5), 6)


# linformer_attention


def test_projections_broadcast_and_may_differ_by_head():
    query, key, value = draw(2, 3, 5, 4), draw(2, 3, 7, 4, seed=1), draw(2, 3, 7, 6, seed=2)
    first, second = draw(3, 4, 7, seed=3), draw(3, 4, 7, seed=4)  # (heads, rank, n_key)
    output = linformer_attention(query, key, value, project_key=first, project_value=second)
    assert output.shape == (2, 3, 5, 6)
    for h in range(3):
        own = {"project_key": first[h], "project_value": second[h]}
        alone = linformer_attention(query[:, h], key[:, h], value[:, h], **own)
        assert_close(output[:, h], alone)
    single = linformer_attention(
        *(x[0, 0] for x in (query, key, value)), **{"project_key": first, "project_value": second}
    )
    assert single.shape == (3, 5, 6)  # the projections may bring leading axes of their own


def test_mixtures_that_mix_nothing_are_softmax_attention():
    query, key, value = draw(2, 5, 4), draw(2, 7, 4, seed=1), draw(2, 7, 6, seed=2)
    order = torch.eye(7, dtype=torch.float64)[[3, 0, 6, 1, 5, 2, 4]]
    output = linformer_attention(query, key, value, project_key=order, project_value=order)
    assert_close(output, F.scaled_dot_product_attention(query, key, value))


def test_a_triangle_would_not_make_it_causal():
    """Why there is no mask: the first output moves when the last key does."""
    inputs = draw(7, 4), draw(7, 4, seed=1), draw(7, 6, seed=2)
    mix = draw(7, 7, seed=3).softmax(dim=-1)
    changed = [x.clone() for x in inputs]
    changed[1][-1] += 1.0
    before, after = (
        linformer_attention(*x, project_key=mix, project_value=mix) for x in (inputs, changed)
    )
    assert (before - after)[0].abs().max() > 1e-3
    with pytest.raises(TypeError, match="mask"):
        linformer_attention(*inputs, project_key=mix, project_value=mix, mask=causal_mask(7))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"project_key": [1]}, TypeError, "project_key: got list"),
        ({"project_value": None}, TypeError, "project_value: got NoneType"),
        ({"project_key": torch.ones(7)}, ValueError, "project_key: got (7,)"),
        ({"project_key": torch.ones(4, 6)}, ValueError, "project_key: got (4, 6)"),
        ({"project_key": torch.ones(7, 4)}, ValueError, "project_key: got (7, 4)"),
        ({"project_value": torch.ones(3, 7)}, ValueError, "project_value: got (3, 7)"),
        ({"project_key": torch.ones(0, 7)}, ValueError, "project_key: got (0, 7)"),
        (
            {"project_value": torch.ones(4, 7).double()},
            ValueError,
            "project_value: got torch.float64",
        ),
        ({"project_value": torch.ones(3, 4, 7)}, ValueError, "project_value: got the leading axes"),
    ],
)
def test_linformer_refuses(change, error, message):
    options = {"project_key": torch.ones(4, 7), "project_value": torch.ones(4, 7)} | change
    with pytest.raises(error) as caught:
        linformer_attention(
            torch.ones(2, 5, 4), torch.ones(2, 7, 4), torch.ones(2, 7, 6), **options
        )
    assert str(caught.value).startswith(message), caught.value


def test_the_layer_that_mixes_first_is_the_layer_that_projects_first():
    torch.manual_seed(0)
    layer, x = LinformerAttention(12, 3, n=10, rank=4).double(), draw(2, 10, 12)
    heads = [
        f(x).unflatten(-1, (3, 4)).transpose(1, 2) for f in (layer.query, layer.key, layer.value)
    ]
    mixes = layer.project_key, layer.project_value
    # E (x W + 1 b) = (E x) W + (E 1) b: the layer adds b itself, so take the bias out and back in
    for i, (linear, mix) in enumerate(zip((layer.key, layer.value), mixes), start=1):
        heads[i] = heads[i] - linear.bias.view(3, 1, 4)
        heads[i] = mix @ heads[i] + linear.bias.view(3, 1, 4)
    wanted = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
    assert_close(layer(x), layer.out(wanted))
    layer(x).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


X = torch.ones(2, 5, 12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LinformerAttention(12, 3, n=0, rank=1), "n: got 0; accepted is an integer"),
        (
            lambda: LinformerAttention(12, 3, n=5, rank=6),
            "rank: got 6; accepted is an integer from",
        ),
        (lambda: LinformerAttention(12, 5, n=5, rank=2), "n_heads: got 5"),
        (lambda: LinformerAttention(12, 3, n=5, rank=2)(torch.ones(2, 4, 12)), "x: got (2, 4, 12)"),
        (lambda: LinformerAttention(12, 3, n=5, rank=2)(torch.ones(2, 5, 6)), "x: got (2, 5, 6)"),
        (
            lambda: LinformerAttention(12, 3, n=5, rank=2)(X, mask=causal_mask(5)),
            "mask: got one; accepted is None",
        ),
        (
            lambda: LinformerAttention(12, 3, n=5, rank=2)(X, cache=[]),
            "cache: got one; accepted is None",
        ),
    ],
)
def test_the_layer_refuses(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


# nystrom_attention


@pytest.mark.parametrize("n", [1, 7, 33, 150])
def test_with_a_landmark_for_every_key_it_is_softmax_attention(n):
    query, key, value = draw(2, 3, n, 4), draw(2, 3, n, 4, seed=1), draw(2, 3, n, 6, seed=2)
    wanted = F.scaled_dot_product_attention(query, key, value)
    for landmarks in (n, n + 3):
        assert_close(nystrom_attention(query, key, value, landmarks=landmarks), wanted)


def test_the_iteration_converges_to_the_formula():
    query, key, value = draw(2, 20, 4), draw(2, 20, 4, seed=1), draw(2, 20, 6, seed=2)
    marks = [
        torch.stack([part.mean(dim=1) for part in x.tensor_split(4, dim=1)], dim=1)
        for x in (query, key)
    ]
    inverse = torch.linalg.pinv(softmax(*marks))
    formula = softmax(query, marks[1]) @ inverse @ softmax(marks[0], key) @ value
    errors = [
        (nystrom_attention(query, key, value, landmarks=4, iterations=i) - formula).norm().item()
        for i in (6, 9, 12, 24)
    ]
    assert errors[0] > errors[1] > max(errors[2:])  # the last two may differ by rounding alone
    assert errors[0] > 1e-3
    assert errors[-1] < 1e-9


@pytest.mark.parametrize(("n", "landmarks"), [(7, 3), (16, 4), (23, 5), (40, 39), (5, 1)])
@pytest.mark.parametrize("padded", [0, 2])
def test_self_attention_equals_its_explicit_form(n, landmarks, padded):
    """As many queries as keys: hidden positions are part of no landmark, of queries neither."""
    query, key, value = draw(2, n, 4), draw(2, n, 4, seed=1), draw(2, n, 6, seed=2)
    mask = padding_mask([n - padded] * 2, n) if padded else None
    got = nystrom_attention(query, key, value, landmarks=landmarks, mask=mask)
    visible = (torch.arange(n) < n - padded).expand(n, n)
    wanted = nystrom_explicit(landmarks)(query, key, value, visible)
    assert_close(got, wanted, atol=1e-9, rtol=1e-9)


def test_padding_in_self_attention_changes_nothing():
    n, lengths = 16, [11, 16, 3, 0]
    inputs = [draw(4, n, width, seed=width) for width in (4, 4, 6)]
    inputs[1] = inputs[1] + 1
    mask = padding_mask(lengths, n)
    output = nystrom_attention(*inputs, landmarks=5, mask=mask)
    for b, length in enumerate(lengths):
        if length:
            alone = nystrom_attention(*(x[b, :length] for x in inputs), landmarks=5)
            assert_close(output[b, :length], alone, atol=1e-10, rtol=1e-10)
        else:
            assert (output[b] == 0).all()
        dirty = [x.clone() for x in inputs]
        for x in dirty:
            x[b, length:] = math.nan
        again = nystrom_attention(*dirty, landmarks=5, mask=mask)
        assert_close(again[b, :length], output[b, :length])


def test_hidden_keys_and_values_get_no_gradient():
    key, value = draw(2, 7, 4, seed=1), draw(2, 7, 6, seed=2)
    mask = torch.tensor([[True, True, False, True, True, True, False]])
    for n_query in (5, 7):
        inputs = [x.clone().requires_grad_() for x in (draw(2, n_query, 4), key, value)]
        for i in range(n_query):
            row = nystrom_attention(*inputs, landmarks=3, mask=mask)[:, i].sum()
            _, of_key, of_value = torch.autograd.grad(row, inputs)
            assert (of_key[:, ~mask[0]] == 0).all()
            assert (of_value[:, ~mask[0]] == 0).all()
            assert (of_key[:, mask[0]] != 0).all(dim=-1).any()
            assert (of_value[:, mask[0]] != 0).all()


def test_one_sample_never_changes_another():
    """The peers' fault: one scale of the inverse for the whole batch."""
    inputs = [draw(3, 24, width, seed=width) for width in (4, 4, 6)]
    before = nystrom_attention(*inputs, landmarks=4)
    changed = [torch.cat([x[:2], 30 * x[2:]]) for x in inputs]
    assert torch.equal(nystrom_attention(*changed, landmarks=4)[:2], before[:2])


@pytest.mark.parametrize("size", [0.0, 30.0, 1e6])
def test_extreme_scores_give_finite_numbers_and_gradients(size):
    query, key, value = (draw(2, 9, width, seed=width) for width in (4, 5, 6))
    inputs = [(size * x).requires_grad_() for x in (query, key[..., :4])] + [value]
    for mask in (None, padding_mask([9, 4], 9)):
        output = nystrom_attention(*inputs, landmarks=3, mask=mask)
        assert output.isfinite().all()
        assert all(g.isfinite().all() for g in torch.autograd.grad(output.sum(), inputs[:2]))


def test_equal_keys_give_the_mean_of_the_values():
    """A is a matrix of equal numbers, of rank one: its inverse does not exist, A⁺ does."""
    value = draw(2, 9, 6)
    output = nystrom_attention(draw(2, 5, 4), torch.zeros(2, 9, 4).double(), value, landmarks=3)
    assert_close(output, value.mean(dim=1, keepdim=True).expand(-1, 5, -1))


@pytest.mark.parametrize(("n_query", "n_key"), [(0, 7), (5, 0), (0, 0)])
def test_no_queries_or_no_keys(n_query, n_key):
    inputs = draw(2, n_query, 4), draw(2, n_key, 4), draw(2, n_key, 6)
    for mask in (None, torch.ones(1, n_key).bool()):
        output = nystrom_attention(*inputs, landmarks=3, mask=mask)
        assert output.shape == (2, n_query, 6)
        assert (output == 0).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"landmarks": 0}, ValueError, "landmarks: got 0"),
        ({"landmarks": 2.0}, ValueError, "landmarks: got 2.0"),
        ({"iterations": 0}, ValueError, "iterations: got 0"),
        ({"mask": causal_mask(7)}, ValueError, "mask: got (7, 7); accepted is (…, 1, n_key)"),
        ({"mask": torch.ones(2, 7, 7).bool()}, ValueError, "mask: got (2, 7, 7)"),
        ({"mask": torch.ones(1, 5).bool()}, ValueError, "mask: got (1, 5)"),
        ({"mask": torch.ones(1, 7)}, ValueError, "mask: got dtype torch.float32"),
        ({"value": torch.ones(2, 6, 6)}, ValueError, "value: got (2, 6, 6)"),
        ({"query": 3}, TypeError, "query: got int"),
    ],
)
def test_nystrom_refuses(change, error, message):
    arguments = {"query": torch.ones(2, 7, 4), "key": torch.ones(2, 7, 4)}
    arguments |= {"value": torch.ones(2, 7, 6), "landmarks": 3} | change
    with pytest.raises(error) as caught:
        nystrom_attention(**arguments)
    assert str(caught.value).startswith(message), caught.value


# what they are for


@pytest.mark.parametrize("kind", ["linformer", "nystrom", "nystrom with a mask"])
def test_memory_grows_in_proportion_to_the_length(kind):
    def peak(n):
        query, key, value = (draw(1, 4, n, 32, seed=i, dtype=torch.float32) for i in range(3))
        mix = draw(64, n, seed=3, dtype=torch.float32) / n**0.5
        function, options = nystrom_attention, {"landmarks": 64}
        if kind == "linformer":
            function, options = linformer_attention, {"project_key": mix, "project_value": mix}
        elif kind == "nystrom with a mask":
            options["mask"] = padding_mask([n - 5], n)
        return measure(partial(function, **options), query, key, value, repeats=1).peak_bytes

    few, many = peak(2048), peak(16384)
    assert math.log(many / few) / math.log(8) <= 1.05
    assert many < 16384**2  # one byte for each pair would already be more


def test_the_map_of_either_has_a_low_rank():
    query, key = draw(40, 16), draw(40, 16, seed=1)
    mix = draw(6, 40, seed=2)
    low = attention_map(linformer_attention, query, key, project_key=mix, project_value=mix)
    assert torch.linalg.matrix_rank(low) == 6
    assert torch.linalg.matrix_rank(attention_map(nystrom_attention, query, key, landmarks=5)) == 5
