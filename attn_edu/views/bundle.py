"""Joins the ES modules of ``views/js`` into one small script, in pure Python.

The modules use a narrow style on purpose (one-line named imports, ``export`` before a declaration,
a semicolon after every statement), so that joining them needs no tool from outside.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w]+)\.js";\n', re.M)
_EXPORT = re.compile(r"^export (?=(async function|function|const|let|class)\b)", re.M)
_NAME = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) ([\w$]+)", re.M)
_TOKEN = re.compile(
    r"""(?P<note>//[^\n]*|/\*.*?\*/)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<template>`(?:\\.|[^`\\])*`)
      | (?P<regex>(?<=[(,=:])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/[a-z]*)
      | (?P<space>\s+)
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


def top_level_names(name: str) -> list[str]:
    """What a module declares at its top level; no two modules may share one."""
    return _NAME.findall(module_source(name))


def minify(source: str) -> str:
    """Drop comments and every space that separates nothing; strings and templates stay as written."""
    out: list[str] = []
    gap = False
    for match in _TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if kind in ("note", "space"):
            gap = True
            continue
        text = text.strip() if kind == "regex" else text
        if gap and out:
            last, first = out[-1][-1], text[0]
            words = re.match(r"[\w$]", last) and re.match(r"[\w$]", first)
            if words or (last == first and last in "+-"):
                out.append(" ")
        out.append(text)
        gap = False
    return "".join(out)


@cache
def bundle(entry: str) -> str:
    """The minified modules behind ``entry`` as statements that share one scope."""
    parts = [_EXPORT.sub("", _IMPORT.sub("", module_source(name))) for name in module_order(entry)]
    return minify("\n".join(parts))
