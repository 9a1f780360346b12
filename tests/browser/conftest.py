"""Fixtures of the browser tests: Chromium, one JupyterLab on a copy of notebooks/, screenshots."""

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests write `from lab import axe`

from lab import HOW_TO_INSTALL, Lab, chromium_path, launch

from attn_edu.course import NOTEBOOKS


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    """Chromium. Where it is missing the test is skipped, except on CI: there it fails."""
    if chromium_path() is None:
        if os.environ.get("CI"):
            pytest.fail(HOW_TO_INSTALL, pytrace=False)
        pytest.skip(HOW_TO_INSTALL)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = launch(playwright)
        yield running
        running.close()


@pytest.fixture(scope="session")
def lab(browser, tmp_path_factory):
    """One JupyterLab for all tests of this worker; `lab.root` is a copy of notebooks/."""
    root = tmp_path_factory.mktemp("lab") / "notebooks"
    shutil.copytree(NOTEBOOKS, root, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    with Lab(root, browser) as running:
        yield running


@pytest.fixture
def page_of(lab):
    """`page_of(path)`: a notebook of `lab.root` opened; page and kernel end with the test."""
    pages = []

    def opened(path, **options):
        pages.append(lab.open(path, **options))
        return pages[-1]

    yield opened
    for page in pages:
        page.context.close()
    lab.end_kernels()


@pytest.fixture
def screenshots(request, tmp_path_factory):
    """A folder for the test's screenshots; $SCREENSHOTS says where they are kept."""
    kept = os.environ.get("SCREENSHOTS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
