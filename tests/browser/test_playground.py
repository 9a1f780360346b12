"""The playground in a live JupyterLab: typing, choosing, saving; and its state without a kernel."""

import json
import subprocess
import sys

import nbformat
import pytest
from lab import axe, console_errors, open_offline

SETUP = """
import time
import torch
from attn_edu.widgets import Playground, Reading

def equal(text):
    words = text.split()
    if len(words) > 9:
        raise ValueError(f"Nine words at most; this text has {len(words)}.")
    weights = torch.full((2, 3, len(words), len(words)), 1 / len(words))
    rows = [("words", len(words)), ("first", words[0])]
    return Reading(f"{len(words)} words read.", weights, words, rows=rows, note="Equal shares.")

def slow(text):
    time.sleep(0.4)
    return Reading(f"Slowly: {text[::-1]}")
"""
SHOWN = (
    "p = Playground({'equal': equal, 'slow': slow}, 'The cat sat', "
    "['one two', 'a <b>bold</b> 🙂 text'], label='Sentence')\np"
)
CELLS = [SETUP, SHOWN, "print('READ', p.model, p.text)", "p.read('from Python now', 'equal');"]


def write(path, cells):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    for at, cell in enumerate(notebook.cells):
        cell.id = f"cell-{at}"
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(notebook, path)


def state(page):
    return page.locator(".jp-OutputArea-output section")


def hears(page, said):
    state(page).get_by_text(said, exact=True).wait_for()
    # the answer is announced from a place that stays in the page
    assert page.get_by_role("status").filter(has_text=said).count() == 1


@pytest.fixture
def page(lab, page_of):
    write(lab.root / "playground.ipynb", CELLS)
    page = page_of("playground.ipynb")
    lab.run_all(page)
    page.get_by_label("Sentence", exact=True).wait_for()
    page.set_default_timeout(60_000)
    return page


def test_typing_choosing_and_saving(lab, page, screenshots):
    hears(page, "3 words read.")
    field = page.get_by_label("Sentence", exact=True)
    assert field.input_value() == "from Python now"
    field.fill("do not answer d d x a")  # the letters of the notebook's shortcuts
    field.press("Shift+Enter")  # which runs a cell elsewhere
    hears(page, "7 words read.")
    assert page.locator(".jp-Notebook .jp-Cell").count() == len(CELLS)
    assert "READ equal do not answer d d x a" in lab.run_cell(page, 2)
    field.fill("w " * 10)
    page.get_by_role("button", name="Read").click()
    hears(page, "Nine words at most; this text has 10.")
    assert state(page).locator("figure").count() == 0
    field.fill("")
    field.press("Enter")
    hears(page, "There is nothing to read yet: type a word or more.")
    page.get_by_label("Examples").select_option("a <b>bold</b> 🙂 text")
    hears(page, "4 words read.")
    assert state(page).locator("b").count() == 0 and field.input_value().startswith("a <b>")
    page.get_by_label("Model").select_option("slow")
    hears(page, "Slowly: txet 🙂 >b/<dlob>b< a")
    page.get_by_label("Model").select_option("equal")
    state(page).locator("canvas").first.wait_for()
    assert not state(page).get_by_text("needs a kernel").is_visible()
    assert not axe(page, ".play") and not axe(page, ".jp-OutputArea-output section")
    assert not lab.errors(page) and not console_errors(page)
    lab.photograph(page, screenshots / "playground.png", width=720)
    page.locator('.jp-Toolbar [data-command="docmanager:save"]').first.click()
    page.wait_for_function("!document.querySelector('.jp-mod-dirty')")
    saved = json.loads((lab.root / "playground.ipynb").read_text("utf-8"))
    kept = [o["data"] for o in saved["cells"][1]["outputs"] if "text/html" in o["data"]]
    assert len(kept) == 1 and "4 words read." in "".join(kept[0]["text/html"])
    assert "application/vnd.jupyter.widget-view+json" not in kept[0]


def test_after_a_restart_of_the_kernel_it_says_what_to_do_and_the_map_moves_on(lab, page):
    lab.restart(page)
    field = page.get_by_label("Sentence", exact=True)
    field.fill("into the void")
    field.press("Enter")
    page.get_by_role("status").filter(has_text="after a restart, run this cell again").wait_for()
    page.get_by_label("Head", exact=True).select_option("2")  # the map needs no kernel
    assert not console_errors(page)
    lab.run_all(page)
    hears(page, "3 words read.")
    field.fill("back again")
    field.press("Enter")
    hears(page, "2 words read.")


def test_by_keyboard_alone(lab, page):
    field = page.get_by_label("Sentence", exact=True)
    field.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("typed by hand here")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type("X")
    page.keyboard.press("Enter")
    hears(page, "4 words read.")
    assert field.input_value() == "typed by hand heXre"
    assert field.evaluate("e => e === document.activeElement")
    page.keyboard.press("Tab")
    assert page.get_by_role("button", name="Read").evaluate("e => e === document.activeElement")
    for name in ("Examples", "Model"):
        page.keyboard.press("Shift+Tab")
        if name == "Examples":
            page.keyboard.press("Shift+Tab")
        assert page.get_by_label(name).evaluate("e => e === document.activeElement")
    page.keyboard.press("ArrowDown")
    hears(page, "Slowly: erXeh dnah yb depyt")
    assert page.get_by_label("Model").input_value() == "slow"


def test_of_many_questions_the_last_is_answered(lab, page):
    page.get_by_label("Model").select_option("slow")
    field = page.get_by_label("Sentence", exact=True)
    for text in ("one", "two", "three", "four"):
        field.fill(text)
        field.press("Enter")
    hears(page, "Slowly: ruof")
    assert "READ slow four" in lab.run_cell(page, 2)
    assert field.input_value() == "four"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_page_shows_the_last_state_and_says_what_typing_needs(
    browser, tmp_path, screenshots, scheme
):
    write(tmp_path / "saved.ipynb", CELLS)
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "html", "--execute"]
    command += ["--HTMLExporter.theme", scheme, str(tmp_path / "saved.ipynb")]
    subprocess.run(command, check=True, capture_output=True)
    size = {"width": 720, "height": 900}
    page = open_offline(browser, tmp_path / "saved.html", viewport=size)
    shown = page.locator("section[aria-label^=Playground]")
    assert "equal reads: “from Python now”" in shown.inner_text()
    assert shown.get_by_text("3 words read.").is_visible()
    assert shown.get_by_text("To type a text of your own, run this cell").is_visible()
    shown.locator("canvas").first.wait_for()
    assert axe(page, "section[aria-label^=Playground]") == []
    page.screenshot(path=screenshots / f"playground_saved_{scheme}.png", full_page=True)
    page.context.close()
