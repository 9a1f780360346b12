"""The package itself: what it names can be loaded."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import attn_edu
from attn_edu import datasets
from attn_edu.cli.environment import ROOT
from attn_edu.optional import needed

from .chapters.loading import code_cells


def test_every_public_name_can_be_had():
    for name in dir(attn_edu):
        assert getattr(attn_edu, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(attn_edu, "attentoin")


HIDDEN = """
import sys
for name in {names}: sys.modules[name] = None
import attn_edu
{code}
"""


def namespace(code):
    """The names that a piece of code leaves behind, here where everything is installed."""
    names = {}
    exec(code, names)
    return names


def run_without(names, code):
    code = HIDDEN.format(names=names, code=code)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


CURVES = """\
from attn_edu.figures import curves_by_step
steps = {"one": {"a": ([1, 2, 3], [4, 5, 7])}, "two": {"a": ([1, 2, 3], [4, 3, 2])}}
words = {"x": "length", "y": "cost", "title": "Costs", "summary": "They rise."}
chart = curves_by_step(steps, slider="step", log_x=True, levels={"chance": 4.5}, **words)"""
WIDGETS = """\
import torch
from attn_edu import widgets
from attn_edu.widgets import BillWithClock, Playground, Reading, Retrain, choose, type_words
def html(one):
    playground = isinstance(one, Playground)
    return one._html() if playground else one._repr_mimebundle_()["text/html"]
made = [
    choose(["left", "right"], lambda name: (torch.eye(2), [name, "word"]), label="Side"),
    type_words("two words", lambda words: torch.eye(len(words)), label="Words"),
    Retrain(lambda: "trained", "Train again"),
    BillWithClock(),
    Playground({"count": lambda text: Reading(f"{len(text)} letters")}, "fish"),
]
names = " ".join(widgets.__all__)"""
MAP = "from attn_edu.views import AttentionMap; view = AttentionMap([[0.5, 0.5], [0.1, 0.9]])"


def test_without_plotly_and_widgets_the_pictures_still_show_themselves():
    missing = ["plotly", "ipywidgets", "anywidget", "IPython", "tqdm", "resvg_py"]
    shown = run_without(missing, f"{MAP}; print(view._repr_mimebundle_()['text/html'])")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("<figure")
    check = "from attn_edu.exercises import check; print(check('02.scores', lambda q, k: q @ k.mT))"
    assert "passed" in run_without(missing, check).stdout


def test_without_plotly_a_curve_is_a_picture_with_its_numbers():
    shown = run_without(["plotly"], f"{CURVES}; print(chart._repr_mimebundle_()['text/html'])")
    assert shown.returncode == 0, shown.stderr
    chart = namespace(CURVES)["chart"]
    install = "<p>To hover and zoom, install the package plotly: pip install plotly</p>"
    assert shown.stdout.strip() == chart.still.to_html() + install


@pytest.mark.parametrize("missing", ["ipywidgets", "anywidget"])
def test_without_widgets_each_shows_what_needs_no_control(missing):
    shown = run_without([missing], f"{WIDGETS}\nfor one in made: print(one)")
    assert shown.returncode == 0, shown.stderr
    words = shown.stdout.splitlines()
    assert [line.endswith(f": pip install {missing}") for line in words] == [True] * 4 + [False]
    assert [line.split(".")[0] for line in words[:2]] == ["Attention map"] * 2
    assert words[3].startswith("The bill at")
    assert words[4] == "Playground. count, “fish”: 4 letters"
    pages = run_without([missing], f"{WIDGETS}\nfor one in made: print(html(one))")
    assert pages.stdout.count(f"pip install {missing}") == 5
    with_all = namespace(f"{WIDGETS}")
    assert with_all["names"] == run_without([missing], f"{WIDGETS}\nprint(names)").stdout.strip()


@pytest.mark.parametrize(
    ("missing", "code"),
    [("anywidget", f"{MAP}; view.live()"), ("plotly", "from attn_edu.figures import Chart")],
)
def test_what_is_missing_is_named_with_the_command_that_installs_it(missing, code):
    run = run_without([missing], code)
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: ")
    assert f"needs the package {missing}: pip install {missing}" in last


@pytest.mark.parametrize("file", ["02_single_head", "11_reading"])
def test_without_plotly_and_widgets_a_chapter_runs_on(file):
    code = "\n".join(["def display(*shown): print(*map(repr, shown))", *code_cells(file)])
    run = run_without(["plotly", "ipywidgets", "anywidget"], code)
    assert (run.returncode, run.stderr) == (0, "")


def test_another_error_of_an_import_is_left_as_it_is():
    wanted = pytest.raises(ModuleNotFoundError, match="No module named 'something'")
    with wanted, needed("this", "plotly"):
        raise ModuleNotFoundError("No module named 'something'", name="something")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The package as pip would install it, unpacked: no clone around it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--quiet",
        "-w",
        str(folder),
        str(ROOT),
    ]
    built = subprocess.run(pip, capture_output=True, text=True)
    if built.returncode:
        if os.environ.get("CI"):
            pytest.fail(built.stderr)
        pytest.skip(f"the wheel could not be built here (no network?): {built.stderr[-300:]}")
    (path,) = folder.glob("*.whl")
    zipfile.ZipFile(path).extractall(folder / "site")
    return folder / "site"


def test_an_installed_package_brings_its_data_along(wheel, tmp_path):
    code = (
        "import attn_edu, sys; sys.path = [p for p in sys.path if p != '']\n"
        "from attn_edu.datasets import DATA, recorded, sentence, shakespeare\n"
        "print(attn_edu.__file__, DATA, len(sentence('letter').tokens), sep='\\n')\n"
        "assert shakespeare() and recorded('crossovers')\n"
    )
    env = {**os.environ, "PYTHONPATH": str(wheel)}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    assert run.returncode == 0, run.stderr
    package, data, words = run.stdout.splitlines()
    assert Path(package).is_relative_to(wheel)
    assert Path(data) == wheel / "attn_edu" / "data"
    assert words == "16"
    ours = {p.name: p.read_bytes() for p in (ROOT / "data").iterdir() if p.is_file()}
    theirs = {p.name: p.read_bytes() for p in Path(data).iterdir() if p.is_file()}
    assert ours == theirs


def test_in_a_clone_the_data_is_that_of_the_clone():
    assert datasets.DATA == ROOT / "data"
