"""What grading does otherwise than nbgrader, in the words of its configuration.

nbgrader gives all points to a graded cell that shows nothing, and no grade at all to a notebook
whose kernel dies. Here a cell earns what it shows, and a dead kernel ends one notebook: what ran
before keeps its points, and the page of feedback says where it ended.

Imported by nbgrader (see the nbgrader_config.py of an assigned course), never by the course.
"""

import math
import tempfile

from bleach import clean
from nbclient.exceptions import DeadKernelError
from nbconvert.filters import markdown2html
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.preprocessors import Execute, NbGraderPreprocessor, OverwriteCells
from traitlets import Integer

from attn_edu.assign import anew
from attn_edu.assign.gradebook import NOT_RUN
from attn_edu.exercises.grading import RESULT_MIME

_ENDS = {
    "DeadKernelError": "Python ended",
    "CellTimeoutError": "Python ran too long, and could not be interrupted",
}
_MOST_CHARACTERS = 200_000  # of one output
# What a result of `check` is drawn with, and some more that is only text.
_TAGS = ["a", "b", "br", "caption", "code", "div", "em", "h1", "h2", "h3", "h4", "i", "li", "ol"]
_TAGS += [
    "p",
    "pre",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
]
_STYLES = ["background", "border", "border-left", "border-collapse", "color", "display", "margin"]
_STYLES += ["font-weight", "line-height", "overflow-x", "padding", "text-align", "vertical-align"]
_STYLES += ["white-space"]


class Run(Execute):
    """Run a submission in an empty folder, as far as it goes.

    The folder keeps files that were handed in from being imported in the place of the course. And
    what other cells have changed in the course is read anew for each graded cell.
    """

    # seconds for outputs that come after a cell has ended: a slow machine costs no points
    iopub_timeout = Integer(60).tag(config=True)

    def preprocess(self, nb, resources, km=None):
        self._ended = ""
        with tempfile.TemporaryDirectory() as folder:
            resources["metadata"]["path"] = folder
            return super().preprocess(nb, resources, km)

    def preprocess_cell(self, cell, resources, index):
        if cell.cell_type != "code":
            return cell, resources
        if self._ended:
            cell.outputs = [_error(NOT_RUN, f"This cell was not run: {self._ended}.")]
            return cell, resources
        source = cell.source
        try:
            self._asked_to_end = False
            if utils.is_grade(cell):
                cell.source = anew.LINE + source
            super().preprocess_cell(cell, resources, index)
            if self._asked_to_end:  # it lives on for a moment: long enough for some more cells
                raise DeadKernelError("exit()")
        except Exception as error:  # the kernel died, hangs for good, or drowns us in output
            kind = type(error).__name__
            said = _ENDS.get(kind, f"Python was stopped ({kind})")
            cell.outputs = [*cell.outputs, _error(kind, f"In this cell {said}.")]
            self._ended = f"in cell {index + 1} of the notebook {said}"
        finally:
            cell.source = source
        _shorten(cell)
        return cell, resources

    def on_cell_executed(self, **given):
        super().on_cell_executed(**given)
        payload = given["execute_reply"]["content"].get("payload", [])
        self._asked_to_end = any(
            one.get("source") == "ask_exit" and not one.get("keepkernel") for one in payload
        )


class OneNumber(NbGraderPreprocessor):
    """A graded cell earns the one number that it shows as its value; without one it earns 0."""

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type == "code" and utils.is_grade(cell) and not utils.is_solution(cell):
            problem = self._problem(cell)
            if problem:
                cell.outputs = [
                    *(one for one in cell.outputs if one.output_type != "execute_result"),
                    _error("NoPoints", f"This cell earned nothing: {problem}."),
                ]
            else:  # a warning costs no points
                cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        return cell, resources

    def _problem(self, cell) -> str | None:
        if any(output.output_type == "error" for output in cell.outputs):
            return None  # nbgrader gives 0 to it, and its own words say why
        values = [output for output in cell.outputs if output.output_type == "execute_result"]
        if len(values) != 1:
            return "it shows no number of points" if not values else "it shows several values"
        shown = values[0].data.get("text/plain", "")
        try:
            points = float(shown)
        except (TypeError, ValueError):
            return "its value is not a number"
        if not (math.isfinite(points) and 0 <= points <= cell.metadata.nbgrader["points"]):
            return "its value is not a number of points that it can earn"
        results = [one.data.get(RESULT_MIME) for one in cell.outputs if "data" in one]
        results = [one for one in results if isinstance(one, dict)]
        if not results or results[-1].get("points") != points:
            return "its value is not what the check found"
        return None


class PutBack(OverwriteCells):
    """Cells of the assignment are what it says, whatever has become of their settings.

    Graded cells that are missing from a submission are put back at its end, and run there. A copy
    of a cell, or a cell of another assignment, is a cell of the student's own.
    """

    def preprocess_cell(self, cell, resources, cell_index):
        source = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        settings = cell.metadata.get("nbgrader") or {}
        name = settings.get("grade_id")
        if name not in {one.name for one in source.source_cells}:
            cell.metadata.pop("nbgrader", None)
            return cell, resources
        points = {one.name: one.max_score for one in [*source.grade_cells, *source.task_cells]}
        settings["grade"] = name in {one.name for one in source.grade_cells}
        settings["solution"] = name in {one.name for one in source.solution_cells}
        settings["task"] = name in {one.name for one in source.task_cells}
        settings.pop("points", None)
        if name in points:
            settings["points"] = points[name]
        return super().preprocess_cell(cell, resources, cell_index)

    def add_missing_grade_cells(self, nb, resources):
        source = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        cells = {cell.name: cell for cell in source.source_cells}
        here = {cell.metadata.nbgrader["grade_id"] for cell in nb.cells if utils.is_grade(cell)}
        for graded in source.grade_cells:
            if graded.name not in here:
                cell = self.missing_cell_transform(cells[graded.name], graded.max_score)
                cell.id = graded.name
                nb.cells.append(cell)
        return nb, resources


class Harmless(SanitizeHTML):
    """Nothing that a student has displayed runs when a page of feedback is opened."""

    def __init__(self, **given):
        super().__init__(**given)
        self.enabled = True
        self.tags = _TAGS
        self.attributes = {"*": ["style", "scope"]}
        self.styles = _STYLES

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type == "markdown":
            return cell, resources  # see below
        return super().preprocess_cell(cell, resources, cell_index)


def harmless_markdown(source: str) -> str:
    """What a text cell becomes in such a page: the filter ``markdown2html`` of its template."""
    return clean(markdown2html(source), tags=_TAGS, attributes={"a": ["href"]})


def _error(name: str, message: str):
    return new_output("error", ename=name, evalue=message, traceback=[message])


def _shorten(cell) -> None:
    """Cut texts, and drop other forms of output, that are too long for a page."""
    for output in cell.outputs:
        if output.output_type == "stream":
            output.text = _cut(output.text)
        elif output.output_type == "error":
            output.traceback = [_cut(line) for line in output.traceback[-100:]]
            output.evalue = _cut(output.evalue)
        else:
            for kind, value in list(output.data.items()):
                if len(str(value)) > _MOST_CHARACTERS:
                    del output.data[kind]


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} … cut off here"
