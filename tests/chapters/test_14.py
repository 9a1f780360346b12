"""Chapter 14: each rule turns with its numbers, and each link leads to a section."""

import re

import nbformat
import pytest
import torch

from attn_edu.attention import MultiHeadAttention, scaled_dot_product_attention
from attn_edu.course import NOTEBOOKS, chapters
from attn_edu.models import Convolutional

from .loading import ROOT, code_cells, definitions

FILE = "14_the_article_checked"
TRUE, IF, FALSE = "true", "true if …", "false"


@pytest.fixture(scope="module")
def chapter():
    return definitions(FILE, {"CLAIMS", "nouns", "stored_heads"})


# What each rule is fed: (verdict, arguments). The first case of each is what the chapter measured.
KEPT = {"RNN": 0.0, "GRU": 0.7, "attention": 1.0}
LEFT = {"RNN": 1e-11, "GRU": 1e-6, "attention": 0.9}
ALL_DEFECTS = dict.fromkeys("abcde", True)
MISSED = {1: [0.66, 0.65], 2: [0.3, 0.31], 4: [0.0, 0.01], 8: [0.0, 0.0]}
CASES = {
    "limits": [
        (TRUE, (KEPT, LEFT)),
        (IF, (KEPT | {"GRU": 1.0}, LEFT)),
        (IF, (KEPT, LEFT | {"RNN": 0.95})),
        (FALSE, (dict.fromkeys(KEPT, 1.0), LEFT)),
    ],
    "mechanism": [(TRUE, (1e-7, True)), (FALSE, (0.1, True)), (FALSE, (1e-7, False))],
    "any_length": [
        (IF, ([0.1, 0.4], [0.0, 0.0])),
        (TRUE, ([0.0, 0.0], [0.0, 0.0])),
        (FALSE, ([0.1, 0.4], [0.0, 0.2])),
    ],
    "all_others": [
        (IF, ({"attention": 1, "causal attention": 0.54},)),
        (TRUE, ({"attention": 1, "causal attention": 1},)),
        (FALSE, ({"attention": 0.9, "causal attention": 0.5},)),
    ],
    "better_without_window": [
        (FALSE, (True, {"a": ([0.8, 0.9], [0.85, 1.0]), "b": ([0.7], [0.7])})),
        (IF, (True, {"a": ([0.95, 0.9], [0.85, 0.8]), "b": ([0.7], [0.7])})),
        (TRUE, (True, {"a": ([0.95, 0.9], [0.85, 0.8]), "b": ([0.8], [0.7])})),
        (FALSE, (False, {"a": ([0.95, 0.9], [0.85, 0.8])})),
    ],
    "linear_so_cheaper": [
        (FALSE, (2.0, {"lstm": [True, False], "rnn": [False, False]})),
        (IF, (1.0, {"lstm": [True, False], "rnn": [False, False]})),
        (TRUE, (1.0, {"lstm": [True, True]})),
        (FALSE, (1.0, {"lstm": [False, False]})),
    ],
    "faster_training": [
        (IF, ({("lstm", 64): {64: 1.2, 512: 0.4}, ("gru", 64): {64: 8.0}},)),
        (TRUE, ({("lstm", 64): {64: 1.2, 512: 1.4}},)),
        (FALSE, ({("lstm", 64): {64: 0.9, 512: 0.4}},)),
    ],
    "is_multi_head": [
        (FALSE, (ALL_DEFECTS,)),
        (FALSE, (dict.fromkeys("abcd", False) | {"e": True},)),
        (TRUE, (dict.fromkeys("abcde", False),)),
    ],
    "more_expressive": [
        (IF, (MISSED, 0.0, 0.625)),
        (TRUE, ({1: [0.66], 2: [0.3], 4: [0.1]}, 0.0, 0.625)),
        (FALSE, ({1: [0.66], 2: [0.66], 4: [0.66]}, 0.0, 0.625)),
        (FALSE, (MISSED, 0.7, 0.625)),
    ],
    "is_local": [(FALSE, (False, 15, 16)), (IF, (False, 3, 16)), (TRUE, (True, 3, 16))],
    "local_saves": [
        (IF, (1.0, 0.08, True)),
        (TRUE, (0.2, 0.08, True)),
        (FALSE, (1.0, 0.9, True)),
        (FALSE, (1.0, 0.08, False)),
    ],
    "low_rank": [
        (FALSE, ({8: 0.5, 64: 1.0}, {8: 0.6, 64: 0.5})),
        (IF, ({8: 0.5, 64: 1.0}, {8: 0.05, 64: 0.01})),
        (TRUE, ({8: 0.5, 64: 0.9}, {8: 0.05, 64: 0.01})),
        (FALSE, ({8: 1.0, 64: 1.0}, {8: 0.05, 64: 0.01})),
    ],
    "faster_and_right": [
        (FALSE, ({"a": (False, True), "b": (True, False)},)),
        (IF, ({"a": (False, True), "b": (True, True)},)),
        (TRUE, ({"a": (True, True), "b": (True, True)},)),
    ],
    "does_all": [
        (TRUE, ({"a": ([0.8, 0.7], 0.6), "b": ([-7.7], -8.6)},)),
        (IF, ({"a": ([0.8, 0.5], 0.6), "b": ([-7.7], -8.6)},)),
        (FALSE, ({"a": ([0.8, 0.5], 0.6), "b": ([-8.7], -8.6)},)),
    ],
    "most_successful": [
        (IF, (True, True, {"a": ([0.8, 0.7], [0.6]), "b": ([0.5], [0.6])})),
        (TRUE, (True, True, {"a": ([0.8, 0.7], [0.6]), "b": ([0.7], [0.6])})),
        (FALSE, (True, True, {"a": ([0.8, 0.5], [0.6]), "b": ([0.5], [0.6])})),
        (FALSE, (True, False, {"a": ([0.8, 0.7], [0.6])})),
        (FALSE, (False, True, {"a": ([0.8, 0.7], [0.6])})),
    ],
    "always_less_work": [
        (IF, ("gru", 48, 100)),
        (TRUE, ("lstm", 48, 40)),
        (FALSE, ("rnn", 48, 100)),
    ],
}


