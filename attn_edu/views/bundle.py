"""Joins the ES modules of ``views/js`` into one small script, in pure Python.

The modules keep to a narrow style so that no tool from outside is needed: named imports on one
line, one name a top-level declaration, each starting in the first column, a semicolon after every
statement.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class)\b)", re.M)
_DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) ([\w$]+)", re.M)
_TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<regex>(?<=[(,=:])/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/[a-z]*)
      | (?P<other>[\w$]+|.)""",
    re.S | re.X,
)


def module_source(name: str) -> str:
    """The text of ``js/<name>.js``."""
    return (files(__package__) / "js" / f"{name}.js").read_text(encoding="utf-8")


def module_order(entry: str) -> list[str]:
    """Every module that ``entry`` needs, each after those it imports itself."""
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"modules import each other in a circle: {' -> '.join((*path, name))}")
        if name not in order:
            for needed in _IMPORT.findall(module_source(name)):
                visit(needed, (*path, name))
            order.append(name)

    visit(entry, ())
    return order


def top_level_names(source: str) -> list[str]:
    """What a module declares at its top level; no two modules may share a name."""
    return _DECLARED.findall(source)


def _template_end(source: str, at: int) -> int:
    """The place after the template literal that opens at ``at``, its ${holes} included."""
    at += 1
    while source[at] != "`":
        if source[at] == "\\":
            at += 2
        elif source.startswith("${", at):
            at += 2
            while source[at] != "}":
                if source[at] == "`":
                    at = _template_end(source, at)
                elif source[at] in "\"'":
                    at = _TOKEN.match(source, at).end()
                elif source[at] == "{":
                    raise ValueError(f"a brace inside a template: {source[at - 40 : at + 20]!r}")
                else:
                    at += 1
            at += 1
        else:
            at += 1
    return at + 1


def minify(source: str) -> str:
    """Drop comments and every space that separates nothing; strings and templates stay as written.

    The one exception is a style sheet, a template with rules and no holes: there too no space is
    left that separates nothing.
    """
    out, at, gap = [""], 0, False
    while at < len(source):
        if source[at] == "`":
            end = _template_end(source, at)
            sheet = "${" not in source[at:end] and "{" in source[at:end]
        else:
            sheet = False
            match = _TOKEN.match(source, at)
            end = match.end()
            if match["gap"]:
                at, gap = end, True
                continue
        token, before = source[at:end], out[-1][-1:]
        if sheet:
            token = re.sub(r"\s*([{};,:])\s+|\s+", lambda m: m[1] or " ", token).replace(";}", "}")
        words = re.match(r"[\w$]", before) and re.match(r"[\w$]", token)
        if gap and (words or (before == token[0] and before in "+-")):
            out.append(" ")
        out.append(token)
        at, gap = end, False
    return "".join(out)


def _used(source: str, wanted: str) -> str:
    """The declarations that ``wanted`` needs, directly or not, in the order of the source."""
    starts = [m.start() for m in _DECLARED.finditer(source)]
    parts = [source[a:b] for a, b in zip(starts, [*starts[1:], len(source)])]
    named = {_DECLARED.match(part)[1]: part for part in parts}
    needed, queue = set(), [wanted]
    while queue:
        name = queue.pop()
        if name not in needed:
            needed.add(name)
            queue += [word for word in re.findall(r"[\w$]+", named[name]) if word in named]
    return "".join(part for name, part in named.items() if name in needed)


@cache
def bundle(entry: str, start: str) -> str:
    """What the function ``start`` of module ``entry`` needs, minified: statements of one scope."""
    sources = (_IMPORT.sub("", module_source(name)) for name in module_order(entry))
    return minify(_used(_EXPORT.sub("", "\n".join(sources)), start))
