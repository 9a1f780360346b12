"""Every invariant for every kind, and the proof that the table can fail."""

import math

import pytest
import torch.nn.functional as F

from .invariants import INVARIANTS
from .kinds import KINDS, Kind


@pytest.mark.parametrize("name", INVARIANTS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_invariant(kind, name):
    if name in kind.excluded:
        pytest.skip(kind.excluded[name])
    INVARIANTS[name](kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_exclusion_is_known_and_has_a_reason(kind):
    assert set(kind.excluded) <= set(INVARIANTS)
    assert all(len(reason.split()) >= 5 for reason in kind.excluded.values())


def test_softmax_attention_has_no_exclusion():
    assert not any(kind.excluded for kind in KINDS if kind.name.startswith("scaled_dot_product"))


# Wrong attention, as seen in the wild. Each must break the invariants named beside it.


def _scores(query, key, scale=None):
    return query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)


def softmax_over_queries(query, key, value, *, mask=None):
    scores = _scores(query, key)
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-2) @ value


def unscaled(query, key, value, *, mask=None):
    scores = _scores(query, key, 1.0)
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1).nan_to_num() @ value


def inverted_polarity(query, key, value, *, mask=None):
    scores = _scores(query, key)
    scores = scores if mask is None else scores.masked_fill(mask, -math.inf)
    return scores.softmax(dim=-1).nan_to_num() @ value


def ones_and_zeros_added(query, key, value, *, mask=None):
    scores = _scores(query, key)
    return (scores if mask is None else scores + mask).softmax(dim=-1) @ value


def mask_after_softmax(query, key, value, *, mask=None):
    weights = _scores(query, key).softmax(dim=-1)
    return (weights if mask is None else weights * mask) @ value


def mask_after_softmax_renormalised(query, key, value, *, mask=None):
    weights = _scores(query, key).softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp_min(1e-300)
    return weights @ value


def big_negative_number(query, key, value, *, mask=None):
    scores = _scores(query, key)
    scores = scores if mask is None else scores.masked_fill(~mask, -1e9)
    return scores.softmax(dim=-1) @ value


def minus_inf_only(query, key, value, *, mask=None):
    scores = _scores(query, key)
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1) @ value


def nan_to_num_afterwards(query, key, value, *, mask=None):
    return minus_inf_only(query, key, value, mask=mask).nan_to_num()


def torch_itself(query, key, value, *, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def mask_ignored(query, key, value, *, mask=None):
    return _scores(query, key).softmax(dim=-1) @ value


def scores_in_place(query, key, value, *, mask=None):
    query.mul_(1.0)
    return unscaled(query / math.sqrt(query.shape[-1]), key, value, mask=mask)


def samples_leak(query, key, value, *, mask=None):
    centre = key.mean(dim=0, keepdim=True) if key.ndim > 2 else 0
    return unscaled(query / math.sqrt(query.shape[-1]), key * (1 + centre), value, mask=mask)


def in_single_precision(query, key, value, *, mask=None):
    inputs = (x.float() for x in (query / math.sqrt(query.shape[-1]), key, value))
    return unscaled(*inputs, mask=mask)


def without_stable_softmax(query, key, value, *, mask=None):
    odds = _scores(query, key).exp()
    odds = odds if mask is None else odds * mask
    return odds / odds.sum(dim=-1, keepdim=True).clamp_min(1e-300) @ value


def detached_key(query, key, value, *, mask=None):
    return unscaled(query / math.sqrt(query.shape[-1]), key.detach(), value, mask=mask)


@pytest.mark.filterwarnings("ignore:Error detected in:UserWarning")
@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        (softmax_over_queries, "rows_sum_to_one_over_visible_keys equals_the_loops"),
        (unscaled, "equals_the_loops"),
        (inverted_polarity, "rows_sum_to_one_over_visible_keys padding_changes_nothing"),
        (ones_and_zeros_added, "hidden_keys_and_values_do_not_count"),
        (mask_after_softmax, "rows_sum_to_one_over_visible_keys"),
        (mask_after_softmax_renormalised, "hidden_keys_and_values_do_not_count"),
        (big_negative_number, "a_query_that_sees_nothing_gets_zeros"),
        (minus_inf_only, "a_query_that_sees_nothing_gets_zeros"),
        (nan_to_num_afterwards, "a_query_that_sees_nothing_gets_zeros"),
        (torch_itself, "what_nobody_sees_may_hold_anything"),
        (mask_ignored, "hidden_keys_and_values_get_no_gradient padding_changes_nothing"),
        (scores_in_place, "inputs_are_left_alone"),
        (samples_leak, "any_leading_axes"),
        (in_single_precision, "dtype_is_kept the_map_is_the_map_that_was_used"),
        (without_stable_softmax, "large_scores_stay_finite"),
        (detached_key, "gradients_are_those_of_finite_differences"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_table_catches(wrong, names):
    kind = Kind(wrong.__name__, wrong)
    for name in names.split():
        with pytest.raises((AssertionError, RuntimeError)):  # ours, or torch's own complaint
            INVARIANTS[name](kind)
