"""One real course: assigned, released, handed in by a mixed class, graded by nbgrader.

Slow for a unit test (some twenty kernels), so all of it happens once, in one module fixture.
"""

import csv
import html
import os
import re
import shutil
import subprocess
import sys
import zipfile

import nbformat
import pytest

from attn_edu.assign.leaks import leaks
from attn_edu.cli.environment import ROOT
from attn_edu.cli.notebooks import execute
from attn_edu.exercises import exercises

ONE, TWO = "01_rnn_limits", "02_single_head"
SCORES = "def scores(q, k):\n    return q @ k.mT\n"
PADDING = "def padding_mask(lengths, n):\n    return torch.arange(n) < lengths[:, None]\n"

PERFECT = {
    ONE: {
        "01-path_length": """
def path_length(n, kind, window):
    place, steps = 0, 0
    reach = {"rnn": 1, "cnn": window - 1 if window else 1, "attention": n}[kind]
    while place < n - 1:
        place, steps = place + reach, steps + 1
    return steps
""",
        "01-gradient_decay": """
def gradient_decay(norms):
    return torch.exp(norms.log().diff().mean())
""",
    },
    TWO: {
        "02-scores": SCORES,
        "02-attention_weights": """
def attention_weights(query, key, mask):
    odds = (query @ key.mT / math.sqrt(query.shape[-1])).exp()
    odds = odds if mask is None else odds * mask
    return odds / odds.sum(-1, keepdim=True).clamp(min=1e-30)
""",
        "02-scaled_dot_product_attention": """
def scaled_dot_product_attention(query, key, value, mask):
    return attention_weights(query, key, mask) @ value
""",
        "02-padding_mask": PADDING,
    },
}
IN_ANOTHER_STYLE = {
    "02-scores": """
import sys, warnings

def scores(query, key):
    warnings.warn("a warning costs no points")
    sys.stderr.write("nor does a message")
    return torch.einsum("...id,...jd->...ij", query.float(), key.float())
""",
    "02-attention_weights": """
import torch.nn.functional as F

def attention_weights(q, k, m=None):
    identity = torch.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:-2], -1, -1)
    return F.scaled_dot_product_attention(q, k, identity, attn_mask=m)
""",
    "02-scaled_dot_product_attention": """
def scaled_dot_product_attention(q, k, v, m):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=m)
""",
    "02-padding_mask": """
def padding_mask(lengths, n):
    return torch.tensor([[j < length for j in range(n)] for length in lengths.tolist()])
""",
}
MISTAKEN = {  # answer, the name of the mistake
    ONE: {
        "01-path_length": (
            "def path_length(n, kind, window):\n"
            "    return {'rnn': n, 'cnn': math.ceil(n / max((window or 2) - 1, 1)),"
            " 'attention': 1}[kind]",
            "words counted instead of the gaps between them",
        ),
        "01-gradient_decay": (
            "def gradient_decay(norms):\n"
            "    return (norms[0] / norms[-1]) ** (1 / (len(norms) - 1))",
            "upside down",
        ),
    },
    TWO: {
        "02-scores": (
            "def scores(q, k):\n    return q @ k.mT / math.sqrt(q.shape[-1])",
            "already divided by √d",
        ),
        "02-attention_weights": (
            PERFECT[TWO]["02-attention_weights"].replace("-1, keepdim", "-2, keepdim"),
            "softmax over the queries",
        ),
        "02-scaled_dot_product_attention": (
            "def scaled_dot_product_attention(query, key, value, mask):\n"
            "    scores = query @ key.mT / math.sqrt(query.shape[-1])\n"
            "    odds = scores.exp() if mask is None else scores.exp() * mask\n"
            "    odds = odds / odds.sum(-2, keepdim=True).clamp(min=1e-30)\n"
            "    return odds @ value",
            "softmax over the queries",
        ),
        "02-padding_mask": (
            "def padding_mask(lengths, n):\n    return torch.arange(n) >= lengths[:, None]",
            "mask upside down",
        ),
    },
}
CRASHING = {
    "02-scores": "raise RuntimeError('before the function')",
    "02-attention_weights": "def attention_weights(q, k, m):\n    raise ValueError('inside it')",
    "02-scaled_dot_product_attention": "def scaled_dot_product_attention(q, k, v, m:\n    pass",
    "02-padding_mask": PADDING,
}
HANGING = {
    "02-scores": SCORES,
    "02-attention_weights": (
        "import time\ndef attention_weights(q, k, m):\n    while True: time.sleep(0.01)"
    ),
    "02-scaled_dot_product_attention": "while True: time.sleep(0.01)",
    "02-padding_mask": PADDING,
}
STUBBORN = {
    "01-path_length": PERFECT[ONE]["01-path_length"],
    "01-gradient_decay": (
        "import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass"
    ),
}
KILLING = {
    "02-scores": SCORES,
    "02-attention_weights": "import os\ndef attention_weights(q, k, m):\n    os._exit(0)",
    "02-padding_mask": PADDING,
}
LEAVING = {  # Python lives on for a tenth of a second, in which no cell may run
    "01-path_length": PERFECT[ONE]["01-path_length"],
    "01-gradient_decay": "exit()",
}
TAMPERING = {
    "02-scores": """
from IPython.display import HTML, display
display(HTML("<script>alert(1)</script><b onclick='alert(2)'>bold</b>"))

def everything_is_equal(a, b, **options):
    return torch.ones(torch.broadcast_shapes(a.shape, b.shape), dtype=torch.bool)

torch.isclose, torch.allclose = everything_is_equal, lambda *a, **k: True
points, print = 100, None
def grade(*a, **k): return 100
def check(*a, **k): return 100
def scores(query, key):
    return query @ key.mT + 1
""",
    "02-padding_mask": """
import attn_edu.exercises.grading as grading
from IPython.display import publish_display_data

def everything_earned(exercise_id, answer, points, draw=0):
    outcome = {"exercise": exercise_id, "status": "passed", "points": points}
    publish_display_data({grading.RESULT_MIME: outcome, "text/plain": "passed"})
    return points

grading.grade = everything_earned
""",
}
# Each of these would ask somebody outside, or hand something to him.
OUTSIDE = """
from IPython.display import HTML, Image, Javascript, Markdown, Math, SVG, display
at = "http://example.org/asked"
display(
    HTML(f"<img src={at}><link rel=stylesheet href={at}><iframe src={at}></iframe>"),
    HTML(f"<p style='background:url({at})'>a background</p><style>@import '{at}';</style>"),
    HTML(f"<svg><image href={at} /></svg><b>ours</b>"),
    Markdown(f"![a picture]({at})"),
    SVG(f"<svg xmlns='http://www.w3.org/2000/svg'><image href='{at}'/></svg>"),
    Image(url=at),
    Javascript(f"fetch('{at}')"),
    Math(r"\\frac{1}{2}"),
)
"""
SILENT = {"01-path_length": "get_ipython().ast_node_interactivity = 'none'"}


