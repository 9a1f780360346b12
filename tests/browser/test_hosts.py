"""What the chapters stored, in pages that do with it what VS Code, Colab and GitHub do.

The pages are small and ours; there is no kernel, no widget manager and no network. VS Code's was
compared with VS Code 1.100 itself.
"""

import re
from importlib.resources import files

import nbformat
import pytest
from lab import console_errors, listen

from attn_edu.course import chapters
from attn_edu.figures import curves_by_step

CHAPTER = pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.number)

# VS Code shows all outputs in one document, through innerHTML. Scripts do not run there: a copy of
# each runs at the end of the output's box, away from its figure, and is taken out again.
VSCODE = """(outputs) => {
    for (const html of outputs) {
        const box = document.createElement("div")
        box.innerHTML = html
        document.body.append(box)
        for (const script of [...box.querySelectorAll("script")]) {
            const copy = document.createElement("script")
            copy.text = script.textContent
            box.append(copy)
            copy.remove()
        }
    }
}"""
# Colab gives each output a frame, each of an origin of its own.
COLAB = """(addresses) => {
    for (const src of addresses)
        document.body.append(Object.assign(document.createElement("iframe"), { src, width: 700 }))
}"""
# GitHub takes out scripts, styles, and every element and attribute that it does not list.
GITHUB = """([outputs, ...listed]) => {
    const [elements, attributes] = listed.map((names) => names.split(" "))
    for (const html of outputs) {
        const { body } = new DOMParser().parseFromString(html, "text/html")
        body.querySelectorAll("script, style").forEach((e) => e.remove())
        for (const e of body.querySelectorAll("*")) {
            for (const { name } of [...e.attributes])
                if (!attributes.includes(name)) e.removeAttribute(name)
            if (!elements.includes(e.localName)) e.replaceWith(...e.childNodes)
        }
        document.body.append(...body.childNodes)
    }
}"""
ELEMENTS = (
    "h1 h2 h3 h4 h5 h6 br b i strong em a pre code img div p ol ul li table thead tbody tfoot tr "
    "td th caption blockquote dl dt dd kbd q samp var hr s summary details figure figcaption abbr "
    "bdo cite dfn mark small span time"
)
ATTRIBUTES = "href src alt title colspan rowspan scope align width height dir lang open"

STILL = """() => [...document.querySelectorAll("figure:has(> script)")]
    .filter((e) => !("live" in e.dataset) || e.querySelector("img, details"))
    .map((e) => e.outerHTML.slice(0, 120))"""
BROKEN = """() => [...document.images]
    .filter((e) => !e.complete || !e.naturalWidth || !e.alt)
    .map((e) => e.outerHTML.slice(0, 120))"""
PAPERS = """() => [...new Set([...document.querySelectorAll("figure.attn-edu")]
    .map((e) => e.firstElementChild.shadowRoot?.querySelector(".view"))
    .filter(Boolean).map((e) => getComputedStyle(e).backgroundColor))]"""
# A paragraph and a table of the host, with every property of their looks
LOOKS = """() => ["p", "th"].map((name) => {
    const looks = getComputedStyle(document.querySelector(`#host ${name}`))
    return [...looks].map((property) => `${property}: ${looks.getPropertyValue(property)}`)
})"""
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(22, 24, 29)"
PAPER_IN = {"light": LIGHT, "dark": DARK, "high-contrast": DARK, "high-contrast-light": LIGHT}
HOST = '<!doctype html><body {}><div id="host"><p>words</p><table><tr><th>1</th></table></div>'


def stored(chapter) -> list[dict]:
    """The forms of each output of a chapter."""
    notebook = nbformat.read(chapter.notebook, as_version=4)
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [output.data for cell in code for output in cell.outputs if "data" in output]


def shown(chapter) -> list[str]:
    """What a host shows that knows HTML, and neither plotly's form nor widgets."""
    return [data["text/html"] for data in stored(chapter) if "text/html" in data]


@pytest.fixture
def host(browser):
    """`host(attributes of body)`: a page that asks for nothing from outside.

    `known` are the pages of an outside that there is: address -> its content.
    """
    contexts, asked = [], []

    def opened(body="", known=None, **options):
        contexts.append(browser.new_context(**options))
        page = listen(contexts[-1].new_page())

        def answer(route):
            if content := (known or {}).get(route.request.url):
                return route.fulfill(body=content, headers={"Access-Control-Allow-Origin": "*"})
            asked.append(route.request.url)
            return route.abort()

        page.route("**/*", answer)
        page.set_content(HOST.format(body))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert asked == []


def in_colab(host, outputs, **known):
    """The frames of some outputs, each loaded."""
    head = "<!doctype html><meta charset=utf-8>"
    pages = {f"https://output-{at}.example/": head + html for at, html in enumerate(outputs)}
    page = host(known={**pages, **known})
    page.evaluate(COLAB, list(pages))
    becomes(page, "frames.length", len(pages))
    return page


def becomes(page, script, wanted):
    """Wait until a script gives what is wanted; where it does not, show what it gives."""
    for _ in range(60):
        if page.evaluate(script) == wanted:
            break
        page.wait_for_timeout(250)
    assert page.evaluate(script) == wanted


# ---- VS Code -----------------------------------------------------------------------------------


