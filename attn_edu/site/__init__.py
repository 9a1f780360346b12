"""The course as static pages: they work from disk, with no kernel and no network.

`write_sources` turns the committed notebooks into what Sphinx reads: the same notebooks with the
views' JavaScript taken out of every output and put into one file, and with a place for each plotly
chart that comes alive when it is scrolled to. `conf.py` beside this file is Sphinx's configuration.
"""

import base64
import hashlib
import json
import re
import shutil
from html import escape
from importlib.resources import files
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attn_edu.course import NOTEBOOKS, Chapter, chapters
from attn_edu.figures.chart import PLOTLY
from attn_edu.views.bundle import bundle
from attn_edu.views.view import Output

HERE = Path(__file__).parent
PICTURE = re.compile(r'src="data:image/(svg\+xml|png);base64,([A-Za-z0-9+/=]+)"')
KEPT = 4000  # characters of a picture that stays inside its page
OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./[^)]*\)")  # a link to what is no page of the site
CHAPTER_LINK = re.compile(r'(?<=href=")(\d\d_\w+)\.ipynb(?=["#])')  # its anchor is JupyterLab's


def starts() -> dict[str, str]:
    """The views' functions of JavaScript: the name of each -> its module."""
    import attn_edu.views  # noqa: F401 (defines the views)

    found, waiting = {}, [Output]
    while waiting:
        view = waiting.pop()
        waiting += view.__subclasses__()
        if view._start:
            found[view._start] = view._entry
    return dict(sorted(found.items()))


def shared_script() -> str:
    """One file for all pages: every view's function as a member of ``attnEdu``."""
    parts = [f"(() => {{{bundle(e, s)}attnEdu.{s} = {s};\n}})();\n" for s, e in starts().items()]
    return "window.attnEdu = {};\n" + "".join(parts)


class Pages:
    """Writes the sources of the site into a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.static = folder / "_static"
        self.bundles = {bundle(entry, start): start for start, entry in starts().items()}

    def without_modules(self, html: str) -> str:
        """An output whose script takes the view's function from the shared file."""
        for modules, start in self.bundles.items():
            html = html.replace(modules, f"const {{{start}}} = attnEdu;")
        return html

    def pictures_apart(self, html: str) -> str:
        """An output whose larger pictures are files of their own, loaded when they are near."""

        def apart(found: re.Match) -> str:
            if len(found[2]) < KEPT:
                return found[0]
            content = base64.b64decode(found[2])
            kind = "svg" if found[1].startswith("svg") else "png"
            name = f"{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
            (self.static / name).write_bytes(content)
            return f'loading="lazy" src="_static/{name}"'

        return PICTURE.sub(apart, html)

    def output(self, data: dict) -> dict:
        """The forms of one output that a page shows: HTML where there is any, else the text."""
        if "text/html" not in data:
            return data
        html = self.pictures_apart(self.without_modules(data["text/html"]))
        html = CHAPTER_LINK.sub(r"\1.html", html)
        if PLOTLY in data:
            figure = json.dumps(data[PLOTLY], separators=(",", ":"), ensure_ascii=False)
            html = f'<div class="chart" data-figure="{escape(figure)}">{html}</div>'
        return {"text/html": html, "text/plain": data["text/plain"]}

    def notebook(self, chapter: Chapter) -> NotebookNode:
        """A chapter as Sphinx reads it."""
        notebook = nbformat.read(chapter.notebook, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = OUTSIDE.sub(r"\1", cell.source)
            for output in cell.get("outputs", []):
                if "data" in output:
                    output.data = nbformat.from_dict(self.output(output.data))
        return notebook


def _index() -> str:
    """The front page: what this is, and the chapters with their questions."""
    rows = [
        f"| {c.number} | [{c.title}]({c.file}.ipynb) | {c.question} | {c.minutes} |"
        for c in chapters()
    ]
    listed = "\n".join([*(c.file for c in chapters()), "instructors"])
    return (
        (HERE / "front.md")
        .read_text("utf-8")
        .replace("CHAPTERS", "\n".join(rows))
        .replace("PAGES", listed)
    )


def write_sources(folder: Path) -> None:
    """Write everything that Sphinx needs into ``folder``, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = Pages(folder)
    shutil.copytree(HERE / "static", pages.static)
    (pages.static / "attn_edu.js").write_text(shared_script(), "utf-8")
    plotly = files("plotly") / "package_data" / "plotly.min.js"
    (pages.static / "plotly.min.js").write_bytes(plotly.read_bytes())
    for name in ("conf.py", "course_pages.py"):
        shutil.copy(HERE / name, folder)
    (folder / "index.md").write_text(_index(), "utf-8")
    page = (NOTEBOOKS / "instructors.md").read_text("utf-8")
    (folder / "instructors.md").write_text(OUTSIDE.sub(r"\1", page), "utf-8")
    for chapter in chapters():
        nbformat.write(pages.notebook(chapter), folder / chapter.notebook.name)