@pytest.mark.parametrize(
    ("rule", "verdict", "numbers"),
    [(rule, *case) for rule, cases in CASES.items() for case in cases],
)
def test_a_rule_turns_with_its_numbers(chapter, rule, verdict, numbers):
    assert getattr(chapter, rule)(*numbers) == verdict


def settled():
    """Claim -> the cell that settles it."""
    found = {}
    for cell in code_cells(FILE):
        found |= dict.fromkeys(re.findall(r'settle\(\s*"(C\d+)"', cell), cell)
    return found


def test_fifteen_claims_each_settled_by_its_own_rule_and_held_against_the_text(chapter):
    names = [f"C{i}" for i in range(1, 16)]
    assert list(chapter.CLAIMS) == list(settled()) == names
    rules = [rule for rule in CASES if rule != "always_less_work"]
    for (name, cell), rule in zip(settled().items(), rules, strict=True):
        assert re.search(rf'settle\(\s*"{name}",\s*{rule}\(', cell)
        ((how, said),) = re.findall(rf'assert findings\["{name}"\]\.verdict (..) "([^"]+)"', cell)
        seen = CASES[rule][0][0]  # the first case is what the chapter saw
        assert said == seen if how == "==" else said != seen
        assert f"The rule for {name}" in "\n".join(code_cells(FILE))


def anchor(heading):
    """A heading's id in JupyterLab: its text, with a hyphen for every space."""
    return re.sub(r"[*`]", "", heading).strip().replace(" ", "-")


