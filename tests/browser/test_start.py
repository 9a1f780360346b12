"""Chapter 00 as its reader goes through it: what is picked in the picture, Python tells."""

import nbformat

from attn_edu.course import chapters


def test_what_the_reader_picks_is_read_in_python(lab, page_of):
    chapter = chapters()[0]
    cells = nbformat.read(chapter.notebook, as_version=4).cells
    live, reads = (
        next(i for i, cell in enumerate(cells) if text in cell.source)
        for text in (".live()\n", "picture.temperature, dim")
    )
    page = page_of(chapter.notebook.name, size=(1280, 1600))
    lab.run_all(page)
    assert "layer 3, head 1, temperature 1.00" in lab.run_cell(page, reads)

    view = page.locator(".jp-Notebook .jp-Cell").nth(live).locator(".jp-OutputArea")
    view.get_by_label("Head", exact=True).select_option("4")
    view.get_by_label("Temperature", exact=True).focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    view.get_by_label("Temperature", exact=True).blur()
    shown = lab.run_cell(page, reads)
    assert "head 4, temperature 10.00" in shown
    shares = [float(line.split(" takes ")[1][:4]) for line in shown.splitlines()[1:]]
    assert len(shares) == 3
    assert max(shares) < 0.3, "at a high temperature no word takes most"
