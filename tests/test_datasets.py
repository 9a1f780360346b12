"""The stored sentences, against the softmax of torch and what their script wrote down."""

import hashlib
import re

import pytest
import torch
import torch.nn.functional as F

from attn_edu import datasets
from attn_edu.attention import attention_map, scaled_dot_product_attention


@pytest.mark.parametrize("name", datasets.sentence_names())
def test_a_sentence_is_complete(name):
    stored = datasets.sentence(name)
    n = len(stored.tokens)
    assert stored.hidden.shape == (6, n, 384)
    assert stored.query.shape == stored.key.shape == stored.value.shape == (6, 12, n, 32)
    assert stored.tokens[0] == "[CLS]"
    assert stored.tokens[-1] == "[SEP]"
    spelled = "".join(token.removeprefix("##") for token in stored.tokens[1:-1])
    assert spelled == re.sub(r"\s", "", stored.text.lower())
    assert all(torch.isfinite(part).all() for part in (stored.hidden, stored.query, stored.value))


def test_the_heads_named_in_the_course_do_what_the_course_says():
    """Head (3, 1) from "it", and the previous-token head (0, 2), by torch's own softmax."""
    stored = datasets.sentence("tired")
    scores = stored.query @ stored.key.mT / 32**0.5
    weights = F.softmax(scores, dim=-1)
    it, dog, road = (stored.tokens.index(word) for word in ("it", "dog", "road"))
    assert weights[3, 1, it].argmax() == dog
    assert weights[3, 1, it, dog] == pytest.approx(0.60, abs=0.01)
    assert weights[3, 1, it, road] == pytest.approx(0.06, abs=0.01)
    assert weights[0, 2].diagonal(-1).min() > 0.9
    ours = attention_map(scaled_dot_product_attention, stored.query, stored.key)
    torch.testing.assert_close(ours, weights)


def test_an_unknown_name_is_refused():
    with pytest.raises(KeyError, match=r"nobody.*accepted are.*tired"):
        datasets.sentence("nobody")


def test_a_missing_or_damaged_file_says_how_to_make_it_again(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"scripts/a\.py"):
        datasets.load_tensors("a.safetensors", "a.py")
    (tmp_path / "a.safetensors").write_bytes(b"not a tensor")
    with pytest.raises(ValueError, match=r"damaged.*scripts/a\.py"):
        datasets.load_tensors("a.safetensors", "a.py")


def test_every_data_file_is_described_with_its_checksum():
    readme = (datasets.DATA / "README.md").read_text(encoding="utf-8")
    files = [p for p in datasets.DATA.iterdir() if p.is_file() and p.name != "README.md"]
    assert files
    for path in files:
        section = readme.partition(f"## {path.name}\n")[2].partition("\n## ")[0]
        assert section, f"data/README.md has no section about {path.name}"
        assert hashlib.sha256(path.read_bytes()).hexdigest() in section, path.name
        script = re.search(r"`scripts/(\w+\.py)`", section)
        assert script, path.name
        assert (datasets.DATA / "scripts" / script[1]).exists(), path.name


def test_the_data_stay_small():
    """A clone is quick, and Git keeps every version: 10 MB in all, 2 MB for one file."""
    sizes = {p.name: p.stat().st_size for p in datasets.DATA.iterdir() if p.is_file()}
    assert sum(sizes.values()) <= 10e6
    assert max(sizes.values()) <= 2e6
