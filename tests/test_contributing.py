"""What CONTRIBUTING.md says about exercises is so."""

import dataclasses
import inspect
import re

from attn_edu.course import ROOT
from attn_edu.exercises import exercise
from attn_edu.exercises.definition import Exercise, Misconception

TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
TABLE = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TEXT.partition("| field of `Exercise` |")[2].partition("\n\n")[0].splitlines()[2:]
]
ONE = exercise("03.merge_heads")


def test_the_table_has_every_field():
    named = [name for row in TABLE for name in re.findall(r"`(\w+)`", row[0])]
    fields = [field.name for field in dataclasses.fields(Exercise)]
    assert sorted(named) == sorted(fields)
    assert all(len(row) == 3 and all(row) for row in TABLE)


def test_its_examples_are_those_of_the_exercise():
    said = {name: row[2] for row in TABLE for name in re.findall(r"`(\w+)`", row[0])}
    assert said["id"] == f'`"{ONE.id}"`'
    assert said["title"] == f'`"{ONE.title}"`'
    for name in ("statement", "why"):
        assert getattr(ONE, name).startswith(said[name].strip('"').removesuffix("…").strip())
    assert said["starter"].strip("`") in ONE.starter
    assert said["reference"].strip("`") == ONE.reference.__name__
    source = re.sub(r"\s+", " ", inspect.getsource(ONE.model)).strip()
    assert said["model"].strip("`") == source
    assert said["cases"].strip("`") in inspect.getsource(inspect.getmodule(ONE.reference))
    assert said["misconceptions"].strip('"') == ONE.misconceptions[0].name
    assert said["hints"].strip('"') == ONE.hints[0]
    assert said["minutes"] == f"`{ONE.minutes}`, `{ONE.difficulty}`"


def test_the_misconception_that_is_shown_is_one():
    code = re.search(r"```python\n(Misconception\(.*?)```", TEXT, re.DOTALL)[1]
    shown = eval(code, {"Misconception": Misconception})
    real = next(one for one in ONE.misconceptions if one.name == shown.name)
    assert real.why == shown.why
    (case, *_), (change,) = ONE.cases(), shown.change.values()
    assert ONE.wrong(shown)(*case.arguments).equal(ONE.wrong(real)(*case.arguments))
    assert change(*case.arguments).equal(ONE.wrong(shown)(*case.arguments))


def test_files_that_are_named_exist():
    own = TEXT.partition("## Exercises")[2].partition("\n## Code")[0]
    for path in re.findall(r"`((?:attn_edu|tests|notebooks)/[\w./]+)`", own):
        assert (ROOT / path).exists() or "NN" in path, path
