"""The search for leaks finds what is planted anywhere, and nothing in a clean copy."""

import base64
import html
import io
import json
import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attn_edu.assign.leaks import LeakError, bare, check_handout, distinctive, leaks
from attn_edu.assign.notebook import STUB
from attn_edu.exercises import exercise, exercises

ANSWER = exercise("03.split_heads").source
LINE = "x = x.reshape(batch, n, n_heads, d_model // n_heads)"
DRAW = 424_242


def clean():
    """A student's copy of every exercise, as it should be."""
    cells = [new_markdown_cell("# 03 · Several heads: assignment")]
    for one in exercises():
        cells += [new_markdown_cell(one.statement), new_code_cell(one.starter)]
        cells.append(new_code_cell(f'check("{one.id}", {one.id[3:]})'))
    return new_notebook(cells=cells)


def found_in(notebook):
    return leaks(nbformat.writes(notebook).encode(), "a.ipynb", [DRAW])


def test_a_clean_copy_has_none_and_every_answer_has_lines_to_look_for():
    assert found_in(clean()) == []
    for one in exercises():
        assert distinctive(one), one.id
        assert STUB in one.starter


@pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)
def test_every_reference_is_found_whole_and_by_any_of_its_lines(one):
    notebook = clean()
    notebook.cells.append(new_code_cell(one.source))
    assert any(one.id in leak for leak in found_in(notebook))
    for line in distinctive(one):
        assert any(one.id in leak for leak in leaks(f"so: {line} .".encode(), "a.txt"))


def in_source(notebook, text):
    notebook.cells[2].source += text


def in_a_markdown_cell(notebook, text):
    notebook.cells[0].source += f"\n\n{text}"


def in_a_stream(notebook, text):
    notebook.cells[2].outputs.append(new_output("stream", text=text))


def in_html(notebook, text):
    marked = html.escape(text).replace("reshape", '</span><span class="n">reshape</span>')
    notebook.cells[2].outputs.append(new_output("display_data", {"text/html": f"<b>{marked}</b>"}))


def in_a_json_output(notebook, text):
    packed = {"application/json": {"deep": [{"code": text}, 3]}}
    notebook.cells[2].outputs.append(new_output("execute_result", packed))


def in_an_error(notebook, text):
    error = new_output("error", ename="E", evalue="", traceback=["\x1b[0;31m", text])
    notebook.cells[2].outputs.append(error)


def in_the_notebooks_metadata(notebook, text):
    notebook.metadata["celltoolbar"] = {"solution": [text]}


def in_a_cells_metadata(notebook, text):
    notebook.cells[1].metadata["nbgrader"] = {"grade": True, "comment": text}


def in_a_key(notebook, text):
    notebook.cells[1].metadata[text] = True


def in_an_attachment(notebook, text):
    notebook.cells[0].attachments = {
        "a.txt": {"text/plain": base64.b64encode(text.encode()).decode()}
    }


PLACES = [
    (in_source, "cells, 2, source"),
    (in_a_markdown_cell, "cells, 0, source"),
    (in_a_stream, "cells, 2, outputs, 0, text"),
    (in_html, "cells, 2, outputs, 0, data, text/html"),
    (in_a_json_output, "cells, 2, outputs, 0, data, application/json, deep, 0, code"),
    (in_an_error, "cells, 2, outputs, 0, traceback"),
    (in_the_notebooks_metadata, "metadata, celltoolbar, solution"),
    (in_a_cells_metadata, "cells, 1, metadata, nbgrader, comment"),
    (in_a_key, "cells, 1, metadata"),
    (in_an_attachment, "cells, 0, attachments, a.txt, text/plain"),
]


@pytest.mark.parametrize(("plant", "place"), PLACES, ids=lambda x: getattr(x, "__name__", ""))
def test_a_planted_line_is_found_and_its_place_named(plant, place):
    notebook = clean()
    plant(notebook, LINE)
    found = found_in(notebook)
    assert f"a.ipynb, {place}: a line of the answer to 03.split_heads" in found


def spread(text):
    return text.replace(", ", ",\n        ").replace(" = ", "  = \\\n ")


def commented(text):
    return "\n".join(f"# {line}" for line in text.splitlines())


def with_comments(text):
    return text.replace("\n", "  # turn\n")


def broken_base64(text):
    packed = base64.b64encode(text.encode()).decode()
    return "\n".join(packed[i : i + 20] for i in range(0, len(packed), 20))


DISGUISES = [
    spread,
    commented,
    with_comments,
    broken_base64,
    json.dumps,
    html.escape,
    lambda text: json.dumps(json.dumps({"a": text})),
    lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    lambda text: json.dumps({"cells": [base64.b64encode(json.dumps(text).encode()).decode()]}),
    lambda text: text.replace("\n", "\r\n").replace("    ", "\t"),
]


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_disguised_answer_is_found(disguise):
    notebook = clean()
    notebook.cells[2].source += f"\n{disguise(ANSWER)}"
    assert any("03.split_heads" in leak for leak in found_in(notebook))


def test_other_quotes_are_the_same_code():
    answer = exercise("01.path_length").source.replace('"', "'")
    assert any("01.path_length" in leak for leak in leaks(answer.encode(), "a.py"))


def test_signs_that_json_may_escape_are_read():
    answer = exercise("02.padding_mask").source.replace("<", "\\u003c")
    assert any("02.padding_mask" in leak for leak in leaks(answer.encode(), "a.txt"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("### BEGIN SOLUTION", "mark of the instructor"),
        ("### END HIDDEN TESTS", "mark of the instructor"),
        (f"    draw={DRAW},", "number of a graded draw"),
        (f"grade(x, {DRAW})", "number of a graded draw"),
    ],
)
def test_hidden_tests_are_found(text, what):
    notebook = clean()
    in_source(notebook, f"\n{text}")
    assert any(what in leak for leak in found_in(notebook))


def test_a_number_that_only_contains_it_is_not_a_draw():
    assert leaks(f"id{DRAW} 1{DRAW} {DRAW}0 0.{DRAW}".encode(), "a.txt", [DRAW]) == []


def zipped(**members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def test_a_zip_is_opened_also_inside_another():
    notebook = clean()
    in_a_stream(notebook, ANSWER)
    inner = zipped(notebook=nbformat.writes(notebook), readme="nothing")
    found = leaks(zipped(readme="hello", more=inner), "a.zip")
    assert found
    assert all(leak.startswith("a.zip, more, notebook, cells, 2, outputs") for leak in found)


def test_the_error_names_every_place(tmp_path):
    notebook = clean()
    in_source(notebook, f"\n{ANSWER}")
    (tmp_path / "good.txt").write_text("hello", "utf-8")
    nbformat.write(notebook, tmp_path / "bad.ipynb")
    check_handout([tmp_path / "good.txt"], [DRAW])
    with pytest.raises(
        LeakError, match=r"bad\.ipynb, cells, 2, source: a line of the answer to 03"
    ):
        check_handout([tmp_path / "good.txt", tmp_path / "bad.ipynb"], [DRAW])


def test_bare_code_keeps_what_counts():
    assert bare("x = 'a'  # why\n  + \\\n\ty") == 'x="a"+y'
