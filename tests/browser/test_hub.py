"""A student with a real browser on a real hub: from the login to a chapter whose pictures move.

It needs what `hub/README.md` has installed; the skip says what is missing.
"""

import json

import pytest
from lab import console_errors, listen

from attn_edu.course import chapters
from bench import classroom

MISSING = classroom.missing()
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"missing: {MISSING}")


def test_a_login_leads_to_the_first_chapter_trusted_and_it_runs(browser, tmp_path):
    course = classroom.copy_of_course(tmp_path)
    with classroom.Hub(tmp_path, course) as hub:
        page = listen(browser.new_context(viewport={"width": 1280, "height": 1000}).new_page())
        page.set_default_timeout(180_000)
        page.goto(hub.address)
        page.fill("#username_input", "ann")
        page.fill("#password_input", "a wrong password")
        page.click("#login_submit")
        page.wait_for_selector(".login_error")
        page.fill("#username_input", "ann")
        page.fill("#password_input", classroom.PASSWORD)
        page.click("#login_submit")

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
        assert [
            text for text in console_errors(page) if "403" not in text
        ] == []  # her wrong password
