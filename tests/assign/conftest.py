"""What the tests that run nbgrader for real share."""

import os

import pytest

from attn_edu.assign import tools


@pytest.fixture(scope="session")
def nbgrader():
    """Its folder, installed where it is missing. Without it: skipped, on CI a failure."""
    try:
        return tools.path()
    except tools.ToolsError as error:
        missing = f"nbgrader is missing and could not be installed: {error}"
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
