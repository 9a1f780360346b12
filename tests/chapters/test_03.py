"""What chapter 03 defines, loaded from its text and held against the package, loops and proofs."""

import itertools
import math

import pytest
import torch
from torch import nn

from attn_edu.attention import (
    MultiHeadAttention,
    causal_mask,
    merge_heads,
    reference_attention,
    split_heads,
)
from attn_edu.datasets import load_tensors

from .loading import definitions, script_of

B, T, H, d = 2, 5, 3, 4
FOURS = list(itertools.combinations(range(8), 4))


@pytest.fixture(scope="module")
def chapter():
    """The imports, functions and classes of the chapter, and a few of its names."""
    names = {"NOUNS", "MARKS", "vectors", "pairs", "answers", "x_test", "stored", "vectors4"}
    names |= {"asked", "x4", "words"}
    return definitions("03_multi_head", names, n=6, n_heads=3, d_head=4, d_model=12)


@pytest.fixture(scope="module")
def script():
    return script_of("heads")


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


# ---- splitting ----------------------------------------------------------------------------------


def test_split_puts_each_number_where_a_loop_puts_it(chapter):
    x = normal(B, T, H * d)
    heads = chapter.split(x, H)
    assert heads.shape == (B, H, T, d)
    for b, h, i, k in torch.cartesian_prod(*map(torch.arange, (B, H, T, d))).tolist():
        assert heads[b, h, i, k] == x[b, i, h * d + k]
    assert heads.equal(split_heads(x, H))
    assert chapter.merge(heads).equal(x)
    assert chapter.merge(heads).equal(merge_heads(heads))


def test_rows_in_place_are_the_solutions_of_the_chapters_equation(chapter):
    for n in range(1, 14):
        for h in range(1, 9):
            solutions = sum(a * (n - 1) == i * (h - 1) for a in range(h) for i in range(n))
            assert chapter.rows_in_place(n, h) == solutions == math.gcd(n - 1, h - 1) + 1


def test_reach_is_the_size_of_a_known_jacobian(chapter):
    matrix = normal(T, T)
    size = chapter.reach(lambda x: matrix @ x, normal(T, d, seed=1))
    torch.testing.assert_close(size, matrix.abs() * math.sqrt(d))  # d numbers, each moved by itself


def test_split_by_view_makes_islands_of_two_words_and_transpose_none(chapter):
    x = normal(6, 12)
    for j in range(6):
        nudged = x.clone()
        nudged[j] += 1
        for layer, island in (
            (chapter.by_view, lambda i, j: i // 2 == j // 2),
            (chapter.by_transpose, lambda i, j: True),
        ):
            moved = (layer(nudged) - layer(x)).abs().amax(dim=-1) > 0
            assert moved.tolist() == [island(i, j) for i in range(6)]
    assert chapter.split_by_view(x, 3).equal(x.view(3, 6, 4))


# ---- one head and two ---------------------------------------------------------------------------


def test_word_vectors_favour_no_direction(chapter):
    mean, covariance = chapter.vectors.mean(dim=0), chapter.vectors.T @ chapter.vectors / 40
    torch.testing.assert_close(mean, torch.zeros(16), atol=1e-5, rtol=0)
    torch.testing.assert_close(covariance, torch.eye(16), atol=1e-5, rtol=0)
    spread = torch.linalg.svdvals(chapter.answers).square() / len(chapter.answers)
    torch.testing.assert_close(spread, torch.ones(32), atol=1e-4, rtol=0)  # the answers neither
    assert len(set(chapter.NOUNS)) == 40


def test_sentences_carry_each_asked_word_once_under_its_mark(chapter):
    asked = torch.randint(40, (B, 3), generator=seeded(1))
    x, word, mark = chapter.sentences(chapter.vectors, asked, 7, 24, seeded(2))
    assert x.shape == (B, 7, 24)
    for b in range(B):
        assert sorted(mark[b].tolist()) == [0, 1, 2, 3, 3, 3, 3]
        for i in range(7):
            assert x[b, i, :16].equal(chapter.vectors[word[b, i]])
            assert x[b, i, 16:].tolist() == [float(k == mark[b, i]) for k in range(8)]
            if mark[b, i] < 3:
                assert word[b, i] == asked[b, mark[b, i]]


def test_the_chapter_and_the_script_mean_the_same_task(chapter, script):
    vectors = script.word_vectors(40, 8)
    assert vectors.equal(chapter.word_vectors(40, 8))
    torch.testing.assert_close(vectors, chapter.stored["vectors"], atol=1e-5, rtol=0)
    asked = torch.randint(40, (B, 4), generator=seeded(3))
    for ours, its in zip(
        chapter.sentences(vectors, asked, 8, 64, seeded(4)),
        script.sentences(vectors, asked, 8, 64, seeded(4)),
    ):
        assert ours.equal(its)
    ours, its = chapter.OneQuery(64, 4, 32), script.OneQuery(64, 4, 32)
    its.attention.load_state_dict(ours.attention.state_dict())
    x, _, _ = script.sentences(vectors, asked, 8, 64, seeded(4))
    assert ours(x).equal(its(x))


@pytest.mark.parametrize("d_model", [32, 80])
@pytest.mark.parametrize("size", [0.3, 1.0, 5.0])
def test_no_weights_of_one_head_pass_the_floor(chapter, size, d_model):
    """The argument of the chapter on random weights, with the best linear reader after them."""
    torch.manual_seed(5)
    model = chapter.OneQuery(d_model, 1, 32)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=size)
    x = nn.functional.pad(chapter.x_test, (0, d_model - 32))  # a wider head gains nothing
    with torch.no_grad():
        output = model(x).double()
    sizes = torch.linalg.svdvals(output - output.mean(dim=0))
    assert (sizes > 1e-5 * sizes[0]).sum() <= 18
    reader = torch.cat([output, torch.ones(len(output), 1)], dim=-1)
    answers = chapter.answers.double()
    fitted = reader @ torch.linalg.lstsq(reader, answers, driver="gelsd").solution
    missed = (fitted - answers).square().sum() / answers.square().sum()
    assert missed > 14 / 32 - 1e-4


