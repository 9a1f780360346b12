"""What in a notebook a reader with a screen reader, or without colours, could not follow."""

import re
from html.parser import HTMLParser

PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*)\)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(")
EMPTY_ALT = re.compile(
    r"(\S*\.(png|svg|jpe?g|gif)|image|img|figure|picture|alt text)?", re.IGNORECASE
)
EMPTY_LINK = {"here", "link", "this", "this link", "click here", "read more"}
COLOUR_ALONE = re.compile(
    r"\b(?:red|green|blue|yellow|orange|purple) (?:line|curve|cell|square|bar|point|dot|one)s?\b",
    re.IGNORECASE,
)
IMAGES = ("image/png", "image/jpeg", "image/svg+xml")


class Pictures(HTMLParser):
    """Collects the alt text (None: there is none) of every <img>, and whether tables have heads."""

    def __init__(self):
        super().__init__()
        self.alts, self.tables, self.heads = [], 0, 0

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.alts.append(dict(attributes).get("alt"))
        self.tables += tag == "table"
        self.heads += tag == "th"


def of_html(html: str) -> list[str]:
    page = Pictures()
    page.feed(re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))
    found = [f"picture without alt text ({alt!r})" for alt in page.alts if weak(alt)]
    return found + ["table without headings"] * (page.tables > 0 and page.heads == 0)


def weak(alt: str | None) -> bool:
    return alt is None or bool(EMPTY_ALT.fullmatch(alt.strip()))


def of_markdown(source: str) -> list[str]:
    text = re.sub(r"```.*?```", "", source, flags=re.DOTALL)
    found = [f"picture without alt text: {m[2]}" for m in PICTURE.finditer(text) if weak(m[1])]
    found += [
        f"link that says nothing: {m[1]}"
        for m in LINK.finditer(text)
        if m[1].strip().lower() in EMPTY_LINK
    ]
    found += [f"told by colour alone: {m[0]}" for m in COLOUR_ALONE.finditer(text)]
    return found + of_html(text)


def findings(notebook) -> list[str]:
    """One line a fault, with the number of its cell."""
    found, level = [], 0
    for number, cell in enumerate(notebook.cells):
        here = []
        if cell.cell_type == "markdown":
            here += of_markdown(cell.source)
            text = re.sub(r"^```.*?^```", "", cell.source, flags=re.DOTALL | re.MULTILINE)
            for marks, title in re.findall(r"^(#+) +(.*)$", text, re.MULTILINE):
                if level and len(marks) > level + 1:
                    here.append(f"heading {title!r} skips a level")
                level = len(marks)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            here += of_html("".join(data.get("text/html", "")))
            for kind in IMAGES:
                alt = output.get("metadata", {}).get(kind, {}).get("alt")
                if kind in data and weak(alt):
                    here.append(f"output {kind} without alt text in its metadata")
        found += [f"cell {number}: {fault}" for fault in here]
    return found
