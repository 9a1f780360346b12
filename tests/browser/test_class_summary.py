"""The page of a class summary in Chromium: light, dark, on a wide screen and on a phone."""

import pytest
from lab import axe, console_errors, open_offline

from attn_edu.assign.outcomes import OUTCOMES
from attn_edu.assign.summary import ClassSummary, ExerciseSummary
from attn_edu.exercises import exercises

CHAPTERS = ("02", "10")  # with the longest id, and the longest name of a mistake


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Twelve submissions: each exercise has every outcome, and every mistake that it knows."""
    rows = []
    for one in exercises():
        counts = dict(zip(OUTCOMES, (3, 4, 2, 1, 1, 1)))
        mistakes = {belief.name: 1 + (i < 2) for i, belief in enumerate(one.misconceptions)}
        if one.id[:2] in CHAPTERS:
            rows.append(ExerciseSummary(one, counts, mistakes))
    summary = ClassSummary(24, 2, tuple(rows))
    return summary.to_html(tmp_path_factory.mktemp("class") / "summary.html")


@pytest.fixture(params=[(1200, "light"), (720, "dark"), (360, "light"), (320, "dark")], ids=str)
def page(request, browser, path, screenshots):
    width, scheme = request.param
    size = {"width": width, "height": 900}
    opened = open_offline(browser, path, viewport=size, color_scheme=scheme)
    opened.screenshot(path=screenshots / f"class-{width}-{scheme}.png", full_page=True)
    yield opened
    opened.context.close()


def test_it_is_accessible_and_says_nothing_on_the_console(page):
    assert axe(page) == []
    assert console_errors(page) == []


def test_one_picture_is_seen_and_nothing_leaves_the_page(page):
    assert page.locator("svg:visible").count() == 1
    assert page.get_by_role("img", name="Outcomes by exercise").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_letters_are_large_enough(page):
    drawn = page.locator("svg:visible").evaluate("""svg => {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width
        return scale * parseFloat(getComputedStyle(svg).fontSize)
    }""")
    assert drawn >= 10.5


def test_no_words_lie_on_each_other(page):
    overlaps = page.locator("svg:visible").evaluate("""svg => {
        const texts = [...svg.querySelectorAll("text")], boxes = texts.map(t => t.getBBox())
        const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width &&
            a.y + 3 < b.y + b.height - 3 && b.y + 3 < a.y + a.height - 3
        const found = []
        for (const i in boxes) for (const j in boxes)
            if (i < j && meet(boxes[i], boxes[j]))
                found.push(`${texts[i].textContent} / ${texts[j].textContent}`)
        return found
    }""")
    assert overlaps == []


def test_words_stay_in_the_picture(page):
    outside = page.locator("svg:visible").evaluate("""svg => {
        const { width, height } = svg.viewBox.baseVal
        return [...svg.querySelectorAll("text")].filter(t => {
            const box = t.getBBox()
            return box.x < -1 || box.x + box.width > width + 8 || box.y + box.height > height + 4
        }).map(t => t.textContent)
    }""")
    assert outside == []
