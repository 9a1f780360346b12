"""What chapter 05 defines and what its file holds, run again and held against the package."""

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from attn_edu.attention import KeyValueCache, MultiHeadAttention, causal_mask
from attn_edu.datasets import load_tensors, shakespeare
from attn_edu.models import LanguageModel, NGram, count_parameters

from .loading import definitions, script_of

TEXT = shakespeare()
HELD_OUT = TEXT.encode(TEXT.held_out)


@pytest.fixture(scope="module")
def chapter():
    """The imports, functions and classes of the chapter, and a few of its names."""
    names = {"text", "learn", "held_out", "vocabulary", "words", "n", "place", "past", "d", "draw"}
    names |= {"x", "w_query", "w_key", "w_value", "ones", "versions", "matrices"}
    names |= {"d_model", "n_layers", "out"}
    return definitions("05_causal", names)


@pytest.fixture(scope="module")
def script():
    return script_of("shakespeare_lm")


@pytest.fixture(scope="module")
def stored():
    return load_tensors("shakespeare_lm.safetensors", "shakespeare_lm.py")


@pytest.fixture(scope="module")
def model(stored, script):
    model = script.large()
    weights = {name[3:]: x for name, x in stored[0].items() if name.startswith("lm.")}
    model.load_state_dict(weights)
    return model.eval()


# The file


def test_the_stored_model_is_as_good_as_its_last_score_says(stored, model, script):
    scores = stored[0]["bits"]
    assert script.bits(model, every=8) == pytest.approx(scores[-1, 1].item(), abs=0.01)
    assert scores[:, 0].tolist() == list(range(0, script.STEPS + 1, script.EVERY))
    assert count_parameters(model) == int(stored[1]["parameters"])


def test_it_beats_bigram_and_trigram(stored):
    rows = HELD_OUT[:20_000]
    counted = NGram(3, len(TEXT.alphabet)).fit(TEXT.encode(TEXT.train))
    bigram, trigram = (-counted.probabilities(rows, order).log2().mean() for order in (2, 3))
    assert stored[0]["bits"][-1, 1] < trigram - 0.3 < bigram


def test_the_recurrent_network_has_as_many_parameters(stored, script):
    ours, theirs = (int(stored[1][name]) for name in ("parameters", "parameters.lstm"))
    assert abs(theirs - ours) < 0.03 * ours
    assert stored[0]["bits.lstm"].shape == stored[0]["bits"].shape


def test_the_small_models_were_run_for_three_seeds(stored):
    for name in ("bits.scaled", "bits.unscaled"):
        runs = stored[0][name]
        assert runs.shape[0] == 3
        assert runs[..., 1].unique().numel() > runs[0].shape[0]
        assert ((runs[:, -1, 1] > 2) & (runs[:, -1, 1] < 5)).all()


def test_a_short_run_of_the_script_learns(script, monkeypatch):
    monkeypatch.setattr(script, "HELD_OUT", HELD_OUT[:10_000])
    torch.manual_seed(0)
    scores = script.taught(script.small(True), 16, 20, 10, lr=3e-3)
    assert scores[:, 0].tolist() == [0, 10, 20]
    assert scores[-1, 1] < scores[0, 1]


# The chapter


def test_answers_stand_one_character_later(chapter, script):
    for draw in (chapter.excerpts(length=9, batch=4), script.excerpts(9, 4)):
        read, answers = draw(torch.Generator().manual_seed(3))
        assert read.shape == answers.shape == (4, 9)
        assert read[:, 1:].equal(answers[:, :-1])
        for row, last in zip(read, answers[:, -1:]):
            assert TEXT.decode(torch.cat([row, last])) in TEXT.train


def test_bits_are_minus_the_logarithm_of_the_probability(chapter):
    logits, targets = torch.randn(2, 5, 7).double(), torch.randint(7, (2, 5))
    by_hand = [
        -math.log2(logits[b, t].softmax(-1)[targets[b, t]]) for b in range(2) for t in range(5)
    ]
    wanted = sum(by_hand) / len(by_hand)
    assert chapter.bits_lost(logits, targets).item() == pytest.approx(wanted)


def test_the_test_of_the_future_finds_what_the_jacobian_says(chapter):
    """The exact derivative, where there is one, agrees with the nudge of one word."""
    x = chapter.x.double()
    weights = [w.double() for w in (chapter.w_query, chapter.w_key, chapter.w_value)]
    for name, attend in chapter.versions.items():
        if name == "tril(diagonal=-1)":
            continue  # NaN in the first row

        def of_memory(memory, attend=attend):
            return attend(x @ weights[0], memory @ weights[1], memory @ weights[2])

        jacobian = torch.autograd.functional.jacobian(of_memory, x).abs().amax(dim=(1, 3))
        assert chapter.who_moves_whom(attend).equal(jacobian > 0), name


