"""The class summary: counts by hand, and submissions that want to break it or to be seen."""

import csv
import json
import os
import re
import tempfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_notebook, new_output

from attn_edu.assign.outcomes import OUTCOMES
from attn_edu.assign.summary import ClassSummary, ExerciseSummary, class_summary
from attn_edu.assign.summary_picture import narrow, wide
from attn_edu.exercises import exercise, exercises
from attn_edu.exercises.checking import examine

MIME = "application/vnd.attn-edu.result+json"
SCORES = "02.scores"
SWAPPED, ROOT_D, BY_D, COSINE = [belief.name for belief in exercise(SCORES).misconceptions[:4]]


def result(exercise_id, status, *mistakes):
    return {
        "exercise": exercise_id,
        "status": status,
        "misconceptions": list(mistakes),
        "points": 0,
        "out_of": 2,
    }


def shown(data, mime=MIME):
    return new_output("display_data", {mime: data})


def graded(exercise_id, *outputs, **settings):
    """The graded cell of an exercise, with what it displayed."""
    cell = new_code_cell("1.0", outputs=list(outputs))
    grade_id = f"test-{exercise_id.replace('.', '-')}"
    cell.metadata["nbgrader"] = {"grade": True, "grade_id": grade_id, "points": 2, **settings}
    return cell


def gave(exercise_id, status, *mistakes):
    return graded(exercise_id, shown(result(exercise_id, status, *mistakes)))


