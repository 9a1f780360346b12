"""The lock, environment.yml, pyproject.toml and the other lists of versions say the same."""

import ast
import os
import re
import sys
import tomllib
from importlib.metadata import metadata, packages_distributions

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import attn_edu
from attn_edu.cli import lock
from attn_edu.cli.environment import LOCK, ROOT, installed, not_as_locked, requirements

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def pins(name):
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text("utf-8").splitlines())
    return dict(line.split("==") for line in lines if line)


@pytest.mark.parametrize("line", requirements())
def test_every_requirement_is_locked_within_its_range(line):
    requirement = Requirement(line)
    locked = pins(LOCK.name)
    assert canonicalize_name(requirement.name) in locked
    assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])


def test_lock_holds_exact_public_versions_in_order_and_no_address():
    lines = [x for x in LOCK.read_text("utf-8").splitlines() if not x.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in lines)
    names = [line.split("==")[0] for line in lines]
    assert names == sorted(set(names))
    assert not re.search(r"nvidia|cuda|triton|attn|^pip=", "\n".join(lines), re.MULTILINE)
    assert "torch==2.13.0" in lines


def test_lock_holds_all_that_is_needed_and_nothing_else():
    if not_as_locked():
        own = os.environ.get("ATTN_EDU_ENV") == "current" or not os.environ.get("CI")
        assert own, "CI runs the locked versions, except where ATTN_EDU_ENV=current says otherwise"
        pytest.skip("the lock can be compared only with an environment that was made from it")
    assert lock.closure(requirements()) == pins(LOCK.name)


def test_closure_follows_extras_and_leaves_out_what_the_markers_exclude(monkeypatch):
    needs = {
        "a": ["b[more]>=1", "never; python_version < '3'"],
        "b": ["plain", "deep; extra == 'more'", "unasked; extra == 'other'", "nvidia-cublas"],
        "plain": ["triton==3", "cuda-toolkit[cublas]"],
    }
    monkeypatch.setattr(lock, "installed", lambda name: "1.0" if name != "never" else None)
    monkeypatch.setattr(
        lock, "distribution", lambda name: type("D", (), {"requires": needs.get(name)})
    )
    assert set(lock.closure(["a"])) == {"a", "b", "plain", "deep"}
    with pytest.raises(SystemExit, match="never is not installed"):
        lock.closure(["never"])


def test_what_the_code_and_the_tests_import_is_locked():
    locked, here = pins(LOCK.name), packages_distributions()
    files = [
        path for name in ("attn_edu", "tests", "bench") for path in (ROOT / name).rglob("*.py")
    ]
    files.remove(ROOT / "attn_edu/site/course_pages.py")  # Sphinx runs it, in its own environment
    own = {path.stem for path in files} | {"attn_edu", "bench", "tests"}
    extras = PROJECT["optional-dependencies"]
    optional = extras["pretrained"] + extras["assign"]  # read where they are installed
    optional += pins("hub/requirements.txt")
    own |= {canonicalize_name(Requirement(line).name) for line in optional}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for name in {name.partition(".")[0] for name in names} - own - sys.stdlib_module_names:
                packages = {canonicalize_name(package) for package in here.get(name, [])}
                assert packages & set(locked), f"{path.name} imports {name}: in no extra"


def test_environment_yml_installs_the_lock_and_the_package():
    content = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    by_pip = content[-1]["pip"]
    assert "-c requirements.lock" in by_pip
    assert "-e .[course]" in by_pip
    python = next(line for line in content if str(line).startswith("python"))
    assert Requirement("python" + PROJECT["requires-python"]).specifier.contains(
        python.split("=")[-1]
    )
    assert set(content[:-1]) == {python, "pip"}, "versions belong in the lock"


def test_oldest_versions_are_the_lower_ends_of_the_ranges():
    oldest = pins("requirements-oldest.txt")
    wanted = {canonicalize_name(Requirement(x).name): x for x in PROJECT["dependencies"]}
    assert set(oldest) == set(wanted)
    for name, line in wanted.items():
        specifier = Requirement(line).specifier
        lowest = next(s.version for s in specifier if s.operator == ">=")
        assert specifier.contains(oldest[name])
        assert f"{oldest[name]}.".startswith(f"{lowest}."), name


def test_no_cap_on_python_and_the_floors_that_colab_needs():
    assert PROJECT["requires-python"] == ">=3.11"
    assert {"torch>=2.9", "plotly>=5.24,<8", "ipywidgets>=7.7"} <= set(PROJECT["dependencies"])


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert PROJECT["version"] == attn_edu.__version__ == citation["version"]
    assert installed("attn-edu") in (None, attn_edu.__version__)


def test_citation_has_what_its_schema_asks_for():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert set(citation["license"]) == set(PROJECT["license"].split(" AND "))


@pytest.mark.parametrize(
    ("name", "words"),
    [("LICENSE", "BSD 3-Clause License"), ("LICENSE-text", "Attribution 4.0 International")],
)
def test_licences_are_there(name, words):
    assert name in PROJECT["license-files"]
    assert words in (ROOT / name).read_text("utf-8")


def test_workflow_runs_on_push_pull_request_and_weekly_with_oldest_newest_and_locked():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))
    assert {"push", "pull_request", "schedule"} <= set(workflow[True])  # YAML reads `on` as true
    jobs = workflow["jobs"]
    assert all(job["timeout-minutes"] <= 60 for job in jobs.values())
    assert {row["name"] for row in jobs["ranges"]["strategy"]["matrix"]["include"]} == {
        "oldest",
        "newest",
    }
    assert ".ci/run" in str(jobs["locked"]["steps"])


def test_every_locked_package_runs_on_the_oldest_python_of_the_course():
    """Also on its first release: Debian 12 has 3.11.2."""
    oldest = re.fullmatch(r">=(\d+\.\d+)", PROJECT["requires-python"])[1] + ".0"
    refused = {
        name: wanted
        for name, pin in pins(LOCK.name).items()
        if installed(name) == pin  # of another version this environment says nothing
        and (wanted := metadata(name)["Requires-Python"])
        and not SpecifierSet(wanted).contains(oldest)
    }
    assert refused == {}
