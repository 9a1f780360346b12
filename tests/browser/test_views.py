"""The views where readers meet them: a live JupyterLab, an untrusted notebook, a saved page."""

import subprocess
import sys

import nbformat
import pytest
from lab import axe, console_errors, open_offline

SETUP = """
import torch
from attn_edu.attention import block_mask, causal_mask, sliding_window_mask
from attn_edu.views import AttentionMap, AttentionSteps, HeadSplit, MaskReach
torch.manual_seed(0)
words = "The cat did not eat the fish because it was full".split()
weights = torch.randn(2, 3, 11, 11).mul(2).softmax(-1)
query, key, value = torch.randn(3, 6, 4)
"""
CELLS = [
    SETUP,
    "AttentionMap(weights, words)",
    "AttentionSteps(query, key, value, ['The', '猫', '<b>did</b>', 'not', 'eat', 'it'])",
    "HeadSplit(4, 3, 4, 'the cat sat down'.split())",
    "blocks = block_mask(11, 4)\n"
    "near = {'causal': causal_mask(11), 'window 3': sliding_window_mask(11, 3)}\n"
    "MaskReach({**near, 'then all': [blocks, blocks, causal_mask(11)]}, words)",
]
LIVE = [
    SETUP,
    "live = AttentionMap(weights, words).live(); live",
    "steps = AttentionSteps(query, key, value).live(); steps",
    "live.layer = 1; live.selection = (8, 1); steps.mask = 'causal'; steps.temperature = 2.0",
    "print('SILENT', round(steps.scale, 3))",
    "heard = []; steps.observe(lambda change: heard.append(change['new']), 'scale')",
    "print('READ', live.layer, live.head, live.selection, steps.temperature)",
    "print('HEARD', len(heard), round(steps.scale, 3))",
    "live.update(weights=torch.eye(3), tokens=['ein', 'zwei', 'drei'])",
    "reach = MaskReach({'window 2': sliding_window_mask(6, 2)}, list('abcdef')).live(); reach",
    "split = HeadSplit(4, 3, 4, list('abcd')).live(); split",
    "reach.depth = 3; reach.selection = 4; split.n = 3; split.n_heads = 2",
    "print('MOVED', reach.depth, reach.selection, split.n, split.n_heads, split.selection)",
]


def write(path, cells):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    for at, cell in enumerate(notebook.cells):
        cell.id = f"cell-{at}"
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(notebook, path)


