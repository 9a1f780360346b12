"""The page for instructors: nothing on it is stale, missing, or leads nowhere."""

import re
from dataclasses import replace
from urllib.parse import parse_qs, urlparse

import pytest

from attn_edu import instructors
from attn_edu.address import Repository
from attn_edu.course import NOTEBOOKS, chapters, find
from attn_edu.exercises import exercise, exercises
from attn_edu.instructors import Part, Route

TEXT = instructors.PAGE.read_text("utf-8")
SAID = instructors.sayings(TEXT)
ROUTES = pytest.mark.parametrize("route", instructors.routes(), ids=lambda route: route.name)


# ---- what the page says ------------------------------------------------------------------------


def test_no_fact_is_stale():
    assert instructors.with_facts(TEXT) == TEXT, "stale: make notebooks"


def test_every_chapter_and_exercise_is_there_in_order():
    wanted = []
    for chapter in chapters():
        wanted += [f"chapter {chapter.number}", *(f"exercise {name}" for name in chapter.exercises)]
    found = [block["what"] for block in instructors.BLOCK.finditer(TEXT)]
    assert [what for what in found if what.split()[0] in ("chapter", "exercise")] == wanted
    routes = [f"route {route.name}" for route in instructors.routes()]
    assert [what for what in found if what.startswith("route ")] == routes


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.number)
def test_a_chapter_has_a_question_to_open_with_and_something_to_watch_for(chapter):
    own = TEXT.partition(f"<!-- made: chapter {chapter.number} -->")[2]
    own = own.partition("<!-- /made -->")[2].partition("<!-- made: ")[0]
    assert re.search(r"^Open with this\. .{30,}[.?]$", own, re.MULTILINE)
    assert re.search(r"^Watch for this\. .{30,}[.?]$", own, re.MULTILINE)


@pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)
def test_the_commonest_wrong_answers_have_something_to_say(one):
    names = [belief.name for belief in one.misconceptions]
    said = SAID[one.id]
    assert set(said) <= set(names), "no misconception of that name"
    assert list(said) == [name for name in names if name in said], "another order"
    assert names[0] in said, "nothing to say about the first"
    assert len(said) >= 3
    own = {belief.name: belief.why for belief in one.misconceptions}
    for name, advice in said.items():
        assert len(advice) > 40
        assert advice[-1] in ".?)"
        assert advice != own[name]


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)\s]+)\)", TEXT)
    assert links
    for link in links:
        assert not link.startswith("/")
        path, _, anchor = link.partition("#")
        target = NOTEBOOKS / path
        assert target.is_file(), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
            assert anchor in [heading.lower().replace(" ", "-") for heading in headings], link


def test_exercises_and_sections_named_in_the_text_exist():
    for name in re.findall(r"`(\d\d\.\w+)`", TEXT):
        assert exercise(name)
    headings = {name for chapter in chapters() for name in instructors.section_lengths(chapter)}
    for name in ("Five kinds, two jobs", "A mask saves nothing", "Seven instead of eight"):
        assert f"*{name}*" in TEXT
        assert name in headings


# ---- routes ------------------------------------------------------------------------------------


@ROUTES
def test_minutes_of_a_route_add_up(route):
    for when, minutes in route.sittings.items():
        assert minutes <= route.at_most, when
    assert sum(route.sittings.values()) >= 0.6 * route.at_most * len(route.sittings)
    table = instructors.route_facts(route.name)
    rows = [int(number) for number in re.findall(r"\| (\d+) \|$", table, re.MULTILINE)]
    told, solving = map(int, re.search(r"Together (\d+) minutes, (\d+) of", table).groups())
    assert told == sum(rows)
    assert solving == sum(exercise(name).minutes for part in route.parts for name in part.exercises)
    for part, minutes in zip(route.parts, rows, strict=True):
        reading = minutes - sum(exercise(name).minutes for name in part.exercises)
        assert 0 < reading <= find(part.chapter).minutes
        assert (reading == find(part.chapter).minutes) == (not part.sections)


@ROUTES
def test_a_route_goes_forward_and_names_what_exists(route):
    order = [part.chapter for part in route.parts]
    for here, part in enumerate(route.parts):
        chapter = find(part.chapter)
        assert chapter.number == part.chapter
        assert not set(chapter.needs) & set(order[here + 1 :]), "needs a later one"
        assert set(part.exercises) <= set(chapter.exercises)
        assert set(part.sections) <= set(instructors.section_lengths(chapter))
    named = [name for part in route.parts for name in part.exercises]
    assert len(named) == len(set(named))