def test_each_link_leads_to_a_heading_of_an_earlier_chapter():
    links = {
        name: re.search(r'"(\d\d_\w+\.ipynb#[^"]+)"', cell)[1] for name, cell in settled().items()
    }
    files = {chapter.file for chapter in chapters()} - {FILE}
    for name, link in links.items():
        file, _, heading = link.partition(".ipynb#")
        assert file in files, name
        notebook = nbformat.read(NOTEBOOKS / f"{file}.ipynb", as_version=4)
        text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        assert heading in {anchor(h) for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}, link


def test_the_form_stands_before_every_result_and_the_ledger_after():
    text = (ROOT / "notebooks" / "src" / f"{FILE}.md").read_text("utf-8")
    places = [text.index(part) for part in ("Guesses(CLAIMS", 'settle(\n    "C1"', "Ledger(CLAIMS")]
    assert places == sorted(places)
    assert text.rindex("settle(\n") < text.index("## What we measured") < places[-1]


def test_every_section_has_a_picture_before_its_verdict():
    pictures = "AttentionMap(|Bill(|MaskReach(|curves(|curves_by_step("
    pattern = "|".join(map(re.escape, pictures.split("|")))
    for part in (ROOT / "notebooks" / "src" / f"{FILE}.md").read_text("utf-8").split("\n## ")[1:]:
        if "settle(\n" in part:
            assert re.search(pattern, part), part[:40]


# The tools of the chapter, against what they stand for


def test_reach_is_what_a_nudge_moves(chapter):
    conv = Convolutional(6, window=3).double()
    x = torch.randn(5, 6, dtype=torch.float64)
    size = chapter.reach(lambda x: conv(x[None])[0], x)
    for j in range(5):
        nudged = x.clone()
        nudged[j] += 0.1
        moved = (conv(nudged[None]) - conv(x[None])).abs().amax(dim=(0, 2)) > 0
        assert torch.equal(moved, size[:, j] > 0)


def test_the_repaired_listing_is_multi_head_attention(chapter):
    forward = chapter.kept_layer(chapter.split_heads, scaled_dot_product_attention)
    torch.manual_seed(0)
    linear = [torch.nn.Linear(12, 12).double() for _ in range(4)]
    layer = MultiHeadAttention(12, 3).double()
    for name, one in zip(("query", "key", "value", "out"), linear):
        getattr(layer, name).load_state_dict(one.state_dict())
    x = torch.randn(7, 12, dtype=torch.float64)
    torch.testing.assert_close(forward(x), layer(x))


def test_the_words_scheme_has_one_crossing_layer_at_the_end(chapter):
    *inside, last = chapter.described(12, block=3)
    block = torch.arange(12) // 3
    own, before = block[:, None] == block, block[:, None] == block + 1
    assert len(inside) == 3 and all(mask.equal(own) for mask in inside)
    assert last.equal(own | before)


def test_four_heads_by_hand_answer_what_was_asked(chapter):
    asks, answers = chapter.questions(20)
    for sentence, answer in zip(asks, answers):
        marks = sentence[:, 8:13].argmax(dim=-1)
        words = [sentence[marks == k, :8] for k in range(4)]
        torch.testing.assert_close(torch.cat(words).flatten(), answer)
    spare = torch.eye(64)[-1:].expand(20, 1, 64)
    with torch.no_grad():
        found = chapter.four_heads_by_hand(score=30.0)(spare, asks)[:, 0, :32]
    torch.testing.assert_close(found, answers, rtol=1e-4, atol=1e-4)


def test_a_masked_window_and_a_computed_one_give_the_same(chapter):
    inputs = torch.randn(3, 300, 8)
    torch.testing.assert_close(chapter.under_a_mask(*inputs), chapter.really_local(*inputs))


def test_how_two_readers_stand(chapter):
    assert chapter.standing([3, 4], [1, 2]) == "ahead"
    assert chapter.standing([1, 2], [3, 4]) == "behind"
    assert chapter.standing([1, 4], [2, 3]) == chapter.standing([1, 2], [2, 3]) == "level"