def execute(path):
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute"]
    subprocess.run([*command, "--inplace", str(path)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def executed(lab):
    path = lab.root / "views.ipynb"
    write(path, CELLS)
    execute(path)
    return path


def in_map(page):
    return page.locator("figure[data-live]").nth(0)


def in_steps(page):
    return page.locator("figure[data-live]").nth(1)


def said(scope):
    return scope.locator(".say").inner_text()


def pixels(canvas):
    return canvas.evaluate("c => c.toDataURL()")


def use_the_map(page):
    """Mouse and keyboard on the attention map; the words that it says prove that it answers."""
    figure = in_map(page)
    canvas = figure.locator("canvas").first
    before = pixels(canvas)
    canvas.hover(position={"x": 200, "y": 200})
    assert "→" in said(figure)
    canvas.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    first = said(figure)
    page.keyboard.press("ArrowRight")
    assert said(figure) != first and "“The” → “cat”" in said(figure)
    figure.get_by_label("Head", exact=True).select_option("2")
    assert pixels(canvas) != before
    lines = figure.locator("canvas").nth(1)
    before = pixels(lines)
    lines.click(position={"x": 30, "y": 60})
    assert "looks at" in said(figure) and pixels(lines) != before
    figure.get_by_role("button", name="All heads").click()
    grid = figure.locator("canvas:visible")
    assert grid.count() == 1
    grid.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert figure.get_by_label("Layer", exact=True).input_value() == "1"


def use_the_steps(page):
    """Sliders by key and mask by menu: every panel after the first changes, the first does not."""
    figure = in_steps(page)
    panels = figure.locator("canvas")
    before = [pixels(panels.nth(k)) for k in range(5)]
    slider = figure.get_by_label("Temperature", exact=True)
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert slider.input_value() == "5"
    after = [pixels(panels.nth(k)) for k in range(5)]
    assert before[0] == after[0]
    assert all(a != b for a, b in zip(before[1:], after[1:]))
    figure.get_by_label("Mask", exact=True).select_option("causal")
    figure.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "masked: weight 0" in said(figure)


def use_the_split(page):
    figure = page.locator("figure[data-live]").nth(2)
    assert "8 of 48" in said(figure)
    figure.get_by_role("button", name="transpose").click()
    assert "48 of 48" in said(figure)
    figure.locator("canvas").nth(1).click(position={"x": 90, "y": 65})
    assert "“cat” lands in head 0: row 1; head 1: row 1; head 2: row 1." in said(figure)
    heads = figure.get_by_label("Heads", exact=True)
    assert heads.locator("option").all_inner_texts()[2] == "3 of 4 features"
    heads.select_option("6")
    assert figure.locator("canvas").count() == 7 and "head 5: row 1." in said(figure)
    figure.get_by_role("button", name="x.view(B, h, n, d)").click()
    assert "4 of 48 numbers" in said(figure)
    words = figure.get_by_label("Words", exact=True)
    words.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    assert words.input_value() == "1" and said(figure).startswith("12 of 12 numbers")
    assert words.get_attribute("max") == "4"


def use_the_reach(page):
    """Layers by key on slider and stage, words by key and mouse; hovering names a pair."""
    figure = page.locator("figure[data-live]").nth(3)
    panels = figure.locator("canvas")
    start = (
        "After 1 layer, “full” reaches, of 11 words: 11 with causal; 3 with window 3; 3 with then"
    )
    assert said(figure).startswith(start)
    before = [pixels(panels.nth(k)) for k in range(3)]
    slider = figure.get_by_label("Layers", exact=True)
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert slider.input_value() == "2" and slider.get_attribute("aria-valuetext") == "2 of 3"
    assert "5 with window 3; 3 with then all" in said(figure)
    assert all(pixels(panels.nth(k)) != before[k] for k in range(3))
    figure.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    assert slider.input_value() == "3" and "7 with window 3; 11 with then all" in said(figure)
    page.keyboard.press("ArrowUp")
    assert "After 3 layers, “was” reaches" in said(figure)
    box = panels.nth(1).bounding_box()
    panels.nth(1).hover(position={"x": box["width"] / 2, "y": box["height"] / 2})
    assert "window 3: “" in said(figure)
    panels.nth(1).click(position={"x": 5, "y": box["height"] / 2})
    page.mouse.move(1, 1)
    assert "After 3 layers, “" in said(figure) and "“was”" not in said(figure)
    figure.get_by_text("Numbers").click()
    figure.locator("table td").first.wait_for()
    assert figure.locator("table td").count() == 12


def use_all(page):
    page.wait_for_function("document.querySelectorAll('figure[data-live] img').length === 0")
    use_the_map(page)
    use_the_steps(page)
    use_the_split(page)
    use_the_reach(page)


def test_in_a_live_jupyterlab(lab, page_of, executed):
    page = page_of(executed.name)
    lab.run_all(page)
    use_all(page)
    assert not lab.errors(page) and not lab.console_errors(page)
    assert axe(page, "figure.attn-edu") == []
    # no notebook shortcut heard our keys: every cell is still there
    assert page.locator(".jp-Notebook .jp-Cell").count() == len(CELLS)


def test_shortcuts_of_the_notebook_do_not_hear_our_keys(lab, page_of, executed):
    page = page_of(executed.name)
    lab.run_all(page)
    in_map(page).locator("canvas").first.focus()
    for key in "ddxaabm":
        page.keyboard.press(key)
    assert page.locator(".jp-Notebook .jp-Cell").count() == len(CELLS)


def test_untrusted_the_image_and_the_table_remain(page_of, executed):
    page = page_of(executed.name)
    figures = page.locator(".jp-OutputArea-output figure")
    assert figures.count() == 4 and page.locator("figure canvas").count() == 0
    for at in range(4):
        image = figures.nth(at).locator("img")
        assert image.evaluate("i => i.complete && i.naturalWidth > 100"), "the image is not shown"
        assert len(image.get_attribute("alt")) > 80
        assert figures.nth(at).locator("table td").count() > 10
    assert axe(page, ".jp-OutputArea-output figure") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_saved_page_without_kernel_or_network(browser, executed, tmp_path, scheme):
    command = [sys.executable, "-m", "jupyter", "nbconvert", "--to", "html", str(executed)]
    command += ["--HTMLExporter.theme", scheme, "--output-dir", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    page = open_offline(browser, tmp_path / "views.html", viewport={"width": 1100, "height": 900})
    use_all(page)
    assert axe(page, "figure.attn-edu") == []


def test_in_its_own_page_narrow_and_zoomed(browser, tmp_path):
    import torch

    from attn_edu.views import AttentionMap, AttentionSteps

    query = torch.randn(3, 9, 8)
    for view in (AttentionMap(torch.eye(9)), AttentionSteps(*query, title="nine <words>")):
        page = open_offline(
            browser,
            view.to_html(tmp_path / "view.html"),
            viewport={"width": 340, "height": 700},
            device_scale_factor=2,
        )
        page.wait_for_selector("figure[data-live] canvas:visible")
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) <= 0
        assert not console_errors(page)
        assert axe(page) == []


def rows_of(page):
    """How many panels stand in each row, from the top."""
    tops = page.locator("figure canvas:visible").evaluate_all(
        "all => all.map(c => c.getBoundingClientRect().top)"
    )
    return [tops.count(top) for top in sorted(set(tops))]


@pytest.mark.parametrize(
    ("words", "width", "rows", "highest"),
    [
        (16, 680, [3, 2], 690),
        (16, 800, [3, 2], 650),
        (16, 1176, [3, 2], 800),
        (128, 680, [3, 2], 690),
        (6, 800, [3, 2], 650),
        (4, 1176, [5], 400),
    ],
)
def test_steps_stay_within_one_screen(browser, tmp_path, words, width, rows, highest):
    import torch

    from attn_edu.datasets import sentence
    from attn_edu.views import AttentionSteps

    tokens = sentence("tired").tokens  # 16 of them
    view = AttentionSteps(*torch.randn(3, words, 4), [tokens[k % 16] for k in range(words)])
    screen = {"width": width + 32, "height": 900}
    page = open_offline(browser, view.to_html(tmp_path / "view.html"), viewport=screen)
    page.wait_for_selector("figure[data-live] canvas:visible")
    assert rows_of(page) == rows
    assert page.locator("figure .view").bounding_box()["height"] <= highest
    page.context.close()


def test_a_map_may_start_with_the_grid_of_all_heads(browser, tmp_path):
    import torch

    from attn_edu.views import AttentionMap

    view = AttentionMap(torch.eye(4).repeat(2, 3, 1, 1), grid=True)
    page = open_offline(browser, view.to_html(tmp_path / "view.html"))
    page.wait_for_selector("figure[data-live] canvas:visible")
    every = page.get_by_role("button", name="All heads")
    assert rows_of(page) == [1] and every.get_attribute("aria-pressed") == "true"
    page.locator("figure canvas:visible").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert every.get_attribute("aria-pressed") == "false"
    assert page.get_by_label("Head", exact=True).input_value() == "1"
    assert rows_of(page) == [2]


def test_the_same_view_twice_on_a_page_works_independently(browser, tmp_path):
    import torch

    from attn_edu.views import AttentionMap

    one = AttentionMap(torch.eye(5).repeat(1, 2, 1, 1))._repr_mimebundle_()["text/html"]
    path = tmp_path / "twice.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>t</title>{one}{one}")
    page = open_offline(browser, path)
    page.wait_for_function("document.querySelectorAll('figure img').length === 0")
    first, second = page.locator("figure").nth(0), page.locator("figure").nth(1)
    first.get_by_label("Head", exact=True).select_option("1")
    assert second.get_by_label("Head", exact=True).input_value() == "0"


def test_masked_cells_say_so_and_colours_follow_menu_and_theme(browser, tmp_path):
    import torch

    from attn_edu.attention import causal_mask
    from attn_edu.views import AttentionMap

    weights = torch.tril(torch.ones(6, 6)) / torch.arange(1, 7)[:, None]
    path = AttentionMap(weights, mask=causal_mask(6)).to_html(tmp_path / "view.html")
    page = open_offline(browser, path, color_scheme="light")
    canvas = page.locator("figure canvas").first
    canvas.focus()
    page.keyboard.press("ArrowDown")
    assert said(page) == "“0” → “0”: 1.0000"
    page.keyboard.press("ArrowRight")
    assert said(page) == "“0” → “1”: masked"
    looks = {pixels(canvas)}
    for colour in ("sqrt", "row"):
        page.get_by_label("Colour", exact=True).select_option(colour)
        looks.add(pixels(canvas))
    corner = "c => c.getContext('2d').getImageData(1, 1, 1, 1).data[0]"
    assert canvas.evaluate(corner) > 240
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(100)
    assert canvas.evaluate(corner) < 40
    looks.add(pixels(canvas))
    assert len(looks) == 4


def test_pictures_can_be_saved(browser, tmp_path):
    import torch

    from attn_edu.views import AttentionMap

    path = AttentionMap(torch.eye(4), ["a&b", "<c>", "猫", "🙂"]).to_html(tmp_path / "view.html")
    page = open_offline(browser, path)
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Save as {kind}").click()
        saved = tmp_path / f"saved.{kind.lower()}"
        waiting.value.save_as(saved)
        assert saved.read_bytes().startswith(start) and saved.stat().st_size > 1000
    import xml.etree.ElementTree as ElementTree

    names = [
        text.text for text in ElementTree.parse(saved).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert {"a&b", "<c>", "猫", "🙂"} <= set(names)


def output(page, at):
    return page.locator(".jp-Notebook .jp-Cell").nth(at).locator(".jp-OutputArea-output")


def run_cell(lab, page, at):
    page.locator(".jp-Notebook .jp-Cell").nth(at).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(300)
    lab.wait_idle(page)


def test_live_views_speak_with_python_both_ways(lab, page_of):
    path = lab.root / "live.ipynb"
    write(path, LIVE)
    page = page_of(path.name)
    for at in range(3):
        run_cell(lab, page, at)
    map_, steps = output(page, 1), output(page, 2)
    map_.locator("canvas").first.wait_for()
    steps.locator("canvas").first.wait_for()
    run_cell(lab, page, 3)  # Python sets
    map_.get_by_text("“it” → “cat”").wait_for()
    assert map_.get_by_label("Layer", exact=True).input_value() == "1"
    assert steps.get_by_label("Mask", exact=True).input_value() == "causal"
    # the reader picks, Python reads
    map_.get_by_label("Head", exact=True).select_option("2")
    slider = steps.get_by_label("Temperature", exact=True)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    lab.wait_idle(page)
    run_cell(lab, page, 6)
    assert "READ 1 2 (8, 1) 1.7" in output(page, 6).inner_text()
    # nobody observes: while the slider moves, Python hears nothing; at its release, the last value
    scale = steps.get_by_label("Divide scores by", exact=True)
    move = "(e, x) => { e.value = x; e.dispatchEvent(new Event('input')) }"
    scale.evaluate(move, 0.4)
    run_cell(lab, page, 4)
    assert "SILENT 0.5\n" in output(page, 4).inner_text() + "\n"
    scale.evaluate("e => e.dispatchEvent(new Event('change'))")
    run_cell(lab, page, 4)
    assert "SILENT 0.574" in output(page, 4).inner_text()
    run_cell(lab, page, 5)  # from here on somebody observes
    for x in (0.3, 0.25, 0.2):
        scale.evaluate(move, x)
        page.wait_for_timeout(150)
    lab.wait_idle(page)
    run_cell(lab, page, 7)
    assert "HEARD 3 0.758" in output(page, 7).inner_text()
    run_cell(lab, page, 8)
    assert map_.get_by_role("application", name="3 words by 3").count() == 1
    for at in (9, 10, 11):
        run_cell(lab, page, at)
    reach, split = output(page, 9), output(page, 10)
    reach.get_by_text("After 3 layers, “e” reaches, of 6 words: 4 with window 2").wait_for()
    assert split.get_by_label("Heads", exact=True).input_value() == "2"
    assert split.get_by_label("Words", exact=True).input_value() == "3"
    reach.get_by_role("application").focus()
    for key in ("ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    split.get_by_label("Heads", exact=True).select_option("12")
    split.locator("canvas").first.click(position={"x": 60, "y": 40})
    lab.wait_idle(page)
    run_cell(lab, page, 12)
    assert "MOVED 2 3 3 12 0" in output(page, 12).inner_text()
    assert not lab.errors(page) and not lab.console_errors(page)
