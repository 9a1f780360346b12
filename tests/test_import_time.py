"""The package opens quickly: it loads no more than what it is asked for needs."""

import ast
import subprocess
import sys

import pytest

from attn_edu.cli.environment import ROOT

# Each takes tenths of a second, and is needed to draw a curve, to show a slider, to train, to test.
HEAVY = {
    *("plotly", "ipywidgets", "anywidget", "IPython", "ipykernel", "traitlets", "comm", "psygnal"),
    *("tqdm", "pandas", "scipy", "matplotlib", "resvg_py", "safetensors", "tokenizers", "gguf"),
    *("jupytext", "nbformat", "nbclient", "nbconvert", "jsonschema", "playwright", "pytest"),
}
PARTS = (
    *("attention", "costs", "course", "datasets", "exercises", "figures", "matmul", "models"),
    "views",
)


def loaded(first: str, then: str) -> list[str]:
    """The modules that a fresh Python loads for the second line after the first."""
    code = f"import sys\n{first}\nbefore = set(sys.modules)\n{then}\n"
    code += "print(sorted(set(sys.modules) - before))"
    shown = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT)
    return ast.literal_eval(shown)


def from_outside(modules: list[str]) -> set[str]:
    """The packages among them that are neither ours nor the standard library's."""
    tops = {name.partition(".")[0] for name in modules}
    tops = {top for top in tops if "cython" not in top}  # what numpy's random numbers register
    return tops - {"attn_edu"} - set(sys.stdlib_module_names)


@pytest.fixture(scope="module")
def every_part():
    return loaded("import torch, numpy", "import " + ", ".join(f"attn_edu.{p}" for p in PARTS))


def test_the_package_alone_loads_itself():
    assert set(loaded("import importlib", "import attn_edu")) == {"attn_edu"}


def test_attention_and_exercises_load_torch_and_numpy_alone():
    found = loaded("import torch", "import attn_edu.attention, attn_edu.exercises")
    assert from_outside(found) <= {"torch", "numpy"}


def test_nothing_heavy_is_loaded_before_it_is_used(every_part):
    assert not from_outside(every_part) & HEAVY
    assert not [
        name for name in every_part if name.startswith(("torch._dynamo", "torch._inductor"))
    ]


def test_of_our_modules_none_is_loaded_before_it_is_used(every_part):
    """Widgets need a kernel, and few readers train or grade."""
    ours = {name.split(".")[1] for name in every_part if name.startswith("attn_edu.")}
    assert not ours & {"widgets", "training", "pretrained", "assign"}
    assert not [name for name in every_part if name.startswith("attn_edu.views.live")]


def test_plotly_is_loaded_when_a_curve_is_drawn_and_not_before():
    lines = "{'a': ([1, 2], [3, 4])}, x='x', y='y', title='t', summary='s'"
    assert "plotly" not in from_outside(loaded("import torch", "import attn_edu.figures"))
    assert "plotly" in from_outside(
        loaded("from attn_edu.figures import curves", f"curves({lines})")
    )
