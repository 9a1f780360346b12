"""Chapters that use real models show the same without them: run again with the packages hidden.

The notebooks stage compares the committed outputs with a run that has the packages, where they are
installed; this compares them with a run that has not.
"""

import configparser
import json
import os
import re

import nbformat
import pytest

from attn_edu.cli.environment import ROOT, quiet_variables
from attn_edu.cli.notebooks import CHANGING, assembled, clean, execute, faults
from attn_edu.course import find
from attn_edu.pretrained import PACKAGES, installed
from attn_edu.pretrained.packages import SWITCH

CHAPTERS = ("12", "13")


def sanitized(text: str) -> str:
    """`text` without what nbval does not compare either."""
    rules = configparser.RawConfigParser()
    rules.read(ROOT / "tests" / "nbval_sanitize.cfg", encoding="utf-8")
    for name in rules.sections():
        text = re.sub(rules[name]["regex"], rules[name]["replace"], text)
    return text


def texts(output) -> list[str]:
    """All that an output shows, as text."""
    parts = [output.get("text", "")]
    for kind, part in sorted(output.get("data", {}).items()):
        parts += [kind, part if isinstance(part, str) else json.dumps(part, sort_keys=True)]
    return [sanitized(part) for part in parts]


def shown(notebook) -> list[tuple[str, list[list[str]]]]:
    """Each cell that must not change: its code, and what its outputs show."""
    return [
        (cell.source, [texts(output) for output in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code" and not CHANGING & set(cell.metadata.get("tags", []))
    ]


@pytest.mark.parametrize("number", CHAPTERS)
def test_the_same_is_shown_with_the_packages_hidden(number, monkeypatch):
    if os.environ.get(SWITCH) == "off":
        pytest.skip(f"{SWITCH}=off: nbval has run this chapter without the packages already")
    missing = [name for name in PACKAGES if not installed(name)]
    reason = f"no weights of {', '.join(missing)} to hide: make test PRETRAINED=1"
    if missing and os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    if len(missing) == len(PACKAGES):
        pytest.skip(reason)
    for name, value in {**quiet_variables(), SWITCH: "off"}.items():
        monkeypatch.setenv(name, value)
    chapter = find(number)
    notebook = assembled(chapter)
    execute(notebook)
    clean(notebook)
    assert faults(notebook) == []
    committed = nbformat.read(chapter.notebook, as_version=4)
    for (source, now), (_, then) in zip(shown(notebook), shown(committed), strict=True):
        assert now == then, source