def test_the_term_has_every_exercise():
    term = instructors.routes()[-1]
    named = [name for part in term.parts for name in part.exercises]
    assert named == [one.id for one in exercises()]


def test_sections_share_out_the_minutes_of_their_chapter():
    chapter = find("05")
    lengths = instructors.section_lengths(chapter)
    assert "Check yourself" not in lengths
    assert "The triangle" in lengths
    every = [Part("05", sections=(name,)) for name in lengths]
    assert sum(part.reading for part in every) == pytest.approx(chapter.minutes, abs=len(every) / 2)
    assert Part("05", sections=tuple(lengths)).reading == chapter.minutes == Part("05").reading
    by_length = sorted(every, key=lambda part: lengths[part.sections[0]])
    readings = [part.reading for part in by_length]
    assert readings == sorted(readings)
    assert readings[0] < readings[-1]
    assert Part("05", exercises=("05.causal_mask",)).minutes == chapter.minutes + 5


def test_sittings_are_added_up_by_day():
    parts = (Part("00", when="today"), Part("02", when="today"), Part("03", when="tomorrow"))
    assert Route("any", 60, parts).sittings == {
        "today": find("00").minutes + find("02").minutes,
        "tomorrow": find("03").minutes,
    }


# ---- how it is made ----------------------------------------------------------------------------


def test_many_chapters_in_a_row_are_told_as_a_range():
    def told(*numbers):
        return instructors.needs(replace(find("02"), needs=numbers))

    assert told() == "nothing"
    assert told("01", "05") == "01, 05"
    assert told("04", "05", "12") == "04, 05, 12"
    assert told("05", "06", "07", "08") == "05 to 08"
    assert told("05", "06", "07", "09") == "05, 06, 07, 09"


def test_only_facts_are_made_anew():
    text = "a\n<!-- made: chapter 02 -->\nold\n<!-- /made -->\nb\n- *x*: y\n"
    new = instructors.with_facts(text)
    assert new.startswith("a\n<!-- made: chapter 02 -->\n")
    assert new.endswith("<!-- /made -->\nb\n- *x*: y\n")
    assert find("02").objectives[0] in new
    assert "old" not in new
    assert instructors.with_facts(new) == new


@pytest.mark.parametrize("what", ["chapter 99", "exercise 02.score", "route one day", "fact 02"])
def test_a_block_about_nothing_is_an_error(what):
    with pytest.raises((KeyError, StopIteration)):
        instructors.with_facts(f"<!-- made: {what} -->\n<!-- /made -->")


def test_advice_belongs_to_the_exercise_above_it():
    text = (
        "- *a*: no exercise yet\n"
        "<!-- made: exercise 02.scores -->\n<!-- /made -->\n- *a*: one\n- *b: c*: two\n"
        "<!-- made: chapter 03 -->\n<!-- /made -->\n- *a*: of a chapter\n"
        "<!-- made: exercise 03.split_heads -->\n<!-- /made -->\n- *a*: three\n"
    )
    assert instructors.sayings(text) == {
        "02.scores": {"a": "one", "b: c": "two"},
        "03.split_heads": {"a": "three"},
    }


def test_links_for_handing_out_are_made_from_one_address():
    source = Repository("https://github.com/us/our-course", "v2")
    made = instructors.links_facts("https://hub.edu/jupyter", source)
    pull, colab, binder, zipped = (
        line for line in made.splitlines() if line.startswith("https://")
    )
    url = urlparse(pull)
    assert (url.netloc, url.path) == ("hub.edu", "/jupyter/hub/user-redirect/git-pull")
    file = "notebooks/02_single_head.ipynb"
    assert parse_qs(url.query) == {
        "repo": ["https://github.com/us/our-course"],
        "branch": ["v2"],
        "urlpath": [f"lab/tree/our-course/{file}?autodecode"],
    }
    start = "https://mybinder.org/v2/gh/us/our-course/v2?labpath="
    assert binder == start + file.replace("/", "%2F")
    assert colab == f"https://colab.research.google.com/github/us/our-course/blob/v2/{file}"
    assert zipped == "https://github.com/us/our-course/archive/refs/heads/v2.zip"
    assert (NOTEBOOKS.parent / file).is_file()


def test_writing_the_page_touches_it_only_when_it_is_stale(tmp_path, monkeypatch):
    monkeypatch.setattr(instructors, "PAGE", tmp_path / "page.md")
    instructors.PAGE.write_text("<!-- made: chapters -->\n<!-- /made -->", "utf-8")
    assert instructors.write() == [instructors.PAGE]
    assert instructors.write() == []
    assert "02_single_head.ipynb" in instructors.PAGE.read_text("utf-8")
