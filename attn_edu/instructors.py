"""The page for instructors, notebooks/instructors.md: its facts are made, its advice is written.

Facts stand between `<!-- made: … -->` and `<!-- /made -->`, and `make notebooks` renews them from
course.toml, routes.toml, the exercises and the measured runs. What to say about a wrong answer is
written under its exercise, one line each: `- *name of the misconception*: what to say`.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from urllib.parse import quote

from attn_edu.address import Repository
from attn_edu.course import NOTEBOOKS, Chapter, chapters, find, repository, run_of
from attn_edu.exercises import exercise

PAGE, ROUTES = NOTEBOOKS / "instructors.md", NOTEBOOKS / "routes.toml"
BLOCK = re.compile(r"<!-- made: (?P<what>[^>]+) -->\n.*?<!-- /made -->", re.DOTALL)
SAYING = re.compile(r"- \*([^*]+)\*: (.+)")
EXAMPLE = "02"  # the chapter in the links that are shown
UNREAD = ("What you will be able to do", "Before you start", "Check yourself", "Where to go next")


@dataclass(frozen=True)
class Part:
    """One line of a route: a chapter or some of its sections, and the exercises that go with it.

    ``when`` is the day or the week; a part without one follows the part before it.
    """

    chapter: str
    when: str = ""
    sections: tuple[str, ...] = ()
    exercises: tuple[str, ...] = ()

    @property
    def reading(self) -> int:
        """Minutes: those of the chapter, or the share that its sections have in the text."""
        chapter = find(self.chapter)
        if not self.sections:
            return chapter.minutes
        length = section_lengths(chapter)
        share = sum(length[name] for name in self.sections) / sum(length.values())
        return round(chapter.minutes * share)

    @property
    def solving(self) -> int:
        """Minutes of the exercises."""
        return sum(exercise(name).minutes for name in self.exercises)

    @property
    def minutes(self) -> int:
        return self.reading + self.solving


@dataclass(frozen=True)
class Route:
    """A way through the course, and the minutes that each of its days or weeks may take."""

    name: str
    at_most: int
    parts: tuple[Part, ...]

    @property
    def sittings(self) -> dict[str, int]:
        """Minutes of each ``when``."""
        found: dict[str, int] = {}
        for part in self.parts:
            found[part.when] = found.get(part.when, 0) + part.minutes
        return found


def routes() -> list[Route]:
    """The routes of routes.toml."""

    def part(entry: dict) -> Part:
        return Part(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()})

    entries = tomllib.loads(ROUTES.read_text("utf-8"))["route"]
    return [Route(e["name"], e["at_most"], tuple(map(part, e["parts"]))) for e in entries]


@cache
def section_lengths(chapter: Chapter) -> dict[str, int]:
    """Characters of each section that is read, by its heading; exercises and lists are left out."""
    sections = re.split(r"^## ", chapter.text.read_text("utf-8"), flags=re.MULTILINE)[1:]
    lengths = {text.partition("\n")[0].strip(): len(text) for text in sections}
    return {name: length for name, length in lengths.items() if name not in UNREAD}


def sayings(text: str) -> dict[str, dict[str, str]]:
    """What the page says about wrong answers: exercise -> misconception -> advice."""
    places = list(BLOCK.finditer(text))
    ends = [m.start() for m in places[1:]] + [len(text)]
    return {
        m["what"].removeprefix("exercise "): dict(SAYING.findall(text[m.end() : end]))
        for m, end in zip(places, ends)
        if m["what"].startswith("exercise ")
    }


# ---- what is made ------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def title(chapter: Chapter) -> str:
    """A link to the chapter."""
    return f"[{chapter.number} · {chapter.title}]({chapter.file}.ipynb)"


def needs(chapter: Chapter) -> str:
    """The chapters that it needs; many in a row as "01 to 13"."""
    numbers = [int(number) for number in chapter.needs]
    if len(numbers) > 3 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{chapter.needs[0]} to {chapter.needs[-1]}"
    return ", ".join(chapter.needs) or "nothing"


def work(chapter: Chapter) -> tuple[int, int]:
    """Minutes and points of all its exercises."""
    tasks = [exercise(name) for name in chapter.exercises]
    return sum(task.minutes for task in tasks), sum(task.points for task in tasks)


def route_facts(name: str) -> str:
    """A route as a table, and its minutes in all."""
    route = next(one for one in routes() if one.name == name)
    some = any(part.sections for part in route.parts)  # else every chapter is read as a whole
    rows, before = [], 0
    for part in route.parts:
        read = ["; ".join(part.sections) or "all of it"] * some
        names = ", ".join(f"`{name}`" for name in part.exercises) or "none"
        when = part.when or f"minute {before}"
        rows.append([when, title(find(part.chapter)), *read, names, part.minutes])
        before += part.minutes
    head = ["when", "chapter", *["what to read"] * some, "exercises", "minutes"]
    solving = sum(part.solving for part in route.parts)
    if len(route.sittings) == 1:
        rest = f"{route.at_most - before} of {route.at_most} are left"
    else:
        least, most = min(route.sittings.values()), max(route.sittings.values())
        rest = f"between {least} and {most} at a time"
    told = f"Together {before} minutes, {solving} of them for exercises; {rest}."
    return f"{table(head, rows)}\n\n{told}"


def chapters_facts(_: str) -> str:
    """All chapters in one table."""
    head = ["chapter", "needs", "reading, min", "exercises, min", "points"]
    return table(head, [[title(c), needs(c), c.minutes, *work(c)] for c in chapters()])


def chapter_facts(number: str) -> str:
    """A chapter's heading, its numbers, and its objectives."""
    c = find(number)
    seconds, peak = run_of(number)
    run = f"{seconds} s and {peak} MB" if seconds.isdigit() else seconds
    minutes, points = work(c)
    exercises = f"Exercises: {len(c.exercises)}, {minutes} minutes, {points} points."
    numbers = [
        f"Needs: {needs(c)}.",
        f"Reading: {c.minutes} minutes.",
        f"Run from top to bottom: {run}.",
        exercises if c.exercises else "No exercises.",
    ]
    objectives = "\n".join(f"- {text}" for text in c.objectives)
    return (
        f"### {title(c)}\n\n*{c.question}*\n\n{' '.join(numbers)}\n\n"
        f"Afterwards your students can:\n\n{objectives}"
    )


