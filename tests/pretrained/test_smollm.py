"""SmolLM2 in our blocks: its form by explicit formulas, its outputs against `transformers`."""

import importlib
import itertools
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from attn_edu.datasets import load_tensors, recorded
from attn_edu.pretrained import smollm as module
from attn_edu.pretrained.removing import without_heads
from attn_edu.pretrained.scores import first_token_share, induction_score, previous_token_score
from attn_edu.pretrained.smollm import smollm

SCRIPTS = Path(__file__).parents[2] / "data" / "scripts"


@pytest.fixture(scope="module")
def model(weights_of):
    weights_of("smollm")
    return smollm()


@pytest.fixture(scope="module")
def reference():
    return load_tensors("smollm_reference.safetensors", "smollm_reference.py")


@pytest.fixture(scope="module")
def stored():
    tensors, metadata = load_tensors("smollm_maps.safetensors", "smollm_maps.py")
    return {name: x.float() for name, x in tensors.items()}, json.loads(metadata["about"])


@pytest.fixture(scope="module")
def results():
    return recorded("smollm_results")


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SCRIPTS))
    try:
        return importlib.import_module("smollm_results")
    finally:
        sys.path.pop(0)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def causal(*shape, seed=0):
    future = torch.ones(shape[-2:], dtype=torch.bool).triu(1)
    return random(*shape, seed=seed).masked_fill(future, -math.inf).softmax(dim=-1)


# The form, on a small file of the same kind


SMALL = {
    "llama.vocab_size": 23,
    "llama.embedding_length": 24,
    "llama.feed_forward_length": 10,
    "llama.block_count": 2,
    "llama.context_length": 50,
    "llama.attention.head_count": 6,
    "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": 0.01,
    "llama.rope.freq_base": 30.0,
}