class Course:
    """A folder of assignments, and what the commands said."""

    def __init__(self, folder):
        self.folder, self.said = folder, {}

    def run(self, *words):
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.folder.parent,
            env={**os.environ, "ATTN_EDU_ENV": "current", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        self.said.setdefault(words[1], done)
        return done

    def released(self, name):
        return nbformat.read(self.folder / "release" / name / f"{name}.ipynb", as_version=4)

    def hand_in(self, student, name, answers, change=lambda notebook: None, file=None):
        notebook = self.released(name)
        for cell in notebook.cells:
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if grade_id.removesuffix("-answer") in answers and grade_id.endswith("-answer"):
                cell.source = answers[grade_id.removesuffix("-answer")]
        change(notebook)
        path = self.folder / "submitted" / student / name / (file or f"{name}.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
        return path

    def points(self):
        with (self.folder / "grades.csv").open(encoding="utf-8", newline="") as file:
            return {(row["student"], row["assignment"]): row for row in csv.DictReader(file)}

    def page(self, student, name):
        return (self.folder / "feedback" / student / name / f"{name}.html").read_text("utf-8")

    def text(self, student, name):
        """The words of a page of feedback, without the signs of code."""
        return html.unescape(re.sub(r"<[^>]*>", "", self.page(student, name))).replace("`", "")


def edited(notebook):
    """The points written into one graded cell, the other one deleted, the answer wrong."""
    first, second = (c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade"))
    first.source = "2.0"
    first.metadata.nbgrader["points"] = 50
    notebook.cells.remove(second)


def copied(notebook):
    """Cells copied with their settings, a cell of another assignment, settings that are changed."""
    answer, graded = (c for c in notebook.cells if "path_length" in str(c.metadata.get("nbgrader")))
    for number, cell in enumerate((answer, graded)):
        copy = nbformat.from_dict({**cell, "id": f"copy-{number}"})
        notebook.cells.insert(notebook.cells.index(cell), copy)
    stranger = nbformat.from_dict({**graded, "id": "stranger"})
    stranger.metadata.nbgrader["grade_id"] = "03-split_heads"
    notebook.cells.append(stranger)
    answer.metadata.nbgrader.update(grade=True, points=50)


def with_text_that_runs(notebook):
    text = (
        "<script>alert(3)</script> and [a link](javascript:alert(4)) <img src=x onerror=alert(5)>"
    )
    notebook.cells.append(nbformat.v4.new_markdown_cell(f"and {text}"))
    notebook.cells.append(nbformat.v4.new_raw_cell(text))


def saved_by_colab(notebook):
    """Without ids of cells, with metadata of its own, and the set-up cell changed."""
    notebook.nbformat_minor = 0
    notebook.metadata["colab"] = {"provenance": []}
    for number, cell in enumerate(notebook.cells):
        del cell["id"]
        cell.metadata.update(id=f"q{number}", executionInfo={"user": {"displayName": "Ann"}})
    (setup,) = (cell for cell in notebook.cells if "COLAB_NOTEBOOK_ID" in cell.source)
    setup.source = "raise SystemExit"
    setup.outputs = [nbformat.v4.new_output("stream", text="Installing ...")]


def with_requests(notebook):
    text = "A formula, $\\sqrt{d}$, and a picture: ![it](http://example.org/asked)"
    notebook.cells.append(nbformat.v4.new_markdown_cell(text))
    notebook.cells.append(nbformat.v4.new_code_cell(OUTSIDE))


@pytest.fixture(scope="module")
def course(nbgrader, tmp_path_factory):
    one = Course(tmp_path_factory.mktemp("school") / "course")
    one.run("attn_edu", "assign", "02", "1", "--out", str(one.folder), "--seed", "11")
    config = one.folder / "nbgrader_config.py"
    shorter = config.read_text("utf-8").replace("timeout = 60", "timeout = 25")
    config.write_text(shorter, "utf-8")
    for name in (ONE, TWO):
        one.hand_in("perfect", name, PERFECT[name])
        one.hand_in("mistaken", name, {key: code for key, (code, _) in MISTAKEN[name].items()})
    one.hand_in("another style", TWO, IN_ANOTHER_STYLE)
    one.hand_in("untouched", TWO, {})
    one.hand_in("crashing", TWO, CRASHING)
    one.hand_in("hanging", TWO, HANGING)
    one.hand_in("stubborn", ONE, STUBBORN)
    one.hand_in("killing", TWO, KILLING)
    one.hand_in("leaving", ONE, LEAVING)
    one.hand_in("tampering", TWO, TAMPERING, with_text_that_runs)
    one.hand_in("silent", ONE, SILENT)
    one.hand_in("colab", TWO, PERFECT[TWO], saved_by_colab)
    one.hand_in("asking", ONE, {}, with_requests)
    one.hand_in("copying", ONE, PERFECT[ONE], copied)
    file = one.hand_in(
        "editing", ONE, {"01-gradient_decay": MISTAKEN[ONE]["01-gradient_decay"][0]}, edited
    )
    for module in ("torch", "attn_edu"):
        (file.parent / f"{module}.py").write_text("raise SystemExit", "utf-8")
    one.hand_in("broken", TWO, {}).write_text("{", "utf-8")
    one.hand_in("misnamed", ONE, PERFECT[ONE], file="my answers.ipynb")
    one.run("attn_edu", "grade", str(one.folder))
    return one


def test_it_is_assigned_with_all_that_an_instructor_needs(course):
    assert course.said["assign"].returncode == 0, course.said["assign"].stderr
    assert "02_single_head: 4 exercises, 12 points" in course.said["assign"].stdout
    assert "\n5. " in (course.folder / "README.md").read_text("utf-8")
    for name in (ONE, TWO):
        with zipfile.ZipFile(course.folder / "handout" / f"{name}.zip") as archive:
            assert archive.namelist() == [f"{name}/{name}.ipynb", f"{name}/README.txt"]
            handed = nbformat.reads(archive.read(f"{name}/{name}.ipynb").decode(), as_version=4)
        assert handed == course.released(name)


def draws_of(course, name):
    source = (course.folder / "source" / name / f"{name}.ipynb").read_text("utf-8")
    return [int(number) for number in re.findall(r"draw=(\d+)", source)]


@pytest.mark.parametrize("name", [ONE, TWO])
def test_no_answer_and_no_hidden_test_reaches_a_student(name, course):
    draws = draws_of(course, name)
    assert len(draws) == {ONE: 2, TWO: 4}[name]
    for path in (f"release/{name}/{name}.ipynb", f"handout/{name}.zip"):
        assert leaks((course.folder / path).read_bytes(), path, draws) == []
    source = course.folder / "source" / name / f"{name}.ipynb"
    assert len(leaks(source.read_bytes(), "source", draws)) > 4


@pytest.mark.parametrize("name", [ONE, TWO])
def test_a_student_starts_with_the_starters(name, course):
    starters = {one.id.replace(".", "-"): one.starter for one in exercises()}
    cells = [c for c in course.released(name).cells if "nbgrader" in c.metadata]
    answers = [c for c in cells if c.metadata.nbgrader["solution"]]
    assert len(answers) == {ONE: 2, TWO: 4}[name]
    for cell in answers:
        exercise_id = cell.metadata.nbgrader["grade_id"].removesuffix("-answer")
        assert cell.source == starters[exercise_id].rstrip("\n")
    graded = [c for c in cells if c.metadata.nbgrader["grade"]]
    assert all(cell.metadata["editable"] is False for cell in graded)


def test_run_all_of_an_untouched_copy_reaches_the_bottom(course, tmp_path):
    notebook = course.released(ONE)
    execute(notebook, tmp_path)  # raises where a cell does
    shown = [str(cell.get("outputs", "")) for cell in notebook.cells]
    assert sum("not attempted yet" in text for text in shown) == 4
    assert "'text/plain': '0.0'" in shown[-1]


def test_nbgrader_validates_both_copies(course):
    for folder, words in (("source", "Success!"), ("release", "FAILED ON 2 CELL(S)")):
        path = course.folder / folder / ONE / f"{ONE}.ipynb"
        assert words in course.run("attn_edu.assign.tools", "validate", str(path)).stdout


POINTS = {
    ("perfect", ONE): 4,
    ("perfect", TWO): 12,
    ("another style", TWO): 12,
    ("mistaken", ONE): 0,
    ("mistaken", TWO): 0,
    ("untouched", TWO): 0,
    ("crashing", TWO): 2,
    ("hanging", TWO): 4,
    ("stubborn", ONE): 2,
    ("killing", TWO): 2,
    ("leaving", ONE): 2,
    ("tampering", TWO): 0,
    ("silent", ONE): 0,
    ("colab", TWO): 12,
    ("asking", ONE): 0,
    ("copying", ONE): 4,
    ("editing", ONE): 0,
    ("broken", TWO): 0,
    ("misnamed", ONE): 0,
}


def test_everybody_gets_the_points_that_are_due(course):
    rows = course.points()
    assert {key: float(row["points"]) for key, row in rows.items()} == POINTS
    assert all(float(row["out_of"]) == {ONE: 4, TWO: 12}[key[1]] for key, row in rows.items())


def test_the_table_and_the_notes_are_printed(course):
    said = course.said["grade"]
    assert said.returncode == 1, said.stderr  # two could not be graded
    lines = said.stdout.splitlines()
    assert lines[0].split() == ["student", "assignment", "points", "note"]
    assert "another style  02_single_head  12 of 12" in lines
    notes = {key: row["note"] for key, row in course.points().items() if row["note"]}
    ended = {("killing", TWO), ("stubborn", ONE), ("leaving", ONE)}
    fake = "attn_edu.exercises.grading, publish_display_data"
    seen = {("tampering", TWO): f"5, 17: torch.allclose, {fake}", ("silent", ONE): "5: get_ipython"}
    assert set(notes) == {("broken", TWO), ("misnamed", ONE), *ended, *seen}
    for key, name in seen.items():
        assert notes[key] == f"worth a look, cell {name}"
    assert notes["killing", TWO] == "in cell 10 of the notebook Python ended."
    assert notes["leaving", ONE] == "in cell 9 of the notebook Python ended."
    assert "Without a grade, for the reason in the note: 2" in said.stderr
    assert "JSONDecodeError" in notes["broken", TWO]
    assert notes["misnamed", ONE] == f"no {ONE}.ipynb, but my answers.ipynb"
    assert "Warning" not in said.stderr


@pytest.mark.parametrize("name", [ONE, TWO])
def test_each_known_mistake_is_named_and_explained(name, course):
    text, known = course.text("mistaken", name), {one.id: one for one in exercises()}
    for grade_id, (_, mistake) in MISTAKEN[name].items():
        one = known[grade_id.replace("-", ".", 1)]
        title = f"{one.id} · a known mistake: {mistake}"
        assert text.count(title) == 2  # in the check, and where the points are given
        (why,) = (belief.why for belief in one.misconceptions if belief.name == mistake)
        assert why.replace("`", "") in text


FEEDBACK = [
    ("perfect", TWO, "(Score: 12.0 / 12.0)", "02.padding_mask · passed"),
    ("untouched", TWO, "(Score: 0.0 / 12.0)", "02.scores · not attempted yet"),
    ("crashing", TWO, "There is no function scores in this notebook."),
    ("crashing", TWO, "before the function", "It raised ValueError: inside it (in line 2 of it)"),
    ("crashing", TWO, "There is no function scaled_dot_product_attention", "SyntaxError"),
    ("hanging", TWO, "It was stopped after 5 seconds. Is there a loop that never ends?"),
    ("hanging", TWO, "There is no function scaled_dot_product_attention", "mask · passed"),
    ("stubborn", ONE, "01.path_length · passed", "Python ran too long, and could"),
    ("killing", TWO, "02.scores · passed", "In this cell Python ended."),
    ("killing", TWO, "This cell was not run: in cell 10 of the notebook Python ended."),
    ("leaving", ONE, "01.path_length · passed", "In this cell Python ended.", "(Score: 2.0 / 4.0)"),
    ("tampering", TWO, "A known mistake passes in this notebook too"),
    ("silent", ONE, "This cell earned nothing: it shows no number of points."),
    ("editing", ONE, "01.path_length · not attempted yet"),
    ("editing", ONE, "01.gradient_decay · a known mistake: upside down", "(Score: 0.0 / 4.0)"),
]


@pytest.mark.parametrize(("student", "name", "words"), [(s, n, w) for s, n, *w in FEEDBACK])
def test_the_page_of_feedback_says_why(student, name, words, course):
    text = course.text(student, name)
    assert [one for one in words if one not in text] == []


def test_no_page_of_feedback_gives_an_answer_away(course):
    pages = sorted((course.folder / "feedback").glob("*/*/*.html"))
    assert len(pages) == len(POINTS) - 2
    for student in ("untouched", "crashing", "hanging", "tampering", "silent", "editing"):
        for page in (course.folder / "feedback" / student).glob("*/*.html"):
            found = leaks(page.read_bytes(), student)
            assert [leak for leak in found if "line of the answer" in leak and own(leak)] == []


def own(leak):
    """Not the one line that several of these students have written themselves."""
    return not leak.endswith(("02.scores", "02.padding_mask"))


def test_a_page_of_feedback_runs_nothing_of_the_students(course):
    page = course.page("tampering", TWO)
    assert "alert(1)" in page and "alert(3)" in page
    assert not re.search(r"<script[^>]*>\s*alert|<[^>]*on(click|error)|href=.javascript", page)
    assert "border-left:4px solid" in course.page("perfect", TWO)  # our own drawing is there


def test_a_page_of_feedback_asks_nobody_for_anything(course):
    """Every address in it stands in a link to click, or in words; the browser may load nothing."""
    for path in (course.folder / "feedback").glob("*/*/*.html"):
        page = path.read_text("utf-8")
        tags = re.findall(r"<(?!a\b|meta\b)[^>]*>", page)
        assert [tag for tag in tags if re.search(r"\b(src|href|data|action)\s*=", tag)] == [], path
        assert not re.search(r"<(script|link|iframe|object|base)\b|http-equiv=.refresh", page)
        styles = "".join(re.findall(r"<style.*?</style>", page, re.DOTALL))
        assert not re.search(r"@import|url\([^)]*//", styles)
        assert "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"" in page
    asking = course.page("asking", ONE)
    assert "<b>ours</b>" in asking and "a background" in asking
    assert r"$\sqrt{d}$" in asking and r"\frac{1}{2}$" in asking


def test_the_class_summary_is_written(course):
    assert "Class summary" in course.said["grade"].stdout
    page = (course.folder / "summary.html").read_text("utf-8")
    assert "softmax over the queries" in page
    assert "another style" not in page


def test_files_beside_a_notebook_are_not_run_and_nothing_is_left_in_the_folders(course):
    for folder in (course.folder / "autograded").glob("*/*"):
        assert {path.suffix for path in folder.iterdir()} <= {".ipynb", ".py"}, folder
        assert not list(folder.glob(".attn*"))


def test_what_is_graded_is_left_alone_and_what_is_newer_is_not(course):
    course.run("attn_edu", "grade", str(course.folder), "02")
    assert course.points()["misnamed", ONE]["note"] == f"no {ONE}.ipynb, but my answers.ipynb"
    done = course.run("attn_edu", "grade", str(course.folder), "01")
    assert "running" not in done.stderr.replace("running 01_rnn_limits of misnamed", "")
    course.hand_in("misnamed", ONE, PERFECT[ONE])
    os.utime(course.folder / "submitted" / "misnamed" / ONE / f"{ONE}.ipynb")
    done = course.run("attn_edu", "grade", str(course.folder), "01")
    assert re.findall("running .* of (.*) \\.", done.stderr) == ["misnamed"]
    assert float(course.points()["misnamed", ONE]["points"]) == 4
    assert len(course.points()) == len(POINTS)


MANUAL = """
import sys
from pathlib import Path
from attn_edu.assign import tools
tools.activate()
from attn_edu.assign.gradebook import api
with api(Path(sys.argv[1])).gradebook as book:
    grade = book.find_grade("01-path_length", "01_rnn_limits", "01_rnn_limits", "editing")
    grade.manual_score = 1.5
    book.db.commit()
"""


def test_assigned_again_it_keeps_submissions_and_points_given_by_hand(course):
    before = draws_of(course, ONE)
    path = course.folder / "by_hand.py"
    path.write_text(MANUAL, "utf-8")
    subprocess.run([sys.executable, path, course.folder], check=True)
    submitted = sorted((course.folder / "submitted").rglob("*.ipynb"))
    assert course.run("attn_edu", "assign", "01", "--out", str(course.folder)).returncode == 0
    assert sorted((course.folder / "submitted").rglob("*.ipynb")) == submitted
    after = draws_of(course, ONE)
    assert set(before).isdisjoint(after)
    for student in {path.parent.parent.name for path in submitted} - {"editing"}:
        shutil.rmtree(course.folder / "submitted" / student)
    course.run("attn_edu", "grade", str(course.folder))
    row = course.points()["editing", ONE]
    assert float(row["points"]) == 1.5
    graded = course.folder / "autograded" / "editing" / ONE / f"{ONE}.ipynb"
    assert [int(n) for n in re.findall(r"draw=(\d+)", graded.read_text("utf-8"))] == after
    assert "timeout = 25" in (course.folder / "nbgrader_config.py").read_text("utf-8")