def in_vs_code(host, theme):
    """A page in a theme of VS Code, on a system that prefers the other."""
    other = "dark" if theme.endswith("light") else "light"
    body = f'class="vscode-{theme}" data-vscode-theme-kind="vscode-{theme}"'
    return host(body, color_scheme=other)


@CHAPTER
def test_in_vs_code_every_view_lives_and_every_curve_shows(chapter, host):
    page = in_vs_code(host, "dark")
    before = page.evaluate(LOOKS)
    page.evaluate(VSCODE, 2 * shown(chapter))  # the same output twice: a cell and its copy
    becomes(page, STILL, [])
    assert page.evaluate(PAPERS) in ([DARK], [])
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(LOOKS) == before
    assert console_errors(page) == []


@pytest.mark.parametrize("theme", PAPER_IN)
def test_in_vs_code_a_view_is_light_or_dark_as_the_editor_is(theme, host):
    page = in_vs_code(host, theme)
    page.evaluate(VSCODE, shown(chapters()[0]))
    becomes(page, STILL, [])
    assert page.evaluate(PAPERS) == [PAPER_IN[theme]]
    page.evaluate("document.body.dataset.vscodeThemeKind = 'vscode-dark'")
    page.evaluate("document.body.className = 'vscode-dark'")
    becomes(page, PAPERS, [DARK])


def test_in_vs_code_arrows_move_a_slider_and_the_notebook_does_not_hear_them(host):
    page = in_vs_code(host, "light")
    page.evaluate("addEventListener('keydown', (e) => (window.heard ??= []).push(e.key))")
    page.evaluate(VSCODE, shown(chapters()[0]))
    becomes(page, STILL, [])
    slider = page.get_by_label("Temperature", exact=True).last
    before = slider.input_value()
    for key in ("ArrowRight", "ArrowUp", "d", "Tab"):
        slider.press(key)
    assert int(slider.input_value()) == int(before) + 2
    assert page.evaluate("window.heard") == ["Tab"]


# ---- Colab -------------------------------------------------------------------------------------


@CHAPTER
def test_in_colab_every_output_lives_in_a_frame_of_its_own(chapter, host):
    page = in_colab(host, shown(chapter))
    for frame in page.frames[1:]:
        becomes(frame, STILL, [])
        becomes(frame, BROKEN, [])
    assert console_errors(page) == []


@pytest.fixture
def run_in_colab(monkeypatch):
    """The HTML of a chart with a slider, as Colab's kernel makes it, and what it loads."""
    monkeypatch.setenv("COLAB_NOTEBOOK_ID", "one")
    loss = {"a": [3.0, 2.0, 1.0], "b": [3.0, 2.0, 0.5]}
    lines = {step: {"loss": ([1, 2, 3], y)} for step, y in loss.items()}
    said = {"title": "Losses", "summary": "The loss falls to 1, or to 0.5."}
    chart = curves_by_step(lines, slider="run", x="step", y="loss", **said)
    html = chart._repr_mimebundle_()["text/html"]
    (library,) = re.findall(r'src="(https://cdn\.plot\.ly/[^"]+)"', html)
    return html, library


def test_in_colab_a_chart_is_plotlys_where_plotly_comes(run_in_colab, host):
    html, library = run_in_colab
    content = (files("plotly") / "package_data" / "plotly.min.js").read_bytes()
    page = in_colab(host, [html], **{library: content})
    frame = page.frames[1]
    frame.locator(".js-plotly-plot g.slider-group").wait_for(state="attached")
    becomes(frame, "document.images.length", 0)
    live = frame.get_by_role("img", name="The loss falls to 1, or to 0.5.")
    assert live.locator("g.lines path").count() == 1
    assert frame.locator("details table").count() == 1
    assert console_errors(page) == []


def test_in_colab_a_chart_keeps_its_picture_where_plotly_does_not_come(run_in_colab, host):
    html, library = run_in_colab
    page = in_colab(host, [html], **{library: "// nothing"})
    becomes(page.frames[1], BROKEN, [])
    assert page.frames[1].locator("figure > img").is_visible()


def test_a_chart_that_was_run_in_colab_keeps_its_picture_on_github(run_in_colab, host):
    page = host()
    page.evaluate(GITHUB, [run_in_colab[:1], ELEMENTS, ATTRIBUTES])
    becomes(page, BROKEN, [])
    assert page.locator("figure > img").is_visible()


# ---- GitHub ------------------------------------------------------------------------------------


@CHAPTER
def test_on_github_every_picture_has_its_words_and_its_numbers(chapter, host):
    page = host()
    outputs = shown(chapter)
    page.evaluate(GITHUB, [outputs, ELEMENTS, ATTRIBUTES])
    becomes(page, BROKEN, [])
    pictures = sum(html.count("<img ") for html in outputs)
    assert page.locator("img").count() == pictures
    bare = "figure:has(img):not(:has(details table))"
    assert page.locator(bare).count() == 0
    assert not re.search(r"=>|currentScript|\{[a-z-]+:", page.inner_text("body"))


# ---- without widgets ---------------------------------------------------------------------------


@CHAPTER
def test_where_no_widgets_show_a_sentence_says_what_to_use(chapter):
    for data in stored(chapter):
        if "text/html" not in data:
            assert re.search(r"Where no widgets show: \.\w+", data["text/plain"])
