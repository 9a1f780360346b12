"""Every chapter in a real JupyterLab, and as a saved page without kernel and network."""

import nbformat
import pytest
from lab import console_errors, open_offline
from nbconvert import HTMLExporter

from attn_edu.course import chapters

CHAPTERS = [pytest.param(chapter, id=chapter.file) for chapter in chapters()]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_runs_from_top_to_bottom_in_jupyterlab(chapter, lab, page_of, screenshots):
    page = page_of(chapter.notebook.name)
    lab.run_all(page)
    lab.photograph(page, screenshots / f"{chapter.file}.png")
    assert lab.errors(page) == []
    prompts = page.locator(".jp-CodeCell .jp-InputPrompt").all_inner_texts()
    assert prompts == [f"[{i}]:" for i in range(1, len(prompts) + 1)]
    assert console_errors(page) == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_saved_page_is_alive_without_kernel_and_network(chapter, browser, tmp_path):
    notebook = nbformat.read(chapter.notebook, as_version=4)
    path = tmp_path / "page.html"
    path.write_text(HTMLExporter().from_notebook_node(notebook)[0], "utf-8")
    page = open_offline(browser, path)
    figures = page.locator("figure").count()
    views = sum(
        "<canvas" in str(o) or "getContext" in str(o)
        for cell in notebook.cells
        for o in cell.get("outputs", [])
    )
    page.wait_for_timeout(500)
    assert page.locator("figure canvas").count() >= views
    assert figures >= views
    assert [text for kind, text in page.heard if kind == "pageerror"] == []
    page.context.close()
