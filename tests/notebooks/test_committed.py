"""The committed notebooks: built from their texts, run, clean, small, in the fixed shape."""

import re
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from attn_edu import views
from attn_edu.cli.environment import ROOT
from attn_edu.cli.notebooks import CHANGING, WIDGET_VIEW, assembled, faults, to_json, visible
from attn_edu.course import NOTEBOOKS, chapters
from attn_edu.views.bundle import bundle

sys.path.insert(0, str(Path(__file__).parent))

from accessibility import findings

HEADINGS = ["What you will be able to do", "Before you start"]
ENDINGS = ["Check yourself", "What we measured", "Where to go next"]
KINDS = [getattr(views, name) for name in views.__all__]
LIMIT = 1_500_000  # bytes
TRACES = re.compile(r"Traceback \(most recent|^\w*(Error|Exception|Warning): ", re.MULTILINE)

# A path of a machine: an absolute folder of Linux, macOS or Windows that belongs to a person.
MACHINE = re.compile(r"(?<![\w.])/(home|root|Users|tmp|work|opt|var)/\w|\b[A-Z]:\\\\\w")


@pytest.fixture(params=chapters(), ids=lambda chapter: chapter.file, scope="module")
def chapter(request):
    return request.param


@pytest.fixture(scope="module")
def notebook(chapter):
    assert chapter.notebook.is_file(), f"not built: make notebooks ARGS={chapter.number}"
    return nbformat.read(chapter.notebook, as_version=4)


@pytest.fixture(scope="module")
def built(chapter):
    return assembled(chapter)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def headings(notebook):
    """(level, text) of every heading; lines inside ``` blocks are no headings."""
    text = re.sub(r"^```.*?^```", "", prose(notebook), flags=re.DOTALL | re.MULTILINE)
    return [(len(m[1]), m[2].strip()) for m in re.finditer(r"^(#+) +(.*)$", text, re.MULTILINE)]


def test_every_file_belongs_to_a_chapter_and_every_chapter_has_its_files():
    listed = {chapter.file for chapter in chapters()}
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == listed
    assert {path.stem for path in (NOTEBOOKS / "src").glob("*.md")} == listed


def test_is_what_its_text_builds(chapter, notebook, built):
    def content(nb):
        return [(c.cell_type, c.id, c.source, c.metadata.get("tags", [])) for c in nb.cells]

    assert content(notebook) == content(built), f"stale: make notebooks ARGS={chapter.number}"
    assert notebook.metadata == built.metadata
    assert all(set(cell.metadata) <= {"tags"} for cell in notebook.cells)


def test_file_is_written_in_the_one_form(chapter, notebook):
    assert chapter.notebook.read_text("utf-8") == to_json(notebook)


def test_every_cell_was_run_once_in_order(notebook):
    filled = [cell for cell in code(notebook) if cell.source.strip()]
    assert [cell.execution_count for cell in filled] == list(range(1, len(filled) + 1))


def test_is_small(chapter):
    assert chapter.notebook.stat().st_size <= LIMIT


def test_outputs_are_fit_to_commit(notebook):
    assert faults(notebook) == []


def test_views_carry_the_present_javascript(chapter, notebook):
    present = {bundle(kind._entry, kind._start) for kind in KINDS}
    shown = [
        "".join(o.get("data", {}).get("text/html", "")) for c in code(notebook) for o in c.outputs
    ]
    stale = [
        html[:80]
        for html in shown
        if 'class="attn-edu"' in html and not any(js in html for js in present)
    ]
    assert stale == [], f"make notebooks ARGS={chapter.number}"


def test_no_widget_state(notebook):
    assert "widgets" not in notebook.metadata
    assert all(WIDGET_VIEW not in o.get("data", {}) for c in code(notebook) for o in c.outputs)


def test_shows_no_path_of_a_machine(notebook):
    shown = [visible(output) for cell in code(notebook) for output in cell.outputs]
    assert [m.group() for text in [prose(notebook), *shown] for m in MACHINE.finditer(text)] == []


def test_prose_holds_no_trace_of_an_error(notebook):
    text = re.sub(r"`[^`]*`", "", prose(notebook))
    assert TRACES.findall(text) == []
    assert not re.search(r"\b(TODO|FIXME|XXX|TBD|lorem ipsum)\b", text, re.IGNORECASE)


def test_headings_are_in_the_fixed_order(chapter, notebook):
    found = headings(notebook)
    assert found[0] == (1, f"{chapter.number} · {chapter.title}")
    assert [level for level, _ in found].count(1) == 1
    sections = [text for level, text in found if level == 2]
    assert sections[:2] == HEADINGS
    assert sections[-3:] == ENDINGS
    assert len(sections) > 5, "a chapter has a body"


def test_says_what_course_toml_says(chapter, notebook):
    text = prose(notebook)
    assert f"\n*{chapter.question}*\n" in text
    start = text.split("## Before you start")[1].split("\n## ")[0]
    assert re.search(rf"\b{chapter.minutes} minutes\b", start)
    part = text.split(f"## {HEADINGS[0]}")[1].split("\n## ")[0]
    bullets = [re.sub(r"\s+", " ", line) for line in re.findall(r"^- (.*(?:\n  .*)*)", part, re.M)]
    assert bullets == list(chapter.objectives)
    assert 3 <= len(bullets) <= 5


def test_exercises_are_those_of_course_toml(chapter, notebook):
    source = "\n".join(cell.source for cell in code(notebook))
    assert set(re.findall(r'\bcheck\("([\d.\w]+)"', source)) == set(chapter.exercises)


def test_needs_are_earlier_chapters(chapter):
    assert all(number < chapter.number for number in chapter.needs)
    assert set(chapter.needs) <= {other.number for other in chapters()}


def test_tags_are_known(notebook):
    known = {*CHANGING, "nbval-ignore-output", "raises-exception", "nbval-raises-exception"}
    known |= {"colab", "remove-cell"}
    assert {tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])} <= known


def test_measured_cells_assert_what_must_hold(notebook):
    for cell in code(notebook):
        if CHANGING & set(cell.metadata.get("tags", [])):
            assert re.search(r"^\s*assert\b", cell.source, re.MULTILINE), cell.source
            assert "nbval-ignore-output" in cell.metadata.tags
        else:
            assert "nbval-ignore-output" not in cell.metadata.get("tags", []), cell.source


def test_cells_are_short(notebook):
    assert [c.source for c in code(notebook) if c.source.count("\n") >= 30] == []


def test_pictures_and_links_can_be_read_by_all(notebook):
    assert findings(notebook) == []


def test_links_lead_somewhere(chapter, notebook):
    targets = re.findall(r"\]\(([^)\s#]+)", prose(notebook))
    local = [t for t in targets if not re.match(r"[a-z]+:", t)]
    assert [t for t in local if not (NOTEBOOKS / t).exists()] == []


def test_settings_pair_no_notebook_with_a_text():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["jupytext"]
    assert "formats" not in settings, "a reader's own edits must not change the texts"
