"""Guessing, and the ledger that takes the guesses over: a saved page, no scripts, JupyterLab."""

import subprocess
import sys

import nbformat
import pytest
from lab import axe, console_errors, open_offline

from attn_edu.views import Guesses, Ledger
from attn_edu.views.ledger import Finding
from attn_edu.views.view import _PAGE

CLAIMS = {"C1": "Water is wet.", "C2": "Fire is <b>cold</b>.", "C3": "השמש חמה."}
FOUND = {
    "C1": Finding("true", "3 of 3", "03_multi_head.ipynb#A-listing-taken-apart"),
    "C2": Finding("false", "900 °C", "03_multi_head.ipynb#A-listing-taken-apart"),
}
CELLS = [
    f"from attn_edu.views import Guesses, Ledger\nfrom attn_edu.views.ledger import Finding\n"
    f"CLAIMS = {CLAIMS!r}\nFOUND = {FOUND!r}",
    "Guesses(CLAIMS)",
    "Ledger(CLAIMS, FOUND)",
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "page.html"
    body = Guesses(CLAIMS)._html() + Ledger(CLAIMS, FOUND)._html()
    path.write_text(_PAGE.format(title="Claims", body=body), "utf-8")
    return path


def guess_by_keyboard(page):
    """The first claim: true, then two further; the second: false, by the last button."""
    figure = page.locator("figure.attn-edu").first
    figure.get_by_role("radio", name="true", exact=True).first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert figure.locator(".say").inner_text() == "2 of 3 guessed."


def columns(page):
    table = page.locator("figure.attn-edu").last.locator("table")
    return [row.locator("th, td").all_inner_texts() for row in table.locator("tr").all()]


def said(page):
    return page.locator("figure.attn-edu").last.locator("p[role=status]").inner_text()


def takes_the_guesses_over(page):
    assert columns(page)[0][2] == "verdict of this run" and said(page) == ""
    guess_by_keyboard(page)
    head, *rows = columns(page)
    assert head[2:4] == ["your guess", "verdict of this run"]
    assert [row[2] for row in rows] == ["true if … (differs)", "false (agrees)", "–"]
    assert said(page) == "1 of your 2 guesses agree with this run."
    page.get_by_role("button", name="Clear all").click()
    assert [row[2] for row in columns(page)[1:]] == ["–"] * 3 and said(page) == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_page_takes_the_guesses_over(browser, saved, scheme):
    page = open_offline(browser, saved, color_scheme=scheme, viewport={"width": 720, "height": 900})
    takes_the_guesses_over(page)
    guess_by_keyboard(page)
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= 720")
    assert console_errors(page) == []
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    page.context.close()


def test_without_scripts_both_can_be_read_and_nothing_is_claimed(browser, saved):
    page = open_offline(browser, saved, java_script_enabled=False)
    form, ledger = page.locator("figure.attn-edu").all()
    for text in CLAIMS.values():
        assert form.get_by_text(text).is_visible() and ledger.get_by_text(text).is_visible()
    assert form.get_by_role("radio").count() == 0
    assert "your guess" not in ledger.inner_text() and "of your" not in ledger.inner_text()
    page.context.close()


def test_a_ledger_alone_has_no_column_of_guesses(browser, tmp_path):
    path = tmp_path / "alone.html"
    Ledger(CLAIMS, FOUND).to_html(path)
    page = open_offline(browser, path)
    assert "your guess" not in columns(page)[0] and said(page) == ""
    page.context.close()


def test_in_jupyterlab_guesses_travel_between_cells_and_links_open_chapters(lab, page_of):
    path = lab.root / "claims.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(notebook, path)
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute"]
    subprocess.run([*command, "--inplace", str(path)], check=True, capture_output=True)
    lab.trust(path.name)
    page = page_of(path.name)
    takes_the_guesses_over(page)
    guess_by_keyboard(page)
    assert lab.axe(page, ".jp-OutputArea-output:has(figure.attn-edu)") == []
    assert console_errors(page) == []
    page.get_by_role("link", name="chapter 03: A listing taken apart").first.click()
    page.locator(".lm-TabBar-tab", has_text="03_multi_head.ipynb").wait_for()
