"""All that the course draws, on one page: by keyboard, enlarged, on a phone, without motion.

And with words that would run something if they were taken for markup.
"""

import re

import nbformat
import pytest
from lab import axe, console_errors, open_offline

from attn_edu.cli.environment import ROOT
from attn_edu.exercises import check, hint, progress, solution
from attn_edu.figures import curves_by_step
from attn_edu.views.view import _PAGE
from tests.views.hostile import LINES, SHOWN, WORDS, html_of

ACTIVE = [word for word in WORDS if "pwned" in word]
(LINK,) = (word for word in WORDS if "href" in word)
# Elements in the page and in the shadow roots of the views
DEEP = """(root = document) => {
    const found = []
    const walk = (node) => {
        for (const one of node.querySelectorAll("*")) {
            found.push(one)
            if (one.shadowRoot) walk(one.shadowRoot)
        }
    }
    walk(root)
    return found
}"""
CONTROLS = f"""() => ({DEEP})().filter((e) =>
    e.matches("a[href], button, select, input, textarea, summary, [tabindex='0']") &&
    !e.disabled && e.checkVisibility({{visibilityProperty: true}}))"""
# One radio button of a group stands for it
REACHED = f"""() => {{
    const wanted = ({CONTROLS})().filter((e) => e.type !== "radio")
    wanted.forEach((e, at) => {{ e.dataset.reach = at }})
    return wanted.length
}}"""
FOCUSED = """() => {
    let e = document.activeElement
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
    const {outlineStyle, outlineWidth} = getComputedStyle(e)
    const seen = outlineStyle !== "none" && outlineWidth !== "0px"
    return [e.dataset.reach ?? null, seen, e.outerHTML.slice(0, 120)]
}"""
# Controls that stick out of the window, but for those that a box of their own scrolls to
OUTSIDE = f"""() => ({CONTROLS})().filter((e) => {{
    const {{left, right}} = e.getBoundingClientRect()
    const scrolls = (node) => node instanceof Element && (
        ["auto", "scroll"].includes(getComputedStyle(node).overflowX) ||
        scrolls(node.assignedSlot ?? node.parentNode?.host ?? node.parentNode))
    return (left < -1 || right > innerWidth + 1) && !scrolls(e)
}}).map((e) => e.outerHTML.slice(0, 160))"""
# Controls of less than 24 pixels (WCAG 2.5.8), and no larger label around; links in a text may be
SMALL = f"""() => ({CONTROLS})().filter((e) => !e.matches("a")).filter((e) => {{
    const small = ({{width, height}}) => Math.min(width, height) < 24
    return [e, e.closest("label") ?? e].every((one) => small(one.getBoundingClientRect()))
}}).map((e) => e.outerHTML.slice(0, 160))"""
CANVAS = "<style>:root { background: Canvas }</style>"  # axe looks for a background
OURS = [kind for kind in SHOWN if kind != "Result"]


def every_output(word):
    """Every view, figure and table, and what an exercise shows."""
    notes = check("02.scores", lambda q, k: k @ q.mT), hint("02.scores"), solution("02.scores")
    made = [make(f"{word} {at}") for at, make in enumerate(SHOWN.values())]
    return [*made, *notes, progress()]


def write(path, word):
    body = "".join(map(html_of, every_output(word)))
    path.write_text(_PAGE.format(title="Everything", body=CANVAS + body), "utf-8")
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everything")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # progress is kept there
        yield write(folder / "everything.html", "a word")


@pytest.fixture
def visit(browser):
    contexts = []

    def opened(path, **options):
        page = open_offline(browser, path, **options)
        contexts.append(page.context)
        page.wait_for_function(
            "document.querySelectorAll('figure.attn-edu img').length === 0"
            " && document.querySelectorAll('figure[data-live]').length >= 8"
        )
        return page

    yield opened
    for context in contexts:
        context.close()


def touch_everything(page):
    """Each control is moved, and the mouse goes over each picture."""
    for select in page.locator("select:visible").all():
        select.select_option(index=select.locator("option").count() - 1)
    for slider in page.locator("input[type=range]:visible").all():
        slider.press("ArrowRight")
    for box in page.locator("summary:visible").all():
        box.click()
    for canvas in page.locator("canvas:visible").all():
        canvas.hover(force=True)
        canvas.click(force=True)
    for button in page.locator("button:visible").all():
        if "Save" not in button.inner_text():
            button.click()


@pytest.mark.parametrize("word", ACTIVE, ids=range(len(ACTIVE)))
def test_words_run_nothing(visit, tmp_path, monkeypatch, word):
    monkeypatch.chdir(tmp_path)
    page = visit(write(tmp_path / "hostile.html", word))
    if word == ACTIVE[0]:
        touch_everything(page)
    assert page.evaluate("window.pwned") is None
    assert console_errors(page) == []
    assert page.title() == "Everything"


