"""What a chapter's text defines, and the scripts that made its data, for the tests beside this."""

import ast
import importlib.util
import symtable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jupytext

ROOT = Path(__file__).parents[2]
AT_ONCE = ("genexpr", "listcomp", "setcomp", "dictcomp", "lambda")  # run where they stand


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


def bound_twice(file: str) -> dict[str, list[int]]:
    """Names that two cells of a chapter give a value and a third or a function reads -> the cells.

    Where there is one, an earlier cell that is run again changes what a later one does. Imports,
    and names that every cell gives its own value before it reads them, are left out.
    """
    bound, read = {}, {}
    for i, source in enumerate(code_cells(file)):
        table = symtable.symtable(source, file, "exec")
        own = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_namespace()}
        taken = {s.get_name() for s in table.get_symbols() if s.is_referenced()} - own
        inner = [(scope, False) for scope in table.get_children()]
        while inner:
            scope, later = inner.pop()  # what a function reads, it reads whenever it is called
            later = later or scope.get_name() not in AT_ONCE
            inner += [(part, later) for part in scope.get_children()]
            outer = {s.get_name() for s in scope.get_symbols() if s.is_global()}
            taken |= outer if later else outer - own
        for name in own:
            bound.setdefault(name, []).append(i)
        for name in taken:
            read.setdefault(name, []).append(i)
    return {name: cells for name, cells in bound.items() if len(cells) > 1 and name in read}


def script_of(name: str) -> ModuleType:
    """A script of ``data/scripts/``, loaded and not run."""
    path = ROOT / "data" / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"script_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
