"""What chapter 07 defines and reads, held against the package, loops and runs made again."""

import json
import math

import pytest
import torch
from torch.testing import assert_close

from attn_edu.attention import (
    GroupedQueryAttention,
    KeyValueCache,
    attention_map,
    nystrom_attention,
    reference_attention,
    scaled_dot_product_attention,
)
from attn_edu.datasets import load_tensors, recorded

from .loading import definitions, script_of

PLACES = {"least": (4, 10), "median": (3, 1), "most": (0, 2)}


@pytest.fixture(scope="module")
def chapter():
    """The imports, functions and classes of the chapter."""
    return definitions("07_low_rank")


@pytest.fixture(scope="module")
def script():
    return script_of("low_rank")


@pytest.fixture(scope="module")
def stored():
    tensors, about = load_tensors("minilm_long.safetensors", "minilm_long.py")
    return tensors, json.loads(about["about"])


@pytest.fixture(scope="module")
def runs():
    return recorded("low_rank")


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


# what the chapter builds


def test_linformer_attends_to_mixtures(chapter):
    query, key, value = normal(7, 4), normal(7, 4, seed=1), normal(7, 5, seed=2)
    e, f = normal(2, 3, 7, seed=3)
    wanted = reference_attention(query, e @ key, f @ value)
    assert_close(chapter.linformer(query, key, value, e, f), wanted)


def test_nystrom_is_what_the_iteration_of_the_package_comes_to(chapter):
    query, key, value = normal(20, 4), normal(20, 4, seed=1), normal(20, 5, seed=2)
    for landmarks in (4, 5):
        got = chapter.nystrom(query, key, value, landmarks)
        limit = nystrom_attention(query, key, value, landmarks=landmarks, iterations=40)
        assert_close(got, limit, atol=1e-7, rtol=1e-7)


def test_means_share_out_the_words(chapter):
    for rank, n in ((3, 7), (64, 512), (7, 7)):
        mixture = chapter.means(rank, n)
        assert_close(mixture.sum(dim=-1), torch.ones(rank, dtype=torch.float64))
        assert ((mixture > 0).sum(dim=0) == 1).all()
        assert (mixture > 0).sum(dim=-1).max() - (mixture > 0).sum(dim=-1).min() <= 1


def test_rank_for_counts_the_squares(chapter):
    sizes = torch.tensor([3.0, 2.0, 1.0, 1.0])  # squares 9, 4, 1, 1 of 15
    u, _, vh = torch.linalg.svd(normal(4, 4).float())
    matrix = u * sizes @ vh
    for share, wanted in ((0.59, 1), (0.61, 2), (0.86, 2), (0.9, 3), (0.99, 4)):
        assert chapter.rank_for(matrix, share) == wanted


def test_the_counted_gigabytes_are_those_of_a_cache(chapter):
    layer, cache = GroupedQueryAttention(24, 6, 2), KeyValueCache()
    layer(torch.zeros(1, 5, 24), cache=cache)
    counted = 1e9 * chapter.gigabytes(5, 2, layers=1, d_head=4)
    assert cache.bytes == 2 * counted  # four bytes a number here, two there


# what it reads


@pytest.mark.parametrize("name", PLACES)
def test_the_stored_heads_have_the_stored_ranks_and_sizes(chapter, stored, name):
    tensors, about = stored
    layer, head = PLACES[name]
    query, key, value = (tensors[f"heads.{name}.{p}"].float() for p in ("query", "key", "value"))
    maps = attention_map(scaled_dot_product_attention, query, key)
    assert tensors[f"heads.{name}.place"].tolist() == [layer, head]
    assert abs(chapter.rank_for(maps) - tensors["ranks"][0, -1, layer, head].item()) <= 2
    values = torch.linalg.svdvals(maps)
    assert_close(values, tensors["values"][layer, head].float(), atol=5e-3, rtol=5e-3)
    output = maps @ value
    wrong = (nystrom_attention(query, key, value, landmarks=64) - output).norm() / output.norm()
    at = about["methods"].index("Nyström"), about["ranks"].index(64), layer, head
    assert_close(wrong, tensors["output_errors"][at], atol=0.03, rtol=0.03)


def test_the_stored_numbers_are_whole(stored):
    tensors, about = stored
    assert tensors["ranks"].shape == (4, 3, 6, 12)
    for i, n in enumerate(about["lengths"]):
        assert ((tensors["ranks"][:, i] >= 1) & (tensors["ranks"][:, i] <= n)).all()
    first = tensors["ranks"][0, -1]  # many heads have the least
    assert [first[place] for place in PLACES.values()] == [first.min(), first.median(), first.max()]
    for name in ("values", "weight_values"):
        assert (tensors[name].diff(dim=-1) <= 0).all()
    assert (tensors["output_errors"][0].diff(dim=0) <= 0).all()  # more sheets, less error
    assert (tensors["weight_errors"].diff(dim=0) < 0).all()
    assert tensors["weight_errors"][-1].max() < 1e-5  # the full rank changes nothing


def test_the_findings_of_the_stored_runs(runs):
    def mean(task, name):
        return sum(runs[task][name]) / len(runs[task][name])

    recall = [mean("recall", f"Linformer {k}") for k in (1, 2, 4, 8)] + [mean("recall", "full")]
    assert recall == sorted(recall)
    assert recall[2] < 0.6
    assert recall[-1] > 0.99
    assert all(min(runs["majority"][f"Linformer {k}"]) > 0.97 for k in (1, 2, 4, 8))
    assert mean("recall", "Nyström 4") > mean("recall", "Linformer 4") + 0.2


def test_the_stored_counts(runs, script):
    for name, (numbers, make) in script.sharers().items():
        model = script.language_model(make, len(script.shakespeare().alphabet), 0)
        assert runs["sharing"][name]["cached"] == numbers
        assert runs["sharing"][name]["parameters"] == sum(p.numel() for p in model.parameters())
        cache = KeyValueCache()
        model.stack.blocks[0].attention(torch.zeros(1, 3, script.D_MODEL), cache=cache)
        assert cache.bytes == 4 * 3 * numbers


def test_one_of_the_runs_made_again(runs, script):
    again = script.judged_reader(script.readers()["Linformer 1"], script.recall, seed=0)
    assert math.isclose(again, runs["recall"]["Linformer 1"][0], abs_tol=0.06)
