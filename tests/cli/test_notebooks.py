"""The build of a chapter: text to notebook, run, clean, and what makes it fail."""

from dataclasses import replace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attn_edu.cli import notebooks
from attn_edu.cli.environment import ROOT, quiet_variables
from attn_edu.cli.notebooks import WIDGET_VIEW, BuildError, clean, execute, faults, from_text
from attn_edu.course import Chapter, chapters

HEADER = (
    "---\njupytext:\n  text_representation:\n    extension: .md\n    format_name: myst\n---\n\n"
)
TEXT = """\
# 00 · A chapter

$x_1$ and <!-- a comment -->

```{code-cell}
:tags: [timing]

import time

print(time.perf_counter())
assert True
```

```{code-cell}
x = {"a", "b", "c"}
print(x)
```

```{code-cell}
x
```

```{code-cell}
x
```

```{code-cell}
from ipywidgets import IntSlider

IntSlider()
```
"""


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    for name, value in quiet_variables().items():
        monkeypatch.setenv(name, value)


def built(tmp_path, text):
    notebook = from_text(HEADER + text)
    execute(notebook, tmp_path)
    clean(notebook)
    return notebook


def test_text_becomes_cells_with_tags():
    notebook = from_text(HEADER + TEXT)
    assert [cell.cell_type for cell in notebook.cells] == ["markdown"] + ["code"] * 5
    assert notebook.cells[1].metadata.tags == ["timing", "nbval-ignore-output"]
    assert notebook.cells[2].metadata == {}
    assert notebook.metadata.kernelspec.name == "python3"
    nbformat.validate(notebook)


def test_ids_come_from_the_content_and_differ_for_equal_cells():
    first, second = from_text(HEADER + TEXT), from_text(HEADER + "New words.\n\n+++\n\n" + TEXT)
    ids = [cell.id for cell in first.cells]
    assert len(set(ids)) == len(ids)
    assert [cell.id for cell in second.cells[1:]] == ids


def test_two_builds_give_the_same_bytes_but_for_cells_that_measure(tmp_path):
    one, two = built(tmp_path, TEXT), built(tmp_path, TEXT)
    assert one.cells[1].outputs != two.cells[1].outputs
    one.cells[1].outputs = two.cells[1].outputs
    assert notebooks.to_json(one) == notebooks.to_json(two)
    assert [cell.execution_count for cell in one.cells[1:]] == [1, 2, 3, 4, 5]


def test_nothing_of_a_widget_is_kept_but_its_plain_text(tmp_path):
    notebook = built(tmp_path, TEXT)
    (output,) = notebook.cells[5].outputs
    assert set(output.data) == {"text/plain"}
    assert "widgets" not in notebook.metadata
    assert all("execution" not in cell.metadata for cell in notebook.cells)


def test_an_output_that_was_a_widget_and_nothing_else_goes():
    widget = new_output("display_data", {WIDGET_VIEW: {"model_id": "1"}})
    notebook = new_notebook(cells=[new_code_cell("w", outputs=[widget])])
    clean(notebook)
    assert notebook.cells[0].outputs == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain\n", "plain\n"),
        (" 0%|   |\r 50%|#  |\r100%|###|\ndone\n", "100%|###|\ndone\n"),
        ("windows\r\nlines\r\n", "windows\r\nlines\r\n"),
    ],
)
def test_overwritten_lines_are_dropped(text, left):
    assert notebooks.without_overwritten(text) == left


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        (new_code_cell("f()", outputs=[new_output("stream", name="stderr", text="old")]), "stderr"),
        (
            new_code_cell("f()", outputs=[new_output("error", ename="KeyError", evalue="k")]),
            "KeyError",
        ),
        (
            new_code_cell("f()", outputs=[new_output("stream", name="stdout", text=str(ROOT))]),
            "shows the path",
        ),
        (new_code_cell("t()", metadata={"tags": ["timing"]}), "asserts nothing"),
    ],
)
def test_faults_are_found(cell, fault):
    found = faults(new_notebook(cells=[new_markdown_cell("words"), cell]))
    assert len(found) == 1
    assert fault in found[0]
    assert found[0].startswith("cell 1")


def test_a_clean_cell_has_no_fault():
    good = new_code_cell("assert f() == 1", metadata={"tags": ["timing"]})
    assert faults(new_notebook(cells=[good, new_code_cell("")])) == []


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """A chapter of its own in a folder of its own, as the only chapter."""
    monkeypatch.setattr(Chapter, "text", property(lambda self: tmp_path / "src.md"))
    monkeypatch.setattr(Chapter, "notebook", property(lambda self: tmp_path / "out.ipynb"))
    monkeypatch.setattr(notebooks, "write_tables", list)
    monkeypatch.setattr(notebooks.instructors, "write", list)
    only = replace(chapters()[0])
    monkeypatch.setattr(notebooks, "chapters", lambda: [only])
    return only


@pytest.mark.parametrize(
    ("source", "message"),
    [("1 / 0", "ZeroDivisionError"), ("import warnings; warnings.warn('old')", "stderr")],
)
def test_a_chapter_that_fails_or_warns_is_not_written(chapter, capsys, source, message):
    chapter.text.write_text(f"{HEADER}# Words\n\n```{{code-cell}}\n{source}\n```\n")
    assert notebooks.main([]) == 1
    assert message in capsys.readouterr().err
    assert not chapter.notebook.exists()


def test_a_chapter_that_runs_is_written_and_the_second_time_unchanged(chapter, capsys):
    chapter.text.write_text(f"{HEADER}# Words\n\n```{{code-cell}}\n1 + 1\n```\n")
    assert notebooks.main([]) == 0
    assert notebooks.main([]) == 0
    assert "unchanged" in capsys.readouterr().out
    assert nbformat.read(chapter.notebook, 4).cells[2].outputs[0].data["text/plain"] == "2"


def test_unknown_chapter_is_told(chapter, capsys):
    assert notebooks.main(["quantum"]) == 2
    assert "'quantum'" in capsys.readouterr().err


def test_missing_text_is_told(chapter):
    with pytest.raises((BuildError, ValueError)):
        notebooks.build(chapter)
