"""What the pages need of Sphinx beyond its settings: formulas as MathML, JupyterLab's anchors.

Runs inside Sphinx, and imports nothing of the course.
"""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def slug(title: str) -> str:
    """As JupyterLab names a heading, so that one link works in both."""
    return title.replace(" ", "-")


def inline(writer, node):
    """A formula in a line of text."""
    writer.body.append(convert(node.astext()))
    raise SkipNode


def display(writer, node):
    """A formula of its own."""
    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def before_the_pictures(app, page, template, context, doctree):
    """The views' functions are loaded in the head: the scripts of the outputs call them."""
    source = context["pathto"]("_static/attn_edu.js", resource=True)
    context["metatags"] = context.get("metatags", "") + f'<script src="{source}"></script>'


def setup(app):
    """Tell Sphinx."""
    app.connect("html-page-context", before_the_pictures)
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
