"""What chapter 04 defines, loaded from its text, and what its data file holds, judged again."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_edu.attention import rotary, sinusoidal_positions
from attn_edu.datasets import load_tensors
from attn_edu.models import TransformerBlock
from attn_edu.training import train

from .loading import definitions, script_of

JOBS = {"back": "three_back", "latest": "latest"}


@pytest.fixture(scope="module")
def chapter():
    """The imports, functions and classes of the chapter, and a few of its names."""
    names = {"KINDS", "LENGTHS", "WORDS", "GROUPS", "SHOWN", "hands", "d", "d_model", "record"}
    return definitions("04_transformer_block", names)


@pytest.fixture(scope="module")
def script():
    return script_of("positions")


@pytest.fixture(scope="module")
def stored():
    return load_tensors("positions.safetensors", "positions.py")[0]


def seeded(seed):
    return torch.Generator().manual_seed(seed)


# ---- places -------------------------------------------------------------------------------------


def test_one_matrix_goes_k_words_on(chapter):
    table = sinusoidal_positions(30, 32)
    for k in (3, -2):
        start = torch.arange(5, 20)
        torch.testing.assert_close(table[start] @ chapter.step(k), table[start + k])


def test_turn_is_the_packages_rotary(chapter):
    x, place = torch.randn(7, 6, generator=seeded(0)), torch.arange(7) + 3
    torch.testing.assert_close(chapter.turn(x, place), rotary(x, place))


def test_turned_by_halves_the_lengths_stay_too(chapter):
    x = torch.randn(7, 6, generator=seeded(0))
    torch.testing.assert_close(chapter.turn_halves(x, torch.arange(7)).norm(dim=1), x.norm(dim=1))
    assert not torch.allclose(chapter.turn_halves(x, torch.arange(7)), rotary(x))


# ---- the parts ----------------------------------------------------------------------------------


def test_layer_norm_is_torchs_and_the_slips_are_not(chapter):
    x = torch.randn(5, 7, generator=seeded(0), dtype=torch.float64)
    wanted = F.layer_norm(x, (7,))
    torch.testing.assert_close(chapter.layer_norm(x), wanted)
    assert not torch.allclose(chapter.shorter(x), wanted, rtol=1e-2)
    assert not torch.equal(chapter.beside_the_root(x), wanted)


def test_apart_is_0_for_one_word_and_1_for_words_that_cancel(chapter):
    word = torch.tensor([[1.0, 2.0]])
    assert chapter.apart(word.expand(3, 2)) == pytest.approx(0, abs=1e-6)
    assert chapter.apart(torch.cat([word, -word])) == pytest.approx(1)


@pytest.mark.parametrize(("order", "pre_norm"), [("pre", True), ("post", False)])
def test_the_block_is_the_packages(chapter, order, pre_norm):
    theirs = nn.TransformerEncoderLayer(
        64, 4, 256, dropout=0.0, batch_first=True, norm_first=pre_norm
    )
    x = torch.randn(2, 5, 64, generator=seeded(0))
    ours = chapter.with_weights_of(theirs, order)
    package = TransformerBlock(64, 4, 256, pre_norm=pre_norm, activation="relu").load_torch(theirs)
    torch.testing.assert_close(ours(x), package(x))


# ---- the two jobs -------------------------------------------------------------------------------


def test_the_jobs_are_those_of_the_script(chapter, script):
    for name in JOBS.values():
        ours = getattr(chapter, name)(3, 11, seeded(1))
        theirs = getattr(script, name)(3, 11, seeded(1))
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs))
    assert script.KINDS == chapter.KINDS
    assert script.LENGTHS == chapter.LENGTHS


def test_three_back_by_loops(chapter):
    text, answers = chapter.three_back(4, 9, seeded(0))
    for row, answer in zip(text.tolist(), answers.tolist()):
        assert answer == [-100] * 3 + row[:-3]


def test_the_latest_by_loops(chapter):
    text, answers = chapter.latest(40, 13, seeded(0))
    questions = 0
    for row, answer in zip(text.tolist(), answers.tolist()):
        newest = {}
        for token, wanted in zip(row, answer):
            if token >= 16:
                questions += wanted >= 0
                assert wanted == newest.get(token - 16, -100)
            else:
                assert wanted == -100
                newest[token // 4] = token
    assert questions > 50
    assert len(chapter.SHOWN) == 20


# ---- the stored runs ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", JOBS)
def test_stored_weights_give_the_stored_results(chapter, script, stored, name):
    for k, kind in enumerate(chapter.KINDS):
        model, wanted = chapter.trained(name, kind), stored[f"{name}.accuracy"][k, 0]
        for n, share in zip(chapter.LENGTHS, wanted.tolist()):
            if math.isnan(share):
                assert kind == "learned"
                assert n > 16
            else:
                got = script.judge(model, getattr(script, JOBS[name]), n)
                assert got == pytest.approx(share, abs=0.03)  # the weights are rounded to 16 bits


def test_the_findings_that_the_text_states(chapter, stored):
    back = dict(zip(chapter.KINDS, stored["back.accuracy"]))  # each (3 seeds, 5 lengths)
    late = dict(zip(chapter.KINDS, stored["latest.accuracy"]))
    for kind in ("learned", "sinusoidal", "rotary"):
        assert back[kind][:, 0].min() > 0.95
        assert late[kind][:, 0].min() > 0.95
    for kind in ("none", "alibi"):
        assert back[kind][:, 0].max() < 0.5
    assert late["none"][:, 0].max() < 0.8
    assert late["alibi"].min() > 0.85
    for kind in ("sinusoidal", "rotary"):
        assert back[kind][:, -1].max() < 0.5
        assert late[kind][:, -1].max() < 0.6


def test_a_short_run_again_follows_the_stored_one(script, stored):
    """The first 20 steps of one deep stack: the same losses, up to the machine's rounding."""
    model = script.glorot(script.model_of("sinusoidal", 0, 2, pre_norm=True))
    history = train(
        model,
        lambda generator: script.three_back(32, script.N, generator),
        loss=script.loss,
        steps=20,
        lr=3e-3,
        seed=0,
        progress=False,
    )
    wanted = stored["depth.loss"][0, 0, 0, 0, 0].item()
    assert sum(history.losses) / 20 == pytest.approx(wanted, rel=1e-3)


def test_only_the_deep_post_norm_without_warm_up_learns_nothing(stored):
    last = stored["depth.loss"][..., -1]  # (2 depths, 2 orders, 2 warm-ups, 3 seeds)
    blind = math.log(16)
    assert (last[1, 1, 0] > blind - 0.05).all()
    others = torch.ones(2, 2, 2, dtype=torch.bool)
    others[1, 1, 0] = False
    assert (last[others] < blind - 0.2).all()