def exercise_facts(name: str) -> str:
    """An exercise's heading and its numbers."""
    one = exercise(name)
    return (
        f"#### `{one.id}` · {one.title}\n\n{one.points} points, {one.minutes} minutes, difficulty "
        f"{one.difficulty} of 3. Wrong answers to expect:"
    )


def links_facts(hub: str, source: Repository | None = None) -> str:
    """Links to one chapter, for the address of a hub; `source` is that of course.toml."""
    source = source or repository()
    name, file = source.owner_and_name.rpartition("/")[2], find(EXAMPLE).address
    path = quote(f"lab/tree/{name}/{file}?autodecode", "")
    pull = f"repo={quote(source.repository, '')}&branch={quote(source.branch, '')}&urlpath={path}"
    return "\n".join([
        "```",
        "nbgitpuller",
        f"{hub}/hub/user-redirect/git-pull?{pull}",
        "",
        "Colab",
        source.colab(file),
        "",
        "Binder",
        source.binder(file),
        "",
        "a zip of everything",
        source.archive,
        "```",
    ])  # fmt: skip


MAKERS = {
    "route": route_facts,
    "chapters": chapters_facts,
    "chapter": chapter_facts,
    "exercise": exercise_facts,
    "links": links_facts,
}


def with_facts(text: str) -> str:
    """`text` with fresh facts in every block.

    Raises:
        KeyError: a block asks for what does not exist.
    """

    def fresh(block: re.Match) -> str:
        kind, _, name = block["what"].partition(" ")
        return f"<!-- made: {block['what']} -->\n\n{MAKERS[kind](name)}\n\n<!-- /made -->"

    return BLOCK.sub(fresh, text)


def write() -> list:
    """Bring the page up to date; returns it if it had to change."""
    old = PAGE.read_text("utf-8")
    new = with_facts(old)
    if new == old:
        return []
    PAGE.write_text(new, "utf-8")
    return [PAGE]
