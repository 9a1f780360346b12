"""Pages of feedback that ask nobody for anything: what is other in nbgrader's template.

nbgrader's pages load MathJax from the network, so that somebody there learns who reads them. In
ours the browser may load nothing at all, and a formula that a student has written stays in TeX.
"""

import re
from pathlib import Path

import nbgrader
from nbconvert.exporters import HTMLExporter

# Where templates are looked for: `feedback` in both, a file of ours before one of nbgrader's.
TEMPLATES = [
    str(Path(__file__).parent),
    str(Path(nbgrader.__file__).parent / "server_extensions" / "formgrader" / "templates"),
]


class Page(HTMLExporter):
    """Without the font of Bootstrap's icons, which lies in files beside nbgrader's own pages."""

    def from_notebook_node(self, nb, resources=None, **options):
        page, resources = super().from_notebook_node(nb, resources, **options)
        return re.sub(r"@font-face\s*{[^}]*}", "", page, count=1), resources
