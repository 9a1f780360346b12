"""Hints one at a time, solutions, and a progress that survives the kernel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import attn_edu
from attn_edu.exercises import check, exercise, exercises, hint, progress, solution
from attn_edu.exercises.records import FILE

ROOT = Path(attn_edu.__file__).parents[1]


def right(query, key):
    return query @ key.mT


def wrong(query, key):
    return key @ query.mT


def row(name):
    (line,) = (line for line in str(progress()).splitlines() if line.startswith(f"{name} "))
    return line


def stored():
    return json.loads(Path(FILE).read_text(encoding="utf-8"))


def test_nothing_is_written_by_an_untouched_starter(own_folder):
    check("02.scores", lambda query, key: ...)
    progress()
    solution("02.scores")
    assert list(own_folder.iterdir()) == []


def test_one_small_hidden_file(own_folder):
    check("02.scores", wrong)
    hint("02.scores")
    assert [path.name for path in own_folder.iterdir()] == [".attn_edu_progress.json"]
    assert stored() == {"02.scores": {"attempts": 1, "hints": 1, "status": "misconception"}}


def test_a_table_over_the_course():
    assert str(progress()).startswith(f"0 of {len(exercises())} exercises passed")
    check("02.scores", wrong)
    assert "a known mistake  1       0" in row("02.scores")
    check("02.scores", right)
    hint("02.scores")
    assert row("02.scores").split()[-3:] == ["passed", "2", "1"]
    assert str(progress()).startswith(f"1 of {len(exercises())} exercises passed")
    html = progress()._repr_html_()
    assert html.count("<tr>") == len(exercises()) + 1
    assert all(one.id in html for one in exercises())


def test_passed_once_stays_passed():
    check("02.scores", right)
    check("02.scores", wrong)
    assert "passed" in row("02.scores")


def test_a_new_kernel_in_the_same_folder_remembers():
    check("02.scores", right)
    code = "from attn_edu.exercises import progress; print(progress())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert told.stdout.startswith("1 of ")


def test_two_kernels_do_not_overwrite_each_other():
    check("02.scores", right)
    Path(FILE).write_text(json.dumps({**stored(), "03.merge_heads": {"status": "passed"}}))
    hint("02.scores")
    assert set(stored()) == {"02.scores", "03.merge_heads"}


def test_each_folder_has_its_own(own_folder, monkeypatch):
    check("02.scores", right)
    (own_folder / "other").mkdir()
    monkeypatch.chdir(own_folder / "other")
    assert str(progress()).startswith("0 of ")


BROKEN = [
    "", "{", "[" * 100_000, "[]", "null", "\x00\xff",
    '{"02.scores": 3}', '{"02.scores": {"status": [1]}}',
    '{"02.scores": {"attempts": "many", "hints": -5, "status": "cheated"}}',
    '{"99.unknown": {"status": "passed"}}',
]  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_breaks_nothing(text):
    Path(FILE).write_bytes(text.encode("latin-1"))
    assert str(progress()).startswith("0 of ")
    assert "hint 1 of" in str(hint("02.scores"))
    assert check("02.scores", right).passed
    assert str(progress()).startswith("1 of ")


def refuse(*_, **__):
    raise PermissionError("read-only")


def test_a_folder_that_cannot_be_written(own_folder, monkeypatch):
    check("02.scores", wrong)
    monkeypatch.setattr(Path, "write_text", refuse)
    assert check("02.scores", right).passed
    assert "hint 1 of" in str(hint("02.scores"))
    assert "hint 2 of" in str(hint("02.scores"))
    assert "passed" in row("02.scores")  # this session still knows
    assert stored()["02.scores"]["status"] == "misconception"
    monkeypatch.undo()
    monkeypatch.chdir(own_folder)
    hint("03.split_heads")  # it can be written again
    assert stored()["02.scores"]["status"] == "passed"


def test_a_file_that_cannot_be_replaced_leaves_no_litter(own_folder, monkeypatch):
    monkeypatch.setattr(Path, "replace", refuse)
    assert check("02.scores", right).passed
    assert list(own_folder.iterdir()) == []


def test_a_folder_in_the_place_of_the_file(own_folder):
    Path(FILE).mkdir()
    assert check("02.scores", right).passed
    assert "passed" in row("02.scores")


def test_hints_come_one_at_a_time_and_the_last_one_stays():
    one = exercise("02.scores")
    count = len(one.hints)
    said = [str(hint(one.id)) for _ in range(count + 2)]
    end = ' There is no further hint: `solution("02.scores")` shows an answer.'
    assert [text.endswith(end) for text in said] == [False] * count + [True] * 2
    said = [text.removesuffix(end) for text in said]
    for i, text in enumerate(said):
        number = min(i, count - 1)
        assert text == f"02.scores · hint {number + 1} of {count}\n\n{one.hints[number]}"
    assert "03.split_heads · hint 1 of" in str(hint("03.split_heads"))


def test_a_hint_shows_code_as_code():
    html = [hint("13.induction_score")._repr_html_() for _ in range(2)][1]
    assert "<code>torch.arange(period, n)</code>" in html
    assert "`" not in html


@pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)
def test_solution_shows_code_and_reasoning(one):
    text = str(solution(one.id))
    assert text.startswith(f"{one.id} · solution\n\n{one.source}")
    assert f"\ndef {one.id.split('.')[1]}(" in text
    assert one.why in text
    assert f'<code style="white-space:pre">{one.source[:8]}' in solution(one.id)._repr_html_()
    assert one.source not in one.starter
