"""The definitions that chapter 02 shows, loaded out of its text and held against the package."""

import math
from pathlib import Path

import jupytext
import pytest
import torch
import torch.nn.functional as F

from attn_edu.attention import reference_attention, scaled_dot_product_attention

TEXT = Path(__file__).parents[2] / "notebooks" / "src" / "02_single_head.md"
B, T, S, d, d_value = 2, 5, 7, 4, 3


@pytest.fixture(scope="module")
def chapter():
    """The functions of the chapter, by name; nothing else of it is run."""
    cells = jupytext.reads(TEXT.read_text("utf-8"), fmt="md:myst").cells
    namespace = {
        "math": math,
        "torch": torch,
        "attention_map": None,
        "scaled_dot_product_attention": scaled_dot_product_attention,
    }
    wanted = ("attention", "gradient_left", "letter_pairs", "lopsided", "looks_at_itself")
    for name in wanted:
        (source,) = [c.source for c in cells if f"def {name}(" in c.source]
        start = source.index(f"def {name}(")
        body = source[start:].split("\n\n\n")[0]
        exec(body, namespace)
    return namespace


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_chapters_attention_is_the_packages_and_torchs(chapter):
    query, key, value = normal(B, T, d), normal(B, S, d, seed=1), normal(B, S, d_value, seed=2)
    ours = chapter["attention"](query, key, value)
    for truth in (
        reference_attention,
        scaled_dot_product_attention,
        F.scaled_dot_product_attention,
    ):
        torch.testing.assert_close(ours, truth(query, key, value))


def test_what_is_left_of_the_gradient_is_the_trace_of_softmaxs_jacobian(chapter):
    scores = normal(S)
    p = scores.softmax(dim=-1)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=-1), scores)
    torch.testing.assert_close(chapter["gradient_left"](p), jacobian.trace())


def test_letter_pairs_are_counted(chapter):
    x = chapter["letter_pairs"](["cat", "cats", "caca"])
    assert x.sum(dim=-1).tolist() == [4, 5, 5]  # a word of k letters has k + 1 pairs
    shared = x @ x.mT
    assert shared[0].tolist() == [4, 3, 3]  # cat & cats: _c ca at; cat & caca: _c, and ca twice
    assert shared[2, 2] == 1 + 4 + 1 + 1


def test_lopsided_is_0_when_symmetric_and_1_when_nothing_is_shared(chapter):
    scores = normal(60, 60)
    assert chapter["lopsided"](scores + scores.mT) == 0
    assert chapter["lopsided"](scores).item() == pytest.approx(1, abs=0.05)
    assert chapter["lopsided"](scores - scores.mT).item() == pytest.approx(math.sqrt(2))


def test_a_word_looks_at_itself_where_its_own_score_is_the_largest_of_its_row(chapter):
    scores = torch.tensor([[3.0, 1, 0], [4, 1, 0], [0, 2, 5]])
    assert chapter["looks_at_itself"](scores).tolist() == [1, 0, 1]
