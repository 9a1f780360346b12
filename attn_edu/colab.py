"""The set-up cell of every chapter: it installs the course in Colab, and does nothing elsewhere.

Colab keeps its own torch, plotly and ipywidgets: replacing one of them asks for a restart, and its
pages show the widgets of its own version alone. So nothing is installed but the course itself and
what Colab has not.
"""

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from attn_edu.address import Repository
from attn_edu.course import ROOT

TAG = "colab"
ADDED = ("anywidget", "psygnal")  # what the course needs and Colab has not
VARIABLE = "COLAB_NOTEBOOK_ID"  # Colab's kernels have it
SOURCE = """\
# For Colab: installs the course there. Anywhere else this cell does nothing.
import os

if "{variable}" in os.environ:
    %pip install --quiet --no-deps {added}
    %pip install --quiet --no-deps {archive}
    import google.colab.output

    google.colab.output.enable_custom_widget_manager()"""


def added() -> list[str]:
    """What is installed beside the course, in the versions of requirements.lock."""
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    return [line for name in ADDED for line in lines if line.startswith(f"{name}==")]


def setup_cell(repository: Repository) -> NotebookNode:
    """The cell, not run. Its second tag keeps it off the site, where nothing runs."""
    source = SOURCE.format(variable=VARIABLE, added=" ".join(added()), archive=repository.archive)
    return new_code_cell(source, id=TAG, metadata={"tags": [TAG, "remove-cell"]})
