"""What a chapter's text defines, and the scripts that made its data, for the tests beside this."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jupytext

ROOT = Path(__file__).parents[2]


def code_cells(file: str) -> list[str]:
    """The code of a chapter, such as ``"03_multi_head"``, cell by cell."""
    text = (ROOT / "notebooks" / "src" / f"{file}.md").read_text("utf-8")
    return [c.source for c in jupytext.reads(text, fmt="md:myst").cells if c.cell_type == "code"]


def definitions(file: str, names=(), **given) -> SimpleNamespace:
    """The imports, functions and classes of a chapter, and what it assigns to some names."""
    keep = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)

    def wanted(node):
        if isinstance(node, ast.Assign):
            targets = [t for target in node.targets for t in ast.walk(target)]
            return any(isinstance(t, ast.Name) and t.id in names for t in targets)
        return isinstance(node, keep)

    body = [node for source in code_cells(file) for node in ast.parse(source).body if wanted(node)]
    namespace = dict(given)
    exec(compile(ast.Module(body, type_ignores=[]), file, "exec"), namespace)
    return SimpleNamespace(**namespace)


def script_of(name: str) -> ModuleType:
    """A script of ``data/scripts/``, loaded and not run."""
    path = ROOT / "data" / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"script_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