def small_weights():
    d, wide, d_kv = 24, 10, 8
    shapes = {"token_embd": (23, d), "output_norm": (d,)}
    for layer in range(2):
        parts = {
            "attn_q": (d, d), "attn_k": (d_kv, d), "attn_v": (d_kv, d), "attn_output": (d, d),
            "ffn_gate": (wide, d), "ffn_up": (wide, d), "ffn_down": (d, wide),
            "attn_norm": (d,), "ffn_norm": (d,),
        }  # fmt: skip
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in parts.items()}
    return {name: 0.5 * random(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}


def llama(weights, ids):
    """A model of this kind in formulas, one head and one pair of features after the other."""
    eps, base, d, d_head = 0.01, 30.0, 24, 4

    def norm(x, gain):
        return x / ((x * x).mean(dim=-1, keepdim=True) + eps).sqrt() * gain

    def turned(x):  # (n, d_head)
        x = x.clone()
        for p, i in itertools.product(range(len(x)), range(d_head // 2)):
            angle = p / base ** (2 * i / d_head)
            a, b = x[p, 2 * i].item(), x[p, 2 * i + 1].item()
            x[p, 2 * i] = a * math.cos(angle) - b * math.sin(angle)
            x[p, 2 * i + 1] = a * math.sin(angle) + b * math.cos(angle)
        return x

    x, n = weights["token_embd"][ids], len(ids)
    for layer in range(2):
        w = {part: weights[f"blk.{layer}.{part}"] for part in (*module.PARTS.values(),)}
        read, heads = norm(x, w["attn_norm"]), []
        for head in range(6):
            mine = slice(d_head * head, d_head * (head + 1))
            of_group = slice(d_head * (head // 3), d_head * (head // 3 + 1))
            query, key = turned(read @ w["attn_q"][mine].T), turned(read @ w["attn_k"][of_group].T)
            value = read @ w["attn_v"][of_group].T
            rows = [
                (query[i] @ key[: i + 1].T / 2).softmax(dim=0) @ value[: i + 1] for i in range(n)
            ]
            heads.append(torch.stack(rows))
        x = x + torch.cat(heads, dim=-1) @ w["attn_output"].T
        read = norm(x, w["ffn_norm"])
        gate = read @ w["ffn_gate"].T
        x = x + (gate * gate.sigmoid() * (read @ w["ffn_up"].T)) @ w["ffn_down"].T
    assert x.shape == (n, d)
    return norm(x, weights["output_norm"]) @ weights["token_embd"].T


def test_a_small_file_is_read_as_the_formulas_say():
    gguf = pytest.importorskip("gguf")
    weights = small_weights()
    tensors = [
        SimpleNamespace(
            name=f"{name}.weight",
            shape=np.array(weight.shape[::-1]),
            data=weight.numpy(),
            tensor_type=gguf.GGMLQuantizationType.F32,
        )
        for name, weight in weights.items()
    ]
    model, ids = module._model(SMALL, tensors), torch.tensor([4, 22, 4, 0, 17])
    assert_close(model(ids), llama(weights, ids), rtol=1e-4, atol=1e-4)
    assert model.output.weight is not None and model.maps(ids).shape == (2, 6, 5, 5)


def test_a_weight_is_read_in_parts(monkeypatch):
    gguf = pytest.importorskip("gguf")
    kind = gguf.GGMLQuantizationType.Q8_0
    packed = gguf.quants.quantize(random(7, 64).numpy(), kind)
    whole = gguf.quants.dequantize(packed, kind)
    monkeypatch.setattr(module, "ROWS", 3)
    one = SimpleNamespace(shape=np.array([64, 7]), data=packed, tensor_type=kind)
    assert module._numbers(one).numpy().tolist() == whole.tolist()


def test_a_weight_is_read_and_not_mapped(tmp_path):
    """Mapped pages count as memory of the process until it ends: a tenth of a gigabyte."""
    path, written = tmp_path / "weights", np.arange(60, dtype=np.float32).reshape(5, 12)
    path.write_bytes(b"seven b" + written.tobytes() + b"behind")
    mapped = np.memmap(path, np.float32, "r", offset=7, shape=(5, 12))
    data = module._read(path, SimpleNamespace(data=mapped, data_offset=7))
    assert data.tolist() == written.tolist() and data.dtype == mapped.dtype
    assert not isinstance(data, np.memmap) and not isinstance(data.base, np.memmap)


def test_a_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("ATTN_EDU_PRETRAINED", "off")
    smollm.cache_clear()
    with pytest.raises(FileNotFoundError, match="SmolLM2"):
        smollm()


# Scores


def test_scores_by_loops():
    weights, period = causal(4, 2, 9, 9), 4
    for index in itertools.product(range(4), range(2)):
        one = weights[index].tolist()
        before = [one[i][i - 1] for i in range(1, 9)]
        first = [one[i][0] for i in range(1, 9)]
        followed = [one[i][i - period + 1] for i in range(period, 9)]
        assert previous_token_score(weights)[index].item() == pytest.approx(np.mean(before))
        assert first_token_share(weights)[index].item() == pytest.approx(np.mean(first))
        got = induction_score(weights, period)[index].item()
        assert got == pytest.approx(np.mean(followed))


@pytest.mark.parametrize(
    ("error", "name", "call"),
    [
        (ValueError, "weights: got (2, 3)", lambda: previous_token_score(torch.ones(2, 3))),
        (ValueError, "weights: got (4,)", lambda: first_token_share(torch.ones(4))),
        (ValueError, "weights: got (1, 1)", lambda: previous_token_score(torch.ones(1, 1))),
        (TypeError, "weights: got list", lambda: previous_token_score([[1.0]])),
        (ValueError, "period: got 1", lambda: induction_score(torch.ones(5, 5), 1)),
        (ValueError, "period: got 5", lambda: induction_score(torch.ones(5, 5), 5)),
        (ValueError, "period: got 2.0", lambda: induction_score(torch.ones(5, 5), 2.0)),
    ],
)
def test_bad_input_is_named(error, name, call):
    with pytest.raises(error) as raised:
        call()
    assert name in str(raised.value)


# The files


def test_the_stored_maps_are_maps(stored):
    tensors, about = stored
    for i, start in enumerate(about["starts"]):
        n = len(start["tokens"])
        maps = tensors[str(i)]
        assert maps.shape == (30, 9, n, n)
        assert "".join(start["tokens"]) == start["text"]
        assert not maps.triu(1).any()
        assert_close(maps.sum(dim=-1), torch.ones(30, 9, n), rtol=0, atol=3e-3)


def test_what_the_chapter_says_of_it(stored):
    tensors, about = stored
    it, says = tensors["it"], tensors["says"]
    assert it.shape == (20, 2, 2, 30, 9) and it[:, 0].equal(it[:, 1])  # the ending is not seen
    assert (it[:, 0, 0, 13, 8] > it[:, 0, 1, 13, 8]).all()
    assert (tensors["subject"][:, 0, 13, 8] > tensors["subject"][:, 1, 13, 8]).all()
    for text, subject, other in about["turned"]:
        assert text.index(f" {other} ") < text.index(f" {subject} ") < text.index(" it ")
    assert not tensors["ending"][:, 0].equal(tensors["ending"][:, 1])
    assert (says[..., 0] != says[..., 1]).all()


def test_what_the_chapter_says_of_its_scores(results):
    scores = {name: torch.tensor(x) for name, x in results["scores"].items()}
    assert all(x.shape == (5, 30, 9) for x in scores.values())
    assert divmod(scores["induction"].mean(0).argmax().item(), 9) == (18, 6)
    assert divmod(scores["previous token"].mean(0).argmax().item(), 9) == (16, 0)
    above_half = (scores["induction"].mean(0) > 0.5).nonzero()
    assert above_half[:, 0].min() > 16
    assert scores["first token"].mean((0, 2))[12:].min() > 0.3
    whole, without, *others = (np.mean(row["score"]) for row in results["best head"]["rows"])
    assert without < whole / 2 and min(others) > 0.95 * whole


def test_what_the_chapter_says_of_heads_taken_out(results, script):
    def means(kind, column):
        rows = [r for r in results["removed"] if (r["heads"], r["how"]) == (kind, "zero")]
        return {c: np.mean([r[column] for r in rows if r["count"] == c]) for c in script.REMOVED}

    whole = {k: np.mean(v) for k, v in results["removed"][0].items() if isinstance(v, list)}
    assert means("induction", "second copy")[8] > whole["second copy"] + 8
    assert abs(means("induction", "first copy")[8] - whole["first copy"]) < 0.1
    assert means("induction", "Macbeth")[8] < whole["Macbeth"] + 0.1
    assert means("random", "second copy")[16] < whole["second copy"] + 0.7
    assert means("previous token", "Macbeth")[8] > whole["Macbeth"] + 1
    drawn = [r for r in results["removed"] if r["heads"] == "random" and r["count"] == 16]
    chosen = next(r for r in results["removed"] if r["count"] == 16)["which"]
    assert len(drawn) == script.DRAWS == len({str(r["which"]) for r in drawn})
    assert not any(head in chosen for r in drawn for head in r["which"])


def test_what_the_chapter_says_of_the_first_token(results):
    hidden = {name: np.mean(x) for name, x in results["hidden"].items()}
    assert hidden["token 0, from token 10 on"] > hidden["nothing"] + 2
    assert hidden["token 5, from token 10 on"] < hidden["nothing"] + 0.05
    assert hidden["token 0, from the start"] < hidden["nothing"] + 0.1
    before, after = results["moved"].values()
    assert max(before) < 0.01 and min(after) > 0.2


def test_a_pair_told_before(script):
    ids = torch.tensor([5, 6, 5, 6, 7, 5, 7, 5])  # 56 65 56 67 75 57 75
    told = [False, False, True, False, False, False, True]
    assert script.told_before(ids).tolist() == told


# With the weights


def test_the_outputs_are_those_of_transformers(model, reference):
    tensors, metadata = reference
    for i, text in enumerate(json.loads(metadata["texts"])):
        logits, maps = model.logits(text), model.maps(text)
        assert model.ids(text).equal(tensors[f"{i}.ids"])
        assert_close(logits[:, ::256], tensors[f"{i}.logits"], rtol=0, atol=1e-4)
        assert_close(logits.logsumexp(dim=-1), tensors[f"{i}.total"], rtol=0, atol=1e-4)
        assert_close(maps[:, :, -1], tensors[f"{i}.rows"], rtol=0, atol=1e-5)


def test_the_stored_starts_come_out_again(model, stored):
    tensors, about = stored
    for i, start in enumerate(about["starts"]):
        assert model.tokens(start["text"]) == start["tokens"]
        assert_close(model.maps(start["text"]), tensors[str(i)], rtol=0, atol=1e-3)
        for (token, odds), (stored_token, wanted) in zip(
            model.next_tokens(start["text"]), start["next"]
        ):
            assert token == stored_token and odds == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("count", [0, 2.0, 49_153])
def test_a_count_of_tokens_that_cannot_be(model, count):
    with pytest.raises(ValueError, match=f"count: got {count}; accepted is 1 to 49152"):
        model.next_tokens("The", count)


def test_it_writes_the_same_with_and_without_a_cache(model):
    ids = model.ids("The capital of France is")
    with_cache, without = (model.model.generate(ids, 5, temperature=0, use_cache=c) for c in (1, 0))
    assert with_cache.equal(without)
    assert model.generate("The capital of France is", 1) == "The capital of France is Paris"


def test_a_part_of_the_results_comes_out_again(model, results, script):
    strings = script.twice(script.NEW)[:2]
    row = next(r for r in results["removed"] if r["count"] == 4)
    with without_heads(model.attentions, [tuple(head) for head in row["which"]]):
        second = script.nats(strings)[:, script.PERIOD :].mean(dim=-1)
    assert second.tolist() == pytest.approx(row["second copy"][:2], abs=0.01)
    maps = model.model.maps(script.twice(range(1))[0])
    got = induction_score(maps, script.PERIOD)
    assert_close(got, torch.tensor(results["scores"]["induction"][0]), rtol=0, atol=2e-3)


def test_the_mean_of_a_head_is_the_same_at_every_token(model, script):
    ids, layer, head = model.ids("Fair is foul, and foul is fair"), 3, 4
    seen = []

    def keep(projection, given):
        seen.append(given[0].unflatten(-1, (9, 64)))

    for heads in ([], [(layer, head)]):
        with script.always_the_mean(heads):
            hook = model.attentions[layer].out.register_forward_pre_hook(keep)
            model.model(ids)
            hook.remove()
    before, after = seen  # (n, heads, d_head)
    wanted = before.clone()
    wanted[:, head] = before[:, head].mean(dim=0)
    assert_close(after, wanted)


@pytest.mark.parametrize(
    ("error", "text", "name"),
    [(ValueError, "", "got 0 tokens"), (TypeError, None, "NoneType"), (TypeError, 3, "int")],
)
def test_what_is_no_text_is_refused(model, error, text, name):
    with pytest.raises(error, match=name):
        model.maps(text)
