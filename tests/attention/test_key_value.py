"""Shared keys and values against `repeat_interleave`; the cache against a full pass."""

import itertools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attn_edu.attention import (
    MultiHeadAttention,
    causal_mask,
    padding_mask,
    reference_attention,
    split_heads,
)
from attn_edu.attention.cache import KeyValueCache
from attn_edu.attention.key_value import (
    FEW,
    GroupedQueryAttention,
    MultiQueryAttention,
    grouped_query_attention,
)
from attn_edu.attention.latent import MultiHeadLatentAttention

BATCH, N, HEADS, KV_HEADS, D_HEAD = 2, 7, 6, 2, 4
D_MODEL = HEADS * D_HEAD
MODULES = {
    "multi-head": lambda: MultiHeadAttention(D_MODEL, HEADS),
    "grouped": lambda: GroupedQueryAttention(D_MODEL, HEADS, KV_HEADS),
    "grouped, rotary": lambda: GroupedQueryAttention(D_MODEL, HEADS, 3, position="rotary"),
    "multi-query": lambda: MultiQueryAttention(D_MODEL, HEADS),
    "latent": lambda: MultiHeadLatentAttention(D_MODEL, HEADS, 9),
    "latent, rotary": lambda: MultiHeadLatentAttention(D_MODEL, HEADS, 9, d_rotary=2),
}


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def made(name, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = MODULES[name]().double()
        for parameter in module.parameters():  # biases too
            nn.init.normal_(parameter, std=0.4)
    return module


def close(got, wanted, tolerance=1e-12):
    assert_close(got, wanted, rtol=tolerance, atol=tolerance)


# Heads that share


@pytest.mark.parametrize("n_query", [1, 5, FEW, FEW + 3])
@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_a_group_reads_the_key_of_its_own(n_query, kv_heads):
    query = draw(BATCH, HEADS, n_query, D_HEAD)
    key, value = draw(BATCH, kv_heads, N, D_HEAD, seed=1), draw(BATCH, kv_heads, N, 5, seed=2)
    coin = torch.Generator().manual_seed(3)
    masks = [(n_query, N), (1, N), (BATCH, 1, 1, N), (HEADS, n_query, N), (BATCH, HEADS, 1, N)]
    for shape in [None, *masks]:
        mask = None if shape is None else torch.rand(shape, generator=coin) < 0.6
        got = grouped_query_attention(query, key, value, mask=mask, scale=0.7)
        assert got.shape == (BATCH, HEADS, n_query, 5)
        for head in range(HEADS):
            shared = head // (HEADS // kv_heads)  # neighbours, not every n_kv_heads-th
            own = mask
            if mask is not None and mask.ndim > 2:
                own = mask.expand(BATCH, HEADS, *mask.shape[-2:])[:, head]
            parts = query[:, head], key[:, shared], value[:, shared]
            wanted = reference_attention(*parts, mask=own, scale=0.7)
            close(got[:, head], wanted)


@pytest.mark.parametrize("mask", [None, causal_mask(N), padding_mask([3, N], N)])
def test_with_all_heads_it_is_multi_head_attention(mask):
    whole = made("multi-head")
    grouped = GroupedQueryAttention(D_MODEL, HEADS, HEADS).double().load_multi_head(whole)
    x = draw(BATCH, N, D_MODEL)
    close(grouped(x, mask=mask), whole(x, mask=mask))
    close(grouped.map(x, mask=mask), whole.map(x, mask=mask))


def test_with_one_head_it_is_multi_query_attention():
    one = made("multi-query")
    grouped = GroupedQueryAttention(D_MODEL, HEADS, 1).double()
    grouped.load_state_dict(one.state_dict())
    x = draw(BATCH, N, D_MODEL)
    assert one.key.weight.shape == one.value.weight.shape == (D_HEAD, D_MODEL)
    close(grouped(x, mask=causal_mask(N)), one(x, mask=causal_mask(N)))


def test_a_group_is_multi_head_attention_whose_heads_have_equal_keys():
    """Copy each shared head's weights to every head of its group: nothing changes."""
    grouped, whole = made("grouped"), made("multi-head")
    state = grouped.state_dict()
    for name in ("key.weight", "key.bias", "value.weight", "value.bias"):
        heads = state[name].unflatten(0, (KV_HEADS, D_HEAD))
        state[name] = torch.stack([heads[h // 3] for h in range(HEADS)]).flatten(0, 1)
    whole.load_state_dict(state)
    x = draw(BATCH, N, D_MODEL)
    close(grouped(x, mask=causal_mask(N)), whole(x, mask=causal_mask(N)))
    close(grouped.map(x), whole.map(x))
    loaded = GroupedQueryAttention(D_MODEL, HEADS, KV_HEADS).double().load_multi_head(whole)
    close(loaded(x), grouped(x))  # the mean of equal heads is that head


def test_loading_takes_the_mean_of_a_group():
    whole = made("multi-head")
    loaded = GroupedQueryAttention(D_MODEL, HEADS, KV_HEADS).double().load_multi_head(whole)
    for head in range(KV_HEADS):
        own = slice(head * D_HEAD, (head + 1) * D_HEAD)
        theirs = [slice(h * D_HEAD, (h + 1) * D_HEAD) for h in range(3 * head, 3 * head + 3)]
        wanted = sum(whole.key.weight[rows] for rows in theirs) / 3
        close(loaded.key.weight[own], wanted)
    assert loaded.query.weight.equal(whole.query.weight)


def test_rotary_scores_depend_on_the_distance_alone():
    module = made("grouped, rotary")
    x = draw(1, 1, D_MODEL).expand(1, N, -1)  # one word, N times
    scores = module.map(x, mask=None).log()  # up to a number a row
    for i, j in itertools.product(range(N - 1), range(N - 2)):
        got = scores[0, :, i + 1, j + 2] - scores[0, :, i + 1, j + 1]
        close(got, scores[0, :, i, j + 1] - scores[0, :, i, j], 1e-9)
    assert (scores[0, :, 0, 0] - scores[0, :, 0, 1]).abs().min() > 1e-3


def test_the_base_of_the_rotation_is_the_callers():
    """Queries and keys turned outside, with complex numbers, by a layer that turns nothing."""
    base, x, mask = 30.0, draw(BATCH, N, D_MODEL), causal_mask(N)
    turning = GroupedQueryAttention(D_MODEL, HEADS, KV_HEADS, position="rotary", base=base).double()
    angles = torch.arange(N)[:, None] * base ** (-torch.arange(0, D_HEAD, 2).double() / D_HEAD)
    query, key = (
        torch.view_as_real(
            torch.view_as_complex(split_heads(part(x), heads).unflatten(-1, (-1, 2)))
            * torch.polar(torch.ones_like(angles), angles)
        ).flatten(-2)
        for part, heads in ((turning.query, HEADS), (turning.key, KV_HEADS))
    )
    scores = query @ key.repeat_interleave(HEADS // KV_HEADS, dim=1).mT / D_HEAD**0.5
    wanted = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    close(turning.map(x, mask=mask), wanted)
    usual = GroupedQueryAttention(D_MODEL, HEADS, KV_HEADS, position="rotary").double()
    usual.load_state_dict(turning.state_dict())
    assert (usual.map(x, mask=mask) - wanted).abs().max() > 1e-3


# Latent attention


@pytest.mark.parametrize("name", ["latent", "latent, rotary"])
@pytest.mark.parametrize("mask", [None, causal_mask(N), padding_mask([3, 0], N)])
def test_absorbed_is_expanded(name, mask):
    module, x = made(name), draw(BATCH, N, D_MODEL)
    output = module(x, mask=mask, absorb=False)
    close(module(x, mask=mask, absorb=True), output)
    close(module(x, mask=mask), output)
    of_both = [
        torch.autograd.grad(module(x, mask=mask, absorb=form).sum(), module.parameters())
        for form in (True, False)
    ]
    for got, wanted in zip(*of_both):
        close(got, wanted, 1e-10)


def test_latent_attention_by_loops():
    """Every key and value written out from the latent of its position."""
    module, x = made("latent"), draw(N, D_MODEL)
    mask = causal_mask(N)
    heads = []
    for h in range(HEADS):
        rows = slice(h * D_HEAD, (h + 1) * D_HEAD)
        query = module.query(x)[:, rows]
        latent = x @ module.latent.weight.T + module.latent.bias  # (n, d_latent)
        key, value = latent @ module.key.weight[rows].T, latent @ module.value.weight[rows].T
        heads.append(reference_attention(query, key, value, mask=mask))
        weights = reference_attention(query, key, torch.eye(N).double(), mask=mask)
        close(module.map(x, mask=mask)[h], weights)
    close(module(x, mask=mask), module.out(torch.cat(heads, dim=-1)))


def test_latent_positions_count_from_the_start_of_the_cache():
    module, x = made("latent, rotary"), draw(1, N, D_MODEL)
    moved = x.flip(1)
    assert not torch.allclose(module(moved).flip(1), module(x))
    assert torch.allclose(made("latent")(moved).flip(1), made("latent")(x))


# The cache

PARTS = [[1] * N, [N], [3, 1, 1, 2], [1, 6], [5, 2]]


@pytest.mark.parametrize("recording", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("name", MODULES)
def test_decoding_in_parts_is_the_full_pass(name, recording):
    module, x = made(name), draw(BATCH, N, D_MODEL)
    wanted = module(x, mask=causal_mask(N))
    for parts in PARTS:
        cache, outputs = KeyValueCache(), []
        with torch.set_grad_enabled(recording):
            for new in x.split(parts, dim=1):
                n_new = new.shape[1]
                mask = causal_mask(n_new, len(cache) + n_new)
                outputs.append(module(new, mask=mask, cache=cache))
        close(torch.cat(outputs, dim=1), wanted)
        assert len(cache) == N


@pytest.mark.parametrize("name", MODULES)
def test_one_new_position_needs_no_mask(name):
    module, x, cache = made(name), draw(BATCH, N, D_MODEL), KeyValueCache()
    with torch.no_grad():
        steps = [module(x[:, i : i + 1], cache=cache) for i in range(N)]
        close(torch.cat(steps, dim=1), module(x, mask=causal_mask(N)))


def test_gradients_flow_through_the_cache():
    module, x = made("grouped"), draw(BATCH, N, D_MODEL).requires_grad_()
    cache = KeyValueCache()
    outputs = [
        module(new, mask=causal_mask(new.shape[1], len(cache) + new.shape[1]), cache=cache)
        for new in x.split([3, 1, 3], dim=1)
    ]
    factors = draw(BATCH, N, D_MODEL, seed=4)
    (got,) = torch.autograd.grad((torch.cat(outputs, dim=1) * factors).sum(), x)
    (wanted,) = torch.autograd.grad((module(x, mask=causal_mask(N)) * factors).sum(), x)
    close(got, wanted)


@torch.no_grad()
def test_the_cache_returns_all_that_it_got_in_order():
    key, value = draw(BATCH, KV_HEADS, 50, 3), draw(BATCH, KV_HEADS, 50, 5, seed=1)
    cache, seen, parts = KeyValueCache(), [], [4, 1, 1, 17, 1, 26]
    for new_key, new_value in zip(key.split(parts, dim=-2), value.split(parts, dim=-2)):
        seen.append((len(cache), *cache.update(new_key, new_value)))
    for (start, all_keys, all_values), n_new in zip(seen, parts):  # the earlier ones too
        assert all_keys.equal(key[..., : start + n_new, :])
        assert all_values.equal(value[..., : start + n_new, :])


@torch.no_grad()
def test_the_cache_does_not_keep_the_callers_memory():
    key, value, cache = draw(2, 3, 4), draw(2, 3, 5), KeyValueCache()
    wanted = key.clone()
    cache.update(key, value)
    key.zero_()
    assert cache.update(key[:, :1], value[:, :1])[0][:, :3].equal(wanted)


@torch.no_grad()
def test_a_step_copies_only_now_and_then():
    """A thousand steps find new memory about ten times."""
    cache, places = KeyValueCache(), set()
    for _ in range(1000):
        all_keys, _ = cache.update(torch.zeros(1, 2, 1, 8), torch.zeros(1, 2, 1, 8))
        places.add(all_keys.data_ptr())
    assert len(cache) == 1000
    assert len(places) <= 12


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("multi-head", 2 * HEADS * D_HEAD),
        ("grouped", 2 * KV_HEADS * D_HEAD),
        ("multi-query", 2 * D_HEAD),
        ("latent", 9),
        ("latent, rotary", 9 + 2),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_bytes_of_the_cache(name, numbers, dtype):
    cache, module = KeyValueCache(), made(name).to(dtype)
    assert cache.bytes == 0
    with torch.no_grad():
        for n_new in (4, 1, 1):
            module(torch.zeros(BATCH, n_new, D_MODEL, dtype=dtype), cache=cache)
            assert cache.bytes == BATCH * len(cache) * numbers * dtype.itemsize


# What is refused


@pytest.mark.parametrize(
    ("error", "name", "call"),
    [
        (ValueError, "key: got 4 heads", lambda q, k: grouped_query_attention(q, k(4), k(4))),
        (ValueError, "key: got 0 heads", lambda q, k: grouped_query_attention(q, k(0), k(0))),
        (ValueError, "value: got 3 heads", lambda q, k: grouped_query_attention(q, k(2), k(3))),
        (TypeError, "key: got list", lambda q, k: grouped_query_attention(q, [], k(2))),
        (ValueError, "query: got", lambda q, k: grouped_query_attention(q[0, 0], k(2), k(2))),
        (
            ValueError,
            "mask: got 2 heads",
            lambda q, k: grouped_query_attention(
                q, k(2), k(2), mask=torch.ones(2, 5, N, dtype=torch.bool)
            ),
        ),
        (
            ValueError,
            "mask: got dtype",
            lambda q, k: grouped_query_attention(q, k(2), k(2), mask=torch.ones(5, N)),
        ),
        (ValueError, "n_kv_heads: got 4", lambda q, k: GroupedQueryAttention(24, 6, 4)),
        (ValueError, "n_kv_heads: got 0", lambda q, k: GroupedQueryAttention(24, 6, 0)),
        (ValueError, "n_kv_heads: got True", lambda q, k: GroupedQueryAttention(24, 6, True)),
        (
            ValueError,
            "base: got 0",
            lambda q, k: GroupedQueryAttention(24, 6, 2, position="rotary", base=0),
        ),
        (ValueError, "n_heads: got 5", lambda q, k: MultiQueryAttention(24, 5)),
        (
            ValueError,
            "position: got 'alibi'",
            lambda q, k: MultiQueryAttention(24, 6, position="alibi"),
        ),
        (ValueError, "d_latent: got 0", lambda q, k: MultiHeadLatentAttention(24, 6, 0)),
        (
            ValueError,
            "d_rotary: got 3",
            lambda q, k: MultiHeadLatentAttention(24, 6, 4, d_rotary=3),
        ),
        (
            ValueError,
            "x: got (2, 5, 23)",
            lambda q, k: MultiQueryAttention(24, 6)(torch.ones(2, 5, 23)),
        ),
        (
            ValueError,
            "x: got dtype torch.float64",
            lambda q, k: MultiHeadLatentAttention(24, 6, 4)(torch.ones(2, 5, 24).double()),
        ),
        (
            TypeError,
            "other: got Linear",
            lambda q, k: MultiQueryAttention(24, 6).load_multi_head(nn.Linear(24, 24)),
        ),
        (
            ValueError,
            "other: got (d_model, n_heads, bias) = (24, 3, True)",
            lambda q, k: MultiQueryAttention(24, 6).load_multi_head(MultiHeadAttention(24, 3)),
        ),
        (
            ValueError,
            "value: got (2, 6, 4)",
            lambda q, k: KeyValueCache().update(k(1)[0], q[0, 0:2, :5]),
        ),
        (TypeError, "key: got NoneType", lambda q, k: KeyValueCache().update(None, q)),
    ],
)
def test_bad_input_is_named(error, name, call):
    with pytest.raises(error) as raised:
        call(torch.ones(BATCH, 6, 5, 4), lambda heads: torch.ones(BATCH, heads, N, 4))
    assert name.split("(2, 6, 4)")[0] in str(raised.value)


def test_the_cache_refuses_another_kind_of_part():
    cache = KeyValueCache()
    cache.update(torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 5, 6))
    wrong = [
        (torch.zeros(1, 3, 1, 4), torch.zeros(1, 3, 1, 6)),  # another batch
        (torch.zeros(2, 1, 1, 4), torch.zeros(2, 3, 1, 6)),  # would broadcast
        (torch.zeros(2, 3, 1, 4), torch.zeros(2, 3, 1, 7)),
        (torch.zeros(2, 3, 1, 4).double(), torch.zeros(2, 3, 1, 6)),
    ]
    for parts in wrong:
        with pytest.raises(ValueError, match="the cache holds"):
            cache.update(*parts)
    assert len(cache) == 5
