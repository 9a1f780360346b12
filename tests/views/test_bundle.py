"""The bundler, and what it makes of the modules."""

import subprocess

import pytest

from attn_edu.cli.checks import node
from attn_edu.views import bundle as bundling
from attn_edu.views.bundle import bundle, minify, module_order, module_source, top_level_names

STARTS = {
    "map": "mountMap",
    "steps": "mountSteps",
    "split": "mountSplit",
    "reach": "mountReach",
    "warm": "mountWarmMap",
    "bill": "mountBill",
    "guesses": "mountGuesses",
    "ledger": "mountLedger",
}


@pytest.mark.parametrize("entry", STARTS)
def test_no_two_modules_share_a_name(entry):
    names = [name for m in module_order(entry) for name in top_level_names(module_source(m))]
    assert len(names) == len(set(names)) > 20


@pytest.mark.parametrize("entry", STARTS)
def test_each_module_comes_after_those_it_needs(entry):
    order = module_order(entry)
    assert order[-1] == entry
    for at, module in enumerate(order):
        needed = [n for n in module_order(module) if n != module]
        assert set(needed) <= set(order[:at])


@pytest.mark.parametrize(("entry", "start"), STARTS.items())
def test_the_bundle_parses_and_defines_its_start(entry, start):
    program = f"(() => {{ {bundle(entry, start)}; if (typeof {start} !== 'function') throw 1 }})()"
    run = subprocess.run([node(), "-e", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("const a = 1; // a note\nlet b;", "const a=1;let b;"),
        ("return a /* no */ + b;", "return a+b;"),
        ("a + +b - -c", "a+ +b- -c"),
        ('const s = "a  // b";', 'const s="a  // b";'),
        (
            "const t = `a  ${x ? `b  ${y}` : 'c }'}  d`;",
            "const t=`a  ${x ? `b  ${y}` : 'c }'}  d`;",
        ),
        ("const css = `a, b .c {\n  d: e f;\n}\n`;", "const css=`a,b .c{d:e f}`;"),
        ("const t = `one,  two`;", "const t=`one,  two`;"),
        ("s.replace(/[\"' /]+/g, x);", "s.replace(/[\"' /]+/g,x);"),
        ("a / b / c", "a/b/c"),
        ("typeof x in y", "typeof x in y"),
    ],
)
def test_minifying_keeps_what_a_program_says(source, want):
    assert minify(source) == want


def test_what_nothing_needs_is_left_out():
    assert "mountSteps" not in bundle("map", "mountMap")
    assert "softmaxRows" not in bundle("map", "mountMap")
    assert "softmaxRows" in bundle("steps", "mountSteps")


def test_a_circle_of_imports_is_an_error(monkeypatch):
    sources = {"a": 'import { b } from "./b.js";\n', "b": 'import { a } from "./a.js";\n'}
    monkeypatch.setattr(bundling, "module_source", sources.__getitem__)
    with pytest.raises(ValueError, match="a -> b -> a"):
        module_order("a")
