"""What chapter 06 defines, loaded from its text and held against masks, loops and counts."""

import ast
from types import SimpleNamespace

import pytest
import torch

from attn_edu.attention import (
    block_mask,
    block_then_cross_mask,
    causal_mask,
    reference_attention,
    scaled_dot_product_attention,
    sliding_window_mask,
)

from .loading import code_cells

NAMES = {"words", "n", "position", "distance", "readings", "blocks", "cross", "shifted", "number"}
NAMES |= {"every_4th", "schemes", "THINGS", "window", "depths"}
KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


@pytest.fixture(scope="module")
def chapter():
    """The imports, functions and classes of the chapter, and a few of its names."""

    def wanted(node):
        if isinstance(node, ast.Assign):
            targets = [t for target in node.targets for t in ast.walk(target)]
            return {t.id for t in targets if isinstance(t, ast.Name)} <= NAMES
        return isinstance(node, KEPT)

    names = {}
    for source in code_cells("06_local"):
        body = [node for node in ast.parse(source).body if wanted(node)]
        exec(compile(ast.Module(body, []), "06_local.md", "exec"), names)
    return SimpleNamespace(**names)


def heads(n, d=6, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(2, 3, n, d, generator=draw, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize(("n", "w"), [(1, 1), (7, 3), (9, 9), (5, 8)])
def test_pairs_are_those_of_the_mask(chapter, n, w):
    assert chapter.window_pairs(n, w) == sliding_window_mask(n, w).sum()


def test_three_readings_of_one_window(chapter):
    assert len(chapter.words) == chapter.n == 16
    seen = {name: mask[10].sum().item() for name, mask in chapter.readings.items()}
    assert list(seen.values()) == [4, 5, 9]
    assert chapter.words[10] == "it" and chapter.words.index("letter") == 3


@pytest.mark.parametrize(("n", "size"), [(6, 2), (12, 3), (8, 8), (5, 1)])
def test_blocks_and_windows_are_the_loops(chapter, n, size):
    query, key, value = heads(n)
    for function, mask in (
        (chapter.in_blocks, block_mask(n, size)),
        (chapter.in_windows, sliding_window_mask(n, size)),
    ):
        wanted = reference_attention(query, key, value, mask=mask)
        torch.testing.assert_close(function(query, key, value, size), wanted)


def test_the_first_windows_are_wrong_where_the_text_says_so(chapter):
    first = next(source for source in code_cells("06_local") if "def in_windows" in source)
    body = [node for node in ast.parse(first).body if isinstance(node, KEPT)]
    names = dict(vars(chapter))
    exec(compile(ast.Module(body, []), "06_local.md", "exec"), names)
    query, key, value = heads(12)
    right = reference_attention(query, key, value, mask=sliding_window_mask(12, 4))
    error = (names["in_windows"](query, key, value, 4) - right).abs().amax(dim=(0, 1, 3))
    # word 3 is the first with a full window of its own
    assert (error[3:] < 1e-12).all() and (error[:3] > 1e-3).all()


def test_the_formula_is_attention(chapter):
    query, key, value = heads(9)
    mask = sliding_window_mask(9, 4)
    wanted = scaled_dot_product_attention(query, key, value, mask=mask)
    torch.testing.assert_close(chapter.formula(query, key, value, mask), wanted)


def test_reach_by_jacobian_is_the_product_of_the_masks(chapter):
    for name, masks in chapter.schemes.items():
        seen = torch.eye(16)
        for mask in masks:
            seen = ((mask.float() + torch.eye(16)) @ seen > 0).float()
        assert chapter.reached(masks).equal(seen > 0), name


def test_schemes_are_what_their_names_say(chapter):
    assert chapter.cross.equal(block_then_cross_mask(16, 4))
    assert not chapter.shifted[1, 2] and chapter.shifted[2, 5] and not chapter.shifted[5, 6]
    assert chapter.every_4th[9].nonzero().flatten().tolist() == [1, 5, 9]
    shares = {
        name: chapter.reached(m).double().mean().item() for name, m in chapter.schemes.items()
    }
    assert shares["blocks of 4"] == 1 / 4
    assert shares["the article's scheme"] == 7 / 16
    assert shares["window, then every 4th"] == causal_mask(16).double().mean()


def test_the_listing_is_causal_and_not_local(chapter):
    torch.manual_seed(0)
    model = chapter.Listed(n_words=11, d_model=6, n_layers=2)
    tokens, positions = torch.arange(9), torch.randn(9, 6, requires_grad=True)
    logits = model(tokens, positions)
    assert logits.shape == (9, 11)
    for i in range(9):
        (moved,) = torch.autograd.grad(logits[i].sum(), positions, retain_graph=True)
        assert (moved.abs().amax(dim=1) > 0).tolist() == [j <= i for j in range(9)]


def test_the_answer_lies_where_the_task_says(chapter):
    tokens, answers, distance = chapter.kept_somewhere(500, torch.Generator().manual_seed(0))
    assert tokens.shape == (500, 16, 2)
    marks, things = tokens.unbind(dim=-1)
    assert ((marks == 1).sum(dim=1) == 1).all() and (marks[:, -1] == 2).all()
    assert things[marks == 1].equal(answers) and (things[:, -1] == chapter.THINGS).all()
    assert (15 - (marks == 1).int().argmax(dim=1)).equal(distance)
    assert set(distance.tolist()) == set(range(1, 16)) and set(answers.tolist()) == set(range(8))


def test_reach_lines_end_where_the_text_says(chapter):
    of_64 = chapter.reach_lines(64)
    assert of_64["window"][1][-1] == 1009 and of_64["blocks"][1][-1] == 64
    assert chapter.receptive_field(64, 17) >= 1024
    of_128 = chapter.reach_lines(128)["window"][1]
    assert of_128[7] < 1024 <= of_128[8]
