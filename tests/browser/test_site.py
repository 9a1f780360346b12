"""The site from disk, in a real browser, with every request to the outside refused."""

import os
import re
from html import unescape
from urllib.parse import unquote, urlsplit

import pytest
from lab import axe, console_errors, listen

from attn_edu.cli import site
from attn_edu.course import chapters

PAGES = [f"{chapter.file}.html" for chapter in chapters()] + ["index.html", "instructors.html"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the site. Where Sphinx cannot be had: skipped, on CI a failure."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    try:
        site.ensure()
    except site.SiteError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    site.build(folder)
    return folder


@pytest.fixture
def visit(built, browser):
    """`visit(page)`: opened from disk; at the end nothing was asked for from outside."""
    contexts, outside = [], []

    def opened(name, **options):
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        contexts.append(browser.new_context(**options))
        page = listen(contexts[-1].new_page())

        def answer(route):
            if route.request.url.startswith("file:"):
                return route.continue_()
            outside.append(route.request.url)
            return route.abort()

        page.route("**/*", answer)
        page.goto((built / name).as_uri(), wait_until="load")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert outside == []


def pixels(canvas):
    return canvas.evaluate("c => c.toDataURL()")


def test_every_page_is_under_a_megabyte_and_the_javascript_is_there_once(built):
    for name in PAGES:
        assert (built / name).stat().st_size < 1e6, name
    scripts = [path.name for path in (built / "_static").glob("*.js")]
    assert scripts.count("attn_edu.js") == scripts.count("plotly.min.js") == 1


def test_every_link_inside_leads_somewhere(built):
    text = {name: (built / name).read_text("utf-8") for name in PAGES}
    ids = {name: set(re.findall(r'\bid="([^"]+)"', html)) for name, html in text.items()}
    for name, html in text.items():
        html = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
        for link in re.findall(r'(?:href|src)="([^"]+)"', html):
            parts = urlsplit(unescape(link))
            if parts.scheme or parts.netloc:
                continue
            target = unquote(parts.path) or name
            assert (built / target).is_file(), (name, link)
            if parts.fragment and target in ids:
                assert unquote(parts.fragment) in ids[target], (name, link)


def test_every_page_opens_without_an_error_and_its_views_come_alive(visit, built):
    for name in PAGES:
        page = visit(name)
        figures = page.locator("figure.attn-edu[data-view]").count()
        page.wait_for_function(
            "n => document.querySelectorAll('figure.attn-edu[data-live]').length === n", arg=figures
        )
        assert console_errors(page) == [], name
        page.context.close()


def test_a_slider_moves_and_the_theme_reaches_the_pictures(visit):
    page = visit("00_start_here.html")
    slider = page.get_by_label("Temperature", exact=True).last
    panel = page.locator("figure[data-live]").nth(1).locator("canvas").nth(3)
    before = pixels(panel)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    hotter = pixels(panel)
    assert hotter != before
    view = page.locator("figure[data-live] .view").first
    paper = "e => getComputedStyle(e).backgroundColor"
    papers = {view.evaluate(paper)}
    for _ in range(2):  # system, light, dark
        page.locator(".theme-toggle:visible").first.click()
        papers.add(view.evaluate(paper))
    assert len(papers) == 2


def test_the_bill_and_the_curves_are_alive(visit):
    page = visit("10_the_bill.html")
    bill = page.locator("figure[data-live]", has=page.get_by_label("Length n", exact=True)).first
    canvas = bill.locator("canvas").first
    before = pixels(canvas)
    bill.get_by_label("Width d", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert pixels(canvas) != before
    page = visit("01_rnn_limits.html")
    charts = page.locator(".chart")
    assert charts.count() > 2
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        chart.locator("g.lines path").first.wait_for(state="attached")
    assert page.locator(".chart img").count() == 0
    steps = page.locator(".chart g.slider-group")
    assert steps.count() > 0
    assert console_errors(page) == []


def test_on_a_phone_a_chart_keeps_its_picture_which_has_a_drawing_for_it(visit):
    page = visit("01_rnn_limits.html", viewport={"width": 380, "height": 800})
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    page.wait_for_timeout(800)
    assert chart.locator("img").is_visible()
    assert page.locator(".js-plotly-plot").count() == 0


def test_a_chart_keeps_its_picture_where_plotly_does_not_load(visit, built):
    library = built / "_static" / "plotly.min.js"
    content = library.read_bytes()
    library.write_text("throw new Error('no')")
    try:
        page = visit("01_rnn_limits.html")
        chart = page.locator(".chart").first
        chart.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        assert chart.locator("img").is_visible()
    finally:
        library.write_bytes(content)


def test_search_finds_a_word_on_disk(visit):
    page = visit("index.html")
    page.get_by_label("Search").fill("bergamot OR landmarks")
    page = visit("search.html")
    page.goto(page.url + "?q=landmarks")
    page.locator("#search-results li a").first.wait_for()
    found = page.locator("#search-results li a").all_inner_texts()
    assert any("smaller matrix" in title.lower() for title in found)


def test_the_contents_and_the_next_chapter_are_on_every_page(visit):
    page = visit("05_causal.html")
    links = page.locator(".sidebar-tree a").all_inner_texts()
    assert [link.split(" · ")[0] for link in links[: len(chapters())]] == [
        chapter.number for chapter in chapters()
    ]
    assert page.locator("a.next-page").get_attribute("href") == "06_local.html"


def test_formulas_are_mathml(visit):
    page = visit("03_multi_head.html")
    assert page.locator("math").count() > 0
    assert page.locator("article").inner_text().count("$$") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "02_single_head.html", "10_the_bill.html"])
def test_axe_finds_nothing_in_the_article(visit, name, scheme):
    page = visit(name, color_scheme=scheme)
    assert axe(page, "article") == []


def test_axe_finds_nothing_on_any_page(visit):
    found = {}
    for name in PAGES:
        page = visit(name)
        found[name] = axe(page, "article")
        page.context.close()
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(("width", "zoom"), [(380, 1), (640, 2)])
def test_a_phone_and_200_percent_scroll_in_one_direction_and_nothing_moves(visit, width, zoom):
    size = {"viewport": {"width": width, "height": 800}, "device_scale_factor": zoom}
    for name in PAGES:
        page = visit(name, reduced_motion="reduce", **size)
        page.wait_for_timeout(300)
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, name
        cut = "[...document.querySelectorAll('.announcement, .announcement *')]"
        assert not page.evaluate(f"{cut}.some((e) => e.scrollWidth > innerWidth)"), name
        assert page.evaluate("document.getAnimations().length") == 0, name
        page.context.close()