def test_the_readers_cache_does_what_the_packages_does(chapter):
    layer, x = MultiHeadAttention(8, 2).double(), torch.randn(2, 7, 8).double()
    outputs = []
    for cache in (chapter.Memory(), KeyValueCache()):
        with torch.no_grad():
            parts = [
                layer(new, mask=causal_mask(new.shape[1], len(cache) + new.shape[1]), cache=cache)
                for new in x.split([3, 1, 3], dim=1)
            ]
        outputs.append(torch.cat(parts, dim=1))
        assert len(cache) == 7
    torch.testing.assert_close(*outputs)


def test_multiplications_of_a_step_by_hooks(chapter):
    """Every linear layer counts its own; the two products of attention are added by hand."""
    model, n, counted = LanguageModel(64, 128, 4, 4, 256, position="rotary", bias=False), 9, [0]

    def count(module, inputs, output):
        counted[0] += inputs[0].numel() * module.out_features

    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(count)
    model(HELD_OUT[:n])
    attention = 4 * 2 * n * n * 128
    assert counted[0] + attention == chapter.for_one_more(n, cached=False)


def test_one_pass_is_every_prefix(model):
    with torch.no_grad():
        whole = model(HELD_OUT[:40])
        for t in (1, 7, 40):
            torch.testing.assert_close(model(HELD_OUT[:t])[-1], whole[t - 1], rtol=1e-4, atol=1e-4)


def test_writing_is_drawing_from_the_shares(chapter, model):
    """At temperature 0 the likeliest, each time; the same seed writes the same."""
    written = chapter.write(model, "MACBETH.\n", 12, 0)
    tokens = TEXT.encode(written)
    with torch.no_grad():
        logits = model(tokens[:-1])
    assert logits[8:].argmax(dim=-1).equal(tokens[9:])
    one, other, third = (chapter.write(model, "To ", 30, 1.0, seed) for seed in (1, 1, 2))
    assert one == other != third


def test_the_reader_is_the_packages_language_model(chapter):
    """The listing, rebuilt in the chapter, against `LanguageModel` with the same weights."""
    reader = chapter.Reader()
    sizes = (chapter.vocabulary, 64, 4, 2, 64)
    model = LanguageModel(*sizes, position="sinusoidal", tie=False)
    with torch.no_grad():
        model.tokens.weight.copy_(reader.embed.weight)
        model.output.weight.copy_(reader.out.weight)
        reader.out.bias.zero_()
        model.stack.blocks.load_state_dict(reader.layers.state_dict())
        model.stack.norm.load_state_dict(reader.norm.state_dict())
        got, wanted = reader(HELD_OUT[None, :30]), model(HELD_OUT[None, :30])
    torch.testing.assert_close(got, wanted)
    assert F.mse_loss(got, wanted).item() < 1e-8


# The poems


@pytest.fixture(scope="module")
def tang():
    return script_of("tang_lm")


@pytest.fixture(scope="module")
def sung():
    return load_tensors("tang_lm.safetensors", "tang_lm.py")


@pytest.fixture(scope="module")
def singer(sung, tang):
    model = tang.transformer()
    weights = {name[3:]: x for name, x in sung[0].items() if name.startswith("lm.")}
    model.load_state_dict({**weights, "output.weight": weights["tokens.weight"]})
    return model.eval()


@pytest.fixture(scope="module")
def poems_chapter():
    names = {"text", "learn", "held_out", "vocabulary", "poems", "verses", "unseen", "signs"}
    return definitions("05_causal", names | {"inside", "rows_counted"})


def test_the_stored_poet_is_as_good_as_its_places_say(sung, singer, tang, poems_chapter):
    """By the script's function and by the chapter's, on one held-out poem in five."""
    rows = tang.HELD_OUT[::5]
    places = tang.bits(singer, rows).mean(dim=0)
    torch.testing.assert_close(poems_chapter.verse_bits(singer, rows), places)
    assert places.mean() == pytest.approx(sung[0]["places"].mean().item(), abs=0.06)
    assert count_parameters(singer) == int(sung[1]["parameters"])


def test_bits_of_a_poem_by_hand(tang):
    """From a model that has learned nothing, and so expects line ends everywhere."""
    torch.manual_seed(0)
    row, model = tang.HELD_OUT[3], tang.transformer().eval()
    with torch.no_grad():
        logits = model(row[:-1]).double()
    wanted = []
    for place in range(1, 33):
        if place % 8:
            shares = logits[place - 1].softmax(dim=-1)
            wanted.append(-math.log2(shares[row[place]] / (1 - shares[0])))
    got = tang.bits(model, row[None])[0]
    assert got.tolist() == pytest.approx(wanted, abs=2e-5)


