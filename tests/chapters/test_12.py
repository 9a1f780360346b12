"""What chapter 12 defines and what its files hold, run again and held against the package."""

import pytest
import torch
import torch.nn.functional as F

from attn_edu.datasets import dates, load_tensors, number_words, recorded, verse_questions
from attn_edu.datasets.translation import BEGIN, PAD
from attn_edu.models import Translator, count_parameters
from attn_edu.training import accuracy

from .loading import definitions, script_of

FILE = "12_translating_and_answering"
TASKS = {"dates": dates, "number_words": number_words}


@pytest.fixture(scope="module")
def chapter():
    """The imports, functions and classes of the chapter, and a few of its names."""
    tensors, _ = load_tensors("translators.safetensors", "translation_results.py")
    return definitions(FILE, {"PAD", "BEGIN"}, stored=tensors)


@pytest.fixture(scope="module")
def script():
    return script_of("translation_results")


@pytest.fixture(scope="module")
def results():
    return recorded("translation_results")


# Translating: the files


@pytest.mark.parametrize("task", TASKS)
def test_three_seeds_of_each_translator_with_as_many_parameters(task, results, script):
    pairs, found = TASKS[task](), results[task]
    budget = found["Transformer"]["parameters"]
    for name, one in found.items():
        assert set(one["exact"]) == set(pairs.held_out)
        assert all(len(seeds) == 3 for seeds in one["exact"].values())
        assert one["parameters"] == count_parameters(script.MODELS[name](pairs))
        assert abs(one["parameters"] - budget) < 0.03 * budget
        for curve in one["curve"]:
            assert [step for step, _ in curve] == list(range(0, results["steps"] + 1, script.EVERY))
        assert len(one["mistakes"]["examples"]) == 3
        assert all(written != right for _, written, right in one["mistakes"]["examples"])


def test_what_the_chapter_says_of_them(results):
    def shares(task, name, part):
        return results[task][name]["exact"][part]

    assert max(shares("dates", "GRU, one vector", "days")) < 0.85
    for part in ("new", "days"):
        assert max(shares("dates", "GRU, one vector", part)) < 0.98
        for name in ("GRU, attention", "Transformer"):
            assert min(shares("dates", name, part)) > 0.97
    for name in ("GRU, attention", "Transformer"):
        assert min(shares("number_words", name, "new")) > 0.97
    longer = {name: shares("number_words", name, "longer") for name in results["number_words"]}
    assert min(longer["GRU, attention"]) > max(longer["Transformer"])
    assert min(longer["GRU, attention"]) > max(longer["GRU, one vector"])


def test_longer_numbers_are_longer_than_any_in_training():
    """In English all of them; in German those of ten words are no longer."""
    numbers = number_words()
    read, written = (max(map(len, texts)) for texts in zip(*numbers.train))
    longer = {(len(english), len(german)) for english, german in numbers.held_out["longer"]}
    assert (read, written) == (9, 9) and longer == {(10, 9), (11, 11)}


def test_days_of_the_year_that_training_never_shows():
    calendar = dates()
    days = [
        {"".join(c).split("年")[1] for _, c in part}
        for part in (calendar.train, calendar.held_out["days"])
    ]
    train, held_out = ({day.split("日")[0] for day in part} for part in days)
    assert len(held_out) == 36 and "7月4" in held_out and not train & held_out


@pytest.mark.parametrize("task", TASKS)
def test_the_stored_translator_is_as_good_as_its_results_say(task, chapter, results, script):
    pairs, found = TASKS[task](), results[task]["Transformer"]
    model = chapter.trained(task, pairs)
    part = pairs.held_out["new"]
    right = script.exact(model, pairs, part[::5])
    assert sum(right) / len(right) == pytest.approx(found["exact"]["new"][0], abs=0.02)
    best = found["aligned"][0]
    share = script.aligned(model, pairs, part[1::2]).flatten()[best["head"]].item()
    assert share == pytest.approx(best["share"], abs=0.02)


def test_a_short_run_of_the_script(script):
    pairs = dates()
    torch.manual_seed(0)
    model = script.MODELS["GRU, one vector"](pairs)
    curve, last = script.run(model, pairs, seed=0, rate=3e-3, steps=2)
    assert curve == [[0, 0.0]]
    assert last["steps"] == 0 and len(last["examples"]) == 3


