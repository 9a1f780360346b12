"""A chapter reads the files of the course and nothing else; one that is not there is named."""

import ast
import re

import pytest

from attn_edu import datasets
from attn_edu.cli.environment import ROOT
from attn_edu.cli.notebooks import from_text
from attn_edu.course import chapters

BY_NAME = {"load_tensors", "recorded"}
GIVEN = {"sentence": '"tired"', "rated_sentences": '"train"', "named_verses": '"train"'}
OUTSIDE = {"pickle", "dill", "joblib", "socket", "ssl", "http", "urllib.request", "requests"}
COMMANDS = {"cli", "assign"}  # may install, serve, and call other programs; no chapter does
DAMAGE = {
    "cut short": lambda content: content[: len(content) * 2 // 3],
    "empty": lambda content: b"",
    "another file": lambda content: b"\x80 no text, no archive, no tensors",
}


def trees():
    """What chapters and the package they import say, as syntax trees, by name."""
    for chapter in chapters():
        if chapter.text.is_file():
            cells = from_text(chapter.text.read_text("utf-8")).cells
            yield chapter.file, ast.parse("\n".join(c.source for c in cells if "outputs" in c))
    for path in (ROOT / "attn_edu").rglob("*.py"):
        name = path.relative_to(ROOT / "attn_edu")
        if name.parts[0] not in COMMANDS:
            yield str(name), ast.parse(path.read_text("utf-8"))


def read_by_chapters() -> set[str]:
    """Each call that reads a file of the course: by loaders of one file, and by a file's name."""
    loaders = {
        n for n in datasets.__all__ if "FileNotFound" in (getattr(datasets, n).__doc__ or "")
    }
    found = {f"{name}({GIVEN.get(name, '')})" for name in loaders - BY_NAME}
    nodes = (node for _, tree in trees() for node in ast.walk(tree))
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        constant = all(isinstance(given, ast.Constant) for given in call.args)
        if ast.unparse(call.func) in BY_NAME and constant:
            found.add(ast.unparse(call))
    return found


@pytest.fixture(params=sorted(read_by_chapters()))
def load(request, monkeypatch, tmp_path):
    """A call that reads a file, in a course without any."""
    for function in list(vars(datasets).values()):
        getattr(function, "cache_clear", lambda: None)()
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    return lambda: eval(request.param, vars(datasets))


def named(error: BaseException) -> str:
    """The file that an error names, after it was seen to name a script that there is."""
    file, script = re.search(r"data/(\S+) is .*data/scripts/(\w+\.py)", str(error)).groups()
    assert (ROOT / "data" / "scripts" / script).is_file()
    return file


def test_a_missing_or_damaged_file_is_named_with_the_script_that_makes_it(load, tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        load()
    file = named(missing.value)
    content = (ROOT / "data" / file).read_bytes()
    for damage in DAMAGE.values():
        (tmp_path / file).write_bytes(damage(content))
        with pytest.raises(ValueError, match="damaged") as damaged:
            load()
        assert named(damaged.value) == file


def test_nothing_is_unpickled_and_no_chapter_asks_the_network():
    for name, tree in trees():
        for node in ast.walk(tree):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {part for m in modules for part in (m, m.split(".")[0])} & OUTSIDE, name
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in ("torch.load", "np.load", "numpy.load"), name