def hand_in(folder, student, *cells, assignment="02_single_head", step="autograded", name=None):
    path = Path(folder) / step / student / assignment / (name or f"{assignment}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells)), path)
    return path


def row(summary, exercise_id=SCORES):
    (one,) = (one for one in summary.exercises if one.exercise.id == exercise_id)
    return one


def alone(folder, *cells):
    """The outcome and the mistakes of 02.scores in a class of one, who handed in these cells."""
    hand_in(folder, "ann", *cells)
    one = row(class_summary(folder))
    (outcome,) = (name for name, count in one.counts.items() if count)
    assert one.counts[outcome] == one.submissions == 1
    return outcome, set(one.mistakes)


def everything(summary, folder):
    """All that anybody can see of a summary, as one text."""
    page, table = Path(folder) / "page.html", Path(folder) / "table.csv"
    parts = [str(summary), repr(summary), summary._repr_html_()]
    parts += [summary.to_html(page).read_text("utf-8"), summary.to_csv(table).read_text("utf-8")]
    return "\n".join(parts)


class Page(HTMLParser):
    """Elements in a page, and its words."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.words = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words += data


# ---- the counts ---------------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path):
    """Nine students and two assignments; what came out is counted in the test below."""
    answers = {
        "ann": ("passed",),
        "bob": ("misconception", COSINE),
        "cem": ("misconception", COSINE, SWAPPED),
        "dee": ("misconception", ROOT_D),
        "eve": ("wrong",),
        "fay": ("form",),
        "gus": ("not attempted",),
        "hal": ("passed",),
    }
    for student, answer in answers.items():
        mask = gave("02.padding_mask", "passed" if student in "ann eve" else "not attempted")
        hand_in(tmp_path, student, gave(SCORES, *answer), mask)
    hand_in(tmp_path, "ida", graded(SCORES), graded("02.padding_mask"))
    for student in ("ann", "bob"):
        cell = gave("01.path_length", "passed")
        hand_in(tmp_path, student, cell, assignment="01_rnn_limits")
    return tmp_path


def test_counts_by_hand(course):
    summary = class_summary(course)
    assert (summary.submissions, summary.assignments) == (11, 2)
    assert [one.exercise.id for one in summary.exercises] == [
        "01.path_length",
        SCORES,
        "02.padding_mask",
    ]
    scores = row(summary)
    assert scores.counts == {
        "passed": 2,
        "misconception": 3,
        "wrong": 1,
        "form": 1,
        "not attempted": 1,
        "not graded": 1,
    }
    assert list(scores.mistakes.items()) == [(COSINE, 2), (SWAPPED, 1), (ROOT_D, 1)]
    mask = row(summary, "02.padding_mask").counts
    assert (mask["passed"], mask["not attempted"], mask["not graded"]) == (2, 6, 1)
    assert row(summary, "01.path_length").submissions == 2


def test_one_assignment_of_several(course):
    for chosen in ("01_rnn_limits", ["01_rnn_limits"], ["01_rnn_limits"] * 2, {"01_rnn_limits"}):
        summary = class_summary(course, chosen)
        assert (summary.submissions, summary.assignments, len(summary.exercises)) == (2, 1, 1)
    with pytest.raises(ValueError, match=r"assignments: got '03'; graded are 01_rnn_limits, 02_"):
        class_summary(course, ["03"])


def test_text_is_a_table_of_a_terminal(course):
    lines = str(class_summary(course)).splitlines()
    assert lines[0] == "Class summary: 11 submissions, 2 assignments, 3 exercises"
    (scores,) = (line.split() for line in lines if line.startswith(f"{SCORES} "))
    assert scores == [SCORES, "9", "2", "3", "1", "1", "1", "1"]
    assert lines.index(f"    2 × {COSINE}") < lines.index(f"    1 × {SWAPPED}")


def test_text_of_the_whole_course_is_at_most_100_wide():
    text = str(ClassSummary(2000, 13, tuple(everybody_wrong(one, 1000) for one in exercises())))
    assert max(map(len, text.splitlines())) <= 100


def everybody_wrong(one, students):
    counts = dict.fromkeys(OUTCOMES, students)
    mistakes = {belief.name: students for belief in one.misconceptions}
    return ExerciseSummary(one, counts, mistakes)


def test_csv_holds_the_same_counts(course):
    with class_summary(course).to_csv(course / "s.csv").open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["exercise"] == SCORES]
    totals = {line["outcome"]: line["submissions"] for line in lines if not line["mistake"]}
    assert totals == {
        "passed": "2",
        "known mistake": "3",
        "wrong otherwise": "1",
        "wrong form": "1",
        "not attempted": "1",
        "not graded": "1",
    }
    assert [(line["mistake"], line["submissions"]) for line in lines if line["mistake"]] == [
        (COSINE, "2"),
        (SWAPPED, "1"),
        (ROOT_D, "1"),
    ]


ANSWERS = st.one_of(
    st.sampled_from([("passed",), ("wrong",), ("form",), ("not attempted",), None]),
    st.sets(st.sampled_from([SWAPPED, ROOT_D, BY_D]), min_size=1).map(
        lambda names: ("misconception", *names)
    ),
)


@settings(max_examples=25, deadline=None, database=None)
@given(st.lists(ANSWERS, min_size=1, max_size=9))
def test_counts_add_up(answers):
    with tempfile.TemporaryDirectory() as folder:
        for number, answer in enumerate(answers):
            hand_in(folder, f"s{number}", gave(SCORES, *answer) if answer else graded(SCORES))
        summary = class_summary(folder)
        text, page = str(summary), Page(summary._repr_html_()).words
    one = row(summary)
    counts = Counter(answer[0] if answer else "not graded" for answer in answers)
    assert sum(one.counts.values()) == one.submissions == summary.submissions == len(answers)
    assert all(one.counts[outcome] == counts[outcome] for outcome in OUTCOMES)
    assert set(counts) <= set(OUTCOMES)
    assert one.mistakes == Counter(name for a in answers if a for name in a[1:])
    assert list(one.mistakes.values()) == sorted(one.mistakes.values(), reverse=True)
    for name, count in one.mistakes.items():
        assert f"{count} × {name}" in text
        assert f"{SCORES}{count}{name}" in page  # three cells of a row


def does_too_much(one):
    """Names of what an exercise says of an answer with the right numbers and too much work."""
    results = [examine(one, one.wrong(belief)) for belief in one.misconceptions]
    return [result.misconception for result in results if result.example is None]


@pytest.mark.parametrize(
    "name", ["07.linformer_attention", "09.online_softmax", "09.strassen_once"]
)
def test_too_much_work_is_a_known_mistake_too(tmp_path, name):
    mistakes = does_too_much(exercise(name))
    assert mistakes
    for number, mistake in enumerate(mistakes):
        hand_in(tmp_path, f"s{number}", gave(name, "misconception", mistake))
    assert row(class_summary(tmp_path), name).mistakes == dict.fromkeys(mistakes, 1)


# ---- what counts as what ------------------------------------------------------------------------


def test_the_last_result_of_a_cell_counts(tmp_path):
    fake, real = result(SCORES, "passed"), result(SCORES, "misconception", BY_D)
    stream = new_output("stream", text=json.dumps(fake))
    cell = graded(SCORES, shown(fake), shown(real), stream, shown("<b>9</b>", "text/html"))
    assert alone(tmp_path, cell) == ("misconception", {BY_D})


def test_a_cell_that_earned_nothing_has_not_passed(tmp_path):
    """A result may be displayed after the true one; the points are not given on it."""
    nothing = new_output("error", ename="NoPoints", evalue="This cell earned nothing.")
    cell = graded(SCORES, shown(result(SCORES, "form")), shown(result(SCORES, "passed")), nothing)
    assert alone(tmp_path, cell) == ("form", set())


@pytest.mark.parametrize(
    "settings",
    [
        {"grade_id": "02_scores"},
        {"grade_id": "grade-02.scores-hidden"},
        {"grade_id": "cell-4f2a"},
        {"grade_id": None},
    ],
)
def test_the_exercise_of_a_cell(tmp_path, settings):
    cell = graded(SCORES, shown(result(SCORES, "passed")), **settings)
    cell.source = "# 02.attention_weights comes next\ngrade('99.none', '02.scores', my_scores)"
    assert alone(tmp_path, cell) == ("passed", set())  # its source was stored line by line,
    hand_in(tmp_path, "ann").write_text(json.dumps({"cells": [cell]}))  # here it is one string
    assert row(class_summary(tmp_path)).counts["passed"] == 1


def test_ids_that_begin_or_end_alike_are_told_apart(tmp_path):
    ids = [one.id for one in exercises()]
    hand_in(tmp_path, "ann", *(gave(name, "passed") for name in ids))
    summary = class_summary(tmp_path)
    assert [one.exercise.id for one in summary.exercises] == ids
    assert all(one.counts["passed"] == 1 for one in summary.exercises)


def test_cells_that_are_not_graded_or_not_ours_are_left_alone(tmp_path):
    other = shown(result(SCORES, "misconception", BY_D))
    own, ungraded = new_code_cell("", outputs=[other]), graded(SCORES, other, grade=False)
    says_so, longer = graded(SCORES, other, grade="yes"), gave("102.scores", "misconception", BY_D)
    cells = own, ungraded, says_so, longer, gave("02.essay", "wrong")
    assert alone(tmp_path, *cells, gave(SCORES, "passed")) == ("passed", set())


def test_two_cells_of_one_exercise_are_one_submission(tmp_path):
    both = gave(SCORES, "passed"), gave(SCORES, "misconception", BY_D)
    assert alone(tmp_path, *both) == ("misconception", {BY_D})
    assert alone(tmp_path, *reversed(both)) == ("misconception", {BY_D})
    assert alone(tmp_path, gave(SCORES, "passed"), graded(SCORES)) == ("not graded", set())


def test_whoever_was_not_graded_counts(tmp_path):
    hand_in(tmp_path, "ann", gave(SCORES, "passed"), gave("02.padding_mask", "passed"))
    hand_in(tmp_path, "bob", gave(SCORES, "passed"))  # the other cell is gone
    hand_in(tmp_path, "cem", gave(SCORES, "passed"), step="submitted")  # nbgrader gave up on it
    hand_in(tmp_path, "ann", gave(SCORES, "passed"), step="submitted")
    hand_in(tmp_path, "dee", assignment="03_multi_head", step="submitted")  # none is graded yet
    for name in ("02.padding_mask", SCORES):
        counts = row(class_summary(tmp_path), name).counts
        assert counts["passed"] == (1 if name != SCORES else 2)
        assert counts["not graded"] == (2 if name != SCORES else 1)


def test_the_source_says_what_was_assigned(tmp_path):
    hand_in(tmp_path, "", graded(SCORES), step="source")
    extra = gave("13.induction_score", "passed")
    hand_in(tmp_path, "ann", gave(SCORES, "passed"), extra)
    hand_in(tmp_path, "ann", gave(SCORES, "wrong"), name="scratch.ipynb")
    (one,) = class_summary(tmp_path).exercises
    assert (one.exercise.id, one.counts["passed"], one.submissions) == (SCORES, 1, 1)


# ---- malice and accident ------------------------------------------------------------------------

EVIL = "<script>alert(1)</script>"


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        EVIL,
        7,
        {},
        result("02.padding_mask", "passed"),
        result("99.none", "passed"),
        result(EVIL, "passed"),
        result(SCORES, EVIL),
        result(SCORES, None),
        result(SCORES, ["passed"]),
        result(SCORES, {}),
        result(SCORES, "not graded"),
        result(SCORES, "misconception"),
        result(SCORES, "misconception", EVIL),
        result(SCORES, "misconception", "softmax over the queries"),  # of another exercise
        result(SCORES, "misconception", ["a"], {}, 3, None),
        {**result(SCORES, "misconception"), "misconceptions": BY_D},
        {**result(SCORES, "misconception"), "misconceptions": {BY_D: 1}},
    ],
    ids=str,
)
def test_anything_else_counts_as_wrong(tmp_path, data):
    assert alone(tmp_path, graded(SCORES, shown(data))) == ("wrong", set())


def test_what_is_known_among_the_unknown_counts_once(tmp_path):
    data = result(SCORES, "misconception", BY_D, EVIL, [], BY_D)
    assert alone(tmp_path, graded(SCORES, shown(data))) == ("misconception", {BY_D})


OURS = {"nbgrader": {"grade": True, "grade_id": "02_scores"}}
BROKEN = {
    "empty": b"",
    "no JSON": b"PK\x03\x04",
    "not a notebook": b"[1]",
    "deep": b"[" * 100_000,
    "a number without end": b'{"cells": ' + b"9" * 10_000 + b"}",
    "no Unicode": b'{"cells": "\xff\xfe\xfd"}',
}
ODD = [
    {"cells": {"a": 1}},
    {"cells": [None, 3, [], {}, {"metadata": 4}, {"metadata": {"nbgrader": [True]}}]},
    {"cells": [{"metadata": {"nbgrader": {"grade": "yes", "grade_id": "02_scores"}}}]},
    {"cells": [{"metadata": {"nbgrader": {"grade": True, "grade_id": ["02_scores"]}}}]},
    {"cells": [{"metadata": {"nbgrader": {"grade": True, "grade_id": "\ud800"}}, "source": 5}]},
    {"cells": [{"metadata": OURS, "outputs": 1, "source": ["a", None, 4]}]},
    {"cells": [{"metadata": OURS, "outputs": [None, 4, {"data": []}, {"data": {"MIME": 1}}]}]},
]
FILES = {**BROKEN, **{f"odd {i}": json.dumps(odd).encode() for i, odd in enumerate(ODD)}}


@pytest.mark.parametrize("name", FILES)
def test_a_broken_notebook_is_not_graded_and_the_others_are(tmp_path, name):
    hand_in(tmp_path, "ann", gave(SCORES, "passed"))
    hand_in(tmp_path, "bob").write_bytes(FILES[name])
    counts = row(class_summary(tmp_path)).counts
    assert (counts["passed"], counts["not graded"]) == (1, 1)


def test_what_is_no_file_is_not_read(tmp_path):
    hand_in(tmp_path, "ann", gave(SCORES, "passed"))
    path = hand_in(tmp_path, "bob")
    path.unlink()
    os.mkfifo(path)  # reading it would wait for ever
    hand_in(tmp_path, "cem").unlink()
    assert row(class_summary(tmp_path)).counts["not graded"] == 2


def test_a_hundred_megabytes_of_text_change_nothing(tmp_path):
    flood = new_output("stream", text="too much, said too often; " * 4_000_000)
    cell = graded(SCORES, flood, shown(result(SCORES, "misconception", BY_D)))
    path = hand_in(tmp_path, "ann")
    path.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    one = row(class_summary(tmp_path))
    assert (one.counts["misconception"], one.mistakes) == (1, {BY_D: 1})


def test_more_values_than_fit_into_memory_are_not_read(tmp_path):
    hand_in(tmp_path, "ann", gave(SCORES, "passed"))
    path, cell = hand_in(tmp_path, "bob"), json.dumps(gave(SCORES, "passed"))
    for size, outcome in ((1000, "passed"), (11_000_000, "not graded")):
        lists = "[],\n" * size
        path.write_text(f'{{"metadata": [{lists}1], "cells": [{cell}]}}')
        counts = row(class_summary(tmp_path)).counts
        assert {name: n for name, n in counts.items() if n} == Counter(["passed", outcome])


def test_nothing_of_a_student_is_in_any_output(tmp_path):
    secret = "zq7"  # planted wherever a student, or a path, can put something
    for number in range(3):
        student = f"{secret}-student-{number}"
        data = result(SCORES, "misconception", BY_D, f"{secret} mistake")
        more = {"text/html": f"<b>{secret}</b>", f"{secret}/mime": secret, MIME: data}
        cell = graded(SCORES, new_output("display_data", {**more, MIME: {**data, secret: secret}}))
        cell.source = f"grade('02.scores', lambda {secret}: {secret})"
        cell.metadata[secret] = secret
        bad = graded("02.padding_mask", shown(result("02.padding_mask", secret, secret)))
        hand_in(tmp_path / secret, student, cell, bad, assignment=f"{secret}-assignment")
    seen = everything(class_summary(tmp_path / secret), tmp_path)
    assert secret not in seen.lower()
    assert BY_D in seen


def test_who_comes_first_changes_nothing(tmp_path):
    answers = [("passed",), ("misconception", BY_D), ("misconception", SWAPPED), ("form",)]
    seen = []
    for order in (answers, answers[::-1], answers[2:] + answers[:2]):
        folder = tmp_path / str(len(seen))
        for number, answer in enumerate(order):
            hand_in(folder, f"s{number}", gave(SCORES, *answer))
        seen.append(everything(class_summary(folder), folder))
    assert seen[0] == seen[1] == seen[2]


# ---- what is shown ------------------------------------------------------------------------------


def test_few_submissions_are_pointed_out(tmp_path):
    for number in range(5):
        assert number == 0 or "fewer than 5" in everything(class_summary(tmp_path), tmp_path)
        hand_in(tmp_path, f"s{number}", gave(SCORES, "passed"))
    assert "fewer than 5" not in everything(class_summary(tmp_path), tmp_path)


def test_tables_have_captions_and_headings_with_scope(course):
    both = (class_summary(course)._repr_html_(), 6, 11), (page_of(course), 3, 8)
    for html, rows, columns in both:
        page = Page(html)
        tags = [tag for tag, _ in page.elements]
        assert tags.count("caption") == tags.count("table") == (2 if rows == 6 else 1)
        scopes = [attributes["scope"] for tag, attributes in page.elements if tag == "th"]
        assert (scopes.count("row"), scopes.count("col")) == (rows, columns)


def page_of(folder):
    return class_summary(folder).to_html(folder / "page.html").read_text("utf-8")


def test_page_is_self_contained_and_runs_nothing(course):
    page = Page(page_of(course))
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "a", "image", "use"}
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {"src", "href", "xlink:href"} & names
    assert not [name for name in names if name.startswith("on")]
    html = page_of(course)
    assert re.findall(r"https?:|@import|url\((?!#)", html) == []


def test_page_says_why_each_mistake_is_one(course):
    words = Page(page_of(course)).words
    for name in (COSINE, SWAPPED, ROOT_D):
        (belief,) = (b for b in exercise(SCORES).misconceptions if b.name == name)
        assert belief.why.replace("`", "") in words
    assert BY_D not in words


def pictures(html):
    found = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    return [ElementTree.fromstring(svg) for svg in found]


def test_picture_is_named_and_described(course):
    both = pictures(page_of(course))
    for picture in both:
        assert picture.get("role") == "img"
        texts = {part.get("id"): part.text for part in picture.iter() if part.get("id")}
        title, words = (texts[name] for name in picture.get("aria-labelledby").split())
        assert title
        assert "02.scores, 9 submissions: 2 passed, 3 known mistake, 1 wrong otherwise, " in words
        assert f"Known mistakes: 2 × {COSINE}, 1 × {SWAPPED}, 1 × {ROOT_D}. 02.padding" in words
    parts = [part for picture in both for part in picture.iter()]
    ids = [part.get("id") for part in parts if part.get("id")]
    assert len(ids) == len(set(ids))


def test_bars_are_as_long_as_the_counts(course):
    for picture, unit in zip(pictures(page_of(course)), (310 / 9, 340 / 9), strict=True):
        bars = [part for part in picture.findall("rect") if part.get("height") == "16.0"]
        lengths = [round(float(bar.get("width")) + 2, 1) for bar in bars]
        counts = [2, 2, 3, 1, 1, 1, 1, 2, 6, 1]  # the outcomes that occurred, in the course's order
        assert lengths == pytest.approx([n * unit for n in counts], abs=0.06)
        patterns = {bar.get("fill") for bar in bars}
        assert len(patterns) == 6
        assert patterns <= {f"url(#{p.get('id')})" for p in picture.iter("pattern")}


def test_nothing_sticks_out_of_the_picture():
    summary = ClassSummary(99, 13, tuple(everybody_wrong(one, 3) for one in exercises()))
    for draw in (wide, narrow):
        picture = ElementTree.fromstring(draw(summary))
        *_, width, height = map(float, picture.get("viewBox").split())
        for text in picture.findall("text"):
            assert float(text.get("y")) <= height
            letters = sum(map(len, text.itertext()))
            if text.get("text-anchor") is None:
                assert float(text.get("x")) + 6.4 * letters <= width


# ---- nothing to sum up, and a whole class --------------------------------------------------------


@pytest.mark.parametrize("there", ["", "autograded", "autograded/ann/02", "submitted/ann/02"])
def test_nothing_graded_says_what_to_run(tmp_path, there):
    (tmp_path / there).mkdir(parents=True, exist_ok=True)
    with pytest.raises(ValueError, match="python -m attn_edu grade") as error:
        class_summary(tmp_path)
    assert str(tmp_path) in str(error.value)


def test_no_such_folder_says_what_to_run(tmp_path):
    with pytest.raises(ValueError, match="python -m attn_edu grade"):
        class_summary(tmp_path / "none")


def test_nothing_of_this_course_says_so(tmp_path):
    hand_in(tmp_path, "ann", graded("essay"))
    with pytest.raises(ValueError, match="no graded cell belongs to an exercise"):
        class_summary(tmp_path)


def test_a_class_of_thirty(tmp_path):
    """Thirty students, three chapters."""
    for chapter in ("02", "03", "05"):
        ids = [one.id for one in exercises() if one.id.startswith(chapter)]
        for number in range(30):
            cells = [gave(name, "passed") for name in ids]
            hand_in(tmp_path, f"s{number}", *cells, assignment=chapter)
    summary = class_summary(tmp_path)
    assert (summary.submissions, summary.assignments) == (90, 3)
    assert all(one.counts["passed"] == one.submissions == 30 for one in summary.exercises)
