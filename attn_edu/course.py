"""The list of chapters, read from notebooks/course.toml, and the tables made from it."""

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from attn_edu.address import Repository

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
MEASURED = ROOT / "data" / "chapters.json"
BEGIN = "<!-- chapters: made from course.toml by `make notebooks` -->"
END = "<!-- /chapters -->"


@dataclass(frozen=True)
class Chapter:
    """One chapter: what course.toml says of it, and where its files are."""

    number: str
    file: str
    title: str
    question: str
    minutes: int
    needs: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    exercises: tuple[str, ...] = ()

    @property
    def text(self) -> Path:
        """The text that people edit, notebooks/src/NN_topic.md."""
        return NOTEBOOKS / "src" / f"{self.file}.md"

    @property
    def notebook(self) -> Path:
        """The notebook that is built from the text, notebooks/NN_topic.ipynb."""
        return NOTEBOOKS / f"{self.file}.ipynb"

    @property
    def address(self) -> str:
        """The notebook's path in the repository, for a link."""
        return f"notebooks/{self.file}.ipynb"


def _listed() -> dict:
    return tomllib.loads((NOTEBOOKS / "course.toml").read_text("utf-8"))


def repository() -> Repository:
    """Where the course is published."""
    return Repository(**_listed()["course"])


def chapters() -> list[Chapter]:
    """All chapters in the order of course.toml."""
    entries = _listed()["chapter"]
    return [
        Chapter(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()})
        for entry in entries
    ]


def find(name: str) -> Chapter:
    """The chapter of a number ("2", "02"), a file ("02_single_head") or a topic ("single_head").

    Raises:
        KeyError: if no chapter has that name.
    """
    wanted = Path(name).stem
    for chapter in chapters():
        names = (chapter.file, chapter.file[3:])
        if wanted and (wanted in names or wanted.zfill(2) == chapter.number):
            return chapter
    known = ", ".join(chapter.number for chapter in chapters())
    raise KeyError(f"no chapter is called {name!r}; the chapters are {known}")


def read_measured() -> dict[str, dict[str, float]]:
    """What `make bench ARGS="chapters --store"` measured: number -> seconds, peak_bytes, …"""
    if not MEASURED.is_file():
        return {}
    return json.loads(MEASURED.read_text("utf-8"))["chapters"]


def run_of(number: str) -> tuple[str, str]:
    """A chapter's measured run as text: whole seconds, and MB to the next ten."""
    found = read_measured().get(number)
    if found is None:
        return "not measured", "not measured"
    return f"{max(found['seconds'], 1):.0f}", f"{round(found['peak_bytes'] / 1e7) * 10:,}"


def table(link: str, measured: bool = False, open_in: bool = False) -> str:
    """The chapters as a Markdown table.

    Args:
        link: goes in front of each notebook's file name.
        measured: whether the table shows what a run takes.
        open_in: whether it links to the services that run a notebook in the browser.
    """
    rows = ["| no. | chapter | the question it answers | minutes |", "|---|---|---|---|"]
    for c in chapters():
        title = f"[{c.title}]({link}{c.file}.ipynb)"
        rows.append(f"| {c.number} | {title} | {c.question} | {c.minutes} |")
    if measured:
        rows[0] += " seconds to run | peak MB |"
        rows[1] += "---|---|"
        for i, c in enumerate(chapters(), 2):
            rows[i] += " {} | {} |".format(*run_of(c.number))
    if open_in:
        rows[0] += " open in |"
        rows[1] += "---|"
        for i, c in enumerate(chapters(), 2):
            rows[i] += f" {repository().links(c.address)} |"
    return "\n".join(rows)


def with_table(text: str, link: str, measured: bool = False, open_in: bool = False) -> str:
    """`text` with a fresh table of chapters between the two markers; the rest as for `table`.

    Raises:
        ValueError: if `text` has not exactly one pair of markers.
    """
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"text must hold one pair of the markers {BEGIN} and {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{table(link, measured, open_in)}\n\n{END}", text)


def places() -> dict[Path, dict[str, object]]:
    """The files that carry the table, each with the options of its `table`."""
    return {
        ROOT / "README.md": {"link": "notebooks/", "measured": True, "open_in": True},
        NOTEBOOKS / "src" / "00_start_here.md": {"link": ""},
    }


def write_tables() -> list[Path]:
    """Bring every file of `places()` up to date; returns those that had to change."""
    changed, start = [], chapters()[0].address
    for path, options in places().items():
        old = path.read_text("utf-8")
        new = repository().with_badges(with_table(old, **options), start)
        if new != old:
            path.write_text(new, "utf-8")
            changed.append(path)
    return changed