def test_alignment_of_a_model_that_looks_where_it_should(script):
    """A model whose maps are the reference has a share of 1; one place further, nearly none."""
    pairs = number_words()
    part = pairs.held_out["new"][:40]

    class Pointing:
        def __init__(self, shift):
            self.shift = shift

        def cross_maps(self, source, target):
            maps = torch.zeros(1, len(part), 2, *target.shape[1:], source.shape[1])
            for row, pair in enumerate(part):
                for step, place in enumerate(pairs.align(*pair)):
                    maps[0, row, 1, step, ((place or 0) + self.shift) % source.shape[1]] = 1
            return maps

    right, shifted = (script.aligned(Pointing(shift), pairs, part) for shift in (0, 1))
    assert right.shape == (1, 2)
    assert right[0, 1] == 1 and shifted[0, 1] == 0 and 0 < right[0, 0] < 0.5


# Translating: the chapter


@torch.no_grad()
def test_the_translator_in_twenty_lines_is_the_packages(chapter):
    torch.manual_seed(1)
    small = chapter.Small(15, 11, 12, 3).eval()
    ours = Translator(15, 11, 12, 3, 1, 24).eval()
    ours.source.load_state_dict(small.source.state_dict())
    ours.target.load_state_dict(small.target.state_dict())
    ours.encoder.blocks[0].load_state_dict(small.reader.state_dict())
    ours.decoder.blocks[0].load_state_dict(small.writer.state_dict())
    ours.encoder.norm.load_state_dict(small.read_norm.state_dict())
    ours.decoder.norm.load_state_dict(small.write_norm.state_dict())
    ours.output.load_state_dict(small.out.state_dict())
    source, target = torch.randint(3, 15, (4, 7)), torch.randint(3, 11, (4, 5))
    source[1, 4:] = PAD
    torch.testing.assert_close(small(source, target), ours(source, target))


def test_word_for_word_moves_nothing(chapter):
    pairs = number_words()
    known = chapter.dictionary(pairs)
    assert (known["sixty"], known["three"], known["one"]) == ("sechzig", "drei", "ein")
    assert "and" not in known
    right = sum("und" not in german and german[-1] != "eins" for _, german in pairs.held_out["new"])
    assert chapter.word_for_word(pairs, "new") == right / len(pairs.held_out["new"])
    assert chapter.word_for_word(dates(), "new") == 0


def test_loss_leaves_padding_out(chapter):
    logits, following = torch.randn(2, 5, 7), torch.randint(1, 7, (2, 5))
    following[1, 3:] = PAD
    parts = torch.cat([logits[0], logits[1, :3]]), torch.cat([following[0], following[1, :3]])
    torch.testing.assert_close(chapter.next_word_loss(logits, following), F.cross_entropy(*parts))


def test_a_row_of_the_map_is_where_its_own_word_came_from(chapter):
    """Cut the translation off before a word: the last row is the row of that word."""
    pairs = number_words()
    model = chapter.trained("number_words", pairs)
    english = ("sixty", "nine", "thousand", "two")
    words, maps = chapter.read_and_look(model, pairs, english)
    assert words == ["neun", "und", "sechzig", "tausend", "zwei", "[end]"]
    assert maps.shape == (1, 4, 6, 5)
    source, target = pairs.encode([(english, tuple(words[:3]))])
    assert target[0, 0] == BEGIN
    with torch.no_grad():
        last = model.cross_maps(source, target[:, :4])[0, 0, :, -1]  # about to write "tausend"
    torch.testing.assert_close(last, maps[0, :, 3], rtol=1e-4, atol=1e-5)


def test_typed_text_is_translated_or_refused(chapter):
    pairs = dates()
    read = chapter.translating(chapter.trained("dates", pairs), pairs, 0)
    reading = read("Friday, May 3, 2024")
    assert reading.answer == "2024年5月3日星期五"
    assert reading.map().shape == (len(reading.tokens), len(reading.key_tokens))
    for text in ("someday", "...", "[pad]"):
        with pytest.raises(ValueError, match="never read"):
            read(text)


