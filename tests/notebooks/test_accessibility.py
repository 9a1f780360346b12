"""The accessibility check finds each fault that it is for, and passes what is well made."""

import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

sys.path.insert(0, str(Path(__file__).parent))

from accessibility import findings

PNG = {"image/png": "aGk="}


def shown(data, **metadata):
    return new_code_cell("x", outputs=[new_output("display_data", data, metadata=metadata)])


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        (new_markdown_cell("![](a.png)"), "alt text"),
        (new_markdown_cell("![figure](a.png)"), "alt text"),
        (new_markdown_cell("<img src='a.png'>"), "alt text"),
        (new_markdown_cell("see [here](b.md)"), "says nothing"),
        (new_markdown_cell("look at the red line"), "colour alone"),
        (new_markdown_cell("# One\n\n### Three"), "skips a level"),
        (shown(PNG), "alt text"),
        (shown({"text/html": "<img src='data:,' alt=''>"}), "alt text"),
        (shown({"text/html": "<table><tr><td>1</td></tr></table>"}), "without headings"),
    ],
)
def test_fault_is_found(cell, fault):
    (found,) = findings(new_notebook(cells=[cell]))
    assert fault in found


@pytest.mark.parametrize(
    "cell",
    [
        new_markdown_cell("# One\n\n## Two\n\n![a map of words](a.png) and [the table](b.md)"),
        new_markdown_cell("```python\n# a comment, no heading\n```"),
        shown(PNG, **{"image/png": {"alt": "the weights of one head"}}),
        shown({"text/html": "<img src='data:,' alt='weights'><script>'<img>'</script>"}),
        shown({"text/html": "<table><tr><th>word</th></tr></table>"}),
    ],
)
def test_nothing_is_found(cell):
    assert findings(new_notebook(cells=[cell])) == []
