"""AttentionSteps: its numbers against torch, its words, its errors. The page's: tests/js."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from attn_edu.attention import block_mask, causal_mask, sliding_window_mask
from attn_edu.views import AttentionSteps

N, D, DV = 5, 4, 3


def projections():
    return torch.randn(N, D), torch.randn(N, D), torch.randn(N, DV)


@pytest.mark.parametrize(
    ("options", "mask"),
    [
        ({}, None),
        ({"mask": "causal"}, causal_mask(N)),
        ({"mask": "window", "size": 3}, sliding_window_mask(N, 3)),
        ({"mask": "block", "size": 2}, block_mask(N, 2)),
        ({"mask": torch.tensor([True, False, True, True, False])}, "given"),
    ],
)
@pytest.mark.parametrize(("scale", "temperature"), [(None, 1.0), (0.3, 2.0)])
def test_every_stage_equals_torch(options, mask, scale, temperature):
    query, key, value = projections()
    view = AttentionSteps(query, key, value, scale=scale, temperature=temperature, **options)
    at = view.stages()
    mask = options["mask"].expand(N, N) if isinstance(mask, str) else mask
    q, k, v = query.double(), key.double(), value.double()
    factor = (D**-0.5 if scale is None else scale) / temperature
    output = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=factor)
    eye = torch.eye(N, dtype=torch.float64)
    weights = functional.scaled_dot_product_attention(q, k, eye, attn_mask=mask, scale=factor)
    np.testing.assert_allclose(at["output"], output, atol=1e-12)
    np.testing.assert_allclose(at["weights"], weights, atol=1e-12)
    np.testing.assert_allclose(at["scores"], q @ k.T, atol=1e-12)
    np.testing.assert_allclose(at["scaled"], q @ k.T * factor, atol=1e-12)
    hidden = np.zeros((N, N), bool) if mask is None else ~mask.numpy()
    np.testing.assert_array_equal(np.isneginf(at["masked"]), hidden)
    np.testing.assert_array_equal(at["masked"][~hidden], at["scaled"][~hidden])


def test_it_says_its_setting_and_where_the_words_look():
    query = key = 9 * torch.eye(3)
    words = ["猫", "<b>", "c"]
    told = AttentionSteps(query, key, torch.ones(3, 2), words, mask="causal", temperature=0.5)
    summary = told.summary()
    assert "3 words, d = 3, scale 0.577, temperature 0.5, mask causal" in summary
    assert "“猫” looks most at “猫” (1.00)" in summary
    assert "3 of 9 cells masked" in told.describe()
    assert "“&lt;b&gt;” looks most at" in told._repr_mimebundle_()["text/html"]


def test_a_word_that_may_look_at_none_is_named():
    mask = causal_mask(3, 3)
    mask[1] = False
    told = AttentionSteps(*torch.ones(3, 3, 2), mask=mask).describe()
    assert "“1” looks at no word" in told


def test_long_sentences_keep_a_short_table():
    text = AttentionSteps(*torch.randn(3, 130, 4))._repr_mimebundle_()["text/html"]
    assert "the first 128 of 130 words" in text
    assert text.count("<tr>") == 129


def test_the_inputs_are_copied():
    query, key, value = projections()
    view = AttentionSteps(query, key, value)
    before = view.stages()["output"]
    for x in (query, key, value):
        x.zero_()
    np.testing.assert_array_equal(view.stages()["output"], before)


Q, K, V = torch.ones(N, D), torch.ones(N, D), torch.ones(N, DV)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AttentionSteps(Q[None], K, V), r"query must have shape \(n, d\), got \(1, 5, 4\)"),
        (lambda: AttentionSteps(Q, K[:4], V), r"key must have query's shape \(5, 4\)"),
        (lambda: AttentionSteps(Q, K, V[:4]), "value must have 5 rows, as query, got 4"),
        (lambda: AttentionSteps(Q, K * torch.inf, V), "key must be finite"),
        (lambda: AttentionSteps(*torch.ones(3, 1025, 1)), "query must have at most 1024 rows"),
        (lambda: AttentionSteps(Q, K, V, ["a"]), "tokens must name each of the 5 positions"),
        (lambda: AttentionSteps(Q, K, V, temperature=0), "temperature must be positive"),
        (lambda: AttentionSteps(Q, K, V, scale=-1), "scale must be positive and finite, got -1"),
        (lambda: AttentionSteps(Q, K, V, size=0), "size must be at least 1, got 0"),
        (lambda: AttentionSteps(Q, K, V, mask="local"), "mask must be one of .* got 'local'"),
        (lambda: AttentionSteps(Q, K, V, mask="given"), "mask must be one of .* got 'given'"),
        (lambda: AttentionSteps(Q, K, V, mask=causal_mask(4)), "mask of shape"),
    ],
)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(TypeError, match="mask must be boolean"):
        AttentionSteps(Q, K, V, mask=torch.zeros(N, N))
