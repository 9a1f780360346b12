"""The links of a page, and whether each leads somewhere inside the repository. Asks no network."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
from markdown_it import MarkdownIt

from attn_edu.address import Repository

MARKDOWN = MarkdownIt("commonmark").enable("table")
WORKFLOW = re.compile(r"\.\./\.\./actions/workflows/([\w.-]+)/badge\.svg")  # as GitHub serves it


class Ends(HTMLParser):
    """Collects where the links of a piece of HTML lead, and what they could lead to."""

    def __init__(self, html: str):
        super().__init__()
        self.links, self.ids = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "img" and not found.get("src", "data:").startswith("data:"):
            self.links.append(found["src"])
        self.ids += [found[name] for name in ("id", "name") if found.get(name)]


def read(markdown: str) -> tuple[list[str], list[str], list[str]]:
    """The links, headings and HTML ids of a text."""
    html = MARKDOWN.render(markdown)
    ends = Ends(html)
    found = re.findall(r"<h[1-6][^>]*>(.*?)</h[1-6]>", html, re.DOTALL)
    plain = [re.sub(r"<[^>]+>", "", heading) for heading in found]
    headings = [re.sub(r"&(amp|lt|gt|quot);", _character, heading) for heading in plain]
    return ends.links, headings, ends.ids


def _character(entity: re.Match) -> str:
    return {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}[entity[1]]


def prose(notebook) -> str:
    """The text of a notebook."""
    return "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


def in_outputs(notebook) -> list[str]:
    """The links that a notebook's outputs show."""
    shown = [o.get("data", {}) for c in notebook.cells for o in c.get("outputs", [])]
    return [link for data in shown for link in Ends("".join(data.get("text/html", ""))).links]


def anchors(path: Path) -> set[str]:
    """What a link can name after # in a page: as JupyterLab makes them, or GitHub for .md."""
    if path.suffix == ".ipynb":
        _, headings, ids = read(prose(nbformat.read(path, as_version=4)))
        return {*ids, *(heading.replace(" ", "-") for heading in headings)}
    _, headings, ids = read(path.read_text("utf-8"))
    found: list[str] = []
    for heading in headings:
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.append(name if name not in found else f"{name}-{found.count(name)}")
    return {*ids, *found}


def broken(link: str, page: Path, root: Path, source: Repository) -> str | None:
    """What is wrong with a link, or None. Links to elsewhere are not followed.

    Args:
        page: the file that shows the link; `root` is the repository's folder.
        source: where the repository is published; links to it are followed in `root`.
    """
    badge = WORKFLOW.fullmatch(link)
    if badge:
        return None if (root / ".github" / "workflows" / badge[1]).is_file() else "no such workflow"
    ours = {source.binder(""): root, source.colab(""): root}
    start = next((start for start in ours if link.startswith(start)), None)
    if start is None and urlsplit(link).scheme:
        return None
    path, _, anchor = (link.removeprefix(start) if start else link).partition("#")
    folder = root if start else page.parent
    target = (folder / unquote(path)).resolve() if path else page
    if not target.is_relative_to(root):
        return "leads out of the repository"
    if not target.exists():
        return "leads to no file"
    if anchor and target.suffix in (".md", ".ipynb") and unquote(anchor) not in anchors(target):
        return "leads to no heading"
    return None
