"""Chapters as the folder of an nbgrader course: the instructor's copies, the students', a zip each.

Needs nbgrader on the path (`attn_edu.assign.tools.activate`) for what it calls of it.
"""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import nbformat

from attn_edu.assign.gradebook import CONFIG, api
from attn_edu.assign.leaks import check_handout
from attn_edu.assign.notebook import STUB, assignment, draws
from attn_edu.assign.texts import for_the_instructor, for_the_student
from attn_edu.course import Chapter, chapters, find

_SETTINGS = f'''\
"""Settings of nbgrader for this folder; what you change here stays."""

from attn_edu.assign.pages import TEMPLATES, Page

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attn_edu"
c.ClearSolutions.code_stub = {{"python": "{STUB}"}}

c.Execute.timeout = 60  # seconds for one cell; an answer is stopped after 5, its imports after 30
c.Execute.interrupt_on_timeout = True
c.Execute.extra_arguments = ["--HistoryManager.hist_file=:memory:", "--IPKernelApp.log_level=40"]
c.OverwriteCells.add_missing_cells = True  # those that a student has deleted

# A cell earns what it shows, and a kernel that dies ends one notebook: see the module.
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "attn_edu.assign.preprocessors.PutBack",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "attn_edu.assign.preprocessors.Run",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "attn_edu.assign.preprocessors.OneNumber",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    "attn_edu.assign.preprocessors.Harmless",
]
c.GenerateFeedback.exporter_class = Page
c.HTMLExporter.extra_template_basedirs = TEMPLATES  # no page loads anything from outside
c.HTMLExporter.filters = {{"markdown2html": "attn_edu.assign.preprocessors.harmless_markdown"}}
'''


class AssignError(RuntimeError):
    """nbgrader did not make the student's copy; the message is nbgrader's."""


@dataclass(frozen=True)
class Assigned:
    """What one chapter became."""

    chapter: Chapter
    points: int
    source: Path
    release: Path
    handout: Path


def chosen(names: list[str]) -> list[Chapter]:
    """The chapters of these names, in the order of the course.

    Raises:
        ValueError: no name, an unknown one, or a chapter without exercises, and which there are.
    """
    able = [chapter for chapter in chapters() if chapter.exercises]
    possible = f"chapters with exercises are {', '.join(chapter.number for chapter in able)}"
    if not names:
        raise ValueError(f"which chapters? {possible}")
    picked = []
    for name in names:
        try:
            chapter = find(name)
        except KeyError:
            raise ValueError(f"no chapter is called {name!r}; {possible}") from None
        if chapter not in able:
            raise ValueError(f"chapter {chapter.number} has no exercises to assign; {possible}")
        picked.append(chapter)
    return [chapter for chapter in able if chapter in picked]


def assign(
    several: list[Chapter], folder: Path, *, seed: int | None = None, chapters_at: str
) -> list[Assigned]:
    """Write or renew the assignments of these chapters; submissions and gradebook stay.

    Args:
        folder: the nbgrader course, made if it is not there.
        seed: the same seed gives the same random inputs for the points.
        chapters_at: where students find the chapters: a folder or an address.

    Raises:
        AssignError: nbgrader refused a notebook.
        attn_edu.assign.leaks.LeakError: a student's copy would hold an answer or a hidden test.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / CONFIG
    if not config.exists():
        config.write_text(_SETTINGS, "utf-8")
    made = [_assign(chapter, folder, seed, chapters_at) for chapter in several]
    names = sorted(path.name for path in (folder / "source").iterdir())
    (folder / "README.md").write_text(for_the_instructor(names), "utf-8")
    return made


def _assign(chapter: Chapter, folder: Path, seed: int | None, chapters_at: str) -> Assigned:
    name = chapter.file
    draw = draws(chapter, seed)
    notebook = assignment(chapter, draw, chapters_at)
    source = folder / "source" / name / f"{name}.ipynb"
    source.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, source)
    done = api(folder).generate_assignment(name)
    if not done["success"]:
        raise AssignError(f"{name}: {done.get('log', '')}{done.get('error', '')}")
    release = folder / "release" / name / f"{name}.ipynb"
    handout = folder / "handout" / f"{name}.zip"
    _zip(handout, release, for_the_student(chapter))
    try:
        check_handout([release, handout], draw.values())
    except Exception:  # a copy that holds an answer must not lie there to be handed out
        release.unlink()
        handout.unlink()
        raise
    points = sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in notebook.cells)
    return Assigned(chapter, points, source, release, handout)


def _zip(path: Path, notebook: Path, readme: str) -> None:
    """The student's copy and a text, the same bytes for the same content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in ((notebook.name, notebook.read_text("utf-8")), ("README.txt", readme)):
            member = zipfile.ZipInfo(f"{notebook.stem}/{name}")  # dated 1980
            member.external_attr = 0o644 << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