def test_no_weights_at_all_pass_the_floor_softmax_or_not(chapter):
    """Weights chosen by an oracle, any that sum to 1: still a flat of 16 + 2 dimensions."""
    x = chapter.x_test.double()
    p = normal(len(x), 6)
    p = p / p.sum(dim=-1, keepdim=True)
    output = torch.einsum("bn,bnd->bd", p, x @ normal(32, 32, seed=6))
    sizes = torch.linalg.svdvals(output - output.mean(dim=0))
    assert (sizes > 1e-9 * sizes[0]).sum() == 18


def one_head_that_looks_at(x, mark):
    """The vectors that one head fetches when it looks at a mark only. (batch, 16)"""
    weights = (50.0 * x[:, :, 16 + mark]).softmax(dim=-1)
    return torch.einsum("bn,bnd->bd", weights, x[:, :, :16])


def test_one_head_is_enough_where_the_chapter_says_that_its_argument_ends(chapter):
    x, answers, batch = chapter.x_test.double(), chapter.answers.double(), len(chapter.x_test)
    who, whom = (one_head_that_looks_at(x, mark) for mark in (0, 1))  # two queries, same weights
    torch.testing.assert_close(torch.cat([who, whom], dim=-1), answers)

    asker = x[x[:, :, 16] == 1]  # the word "who" asks, and a residual connection adds it
    residual = torch.cat([asker[:, :16], torch.zeros(batch, 16)], dim=-1)
    fetched = torch.cat([torch.zeros(batch, 16), whom], dim=-1)
    torch.testing.assert_close(residual + fetched, answers)

    # the word multiplied by its mark: one value matrix sends who and whom to different places
    multiplied = torch.einsum("bnd,bnr->bnrd", x[:, :, :16], x[:, :, 16:18]).flatten(2)
    weights = (50.0 * (x[:, :, 16] + x[:, :, 17])).softmax(dim=-1)  # half on each of the two
    torch.testing.assert_close(2 * torch.einsum("bn,bnd->bd", weights, multiplied), answers)


def test_two_heads_by_hand_come_as_close_as_you_like(chapter):
    missed = [chapter.missed(chapter.by_hand(score)) for score in (2, 4, 8, 12)]
    assert missed == sorted(missed, reverse=True)
    assert missed[-1] < 1e-6


def test_heads_split_by_view_differ_from_the_layer_only_in_the_split(chapter, monkeypatch):
    x, _, _ = chapter.sentences(chapter.vectors, chapter.pairs[:B], 6, 32, seeded(7))
    right, wrong = chapter.OneQuery(32, 2, 32), chapter.OneQueryByView(32, 2, 32)
    wrong.load_state_dict(right.state_dict())
    assert not torch.allclose(wrong(x), right(x), atol=1e-3)
    monkeypatch.setitem(chapter.OneQueryByView.forward.__globals__, "split_by_view", split_heads)
    torch.testing.assert_close(wrong(x), right(x))


# ---- removing heads -----------------------------------------------------------------------------


