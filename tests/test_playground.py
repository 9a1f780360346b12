"""The playground: what it shows for every kind of text, and that bad text never breaks it."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from attn_edu.cli.notebooks import clean
from attn_edu.widgets import Playground, Reading


def backwards(text):
    """Each word looks at its mirror image."""
    words = text.split()
    if len(words) > 9:
        raise ValueError(f"Nine words at most; this text has {len(words)}.")
    return Reading(
        f"“{' '.join(reversed(words))}”.",
        weights=np.eye(len(words))[::-1],
        tokens=words,
        rows=[("words", len(words)), ("longest", max(words, key=len))],
        note=f"Read from <right> to left: {text}",
        options={"title": "Mirror"},
    )


def two_sides(text):
    weights = np.ones((2, 3, 1, 4)) / 4
    return Reading("two sides", weights, ["one"], list("wxyz"), options={"head": 2})


def missing(text):
    raise FileNotFoundError("The weights are missing: make lab PRETRAINED=1.")


def broken(text):
    return [][len(text)]


READERS = {"mirror": backwards, "sides": two_sides, "missing": missing, "broken": broken}


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.ids, self.text = [], [], []
        self.feed(re.sub(r"<script>.*?</script>|<img[^>]*>", "", html, flags=re.DOTALL))

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def playground():
    return Playground(READERS, "a bb ccc", ["one two", "x <y> z"], label="Sentence")


def told(playground):
    return "".join(Tags(playground._html()).text)


def ask(playground, text, model="mirror", number=7):
    """What the page does."""
    playground._controls._asked = {"text": text, "model": model, "number": number}
    return playground._controls._answered


def test_the_first_text_is_read_at_once(playground):
    assert (playground.model, playground.text) == ("mirror", "a bb ccc")
    assert playground.reading.answer == "“ccc bb a”."
    page = told(playground)
    for part in ("mirror reads: “a bb ccc”", "words3", "longestccc", "Read from <right> to left"):
        assert part in page
    assert "“a” looks most at “ccc” (1.00)" in playground._html()
    assert Playground(READERS, examples=["x y"]).text == "x y"


def test_the_page_asks_and_python_answers(playground):
    got = ask(playground, "x y", number=41)
    assert got == {"text": "x y", "model": "mirror", "said": "“y x”.", "number": 41}
    assert ask(playground, "x", "sides")["said"] == "two sides"
    assert (playground.model, playground.text) == ("sides", "x")


def test_the_two_sides_of_a_map_keep_their_own_words(playground):
    playground.read(model="sides")
    assert playground._map.query_tokens == ["one"]
    assert playground._map.key_tokens == list("wxyz") and playground._map.head == 2


def test_python_reads_too_and_the_form_follows(playground):
    assert playground.read("q r").answer == "“r q”."
    assert playground._controls._answered["text"] == "q r"
    with pytest.raises(ValueError, match="model: got 'x'; accepted are 'mirror', 'sides'"):
        playground.read("q", model="x")
    assert playground.text == "q r"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "nothing to read"),
        (" \n\t ", "nothing to read"),
        ("\u3000", "nothing to read"),
        ("x" * 2001, "2,001 characters; up to 2,000"),
        ("w " * 10, "Nine words at most; this text has 10."),
    ],
)
def test_a_text_that_cannot_be_read_gets_a_sentence_and_no_map(playground, text, reason):
    said = ask(playground, text)["said"]
    assert reason in said and reason in told(playground)
    assert "<figure" not in playground._html() and "Traceback" not in playground._html()
    assert ask(playground, "back again")["said"] == "“again back”."


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> <img src=x onerror=alert(1)>",
        "</section></output>&amp; \"quotes\" 'too'",
        "🙂 👩‍👩‍👧 e\u0301",
        "שלום עולם",
        "\u202eright to left",
        "half \ud83d a \x00 bell \x07",
        "貓 沒 吃 魚",
        "x" * 2000,
    ],
)
def test_any_text_is_shown_as_text(playground, text):
    said = ask(playground, text)["said"]
    html = playground._html()
    html.encode("utf-8")
    assert said.startswith("“") and not re.search(r"<img src=x|<script>alert", html)
    tags = Tags(html)
    assert set(tags.tags) <= {
        *("section", "p", "strong", "bdi", "em", "figure", "figcaption", "details", "summary"),
        *("div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    }
    if text.isprintable() and "\u202e" not in text:
        assert f"reads: “{text}”" in "".join(tags.text)


def test_missing_weights_are_said_and_not_raised(playground):
    assert playground.read(model="missing").answer.startswith("The weights are missing")


def test_a_mistake_of_the_reader_function_is_said_and_raised(playground):
    with pytest.raises(IndexError):
        playground.read("x", "broken")
    assert "could not be read (IndexError" in playground.reading.answer
    assert playground._controls._answered["said"] == playground.reading.answer


def test_a_map_that_does_not_fit_is_said():
    wrong = Playground({"m": lambda text: Reading("fine", np.eye(3), ["one", "two"])}, "x")
    assert "tokens must name each of the 3 positions" in wrong.reading.answer


def test_the_same_state_is_the_same_bytes(playground):
    again = Playground(READERS, "a bb ccc", ["one two", "x <y> z"], label="Sentence")
    assert again._html() == playground._html()
    ask(playground, "other")
    assert again._html() != playground._html()
    ask(playground, "a bb ccc")
    assert again._html() == playground._html()


def test_what_it_cannot_be_made_of():
    with pytest.raises(ValueError, match="readers: got none"):
        Playground({}, "x")
    with pytest.raises(ValueError, match="text: got None and no examples"):
        Playground(READERS)
    assert "nothing to read" in Playground(READERS, "").reading.answer


CELLS = [
    "from attn_edu.widgets import Playground, Reading\n"
    "p = Playground({'count': lambda text: Reading(f'{len(text.split())} words.')}, 'a b')\np",
    "p.read('one two three');",
]


@pytest.fixture
def executed():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    NotebookClient(notebook, kernel_name="python3").execute()
    clean(notebook)
    return notebook


def test_the_saved_notebook_holds_the_last_state_and_no_widget(executed):
    (output,) = executed.cells[0].outputs
    assert set(output.data) == {"text/html", "text/plain"}
    assert output.data["text/plain"] == "Playground. count, “one two three”: 3 words."
    assert "3 words." in output.data["text/html"] and "needs a kernel" in output.data["text/html"]
    assert executed.cells[1].outputs == []


@pytest.mark.parametrize(("stored", "code"), [("2 words", 0), ("7 words", 1)])
def test_nbval_compares_the_state(executed, tmp_path, stored, code):
    del executed.cells[1]  # so that the first state is the last
    (output,) = executed.cells[0].outputs
    for kind, text in output.data.items():
        output.data[kind] = text.replace("one two three", "a b").replace("3 words", stored)
    nbformat.write(executed, tmp_path / "stored.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q"]
    ran = subprocess.run([*command, tmp_path], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == code, ran.stdout
