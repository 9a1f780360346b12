"""`weights_of(name)`: a model's package, or the test is skipped. On CI it fails instead."""

import os

import pytest

from attn_edu.pretrained import PACKAGES, installed
from attn_edu.pretrained.packages import SWITCH


@pytest.fixture(scope="session")
def weights_of():
    def wanted(name: str) -> None:
        if installed(name):
            return
        missing = f"{PACKAGES[name].distribution} is missing: make test PRETRAINED=1"
        if os.environ.get("CI") and os.environ.get(SWITCH) != "off":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)

    return wanted
