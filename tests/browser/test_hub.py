"""A student with a real browser on a real hub: from the login to a chapter whose pictures move, and
what becomes of the work when the network goes, when the page is loaded again, and in two tabs.

It needs what `hub/README.md` has installed; the skip says what is missing.
"""

import contextlib
import json
import os
import signal
import time

import nbformat
import pytest
from lab import console_errors, listen
from nbformat.reader import NotJSONError
from nbformat.v4 import new_code_cell, new_notebook

from attn_edu.course import chapters
from bench import classroom
from tests.hub import needs


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    needs.a_hub()
    folder = tmp_path_factory.mktemp("class")
    with classroom.Hub(folder, classroom.copy_of_course(folder)) as running:
        yield running


def _log_in(page, name, password):
    page.fill("#username_input", name)
    page.fill("#password_input", password)
    page.click("#login_submit")


def test_a_login_leads_to_the_first_chapter_trusted_and_it_runs(browser, hub):
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = listen(context.new_page())
    page.set_default_timeout(180_000)
    page.goto(hub.address)
    _log_in(page, "ann", "a wrong password")
    page.wait_for_selector(".login_error")
    _log_in(page, "ann", classroom.PASSWORD)

    first = chapters()[0]
    page.wait_for_url(f"**/user/ann/lab/**/{first.file}.ipynb*")
    path = hub.files / "homes/ann" / classroom.COPY / first.address
    cells = json.loads(path.read_text("utf-8"))["cells"]
    page.wait_for_function(
        "n => document.querySelectorAll('.jp-Notebook .jp-Cell').length === n", arg=len(cells)
    )
    # trusted: the script of a stored picture ran
    page.wait_for_selector('.jp-StatusItem-trust[title^="Notebook trusted"]')
    page.wait_for_selector("figure.attn-edu[data-live]", state="attached")
    page.wait_for_selector('#jp-main-statusbar :text-matches("Idle")')
    assert page.locator(".Toastify__toast").count() == 0  # JupyterLab asks nothing

    before = path.stat().st_mtime_ns
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("a")  # a cell above, and her name in it
    page.keyboard.press("m")
    page.keyboard.press("Enter")
    page.keyboard.type("ann was here")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Control+s")
    for _ in range(100):
        if path.stat().st_mtime_ns > before and "ann was here" in path.read_text("utf-8"):
            break
        page.wait_for_timeout(100)
    else:
        pytest.fail("what she wrote was not saved")
    assert [text for text in console_errors(page) if "403" not in text] == []  # her wrong password
    context.close()


ONE = "one.ipynb"
# A cell that prints only after the test has let it.
WAITS = """
import pathlib, time
pathlib.Path("began").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.1)
answer = 42
print("meanwhile", answer)
pathlib.Path("said").touch()
"""


@pytest.fixture
def home(hub):
    """Bob's folder, without what the tests leave there."""
    folder = hub.files / "homes/bob"
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    for name in ("began", "go", "said", ONE):
        (folder / name).unlink(missing_ok=True)


@pytest.fixture
def tab(browser, hub):
    """`tab()`: Bob's notebook in a further tab, its kernel idle."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})

    def opened():
        page = context.new_page()
        page.set_default_timeout(180_000)
        page.goto(f"{hub.address}/hub/login?next=/hub/user-redirect/lab/tree/{ONE}")
        if page.query_selector("#username_input"):
            _log_in(page, "bob", classroom.PASSWORD)
        _is_idle(page)
        return page

    yield opened
    context.close()


def _is_idle(page):
    page.wait_for_selector('#jp-main-statusbar :text-matches("Idle")')


def _write(home, *sources):
    cells = [new_code_cell(source.strip()) for source in sources]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), home / ONE)


def _saved(home):
    """The source of each cell in the file, and what it shows."""
    for _ in range(50):
        with contextlib.suppress(NotJSONError):  # it is being written
            cells = nbformat.read(home / ONE, as_version=4).cells
            break
        time.sleep(0.1)
    return [(cell.source, "".join(one.text for one in cell.outputs)) for cell in cells]


def _until(page, condition):
    for _ in range(900):
        if condition():
            return
        page.wait_for_timeout(100)
    pytest.fail("it did not come")


def _run(page, number):
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").nth(number).click()
    page.keyboard.press("Control+Enter")


def _shows(page, text):
    page.wait_for_selector(f'.jp-OutputArea-output:has-text("{text}")')


def test_the_second_of_two_tabs_does_not_write_over_the_first(tab, home):
    _write(home, "1")
    first, second = tab(), tab()
    for page, text in ((first, " + 1"), (second, " + 2")):
        page.locator(".jp-Notebook .cm-content").first.click()
        page.keyboard.press("End")
        page.keyboard.type(text)
        page.keyboard.press("Control+s")
        if page is first:
            _until(page, lambda: _saved(home) == [("1 + 1", "")])
    second.wait_for_selector('.jp-Dialog:has-text("changed on disk")')
    assert _saved(home) == [("1 + 1", "")]
    second.click('.jp-Dialog button:has-text("Revert")')
    second.wait_for_selector('.jp-Notebook .cm-content:has-text("1 + 1")')


def test_a_page_loaded_again_in_the_middle_of_a_cell_finds_its_kernel_and_its_file(tab, home):
    _write(home, "print('above')", WAITS, "print('below', answer)")
    page = tab()
    _run(page, 0)
    _shows(page, "above")
    _run(page, 1)
    _until(page, (home / "began").exists)
    page.keyboard.press("Control+s")
    _until(page, lambda: _saved(home)[0][1] == "above\n")
    page.reload()
    _shows(page, "above")
    (home / "go").touch()
    _is_idle(page)
    _run(page, 2)
    _shows(page, "below 42")
    page.keyboard.press("Control+s")
    _until(page, lambda: _saved(home)[2][1] == "below 42\n")
    assert _saved(home)[0][1] == "above\n"


def test_what_a_cell_says_while_the_network_is_away_is_shown_afterwards(tab, home, hub):
    _write(home, WAITS)
    page = tab()
    _run(page, 0)
    _until(page, (home / "began").exists)
    hub.process.send_signal(signal.SIGSTOP)  # so that it starts no other proxy yet
    try:
        os.kill(int((hub.files / "proxy.pid").read_text()), signal.SIGKILL)
        (home / "go").touch()
        _until(page, (home / "said").exists)
        time.sleep(20)
    finally:
        hub.process.send_signal(signal.SIGCONT)
    _shows(page, "meanwhile 42")
    _until(page, lambda: page.keyboard.press("Control+s") or _saved(home)[0][1] != "")
    assert _saved(home) == [(WAITS.strip(), "meanwhile 42\n")]
