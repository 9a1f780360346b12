"""The course away from home: one address, Colab's set-up cell, what Binder would read, CI."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from attn_edu import address, colab
from attn_edu.address import Repository
from attn_edu.cli import colab as check
from attn_edu.cli.environment import LOCK, ROOT
from attn_edu.cli.notebooks import assembled
from attn_edu.course import BEGIN, END, chapters, repository

SOURCE = Repository("https://github.com/us/our-course", "v2/next")
CHAPTER = pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.number)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EDITED = (
    ".md",
    ".py",
    ".toml",
    ".yml",
    ".yaml",
    ".cff",
    ".js",
    ".mjs",
    ".sh",
    "Makefile",
    "postBuild",
)
BLOCKS = [(BEGIN, END), (address.BEGIN, address.END), ("<!-- made: links", "<!-- /made -->")]


def edited() -> dict[str, str]:
    """What people edit, by path: text files without the blocks that are made."""
    found = {}
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        hidden = any(part[0] == "." and part not in (".github", ".ci") for part in parts)
        if hidden or parts[0] in ("site", "assignments") or not path.name.endswith(EDITED):
            continue
        text = path.read_text("utf-8") if path.is_file() else ""
        for start, end in BLOCKS:
            text = re.sub(f"{start}.*?{end}", "", text, flags=re.DOTALL)
        found[str(path.relative_to(ROOT))] = text
    return found


# ---- the address -------------------------------------------------------------------------------


def test_the_address_stands_in_one_place():
    name = repository().owner_and_name
    assert [path for path, text in edited().items() if name in text] == ["notebooks/course.toml"]


def test_links_name_owner_repository_branch_and_file():
    assert SOURCE.owner_and_name == "us/our-course"
    binder = "https://mybinder.org/v2/gh/us/our-course/v2%2Fnext?labpath=notebooks%2F00%20a.ipynb"
    assert SOURCE.binder("notebooks/00 a.ipynb") == binder
    there = (
        "https://colab.research.google.com/github/us/our-course/blob/v2/next/notebooks/00%20a.ipynb"
    )
    assert SOURCE.colab("notebooks/00 a.ipynb") == there
    assert SOURCE.archive == "https://github.com/us/our-course/archive/refs/heads/v2/next.zip"


@pytest.mark.parametrize(
    ("where", "branch", "message"),
    [
        ("http://github.com/us/ours", "main", "OWNER/NAME"),
        ("https://github.com/us", "main", "OWNER/NAME"),
        ("https://github.com/us/ours/", "main", "OWNER/NAME"),
        ("https://github.com/us/ours --index-url x", "main", "OWNER/NAME"),
        ("https://github.com/us/ours", "a b", "branch"),
        ("https://github.com/us/ours", "", "branch"),
    ],
)
def test_an_address_of_another_form_is_an_error(where, branch, message):
    with pytest.raises(ValueError, match=message):
        Repository(where, branch)


def test_badges_are_renewed_between_their_markers_alone():
    old = f"before\n{address.BEGIN}\nold\n{address.END}\nafter"
    new = SOURCE.with_badges(old, "a.ipynb")
    assert new == SOURCE.with_badges(new, "a.ipynb")
    assert "old" not in new
    assert new.startswith("before\n") and new.endswith("\nafter")
    assert SOURCE.binder("a.ipynb") in new and SOURCE.colab("a.ipynb") in new
    assert SOURCE.with_badges("no markers", "a.ipynb") == "no markers"


def test_the_readme_links_to_every_chapter_in_both_services():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert repository().with_badges(readme, chapters()[0].address) == readme, "make notebooks"
    for chapter in chapters():
        (row,) = re.findall(rf"^\| {chapter.number} \|.*$", readme, re.MULTILINE)
        assert row.endswith(f"| {repository().links(chapter.address)} |")


@CHAPTER
def test_a_chapter_links_to_its_own_notebook_and_loads_nothing(chapter):
    first = assembled(chapter).cells[0].source.splitlines()
    at = first.index(f"*{chapter.question}*")
    assert f"({repository().binder(chapter.address)})" in first[at + 2]
    assert f"({repository().colab(chapter.address)})" in first[at + 2]
    assert chapter.notebook == ROOT / chapter.address
    assert "![" not in first[at + 2]


# ---- Colab's set-up cell -----------------------------------------------------------------------


def run_setup(monkeypatch, inside: bool):
    """Run the cell; returns the magics that it called, and how often it asked for widgets."""
    magics, asked = [], []

    class Shell:
        def run_line_magic(self, name, line):
            magics.append((name, line))

    output = ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: asked.append(True)
    package, colab_module = ModuleType("google"), ModuleType("google.colab")
    package.colab, colab_module.output = colab_module, output
    for module in (package, colab_module, output):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delenv(colab.VARIABLE, raising=False)
    if inside:
        monkeypatch.setenv(colab.VARIABLE, "one")
    code = TransformerManager().transform_cell(colab.setup_cell(SOURCE).source)
    names = {"get_ipython": Shell}
    exec(code, names)
    return magics, asked, set(names) - {"__builtins__", "get_ipython"}


def test_outside_colab_the_set_up_cell_does_nothing(monkeypatch, capsys):
    magics, asked, names = run_setup(monkeypatch, inside=False)
    assert (magics, asked, names) == ([], [], {"os"})
    assert capsys.readouterr() == ("", "")


def test_in_colab_it_installs_the_course_alone_and_turns_widgets_on(monkeypatch, capsys):
    magics, asked, _ = run_setup(monkeypatch, inside=True)
    assert {name for name, _ in magics} == {"pip"}
    lines = [line.split() for _, line in magics]
    assert all(line[0] == "install" and "--no-deps" in line for line in lines)
    wanted = [word for line in lines for word in line[1:] if word[0] != "-"]
    assert wanted == [*colab.added(), SOURCE.archive]
    assert asked == [True]
    assert capsys.readouterr() == ("", "")


@CHAPTER
def test_every_chapter_has_the_cell_as_its_first_code(chapter):
    cells = [cell for cell in assembled(chapter).cells if cell.cell_type == "code"]
    expected = colab.setup_cell(repository())
    assert (cells[0].source, cells[0].metadata) == (expected.source, expected.metadata)
    assert not any(colab.TAG in cell.metadata.get("tags", []) for cell in cells[1:])


@CHAPTER
def test_a_chapter_needs_no_clone_beside_it(chapter):
    code = [cell.source for cell in assembled(chapter).cells if cell.cell_type == "code"]
    assert [source for source in code if re.search(r"""["'](\.\./|data/)""", source)] == []