def test_the_poems_rivals_are_told_where_lines_end(poems_chapter):
    """The bigram, by counting pairs in a dictionary."""
    rows = [row.tolist() for row in poems_chapter.verses]
    flat = [token for row in rows for token in row]
    pairs, single = Counter(pairwise(flat)), Counter(flat)
    followers = Counter(first for first, _ in pairs)
    ends = Counter(first for first, _ in pairwise(flat))
    signs = poems_chapter.signs

    def unigram(token):
        return (single[token] + len(single) / signs) / (len(flat) + len(single))

    def share(first, token):
        seen, kinds = ends[first], followers[first]
        if not seen:
            return unigram(token)
        return (pairs[first, token] + kinds * unigram(token)) / (seen + kinds)

    place, total = 5, 0.0
    for row in poems_chapter.unseen.tolist():
        total -= math.log2(share(row[place], row[place + 1]) / (1 - share(row[place], 0)))
    wanted = total / len(poems_chapter.unseen)
    assert poems_chapter.verses_counted(2)[place].item() == pytest.approx(wanted, abs=1e-6)


def test_the_rivals_of_the_poet_are_like_it(sung, tang):
    tensors, about = sung
    ours, theirs = (int(about[f"parameters{kind}"]) for kind in tang.RATES)
    assert abs(theirs - ours) < 0.03 * ours
    assert tensors["bits"][:, 0].tolist() == list(range(0, tang.STEPS + 1, tang.EVERY))
    assert tensors["bits.lstm"].shape == tensors["bits"].shape
    for kind in tang.RATES:
        assert tensors[f"short{kind}"].unique().numel() == len(tang.SEEDS) == 3
    assert tensors["short"].max() < tensors["short.lstm"].min() < tensors["slow.lstm"] - 0.3


@pytest.mark.parametrize("kind", ["", ".lstm"])
def test_a_finished_training_is_no_worse_than_the_start_of_a_longer_one(sung, tang, kind):
    """Else the shorter trainings had bad settings, such as too short a warm-up."""
    along = dict(sung[0][f"bits{kind}"].tolist())
    assert sung[0][f"short{kind}"].mean() < along[tang.SHORT] + 0.25


@pytest.mark.parametrize("kind", ["", ".lstm"])
def test_a_short_run_on_the_poems_learns(tang, monkeypatch, kind):
    monkeypatch.setattr(tang, "BATCH", 5)
    monkeypatch.setattr(tang, "HELD_OUT", tang.HELD_OUT[:60])
    _, scores = tang.taught(kind, 6, 4e-3, every=3)
    assert scores[:, 0].tolist() == [0, 3, 6]
    assert scores[-1, 1] < scores[0, 1]


def test_a_silenced_head_adds_nothing(poems_chapter, singer):
    """Cut out of the output layer, or its map and values set to nothing: the same."""
    poems_chapter.without.__wrapped__.__globals__["singer"] = singer
    silent = poems_chapter.without(1, 2)
    layer = singer.stack.blocks[1].attention
    x = torch.randn(1, 9, 96)
    heads = []
    layer.out.register_forward_hook(lambda module, inputs, output: heads.append(inputs[0]))
    mask = causal_mask(9)
    with torch.no_grad():
        layer(x, mask=mask)
        cut = heads[0].clone()
        cut[..., 48:72] = 0
        wanted = cut @ layer.out.weight.T
        got = silent.stack.blocks[1].attention(x, mask=mask)
    layer.out._forward_hooks.clear()
    torch.testing.assert_close(got, wanted)


# The playground


@pytest.fixture(scope="module")
def readers(poems_chapter, singer, model):
    poems_chapter.read_on.__globals__.update(singer=singer, model=model)
    return poems_chapter


@pytest.mark.parametrize("n", [1, 6, 7, 8, 14, 21, 27])
def test_a_beginning_of_any_length_becomes_a_poem(readers, n):
    beginning = "秦時明月漢時關萬里長征人未還但使龍城飛將在不教胡馬度陰"[:n]
    reading = readers.poem_on(f"abc, {beginning[:3]} {beginning[3:]}!")
    lines = reading.answer.split(" / ")
    assert "".join(lines).startswith(beginning) and sum(map(len, lines)) >= 27
    assert len(lines[0]) == 7
    assert reading.weights.shape[-1] == len(reading.tokens) == 1 + n + n // 7
    reading.map()._repr_mimebundle_()


def test_what_is_no_beginning_is_refused_with_a_reason(readers):
    for typed in ("", "spring", "春" * 28):
        with pytest.raises(ValueError, match=f"here are {len(typed) * (typed[:1] == '春')}"):
            readers.poem_on(typed)
    with pytest.raises(ValueError, match=r"Not in the plays: 3 é"):
        readers.play_on("Café 3")
    assert readers.poem_on("秦时").tokens == ["⏎", "秦", "□"]  # simplified, so unknown


@pytest.mark.parametrize("typed", ["a", "To be, or not to be, " * 9])
def test_a_beginning_of_a_play_is_written_on(readers, typed):
    reading = readers.play_on(typed)
    assert len(reading.tokens) == min(60, len(typed)) and len(reading.answer) > len(typed[-60:])
    reading.map()._repr_mimebundle_()
