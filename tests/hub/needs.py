"""What the tests of a hub need, and what happens where it is missing."""

import os
import subprocess
import sys

import pytest

from bench import classroom

PROMISED = "ATTN_EDU_HUB"  # set to `required` by CI's job that installs a hub


def a_hub(*packages: str) -> None:
    """Skip the test where a hub, or one of these further packages, is not installed.

    Where it is promised the test fails instead.
    """
    _need(classroom.missing(packages))


def root(why: str) -> None:
    """Skip the test for whoever is not root; CI runs the tests of a hub as root too."""
    if os.geteuid() != 0:
        pytest.skip(f"needs root, {why}")


def a_python_for_all() -> None:
    """Skip the test where other users of the system cannot run this Python; fail where promised."""
    read = [sys.executable, "-c", "import jupyterhub"]
    if subprocess.run(read, user="nobody", cwd="/", capture_output=True).returncode:
        _need(f"a Python that all users of the system can read: {sys.executable}")


def _need(missing: str) -> None:
    if missing and os.environ.get(PROMISED):
        pytest.fail(f"promised, and missing: {missing}", pytrace=False)
    if missing:
        pytest.skip(f"missing: {missing}")
