"""Every link inside the repository leads to a file that there is, and to a heading in it."""

import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attn_edu.address import Repository
from attn_edu.cli.environment import ROOT
from attn_edu.cli.notebooks import assembled
from attn_edu.course import chapters, repository

sys.path.insert(0, str(Path(__file__).parent))

from links import anchors, broken, in_outputs, prose, read

MADE = {"site", "assignments", "src"}  # of other pages; the texts of chapters are read as notebooks
PAGES = [
    path
    for path in sorted(ROOT.rglob("*.md"))
    if not any(part[0] == "." or part in MADE for part in path.relative_to(ROOT).parts)
]


def dead(links: list[str], page: Path) -> list[str]:
    found = [(link, broken(link, page, ROOT, repository())) for link in links]
    return [f"{link}: {fault}" for link, fault in found if fault]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_page(page):
    assert dead(read(page.read_text("utf-8"))[0], page) == []


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.file)
def test_links_of_a_chapter(chapter):
    shown = in_outputs(nbformat.read(chapter.notebook, as_version=4))
    assert dead(read(prose(assembled(chapter)))[0] + shown, chapter.notebook) == []


def test_pages_and_links_were_found():
    assert {"README.md", "CONTRIBUTING.md", "instructors.md"} <= {path.name for path in PAGES}
    links = read((ROOT / "README.md").read_text("utf-8"))[0]
    assert len(links) > 3 * len(chapters())  # a chapter, and two services that open it


# ---- the check itself --------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path):
    """A small repository."""
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "test.yml").touch()
    (tmp_path / "a page.md").write_text("# One & *two*: three\n\n## Same\n\n## Same\n\n<a id='x'>")
    heading = new_markdown_cell("# 02 · One head\n\n```\n# no heading\n```\n\n## Who is `it`?")
    nbformat.write(new_notebook(cells=[heading]), tmp_path / "book.ipynb")
    return tmp_path


SOURCE = Repository("https://github.com/us/ours", "main")


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("a%20page.md", None),
        ("a%20page.md#one--two-three", None),
        ("a%20page.md#same-1", None),
        ("a%20page.md#x", None),
        ("book.ipynb#Who-is-it?", None),
        ("book.ipynb#02-%C2%B7-One-head", None),
        ("#02-·-One-head", None),
        (SOURCE.colab("book.ipynb"), None),
        (SOURCE.binder("book.ipynb"), None),
        ("../../actions/workflows/test.yml/badge.svg", None),
        ("https://example.org/not-followed", None),
        ("A%20page.md", "no file"),
        ("a%20page.md#same-2", "no heading"),
        ("a%20page.md#One-&-two:-three", "no heading"),
        ("book.ipynb#who-is-it", "no heading"),
        ("book.ipynb#no-heading", "no heading"),
        ("#Two", "no heading"),
        (SOURCE.colab("other.ipynb"), "no file"),
        (SOURCE.binder("other.ipynb"), "no file"),
        ("../../actions/workflows/other.yml/badge.svg", "no such workflow"),
        ("../outside.md", "out of the repository"),
    ],
)
def test_a_link_is_followed(link, fault, course):
    found = broken(link, course / "book.ipynb", course, SOURCE)
    assert found is None if fault is None else fault in found


def test_anchors_of_a_page_are_its_headings_and_ids(course):
    assert anchors(course / "a page.md") == {"one--two-three", "same", "same-1", "x"}


def test_links_are_found_in_tables_and_html_and_outputs_but_not_in_code():
    text = "| a |\n|---|\n| [b](c.md) |\n\n<a href='d.md'>e</a> ![f](g.png) `[h](i.md)`"
    assert read(text)[0] == ["c.md", "d.md", "g.png"]
    html = "<a href='j.ipynb#k'>l</a><script>'<a href=\"m\">'</script><img src='data:,' alt='n'>"
    cell = new_code_cell("x", outputs=[new_output("display_data", {"text/html": html})])
    assert in_outputs(new_notebook(cells=[cell])) == ["j.ipynb#k"]