# Answering: the files


@pytest.fixture(scope="module")
def asked():
    """The script of the questions, what it stored, and its model."""
    script, results = script_of("questions_results"), recorded("questions_results")
    model = script.transformer()
    model.load_state_dict(load_tensors("questions.safetensors", "questions_results.py")[0])
    return script, results, model.eval()


def test_the_stored_pointer_is_as_good_as_its_score_says(asked):
    script, results, model = asked
    score = accuracy(model, *script.with_signs(script.TEXT.held_out))
    assert score == pytest.approx(results["held_out"]["transformer"][0], abs=0.01)


def test_three_seeds_of_each_pointer_with_as_many_parameters(asked):
    script, results, model = asked
    budget = results["parameters"]["transformer"]
    assert budget == count_parameters(model)
    assert set(results["scores"]) == {"transformer", "lstm", "lstm, told what the question has"}
    for name, runs in results["scores"].items():
        assert len(runs) == len(results["held_out"][name]) == 3
        assert abs(results["parameters"][name] - budget) < 0.03 * budget
        for run in runs:
            steps = list(range(0, results["steps"][name] + 1, script.EVERY))
            assert [step for step, _ in run] == steps
    assert results["steps"]["lstm"] == results["steps"]["transformer"]


def test_pointers_beat_the_nearest_name_by_a_tenth(asked, chapter):
    script, results, _ = asked
    pairs = [(v, q) for v in script.TEXT.held_out for q in v.questions]
    hits = sum(chapter.nearest(v, q) == q.answer for v, q in pairs)
    assert min(results["held_out"]["transformer"]) > hits / len(pairs) + 0.1


def test_a_short_run_of_the_questions_script(asked):
    script, _, _ = asked
    model, scores, held_out = script.taught(lambda: script.lstm(match=True), 0, steps=2, every=1)
    assert [step for step, _ in scores] == [0, 1, 2] and 0 < held_out < 0.6
    assert not model.training


# Answering: the chapter


def test_guesses_by_loops(chapter):
    for verse in verse_questions().held_out[::5]:
        for question in verse.questions:
            about = verse.names[question.about]
            gaps = {}
            for i, word in enumerate(verse.words):
                for j, other in enumerate(verse.words):
                    if word == about and other in verse.names and other != about:
                        gaps[other] = min(gaps.get(other, 99), abs(i - j))
            assert gaps[verse.names[chapter.nearest(verse, question)]] == min(gaps.values())
            row = [word for word in verse.words if word in verse.names]
            steps = chapter.names_on(verse, question, question.answer)
            starts = [i for i, word in enumerate(row) if word == about]
            reached = {row[i + step] for i in starts for step in steps if 0 <= i + step < len(row)}
            assert verse.names[question.answer] in reached


def test_shares_of_heads_by_loops(chapter):
    torch.manual_seed(0)
    maps = torch.rand(2, 5, 3, 7, 7)  # layers, questions, heads, n, n
    ask, seen = torch.rand(2, 5, 7) < 0.4
    ask[3] = False  # a question without anybody who asks
    half = torch.tensor([True, True, False, True, True])
    chapter.looks.__globals__["pointer_maps"] = maps
    got = chapter.looks(ask, seen, half)
    for layer in range(2):
        for head in range(3):
            shares = []
            for b in range(5):
                if half[b] and ask[b].any() and seen[b].any():
                    rows = maps[layer, b, head][ask[b]][:, seen[b]]
                    shares.append(rows.sum(dim=1).mean())
            torch.testing.assert_close(got[layer, head], torch.stack(shares).mean())


def test_twins_differ_in_one_token():
    text = verse_questions()
    verse = next(v for v in text.held_out if v.place == "1 Kings 15:1")
    third, fourth = (text.encode(verse, q) for q in verse.questions[:2])
    assert len(third) != len(fourth) or third != fourth
    kinds = {}
    for verse in text.held_out:
        for question in verse.questions:
            kinds.setdefault((verse.place, question.text), []).append(text.encode(verse, question))
    for rows in kinds.values():
        for row in rows[1:]:
            assert sum(a != b for a, b in zip(rows[0], row, strict=True)) == 1
