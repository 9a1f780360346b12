"""Why a cell of a chapter would do something else the second time: found in its code, not run.

Names are followed in the bytecode, which lists loads and stores in the order in which they happen.
"""

import ast
import dis
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType

AT_ONCE = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>", "<lambda>")  # run where they stand
LOADS, STORES = ("LOAD_NAME", "LOAD_GLOBAL"), ("STORE_NAME", "STORE_GLOBAL")
LATER = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
DRAWS = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like"}
DRAWS |= {"multinomial", "bernoulli", "normal", "normal_", "uniform_", "bernoulli_"}
CHANGES = {"append", "extend", "insert", "pop", "popitem", "remove", "step", "backward"}


@dataclass(frozen=True)
class Cell:
    """A cell, the names that it gives a value, and those whose value is another cell's.

    It takes `now` what it reads before it gives it a value, and `later` what its functions read:
    by the time that they are called another cell may have given the name a value.
    """

    tree: ast.Module
    binds: frozenset[str]
    now: frozenset[str]
    later: frozenset[str]

    @classmethod
    def of(cls, source: str) -> "Cell":
        tree = ast.parse(source)
        binds, now, later = set(), set(), set()
        follow(compile(tree, "cell", "exec"), binds, now, later)
        modules = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        imports = {a.asname or a.name.split(".")[0] for node in modules for a in node.names}
        return cls(tree, *(frozenset(names - imports) for names in (binds, now, later)))


def follow(code: CodeType, binds: set[str], now: set[str], later: set[str]) -> None:
    """Sort the names of a cell, or of a part of it that runs where it stands, into three sets."""
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            at_once = step.argval.co_name in AT_ONCE
            follow(step.argval, *((binds, now, later) if at_once else (set(), later, later)))
        elif step.opname in LOADS and step.argval not in binds:
            now.add(step.argval)
        elif step.opname in STORES:
            binds.add(step.argval)


def bound_twice(sources: Sequence[str]) -> dict[str, list[int]]:
    """Names that two cells give a value, and that some cell takes from another -> the cells.

    Where there is one, an earlier cell that is run again changes what a later one does.
    """
    cells = [Cell.of(source) for source in sources]
    taken = set().union(*(cell.now | cell.later for cell in cells))
    bound = {}
    for i, cell in enumerate(cells):
        for name in sorted(cell.binds & taken):
            bound.setdefault(name, []).append(i)
    return {name: found for name, found in bound.items() if len(found) > 1}


def base(node: ast.AST) -> str | None:
    """The name that ``a.b[c].d`` starts with: ``a``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def called(node: ast.AST) -> str:
    """What is called: ``.randn`` in ``torch.randn(…)``, ``draw`` in ``draw(…)``."""
    function = node.func if isinstance(node, ast.Call) else None
    return "." + function.attr if isinstance(function, ast.Attribute) else base(function) or ""


def in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below, arguments before the call that takes them; not inside functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, LATER):
            yield from in_order(child)
            yield child


def functions(cell: Cell) -> list[ast.AST]:
    return [node for node in ast.walk(cell.tree) if isinstance(node, LATER)]


def changed(body: ast.AST) -> set[str | None]:
    """Names of objects that are added to, taken from, trained, or deleted: not assigned to."""
    found = set()
    for node in in_order(body):
        name = called(node).removeprefix(".")
        if isinstance(node, ast.AugAssign):
            found.add(base(node.target))
        elif isinstance(node, ast.Delete):
            found |= {base(target) for target in node.targets}
        elif called(node) == "next":
            found.add(base(node.args[0]))
        elif called(node) != name and (name in CHANGES or name.endswith("_")):
            found.add(base(node.func))
    return found


def unseeded(body: ast.AST, drawing: set[str]) -> list[str]:
    """Calls that draw random numbers from where another cell left off."""
    found = []
    for node in in_order(body):
        name = called(node)
        if name == ".manual_seed" and base(node.func) == "torch":
            break
        draws = name in drawing or (name[:1] == "." and name[1:] in DRAWS)
        if draws and all(keyword.arg != "generator" for keyword in node.keywords):
            found.append(name.removeprefix("."))
    return found


def generators(cell: Cell) -> set[str | None]:
    """Names of the random generators that a cell makes."""
    made = [node for node in cell.tree.body if isinstance(node, ast.Assign)]
    made = [node for node in made if "Generator" in ast.unparse(node.value)[:17]]
    return {base(target) for node in made for target in node.targets}


def faults(sources: Sequence[str], timing: Collection[int] = ()) -> list[str]:
    """One line for each reason why some cell would do something else the second time.

    Cells that time something, given by their places, may draw whatever numbers they like.
    """
    found = [f"cells {cells} bind {name}" for name, cells in bound_twice(sources).items()]
    cells = [Cell.of(source) for source in sources]
    bound = frozenset().union(*(cell.binds for cell in cells))
    made, drawing = set(), set()
    for i, cell in enumerate(cells):
        inside = set().union(*map(changed, functions(cell)))
        grown = (changed(cell.tree) & cell.now) | (inside & cell.later)
        found += [f"cell {i} changes {name}" for name in sorted(grown & bound)]
        found += [f"cell {i} draws on with {name}" for name in sorted(cell.now & made)]
        named = [f for f in functions(cell) if isinstance(f, ast.FunctionDef)]
        drawing |= {f.name for f in named if unseeded(f, drawing)}
        if i not in timing:
            found += [f"cell {i}: {call}() without a seed" for call in unseeded(cell.tree, drawing)]
        made |= generators(cell)
    return found