def test_what_is_added_is_locked_and_nothing_that_colab_has_is_replaced():
    locked = LOCK.read_text("utf-8").splitlines()
    added = [Requirement(line) for line in colab.added()]
    assert set(colab.added()) <= set(locked)
    assert tuple(one.name for one in added) == colab.ADDED
    there = {Requirement(pin).name for pin in check.PINS} | {"torch", "typing-extensions"}
    assert not there & set(colab.ADDED)
    for name in ["attn-edu", *colab.ADDED]:  # installed without what they ask for: is it there?
        needs = map(Requirement, requires(name) or [])
        plain = [r for r in needs if r.marker is None or r.marker.evaluate({"extra": ""})]
        missing = {canonicalize_name(r.name) for r in plain} - there - set(colab.ADDED)
        assert missing == set(), f"{name} needs what Colab's versions do not list"


def test_colabs_versions_are_within_the_ranges_of_the_course():
    ranges = {Requirement(line).name: Requirement(line) for line in PROJECT["dependencies"]}
    for pin in map(Requirement, check.PINS):
        for exact in pin.specifier:
            if pin.name in ranges and exact.operator == "==":
                assert ranges[pin.name].specifier.contains(exact.version), pin


# ---- the check of all chapters -----------------------------------------------------------------


def test_the_check_lets_the_cell_install_the_wheel_in_place_of_the_archive():
    (cell,) = [
        c for c in check.prepared(chapters()[0], Path("/a/wheel")).cells if c.get("id") == colab.TAG
    ]
    assert repository().archive not in cell.source
    assert "--no-deps /a/wheel\n" in cell.source.replace("\\", "/")


def test_the_check_tells_a_cell_that_names_no_repository(monkeypatch):
    monkeypatch.setattr(check, "assembled", lambda _: new_notebook(cells=[colab_cell("1 + 1")]))
    with pytest.raises(check.ColabError, match="does not name the repository"):
        check.prepared(chapters()[0], Path("wheel"))


def colab_cell(source: str):
    return new_code_cell(source, metadata={"tags": [colab.TAG]})


ASKS = "import google.colab.output\ngoogle.colab.output.enable_custom_widget_manager()"


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (ASKS, None),
        ("2 + 2", "did not ask for custom widgets"),
        (f"{ASKS}\nraise KeyError('lost')", "lost"),
        (f"{ASKS}\nimport os; assert not os.listdir()", None),
        (f"{ASKS}\nimport os; assert os.environ['{colab.VARIABLE}']", None),
        (f"{ASKS}\nimport sys; print('old', file=sys.stderr)", "wrote to stderr"),
    ],
)
def test_the_check_finds_what_goes_wrong(source, fault, monkeypatch, tmp_path):
    monkeypatch.setattr(check, "KERNEL", "python3")
    notebook = new_notebook(cells=[new_markdown_cell("# words"), colab_cell(source)])
    monkeypatch.setattr(check, "prepared", lambda *_: notebook)
    check.stand_in(tmp_path)
    found = check.run(chapters()[0], tmp_path / "wheel", tmp_path)
    assert bool(found) == bool(fault)
    assert fault is None or fault in found[0]


