"""What a chapter's text defines, and the scripts that made its data, for the tests beside this."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jupytext
from nbformat import NotebookNode

ROOT = Path(__file__).parents[2]


def notebook_of(file: str) -> NotebookNode:
    """A chapter, such as ``"03_multi_head"``, as its text says it: cells without outputs."""
    text = (ROOT / "notebooks" / "src" / f"{file}.md").read_text("utf-8")
    return jupytext.reads(text, fmt="md:myst")


def code_cells(file: str) -> list[str]:
    """The code of a chapter, cell by cell."""
    return [c.source for c in notebook_of(file).cells if c.cell_type == "code"]


def tagged(file: str, tag: str) -> set[int]:
    """Which of the code cells of a chapter carry a tag, counted from 0."""
    cells = [c for c in notebook_of(file).cells if c.cell_type == "code"]
    return {i for i, cell in enumerate(cells) if tag in cell.metadata.get("tags", [])}


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
