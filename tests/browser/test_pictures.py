"""Still pictures where no script runs; and all that the course draws in high contrast, on paper."""

import io
import re

import pytest
from lab import axe, open_offline
from PIL import Image
from test_accessibility import DEEP, saved, visit  # noqa: F401 (fixtures)

# The height of each letter in the still pictures, in CSS pixels: each SVG is put into a frame of
# its picture's size, where its style and its media queries mean what they mean in the picture.
LETTERS = """async () => {
    const sizes = []
    for (const image of document.querySelectorAll("img.attn-still")) {
        if (!image.checkVisibility()) continue
        const frame = document.createElement("iframe")
        frame.style.cssText =
            `border:0;width:${image.clientWidth}px;height:${image.clientHeight}px`
        const svg = atob(image.src.split("base64,")[1])
        frame.srcdoc = `<style>*{margin:0}body>svg{width:100vw;height:100vh}</style>${svg}`
        document.body.append(frame)
        await new Promise((done) => (frame.onload = done))
        const words = [...frame.contentDocument.querySelectorAll("text")]
        const seen = words.filter((one) => one.getBoundingClientRect().width > 0)
        const size = (one) => parseFloat(frame.contentWindow.getComputedStyle(one).fontSize)
        const height = (one) => {
            const {a, b} = one.getScreenCTM()
            return size(one) * Math.hypot(a, b)
        }
        if (seen.length === 0) throw Error(`no letters: ${image.alt}`)
        sizes.push(Math.min(...seen.map(height)))
        frame.remove()
    }
    return sizes
}"""


@pytest.fixture
def still(browser, saved):  # noqa: F811
    """`still(**options)`: the page with every output, where no script runs."""
    page = saved.with_name("still.html")
    script = re.compile("<script>.*?</script>", re.DOTALL)
    page.write_text(script.sub("", saved.read_text("utf-8")), "utf-8")
    contexts = []

    def opened(**options):
        contexts.append(open_offline(browser, page, **options))
        return contexts[-1]

    yield opened
    for one in contexts:
        one.context.close()


@pytest.mark.parametrize(("width", "zoom"), [(380, 3), (320, 3), (640, 2), (700, 1), (1100, 1)])
def test_letters_are_at_least_10_pixels_high(still, width, zoom):
    page = still(viewport={"width": width, "height": 800}, device_scale_factor=zoom)
    sizes = page.evaluate(LETTERS)
    assert len(sizes) >= 8
    assert min(sizes) >= 10
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_axe_finds_nothing_where_no_script_runs(still):
    assert axe(still(viewport={"width": 380, "height": 800})) == []


def corner(locator) -> int:
    """How light the paper of a picture is, 0 to 255."""
    shot = Image.open(io.BytesIO(locator.screenshot())).convert("L")
    return shot.getpixel((3, 3))


@pytest.mark.parametrize(
    ("told", "value", "dark"),
    [
        ("data-jp-theme-light", "false", True),
        ("data-jp-theme-light", "true", False),
        ("data-theme", "dark", True),
        ("data-theme", "light", False),
        ("data-vscode-theme-kind", "vscode-high-contrast", True),
        ("data-vscode-theme-kind", "vscode-light", False),
    ],
)
def test_a_still_picture_is_as_dark_as_its_page(still, told, value, dark):
    """A page of nbconvert, the site or VS Code says so, whatever the system prefers."""
    page = still(color_scheme="light" if dark else "dark")
    page.evaluate("([told, value]) => document.body.setAttribute(told, value)", [told, value])
    papers = [corner(one) for one in page.locator("img.attn-still:visible").all()]
    assert len(papers) >= 8
    assert all((paper < 40) if dark else (paper > 240) for paper in papers)


def test_in_forced_colours_a_pressed_button_differs_and_axe_finds_nothing(visit, saved):  # noqa: F811
    page = visit(saved, forced_colors="active", viewport={"width": 1100, "height": 900})
    buttons = page.evaluate(f"""() => ({DEEP})().filter((e) => e.matches("button"))
        .map((e) => [e.ariaPressed === "true", getComputedStyle(e).backgroundColor])""")
    pressed, others = ({colour for on, colour in buttons if on is one} for one in (True, False))
    assert pressed
    assert others
    assert not pressed & others
    assert axe(page) == []


def test_on_paper_a_dark_page_is_light_and_fits(visit, saved, screenshots):  # noqa: F811
    page = visit(saved, color_scheme="dark", viewport={"width": 718, "height": 1000})
    papers = f"""() => ({DEEP})().filter((e) => e.matches(".view"))
        .map((e) => getComputedStyle(e).backgroundColor)"""
    assert "rgb(255, 255, 255)" not in page.evaluate(papers)
    page.emulate_media(media="print")
    page.wait_for_timeout(300)
    page.screenshot(path=screenshots / "print.png", full_page=True)
    assert set(page.evaluate(papers)) == {"rgb(255, 255, 255)"}
    keys = f"""() => ({DEEP})().filter((e) => e.matches("canvas[aria-hidden]"))
        .map((e) => e.getContext("2d").getImageData(0, 0, 1, 1).data[3])"""
    assert set(page.evaluate(keys)) == {0}  # the keys of the bill have no paper of their own
    stills = page.locator("img.attn-still:visible").all()
    assert stills
    assert all(corner(one) > 240 for one in stills)
    cut = f"""() => ({DEEP})().filter((e) => e.matches("canvas, img, .view") &&
        e.checkVisibility() && e.getBoundingClientRect().right > innerWidth)
        .map((e) => e.outerHTML.slice(0, 120))"""
    assert page.evaluate(cut) == []