def test_stored_weights_and_stored_results_belong_together(chapter, script):
    stored, about = load_tensors("heads.safetensors", "heads.py")
    assert stored["sweep.error"].shape == (len(script.HEADS), len(script.SEEDS))
    assert about["heads"] == str(script.HEADS)
    for n_heads in (8, 16):
        error, accuracy = script.judge(chapter.load(n_heads), stored["vectors"])
        row = script.HEADS.index(n_heads)
        assert accuracy == pytest.approx(stored["sweep.accuracy"][row, 0].item(), abs=1e-3)
        assert error == pytest.approx(stored["sweep.error"][row, 0].item(), rel=0.05)


def test_the_output_is_the_sum_of_the_heads_terms(chapter):
    model, x = chapter.load(16), chapter.x4[:T]
    found = chapter.head_outputs(model, x)
    with torch.no_grad():
        total = chapter.terms(model, found).sum(dim=0) + model.attention.out.bias[:32]
        torch.testing.assert_close(total, model(x), atol=1e-5, rtol=1e-5)
        value = split_heads(model.attention.value(x), 16)
        weights = model.attention.map(model.query.expand(T, 1, -1), x)
    torch.testing.assert_close(found[1, 3], weights[1, 3, 0] @ value[1, 3])


def test_removing_and_refitting(chapter):
    rows = chapter.remove_heads(8)
    assert [left for left, _, _ in rows] == [8, 7, 6, 5, 4, 3, 2, 1]
    refitted = {left: refit for left, _, refit in rows}
    assert refitted[4] > 0.99 > 0.9 > refitted[3]  # 4 heads of width 8: the 32 numbers asked for
    assert rows[1][1] > 0.98  # the first to go is one that nobody misses
    assert rows[4][1] < 0.9  # as trained, the same four heads are not enough


def test_the_choice_that_fails_is_the_one_whose_rows_nearly_repeat(chapter):
    model = chapter.load(8)
    found = chapter.head_outputs(model, chapter.x4)
    _, _, mark = chapter.sentences(chapter.vectors4, chapter.asked, 8, 64, seeded(4))
    looks = chapter.by_mark(model, chapter.x4, mark, 5)
    torch.testing.assert_close(looks.sum(dim=-1), torch.ones(8))
    apart = {four: torch.linalg.det(looks[list(four), :4]).abs() for four in FOURS}
    assert min(apart, key=apart.get) == (0, 1, 2, 3)
    assert chapter.refitted(found, [0, 1, 2, 3]) < 0.9
    assert chapter.refitted(found, [1, 2, 3, 5]) > 0.99


# ---- the listing --------------------------------------------------------------------------------


def test_each_defect_of_the_listing_is_there(chapter):
    x = normal(B, 6, 12).float()
    with pytest.raises(TypeError):
        chapter.listed(x, 3, 4)
    torch.manual_seed(0)
    once, again = (chapter.listed(x, 3, 4, norm=chapter.normalise) for _ in range(2))
    assert (once - again).abs().max() > 0.1
    assert not list(chapter.Listed().parameters())


def test_the_layer_form_computes_what_the_listing_computes(chapter, monkeypatch):
    """Same weights, same result: the class of the chapter is the listing, defect for defect."""
    layer = chapter.Layer(12, 3, chapter.split_by_view, chapter.across_heads)
    x = normal(B, 6, 12).float()
    made = iter([layer.query, layer.key, layer.value, layer.out])
    monkeypatch.setattr(nn, "Linear", lambda *sizes: next(made))
    listed = chapter.listed(x, 3, 4, norm=lambda out: out)
    torch.testing.assert_close(listed, x + layer(x))


def test_across_heads_compares_no_two_words(chapter):
    query, key, value = (normal(H, T, d, seed=s) for s in range(3))
    out = chapter.across_heads(query, key, value)
    for i in range(T):
        alone = reference_attention(query[:, i], key[:, i], value[:, i])  # heads as the positions
        torch.testing.assert_close(out[:, i], alone)


@pytest.mark.parametrize("mask", [None, causal_mask(T)])
def test_the_repaired_listing_is_the_packages_layer_and_torchs(chapter, mask):
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    nn.init.normal_(theirs.in_proj_bias)
    ours = MultiHeadAttention(12, 3).double().load_torch(theirs)
    repaired = chapter.Repaired(12, 3).double()
    repaired.load_state_dict(ours.state_dict(), strict=False)
    x = normal(B, T, 12)
    truth, _ = theirs(x, x, x, attn_mask=None if mask is None else ~mask)
    torch.testing.assert_close(repaired.attend(x, mask), truth)
    torch.testing.assert_close(repaired.attend(x, mask), ours(x, mask=mask))
    torch.testing.assert_close(repaired(x, mask), chapter.normalise(x + truth))
