"""The bill in a saved page without kernel or network, and with its button in JupyterLab."""

import json

import nbformat
import pytest
from lab import axe, console_errors, open_offline

from attn_edu.costs import KINDS, Measurement, cost
from attn_edu.views import Bill
from attn_edu.views.loglog import short

SIZES = {"d_model": 512, "n_heads": 8}


@pytest.fixture
def page(browser, tmp_path):
    points = {"attention": {1024: Measurement(0.1, 80_000_000)}}
    path = Bill(title="The bill", measured=points, rate=5e10).to_html(tmp_path / "bill.html")
    page = open_offline(browser, path, viewport={"width": 1280, "height": 900})
    page.wait_for_selector("figure[data-live] table.bill")
    yield page
    page.context.close()


def cells(page, kind):
    row = page.locator(
        "table.bill tr", has=page.get_by_label(f"Draw {KINDS[kind].label}", exact=True)
    )
    return row.locator("td").all_inner_texts()


def pixels(page):
    return page.locator(".stage > canvas").evaluate("c => c.toDataURL()")


def test_every_control_moves_the_picture_and_the_table(page):
    count = cost("attention", 1024, **SIZES)
    said = cells(page, "attention")
    assert said[:4] == [short(count.flops), short(count.bytes) + "B", "1", "1"]
    assert said[4] == "100 ms"
    for label, sizes in [
        ("Width d", {"d_model": 1024}),
        ("Heads", {"n_heads": 16}),
        ("Batch", {"batch": 2}),
        ("Length n", {"n": 2048}),
    ]:
        before = pixels(page)
        slider = page.get_by_label(label, exact=True)
        slider.focus()
        page.keyboard.press("ArrowRight")
        now = {"n": 1024, **SIZES, **sizes}
        found = cost("attention", **now)
        assert cells(page, "attention")[:2] == [short(found.flops), short(found.bytes) + "B"]
        assert pixels(page) != before
        page.keyboard.press("ArrowLeft")
    for label, kind, size in [
        ("Window, block", "sliding_window", {"window": 256}),
        ("Window, block", "block", {"block": 256}),
        ("Rank, landmarks", "linformer", {"rank": 256}),
        ("Features", "performer", {"features": 128}),
    ]:
        slider = page.get_by_label(label, exact=True)
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert cells(page, kind)[0] == short(cost(kind, 1024, **SIZES, **size).flops)
        page.keyboard.press("ArrowLeft")
    before = pixels(page)
    page.get_by_label("with projections").uncheck()
    bare = cost("attention", 1024, **SIZES, projections=False)
    assert cells(page, "attention")[0] == short(bare.flops) and pixels(page) != before
    assert not console_errors(page)


def test_two_sizes_on_one_slider_are_both_said_and_come_back(page):
    slider = page.get_by_label("Rank, landmarks", exact=True)
    said_beside = page.locator("label", has=slider).locator("output")
    start = cells(page, "nystrom")
    assert said_beside.inner_text() == "128, 64"
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert said_beside.inner_text() == "256, 128"
    count = cost("nystrom", 1024, **SIZES, landmarks=128)
    assert cells(page, "nystrom")[0] == short(count.flops)
    assert "at the sizes that the picture began with" in page.locator(".tip").inner_text()
    page.keyboard.press("ArrowLeft")
    assert cells(page, "nystrom") == start
    assert "at the sizes that the picture began with" not in page.locator(".tip").inner_text()


def test_the_squares_of_the_chosen_line_are_filled(page):
    page.get_by_label("Count").select_option("bytes")  # the ring is elsewhere
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowDown")
    filled = page.locator(".stage > canvas").evaluate("""c => {
        const all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data
        const is = (i) => all[i] === 0 && all[i + 1] === 0x77 && all[i + 2] === 0xbb
        for (let y = 0; y < c.height - 8; y++)
            for (let x = 0; x < c.width - 8; x++) {
                let n = 0  // of a block of 8 × 8
                while (n < 64 && is(4 * ((y + (n >> 3)) * c.width + x + (n & 7)))) n++
                if (n === 64) return true
            }
        return false
    }""")
    assert filled


def test_the_crossover_is_said_and_lines_are_chosen(page):
    assert "Up to n = 1,024 attention as written costs no more in FLOPs than LSTM" in said(page)
    page.get_by_label("with", exact=True).select_option("gru")
    assert "Up to n = 512" in said(page)
    before = pixels(page)
    page.get_by_label("Draw tiled").check()
    assert pixels(page) != before
    page.get_by_label("Count").select_option("bytes")
    assert "peak memory" in said(page)
    page.get_by_label("Count").select_option("path_length")
    assert "Up to" not in said(page)


def test_mouse_and_keys_reach_every_length_and_line(page):
    canvas = page.locator(".stage > canvas")
    canvas.click(position={"x": 64, "y": 200})
    length = page.get_by_label("Length n", exact=True)
    assert length.input_value() == "6"
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert length.input_value() == "7"
    assert "attention as written, n = 128:" in said(page)
    page.keyboard.press("Escape")
    assert "n = 128:" not in said(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_it_is_accessible_and_fits(browser, tmp_path, scheme, width):
    path = Bill().to_html(tmp_path / "bill.html")
    page = open_offline(
        browser, path, viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    page.wait_for_selector("figure[data-live] table.bill")
    assert not axe(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


def said(page):
    return page.locator(".say").inner_text()


def test_the_button_measures_in_jupyterlab(lab, page_of, screenshots):
    code = (
        "import torch\nfrom attn_edu.widgets import BillWithClock\ntorch.set_num_threads(1)\n"
        "bill = BillWithClock(shown=('attention', 'linear'), lengths=(32, 64))\nbill"
    )
    told = "print('MEASURED', {k: list(v) for k, v in bill.measured.items()})"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (code, told)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    (lab.root / "bill.ipynb").write_text(json.dumps(notebook), "utf-8")
    page = page_of("bill.ipynb")
    lab.run_all(page)
    page.wait_for_selector(".jp-OutputArea .js-plotly-plot")
    page.get_by_role("button", name="Measure on my machine").click()
    lab.wait_idle(page)
    assert "MEASURED {'attention': [32, 64], 'linear': [32, 64]}" in lab.run_cell(page, 1)
    assert not lab.errors(page)
    lab.photograph(page, screenshots / "bill_widget.png")
