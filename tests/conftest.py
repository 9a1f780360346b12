"""For every test: a fixed seed, and at the end the seconds of each kind of check."""

import random
from collections import Counter

import pytest


@pytest.fixture(autouse=True)
def fixed_seed():
    """Each test starts from the same random state, whatever ran before it."""
    import torch

    random.seed(0)
    torch.manual_seed(0)


def kind(nodeid: str) -> str:
    """unit, notebooks or browser: what a test's id says."""
    if nodeid.startswith("notebooks/"):
        return "notebooks"
    return "browser" if nodeid.startswith("tests/browser/") else "unit"


def pytest_terminal_summary(terminalreporter):
    seconds, counts = Counter(), Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration"):
                seconds[kind(report.nodeid)] += report.duration
                counts[kind(report.nodeid)] += report.when == "call" or report.skipped
    for name in seconds:
        terminalreporter.write_line(
            f"=== {name}: {counts[name]} checks, {seconds[name]:.0f} s of one worker"
        )
