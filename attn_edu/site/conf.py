"""Sphinx's configuration of the site."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Self-attention, measured"
author = "The contributors of Self-attention, measured"
html_title = project
language = "en"
extensions = ["myst_nb", "course_pages"]
exclude_patterns = ["_build"]

nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_heading_slug_func = "course_pages.slug"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("pages.js", {"defer": "defer"})]
html_copy_source = False
html_use_index = False
html_show_search_summary = False  # it would fetch pages, which a browser forbids on disk
html_math_renderer = "mathml"  # no script, no font, no network
html_theme_options = {
    "announcement": "Most pictures on these pages move. To run the code, and to be told what your"
    " answers to the exercises get wrong, open the notebooks: <code>make lab</code>.",
}
