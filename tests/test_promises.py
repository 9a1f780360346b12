"""The table of promises says who keeps what, in cells, in a sentence, and without colour."""

import re

import pytest

from attn_edu.datasets import recorded
from attn_edu.figures import Promises

FOUND = {
    "implementations": ["ours", "theirs<b>"],
    "properties": ["is_causal", "keeps_padding"],
    "descriptions": {"is_causal": "No later word & no earlier output"},
    "packages": {"ours": "attn-edu", "theirs<b>": "theirs<b>"},
    "results": {
        "ours": {
            "is_causal": {"holds": True, "measured": 0.0, "note": "fine"},
            "keeps_padding": {"holds": None, "measured": None, "note": "no mask"},
        },
        "theirs<b>": {
            "is_causal": {"holds": False, "measured": 0.8449, "note": 'x8 "on" the last key'},
            "keeps_padding": {"holds": False, "measured": None, "note": ""},
        },
    },
}


def test_the_sentence_counts_and_names():
    assert Promises(FOUND).describe() == (
        "2 implementations, 3 promises that apply, 2 not kept. theirs<b>: is causal, keeps padding."
    )
    assert repr(Promises(FOUND, only=["ours"])) == (
        "1 implementations, 1 promises that apply, 0 not kept."
    )
    assert Promises(FOUND).broken("theirs<b>") == {"is_causal": 0.8449, "keeps_padding": None}


def test_the_cells_hold_a_tick_a_dash_or_a_cross_with_the_number():
    html = Promises(FOUND)._repr_mimebundle_()["text/html"]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
    assert cells == ["✓", "–", "✗ 0.84", "✗"]
    assert html.count('scope="col"') == 3 and html.count('scope="row"') == 2
    assert "<b>" not in html and 'title="x8 &quot;on&quot; the last key"' in html
    assert "is causal: No later word &amp; no earlier output" in html
    assert html.count("<small>") == 1  # a package is named where it is not the implementation


def test_an_unknown_implementation_is_named():
    with pytest.raises(ValueError, match="only: got 'mine'; accepted are"):
        Promises(FOUND, only=["mine"])


def test_the_recorded_run_has_no_cross_of_ours():
    found = recorded("conformance")
    table = Promises(found)
    ours = [name for name, package in found["packages"].items() if package == "attn-edu"]
    assert len(ours) >= 8 and not any(table.broken(name) for name in ours)
    assert any(table.broken(name) for name in set(table.names) - set(ours))


def test_the_table_is_no_landmark():
    """Two tables on a page would be two landmarks of one name."""
    assert 'role="region"' not in Promises(FOUND).to_html()
