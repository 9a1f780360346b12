"""Who keeps which promise: ours keep all; what others break is known, with its size.

`data/conformance.json` holds what was measured (`data/scripts/conformance.py` writes it, chapter 10
draws it). What is broken there is expected to be broken here, as long as the versions are the same.
"""

import json
import math
from functools import partial

import pytest
import torch

from attn_edu.attention import padding_mask
from attn_edu.datasets import DATA
from bench.peers import MissingPeerError

from .implementations import IMPLEMENTATIONS, Implementation
from .properties import PROPERTIES, find

STORED = json.loads((DATA / "conformance.json").read_text("utf-8"))
OURS = [name for name, one in IMPLEMENTATIONS.items() if one.package == "attn-edu"]
PAIRS = [(name, promise) for name in IMPLEMENTATIONS for promise in PROPERTIES]


def unchanged(name, promise):
    """Whether what is stored must be found again: for the same version, and on any processor."""
    by_processor = promise == "seen_nan_is_shown"
    return not by_processor and IMPLEMENTATIONS[name].version == STORED["versions"][name]


def cases():
    """Every pair; one that is known to be broken is expected to fail."""
    for name, promise in PAIRS:
        stored = STORED["results"][name][promise]
        marks = []
        if stored["holds"] is False:
            same = unchanged(name, promise)
            size = "NaN" if stored["measured"] is None else f"{stored['measured']:.3g}"
            marks = pytest.mark.xfail(reason=f"{size}: {stored['note']}", strict=same)
        yield pytest.param(name, promise, marks=marks, id=f"{name}-{promise}")


@pytest.mark.parametrize(("name", "promise"), list(cases()))
def test_it_keeps_its_promise(name, promise):
    one = IMPLEMENTATIONS[name]
    try:
        found = find(one, promise)
    except MissingPeerError as error:
        pytest.skip(str(error))
    if unchanged(name, promise):
        stored = STORED["results"][name][promise]
        wanted = stored["measured"] or 0
        assert (found.holds is None) == (stored["holds"] is None)
        assert (found.measured or 0) == pytest.approx(wanted, rel=0.01, abs=1e-9)
    assert found.holds is not False, f"{found.measured}: {found.note}"


def test_what_is_stored_covers_the_tables():
    assert STORED["implementations"] == list(IMPLEMENTATIONS)
    assert list(STORED["properties"]) == list(PROPERTIES)
    assert all(STORED["versions"][name] for name in IMPLEMENTATIONS)


def test_ours_break_no_promise_and_others_break_some():
    broken = {name for name, promise in PAIRS if STORED["results"][name][promise]["holds"] is False}
    assert not broken & set(OURS)
    assert len(broken) >= 6


@pytest.mark.parametrize("promise", PROPERTIES)
def test_each_promise_can_be_kept_and_is_asked_of_several(promise):
    holds = [STORED["results"][name][promise]["holds"] for name in IMPLEMENTATIONS]
    assert holds.count(True) >= 1
    assert holds.count(True) + holds.count(False) >= 2


def mistaken(x, causal=False, lengths=None, window=None, query=None, *, mistake):
    """Attention as the formula says, with one mistake."""
    n, own = x.shape[1], x if query is None else query
    value = x - x.mean(dim=0) if mistake == "centred over the batch" else x
    if mistake == "padded with zeros":
        value = x = torch.cat([x, torch.zeros_like(x[:, :1])], dim=1)
    mask = torch.ones(own.shape[1], x.shape[1], dtype=torch.bool)
    if causal or window:
        ahead = 0 if mistake == "aligned to the first" else n - len(mask)
        mask = mask.tril(ahead + (mistake == "one later"))
    if window:
        mask &= ~mask.tril(-window - (mistake == "one more"))
    if lengths and mistake != "no lengths":
        mask = mask & padding_mask(lengths, n)
    scores = own @ x.mT / math.sqrt(x.shape[-1])
    weights = scores.masked_fill(~mask, -1e30).softmax(dim=-1)  # large is not infinite
    return (weights @ value).nan_to_num() if mistake == "no NaN" else weights @ value


MISTAKES = {
    "causal": "one later",
    "batch_independent": "centred over the batch",
    "padding_unseen": "no lengths",
    "nothing_invented": "padded with zeros",
    "blind_rows_are_zero": None,
    "blind_rows_see_no_future": None,
    "last_queries": "aligned to the first",
    "hidden_nan_stays_hidden": None,
    "seen_nan_is_shown": "no NaN",
    "window_as_asked": "one more",
    "mask_not_ignored": "no lengths",
}


@pytest.mark.parametrize("promise", PROPERTIES)
def test_a_broken_promise_is_found(promise):
    attend = partial(mistaken, mistake=MISTAKES[promise])
    assert find(Implementation("mistaken", "attn-edu", attend), promise).holds is False


@pytest.mark.parametrize("promise", [name for name, mistake in MISTAKES.items() if mistake])
def test_without_the_mistake_it_is_kept(promise):
    right = Implementation("right", "attn-edu", partial(mistaken, mistake=""))
    assert find(right, promise).holds is True