@pytest.fixture
def called(monkeypatch, tmp_path):
    """What the check asks of pip, instead of asking; `freeze` lists what a test puts there."""
    calls, frozen = [], [["torch==2.11.0"], ["torch==2.11.0", "attn-edu==0.1.0"]]

    def pip(*words):
        calls.append(words[0])
        return "\n".join(frozen.pop(0)) if words[0] == "freeze" else ""

    monkeypatch.setattr(check, "pip", pip)
    monkeypatch.setattr(check, "FOLDER", tmp_path / "colab")
    monkeypatch.setattr(check.venv, "create", lambda folder, **_: folder.mkdir(exist_ok=True))
    monkeypatch.setattr(check.subprocess, "run", lambda *_, **__: None)
    monkeypatch.setattr(check, "wheel", lambda folder: folder / "wheel")
    monkeypatch.setenv("JUPYTER_PATH", "")
    return calls, frozen


def test_the_environment_is_made_once_for_each_torch_and_the_course_is_taken_out_each_time(called):
    calls, _ = called
    check.ensure("2.11.0")
    assert calls == ["install", "uninstall"]
    check.ensure("2.11.0")
    assert calls == ["install", "uninstall", "uninstall"]
    check.ensure("2.13.0")
    assert calls[3:] == ["install", "uninstall"]


@pytest.mark.parametrize(
    ("found", "after", "code", "told"),
    [
        ([], ["torch==2.11.0", "attn-edu==0.1.0"], 0, "00_start_here: 0 s\n"),
        (["a fault"], ["torch==2.11.0"], 1, "a fault"),
        ([], ["torch==2.13.0"], 1, "touched what Colab has:\n  torch==2.11.0"),
    ],
)
def test_the_check_fails_with_a_fault_or_another_version(
    called, monkeypatch, capsys, found, after, code, told
):
    called[1][1] = after
    monkeypatch.setattr(check, "run", lambda *_: found)
    assert check.main(["00"]) == code
    assert told in capsys.readouterr().out


def test_the_check_of_an_unknown_chapter_is_refused(capsys):
    with pytest.raises(SystemExit):
        check.main(["quantum"])
    assert "'quantum'" in capsys.readouterr().err


# ---- Binder ------------------------------------------------------------------------------------


def pip_lines() -> list[str]:
    """What environment.yml gives to pip."""
    content = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    assert {"name", "channels", "dependencies"} <= set(content)
    (listed,) = [one["pip"] for one in content["dependencies"] if isinstance(one, dict)]
    return listed


def test_binder_finds_one_environment_and_it_names_a_python_of_the_course():
    others = ("binder", ".binder", "Dockerfile", "requirements.txt", "runtime.txt", "Pipfile")
    assert [name for name in others if (ROOT / name).exists()] == [], "it would be read instead"
    content = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    (python,) = [one for one in content["dependencies"] if str(one).startswith("python=")]
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python[7:])


def test_binder_installs_the_locked_versions_and_the_small_torch():
    lines = pip_lines()
    assert "--extra-index-url https://download.pytorch.org/whl/cpu" in lines
    assert f"-c {LOCK.name}" in lines
    assert "-e .[course]" in lines  # without the 430 MB of the tests
    assert re.search(r"^torch==", LOCK.read_text("utf-8"), re.MULTILINE)
    assert re.search(r"^jupyterlab==", LOCK.read_text("utf-8"), re.MULTILINE)  # the links open it


def test_binder_trusts_the_notebooks_when_it_is_built(tmp_path, monkeypatch):
    assert os.access(ROOT / "postBuild", os.X_OK)
    copy = tmp_path / "course"
    for folder in ("attn_edu", "notebooks"):
        skipped = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(ROOT / folder, copy / folder, ignore=skipped)
    for file in ("postBuild", "requirements.lock", "pyproject.toml"):
        shutil.copy2(ROOT / file, copy / file)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(copy))
    ran = subprocess.run(["./postBuild"], cwd=copy, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"{len(chapters())} notebooks trusted\n"
    signed = NotebookNotary()
    for chapter in chapters():
        assert signed.check_signature(nbformat.read(copy / chapter.address, as_version=4))


# ---- CI ----------------------------------------------------------------------------------------


def test_ci_runs_the_chapters_as_colab_would_and_builds_for_binder_weekly_and_on_demand():
    path = ROOT / ".github" / "workflows" / "elsewhere.yml"
    content = yaml.safe_load(path.read_text("utf-8"))
    starts = content[True]  # `on`, which YAML reads as a truth value
    assert "cron" in starts["schedule"][0]
    assert "workflow_dispatch" in starts
    colab_job, binder_job = content["jobs"]["colab"], content["jobs"]["binder"]
    assert colab_job["env"]["PIP_EXTRA_INDEX_URL"] == "https://download.pytorch.org/whl/cpu"
    assert re.match("make colab-check( |$)", colab_job["steps"][-1]["run"])
    assert re.match("jupyter-repo2docker .*--no-run", binder_job["steps"][-1]["run"])


def test_colab_check_is_a_target_of_make():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"^[a-z -]*\bcolab-check\b[a-z -]*:", makefile, re.MULTILINE)
