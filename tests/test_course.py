"""The list of chapters, the tables made from it, and what a run of each chapter takes."""

import json
from dataclasses import replace

import pytest

from attn_edu import course
from bench import chapters as bench


def test_chapters_are_numbered_in_order_and_named_for_their_number():
    numbers = [chapter.number for chapter in course.chapters()]
    assert numbers == [f"{i:02}" for i in range(len(numbers))]
    assert all(chapter.file.startswith(f"{chapter.number}_") for chapter in course.chapters())
    assert all(chapter.minutes > 0 and chapter.question[-1] == "?" for chapter in course.chapters())


def test_exercises_carry_the_number_of_their_chapter():
    for chapter in course.chapters():
        assert all(name.startswith(f"{chapter.number}.") for name in chapter.exercises)


@pytest.mark.parametrize("name", ["2", "02", "single_head", "02_single_head", "02_single_head.md"])
def test_a_chapter_is_found_by_each_of_its_names(name):
    assert course.find(name).file == "02_single_head"


def test_no_name_is_no_chapter():
    for nothing in ("", ".", "/"):
        with pytest.raises(KeyError, match="the chapters are 00, 01"):
            course.find(nothing)


def test_an_unknown_chapter_is_an_error_that_names_the_known_ones():
    with pytest.raises(KeyError, match=r"'quantum'.*00, 01"):
        course.find("quantum")


def test_table_has_a_row_for_each_chapter():
    rows = course.table("there/").splitlines()[2:]
    assert len(rows) == len(course.chapters())
    for row, chapter in zip(rows, course.chapters()):
        assert f"(there/{chapter.file}.ipynb)" in row
        assert chapter.question in row


def test_only_what_is_between_the_markers_changes():
    old = f"before\n{course.BEGIN}\nold\n{course.END}\nafter"
    new = course.with_table(old, "")
    assert new.startswith("before\n")
    assert new.endswith("\nafter")
    assert course.table("") in new
    assert course.with_table(new, "") == new


@pytest.mark.parametrize("text", ["no markers", f"{course.BEGIN}{course.END}" * 2])
def test_text_without_one_pair_of_markers_is_an_error(text):
    with pytest.raises(ValueError, match="one pair"):
        course.with_table(text, "")


@pytest.mark.parametrize("path", course.places(), ids=lambda path: path.name)
def test_committed_tables_are_not_stale(path):
    text = path.read_text("utf-8")
    assert course.with_table(text, **course.places()[path]) == text, "stale: make notebooks"


def test_writing_the_tables_touches_only_stale_files(tmp_path, monkeypatch):
    stale, fresh = tmp_path / "stale.md", tmp_path / "fresh.md"
    stale.write_text(f"{course.BEGIN}{course.END}")
    fresh.write_text(course.with_table(stale.read_text(), ""))
    monkeypatch.setattr(course, "places", lambda: {stale: {"link": ""}, fresh: {"link": ""}})
    assert course.write_tables() == [stale]
    assert course.write_tables() == []


# ---- what a run takes --------------------------------------------------------------------------


@pytest.mark.parametrize("chapter", course.chapters(), ids=lambda chapter: chapter.number)
def test_every_chapter_has_been_measured_and_keeps_the_promise(chapter):
    how = f'make bench ARGS="chapters {chapter.number} --store"'
    assert chapter.number in course.read_measured(), f"not measured: {how}"
    found = course.read_measured()[chapter.number]
    assert 0 < found["seconds"] < 60
    assert found["cpu_seconds"] > 0
    assert 100e6 < found["peak_bytes"] < 1.2e9


def test_the_stored_run_says_on_what_it_was_measured():
    stored = json.loads(course.MEASURED.read_text("utf-8"))
    assert stored["machine"]["cores"] == 2  # as the README says
    assert stored["machine"]["threads"] == 1
    assert {"torch", "python", "processor"} <= set(stored["machine"])
    assert list(stored["chapters"]) == [chapter.number for chapter in course.chapters()]


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A file of measurements of its own."""
    for module in (course, bench):
        monkeypatch.setattr(module, "MEASURED", tmp_path / "chapters.json")


def test_a_table_shows_the_measurements_rounded_or_that_there_are_none(measured):
    bench.store(
        course.find("02"), {"seconds": 7.61, "cpu_seconds": 5.0, "peak_bytes": 1_184_000_000}
    )
    bench.store(course.find("00"), {"seconds": 0.2, "cpu_seconds": 0.1, "peak_bytes": 246_000_000})
    rows = course.table("", measured=True).splitlines()
    assert rows[0].count("|") == rows[1].count("|") == rows[2].count("|")
    assert rows[2].endswith("| 1 | 250 |")
    assert rows[3].endswith("| not measured | not measured |")
    assert rows[4].endswith("| 8 | 1,180 |")
    assert course.table("").splitlines()[2].endswith(f"| {course.find('00').minutes} |")


def test_a_run_of_some_chapters_keeps_the_others(measured, monkeypatch, tmp_path, capsys):
    first, third = course.find("00"), course.find("02")
    monkeypatch.setattr(bench, "run", lambda chapter: dict.fromkeys(KEYS, int(chapter.number) + 1))
    monkeypatch.setattr("bench.meter.HISTORY", tmp_path / "history.jsonl")
    bench.main([third.file, "--store"])
    bench.main(["0"])
    assert list(course.read_measured()) == ["02"]  # without --store nothing is kept
    bench.main(["0", "--store"])
    assert list(course.read_measured()) == ["00", "02"]  # in the order of the course
    assert course.read_measured()["02"] == dict.fromkeys(KEYS, 3)
    assert first.file in capsys.readouterr().out
    with pytest.raises(SystemExit):
        bench.main(["quantum"])


KEYS = ("seconds", "cpu_seconds", "peak_bytes")


def test_a_run_counts_the_seconds_and_the_memory_of_the_kernel(tmp_path, monkeypatch):
    text = (
        "---\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n# 1\n\n```{code-cell}\n"
    )
    text += (
        "import time\ntime.sleep(0.3)\nkept = bytearray(300_000_000)\nkept[::4096] = b'1' * 73243"
    )
    monkeypatch.setattr(course.Chapter, "text", property(lambda self: tmp_path / "src.md"))
    (tmp_path / "src.md").write_text(text + "\n```\n", "utf-8")
    found = bench.run(replace(course.find("00")))
    assert found["seconds"] > 0.3
    assert found["cpu_seconds"] > 0
    assert 300e6 < found["peak_bytes"] < 900e6
