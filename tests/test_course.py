"""The list of chapters, and the tables made from it."""

import pytest

from attn_edu import course


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
    assert course.with_table(text, course.places()[path]) == text, "stale: make notebooks"


def test_writing_the_tables_touches_only_stale_files(tmp_path, monkeypatch):
    stale, fresh = tmp_path / "stale.md", tmp_path / "fresh.md"
    stale.write_text(f"{course.BEGIN}{course.END}")
    fresh.write_text(course.with_table(stale.read_text(), ""))
    monkeypatch.setattr(course, "places", lambda: {stale: "", fresh: ""})
    assert course.write_tables() == [stale]
    assert course.write_tables() == []
