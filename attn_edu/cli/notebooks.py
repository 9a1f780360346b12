"""Build chapters: text (MyST) -> notebook -> executed -> cleaned, the same bytes every time.

Cells tagged `timing` or `training` may differ from run to run: the build marks them for nbval.
"""

import copy
import hashlib
import os
import re
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from attn_edu import colab, instructors
from attn_edu.cli.environment import ROOT, quiet_variables
from attn_edu.course import NOTEBOOKS, Chapter, chapters, find, repository, write_tables

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
CHANGING = {"timing", "training"}
IGNORE_OUTPUT = "nbval-ignore-output"
TIMEOUT = 300  # seconds for one cell
HIDDEN = re.compile(r"<script.*?</script>|[A-Za-z0-9+/=]{120,}", re.DOTALL)  # scripts and base64
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "pygments_lexer": "ipython3",
    },
}


class BuildError(RuntimeError):
    """A chapter cannot be committed as it is; the message names the chapter and the cell."""


def from_text(text: str) -> NotebookNode:
    """The notebook of a chapter's text, not yet run: derived cell ids, nbval's tag, no outputs."""
    source = jupytext.reads(text, fmt="md:myst")
    notebook = nbformat.v4.new_notebook(metadata=copy.deepcopy(METADATA))
    taken: dict[str, int] = {}
    for cell in source.cells:
        tags = list(cell.metadata.get("tags", []))
        if CHANGING & set(tags) and IGNORE_OUTPUT not in tags:
            tags.append(IGNORE_OUTPUT)
        make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
        new = make[cell.cell_type](cell.source, metadata={"tags": tags} if tags else {})
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        taken[digest] = taken.get(digest, 0) + 1
        new.id = digest if taken[digest] == 1 else f"{digest}-{taken[digest]}"
        notebook.cells.append(new)
    return notebook


def assembled(chapter: Chapter) -> NotebookNode:
    """A chapter's notebook, not yet run: its text, links under the question, and Colab's cell."""
    notebook = from_text(chapter.text.read_text("utf-8"))
    question = f"\n*{chapter.question}*\n"
    words = ("Open this chapter in Binder", "Open it in Colab")
    links = repository().links(chapter.address, words)
    head = notebook.cells[0]
    head.source = head.source.replace(question, f"{question}\n{links}\n", 1)
    kinds = [cell.cell_type for cell in notebook.cells]
    notebook.cells.insert(kinds.index("code"), colab.setup_cell(repository()))
    return notebook


def execute(notebook: NotebookNode, folder: Path = NOTEBOOKS) -> None:
    """Run every cell in place, in `folder`, in a fresh kernel of this Python."""
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()


def clean(notebook: NotebookNode) -> None:
    """Take out in place what a committed notebook must not hold: widget state, run-time traces."""
    notebook.metadata = nbformat.from_dict(copy.deepcopy(METADATA))
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)
            output.get("metadata", {}).pop(WIDGET_VIEW, None)
            if output.output_type == "stream":
                output.text = without_overwritten(output.text)
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.get("data", True) and o.get("text", True)]


def without_overwritten(text: str) -> str:
    """What a terminal would still show of `text`: each line after its last carriage return."""
    return re.sub(r"[^\n]*\r(?!\n)", "", text)


def visible(output: NotebookNode) -> str:
    """An output as text, without scripts and packed numbers, which may spell anything."""
    return HIDDEN.sub("", str(output))


def faults(notebook: NotebookNode) -> list[str]:
    """What makes an executed notebook unfit to commit, one line a fault."""
    found = []
    paths = {str(ROOT), sys.prefix, str(Path.home()), "ipykernel_"}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        where = f"cell {number} ({cell.source.strip().splitlines()[0] if cell.source else ''})"
        if CHANGING & set(cell.metadata.get("tags", [])) and not re.search(
            r"^\s*assert\b", cell.source, re.MULTILINE
        ):
            found.append(f"{where}: tagged {CHANGING} but asserts nothing")
        for output in cell.outputs:
            if output.get("name") == "stderr":
                found.append(f"{where}: wrote to stderr: {output.text.strip()[:300]}")
            if output.output_type == "error":
                found.append(f"{where}: {output.ename}: {output.evalue[:300]}")
            shown = visible(output)
            found += [f"{where}: shows the path {path}" for path in paths if path in shown]
    return found


def build(chapter: Chapter) -> NotebookNode:
    """The finished notebook of a chapter.

    Raises:
        BuildError: if the text is missing, a cell fails, or the result is unfit to commit.
    """
    if not chapter.text.is_file():
        raise BuildError(f"{chapter.file}: there is no {chapter.text.relative_to(ROOT)}")
    notebook = assembled(chapter)
    try:
        execute(notebook)
    except CellExecutionError as error:
        raise BuildError(f"{chapter.file}: {error}") from None
    clean(notebook)
    found = faults(notebook)
    if found:
        raise BuildError("\n".join(f"{chapter.file}: {fault}" for fault in found))
    return notebook


def to_json(notebook: NotebookNode) -> str:
    """The text of the .ipynb file."""
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def main(arguments: list[str]) -> int:
    os.environ.update(quiet_variables())
    for path in [*write_tables(), *instructors.write()]:
        print(f"{path.relative_to(ROOT)}: renewed")
    try:
        chosen = [find(name) for name in arguments] or chapters()
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    failed = 0
    for chapter in chosen:
        start = time.perf_counter()
        try:
            text = to_json(build(chapter))
        except BuildError as error:
            print(error, file=sys.stderr)
            failed = 1
            continue
        old = chapter.notebook.read_text("utf-8") if chapter.notebook.is_file() else ""
        chapter.notebook.write_text(text, "utf-8")
        state = "unchanged" if text == old else "written"
        seconds = time.perf_counter() - start
        print(f"{chapter.file}: {state}, {len(text.encode()) / 1e3:.0f} kB, {seconds:.0f} s")
    return failed
