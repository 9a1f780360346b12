"""A page of feedback in Chromium, with things planted in it: it asks nobody for anything."""

import os
import subprocess
import sys

import nbformat
import pytest
from lab import console_errors, listen

from attn_edu.assign import tools
from attn_edu.cli.environment import ROOT

NAME = "01_rnn_limits"
PLANTED = """
from IPython.display import HTML, Markdown, display
at = "http://example.org/asked"
display(HTML(f"<img src={at}><iframe src={at}></iframe><script src={at}></script><b>kept</b>"))
display(Markdown(f"![a picture]({at})"))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Where it lies. Where nbgrader cannot be had: skipped, on CI a failure."""
    try:
        tools.path()
    except tools.ToolsError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("feedback") / "course"
    run("assign", "01", "--out", str(folder), "--seed", "11")
    notebook = nbformat.read(folder / "release" / NAME / f"{NAME}.ipynb", as_version=4)
    text = "A formula of mine, $\\frac{1}{\\sqrt{d}}$ ![it](http://example.org/asked)"
    notebook.cells.append(nbformat.v4.new_markdown_cell(text))
    notebook.cells.append(nbformat.v4.new_code_cell(PLANTED))
    submitted = folder / "submitted" / "ann" / NAME / f"{NAME}.ipynb"
    submitted.parent.mkdir(parents=True)
    nbformat.write(notebook, submitted)
    run("grade", str(folder))
    return folder / "feedback" / "ann" / NAME / f"{NAME}.html"


def run(*words):
    done = subprocess.run(
        [sys.executable, "-m", "attn_edu", *words],
        env={**os.environ, "ATTN_EDU_ENV": "current", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def page(path, browser):
    """Opened from disk; `asked` are the requests to anything but the file itself."""
    opened, asked = listen(browser.new_context().new_page()), []

    def answer(route):
        if route.request.url.split("#")[0] == path.as_uri():
            return route.continue_()
        asked.append(route.request.url)
        return route.abort()

    opened.route("**/*", answer)
    opened.goto(path.as_uri(), wait_until="load")
    opened.asked = asked
    yield opened
    opened.context.close()


def test_it_asks_nobody_and_says_nothing_on_the_console(page):
    assert page.asked == []
    assert console_errors(page) == []
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


def test_it_is_legible(page):
    words = page.inner_text("body")
    assert "(Score: 0.0 / 4.0)" in words
    assert "01.path_length · not attempted yet" in words
    assert "A formula of mine, $\\frac{1}{\\sqrt{d}}$" in words
    assert page.locator("b", has_text="kept").is_visible()
    code = page.locator(".highlight .k, .highlight .kn").first  # a word of Python, in its colour
    black = "rgb(0, 0, 0)"
    assert code.evaluate("word => getComputedStyle(word).color") != black
    assert (
        page.locator(".panel").first.evaluate("box => getComputedStyle(box).borderTopWidth")
        == "1px"
    )


def test_even_what_slips_in_may_load_nothing(page):
    """The page itself forbids it to the browser."""
    page.evaluate("""() => {
        const picture = document.createElement("img"), script = document.createElement("script")
        picture.src = script.src = "http://example.org/asked"
        document.body.append(picture, script)
    }""")
    page.wait_for_timeout(300)
    assert page.asked == []
    assert len(console_errors(page)) == 2
