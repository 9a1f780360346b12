"""The form and the ledger: what they hold without scripts, what they refuse, their size."""

import json
import re
from html.parser import HTMLParser

import pytest

from attn_edu.views import Guesses, Ledger
from attn_edu.views.guesses import ANSWERS
from attn_edu.views.ledger import Finding, ruled
from attn_edu.views.payload import to_script

CLAIMS = {"C1": "Water is wet.", "C2": 'Fire is <b>"cold"</b> & dry.', "C3": "השמש חמה."}
LINK = "03_multi_head.ipynb#A-listing-taken-apart"
FOUND = {
    "C1": Finding("true", "3 of 3 hands", LINK),
    "C2": Finding(
        "true if …", "900 °C < 1", "02_single_head.ipynb#Why-divide-by-√d?", "it is <out>"
    ),
}


class Table(HTMLParser):
    """The cells of every row, and where its links lead; scripts and all else are left out."""

    def __init__(self, view):
        super().__init__()
        self.rows, self.links, self.tags, self.inside = [], [], [], False
        self.feed(re.sub(r"<script>.*?</script>", "", view._html(), flags=re.DOTALL))

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.inside = tag in ("td", "th") or (self.inside and tag == "a")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "a":
            self.links.append(dict(attributes)["href"])

    def handle_endtag(self, tag):
        self.inside = self.inside and tag == "a"

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def payload_of(view):
    return json.loads(to_script(view._payload()))


@pytest.mark.parametrize(
    ("always", "sometimes", "verdict"),
    [(True, True, 0), (True, False, 0), (False, True, 1), (False, False, 2)],
)
def test_two_booleans_make_a_verdict(always, sometimes, verdict):
    assert ruled(always, sometimes) == ANSWERS[verdict]


def test_without_scripts_the_form_is_a_table_of_the_claims():
    table = Table(Guesses(CLAIMS))
    assert table.rows[1:] == [[name, claim] for name, claim in CLAIMS.items()]
    assert "b" not in table.tags


def test_without_scripts_the_ledger_is_whole_but_for_the_guesses():
    table = Table(Ledger(CLAIMS, FOUND))
    assert table.rows[0] == [
        *("claim", "what it says", "verdict of this run", "what decided it", "more")
    ]
    first, second, third = table.rows[1:]
    assert first == [
        "C1",
        CLAIMS["C1"],
        "true",
        "3 of 3 hands",
        "chapter 03: A listing taken apart",
    ]
    assert second[2:4] == ["true if it is <out>", "900 °C < 1"]
    assert third == ["C3", CLAIMS["C3"], "not run", "", ""]
    assert table.links == [FOUND["C1"].link, FOUND["C2"].link]
    assert not {"b", "out"} & set(table.tags)


def test_guesses_given_in_python_become_a_column():
    ledger = Ledger(CLAIMS, FOUND, {"C1": "true", "C2": "false", "C3": "true"})
    table = Table(ledger)
    assert table.rows[0][2] == "your guess"
    assert [row[2] for row in table.rows[1:]] == ["true (agrees)", "false (differs)", "true"]
    assert ledger.agreeing() == 1
    assert str(ledger).endswith("1 of your 2 guesses agree with this run.")


def test_the_summary_counts_what_was_found():
    assert str(Ledger(CLAIMS, FOUND)) == "3 claims: 1 true, 1 true if …, 0 false, 1 not run."
    assert Ledger(CLAIMS, FOUND).counts() == {"true": 1, "true if …": 1, "false": 0}
    assert "C2: Fire" in Ledger(CLAIMS, FOUND).describe()
    assert "guess" not in str(Ledger(CLAIMS, FOUND, {"C3": "true"})), "C3 was not run"


def test_a_form_and_a_ledger_find_each_other_by_their_claims():
    form, ledger = payload_of(Guesses(CLAIMS)), payload_of(Ledger(CLAIMS, FOUND))
    assert form["key"] == ledger["key"]
    assert form["key"] != payload_of(Guesses(CLAIMS | {"C3": "Another."}))["key"]
    assert form["claims"] == [[name, claim] for name, claim in CLAIMS.items()]
    assert form["answers"] == list(ANSWERS)
    assert ledger["verdicts"] == {"C1": "true", "C2": "true if …"}
    assert (ledger["given"], payload_of(Ledger(CLAIMS, FOUND, {"C1": "true"}))["given"]) == (
        False,
        True,
    )


@pytest.mark.parametrize(
    ("finding", "message"),
    [
        (Finding("maybe", "1", LINK), "the verdict on C1 must be one of"),
        (Finding("true if …", "1", LINK), "the condition of C1: got none"),
        (Finding("true", "1", "javascript:alert(1)"), "the link of C1: got 'javascript"),
        (Finding("true", "1", "03_multi_head.ipynb"), "accepted is a section of a chapter"),
        (Finding("true", "1", "../03_multi_head.ipynb#A"), "accepted is a section of a chapter"),
    ],
)
def test_a_finding_that_cannot_be_shown_is_refused(finding, message):
    with pytest.raises(ValueError, match=message):
        Ledger(CLAIMS, {"C1": finding})


def test_unknown_claims_and_answers_are_refused():
    with pytest.raises(KeyError, match="no claim is called 'C9'"):
        Ledger(CLAIMS, {"C9": FOUND["C1"]})
    with pytest.raises(KeyError, match="no claim is called 'C9'"):
        Ledger(CLAIMS, FOUND, {"C9": "true"})
    with pytest.raises(ValueError, match="the guess about C1 must be one of"):
        Ledger(CLAIMS, FOUND, {"C1": "yes"})
    for view in (Guesses, lambda claims: Ledger(claims, {})):
        with pytest.raises(ValueError, match="claims: got none"):
            view({})
        with pytest.raises(TypeError, match="claims must map ids to words, got 'C1': 3"):
            view({"C1": 3})


@pytest.mark.parametrize("view", [Guesses(CLAIMS), Ledger(CLAIMS, FOUND)], ids=["form", "ledger"])
def test_an_output_is_small_and_the_same_twice(view):
    html = view._repr_mimebundle_()["text/html"]
    assert html == view._html()
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(script.encode()) < 8_000
    assert not re.search(r"localStorage|sessionStorage|fetch\(|https?:", script)