def test_words_run_nothing_in_plotly(browser, tmp_path):
    words = [*ACTIVE, "b"]
    chart = curves_by_step(
        {word: {w + word: (LINES, LINES) for w in words} for word in words},
        slider=ACTIVE[0], x=ACTIVE[0], y=LINK, title=LINK, summary=ACTIVE[0],
    )  # fmt: skip
    path = tmp_path / "plotly.html"
    path.write_text(chart.to_html(), "utf-8")
    page = open_offline(browser, path, viewport={"width": 1400, "height": 900})
    page.locator(".slider-group").first.wait_for()
    for step in page.locator(".slider-label").all()[:3]:
        step.click(force=True)
    (link,) = page.locator(".gtitle a").all()  # plotly makes a link of it, and of nothing else
    assert link.text_content() == "a link" and "javascript" not in link.evaluate("a => a.outerHTML")
    link.dispatch_event("click")
    assert page.evaluate("window.pwned") is None
    assert [text for kind, text in page.heard if kind == "pageerror"] == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit, saved, scheme):
    page = visit(saved, color_scheme=scheme, viewport={"width": 1100, "height": 900})
    assert axe(page) == []


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(visit, saved):
    page = visit(saved, viewport={"width": 1100, "height": 900})
    count, reached, unseen = page.evaluate(REACHED), set(), []
    assert count > 40
    for _ in range(count + 60):
        page.keyboard.press("Tab")
        place, seen, element = page.evaluate(FOCUSED)
        if place in reached or place is None:
            continue
        reached.add(place)
        unseen += [] if seen else [element]
    missed = page.evaluate(
        f"(reached) => ({CONTROLS})().filter((e) => e.dataset.reach && "
        "!reached.includes(e.dataset.reach)).map((e) => e.outerHTML.slice(0, 120))",
        sorted(reached),
    )
    assert missed == []
    assert unseen == []


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2}, id="200 %"
        ),
        pytest.param(
            {"viewport": {"width": 380, "height": 800}, "device_scale_factor": 3}, id="phone"
        ),
    ],
)
def test_nothing_is_cut_off(visit, saved, options, screenshots, request):
    page = visit(saved, **options)
    name = re.sub(r"\W+", "-", request.node.name)
    page.screenshot(path=screenshots / f"{name}.png", full_page=True)
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_two_of_a_kind_are_told_apart(visit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    body = "".join(html_of(SHOWN[kind]("twice")) for kind in OURS for _ in "ab")
    path = tmp_path / "twice.html"
    path.write_text(_PAGE.format(title="Twice", body=f"{CANVAS}{body}"), "utf-8")
    assert axe(visit(path, viewport={"width": 1100, "height": 900})) == []


def test_a_finger_hits_every_control(visit, saved):
    page = visit(saved, viewport={"width": 380, "height": 800}, has_touch=True)
    assert page.evaluate(SMALL) == []


def test_nothing_moves_by_itself(visit, saved):
    page = visit(saved, reduced_motion="reduce", viewport={"width": 1100, "height": 900})
    for slider in page.locator("input[type=range]:visible").all():
        slider.press("ArrowRight")
        assert page.evaluate("document.getAnimations().length") == 0
    moving = re.compile(r"\btransition\s*:|\banimation|@keyframes|\.animate\(|setInterval|<marquee")
    for path in (ROOT / "attn_edu").rglob("*"):
        if path.suffix in (".js", ".css", ".py", ".html") and path.name != "site.css":
            assert not moving.search(path.read_text("utf-8")), path


def test_in_jupyterlab_axe_finds_nothing_and_words_run_nothing(lab, page_of):
    setup = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from attn_edu.exercises import check, hint, progress, solution\n"
        "from tests.views.hostile import SHOWN"
    )
    words = ["a word", ACTIVE[0]]
    cells = [setup, *(f"SHOWN[{kind!r}]({w!r} + {kind!r})" for kind in SHOWN for w in words)]
    cells += ["check('02.scores', lambda q, k: k @ q.mT)", "hint('02.scores')"]
    cells += ["solution('02.scores')", "progress()"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    nbformat.write(notebook, lab.root / "everything.ipynb")
    page = page_of("everything.ipynb")
    lab.run_all(page)
    views = ".jp-OutputArea-output figure[data-live]"
    page.wait_for_function(f"document.querySelectorAll({views!r}).length >= 16")
    page.locator(".js-plotly-plot").first.wait_for()
    assert lab.errors(page) == []
    assert page.evaluate("window.pwned") is None
    # what plotly draws is plotly's own markup
    assert lab.axe(page, ".jp-OutputArea-output:not(:has(.js-plotly-plot))") == []
    assert console_errors(page) == []
