"""What a result says, as text and as HTML."""

from html.parser import HTMLParser

import pytest
import torch

from attn_edu.exercises import check, drawing, exercises
from attn_edu.exercises.result import Example, Result

VOID = {"br", "img", "hr"}


class Balanced(HTMLParser):
    """Fails on a tag that is not closed; keeps the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "style", "b")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def example(yours, expected, note="a case", **inputs):
    return Example(note, inputs, torch.as_tensor(yours), expected)


def drawn(one):
    return Balanced(Result("00.x", "wrong", "Wrong.", example=one)._repr_html_()).text


def test_text_of_a_known_mistake_word_for_word():
    assert str(check("02.scores", lambda query, key: key @ query.mT)) == (
        "02.scores · a known mistake: keys ask and queries answer\n"
        "There is one row for each query and one column for each key: query first.\n"
        "The smallest case that shows it (2 queries, 3 keys):\n"
        "  query = [[1, 0], [2, 1]]\n"
        "  key = [[1, 3], [0, 2], [4, 1]]\n"
        "  yours:\n"
        "    1  5\n"
        "    0  2\n"
        "    4  9\n"
        "  expected:\n"
        "    1  0  4\n"
        "    5  2  9"
    )


def test_passed_and_not_attempted_word_for_word():
    passed = check("02.scores", lambda query, key: query @ key.mT)
    assert (str(passed), repr(passed)) == ("02.scores · passed", "02.scores · passed")
    assert passed.passed
    assert passed.misconception is None
    assert passed.message == "Passed: equal to the reference in all 4 cases."
    untouched = check("02.scores", lambda query, key: ...)
    assert str(untouched) == "02.scores · not attempted yet"
    assert untouched._repr_html_().count("attempted") == 1


@pytest.mark.parametrize("one", exercises(), ids=lambda one: one.id)
def test_every_misconception_is_drawn(one):
    for belief in one.misconceptions:
        result = check(one.id, one.wrong(belief))
        text = Balanced(result._repr_html_()).text
        assert belief.name in text
        assert belief.why.replace("`", "") in text
        if result.example is None:  # every number is right: there is no difference to show
            assert one.too_much(one.wrong(belief)) is belief
            continue
        assert result.example.note in text
        assert "yours" in text
        assert "expected" in text
        size = sum(x.numel() for x in result.example.inputs.values() if hasattr(x, "numel"))
        assert size <= 100  # small enough to look at
        assert max(map(len, str(result).splitlines()[2:])) <= 140


def test_the_slice_with_the_largest_difference_is_shown():
    expected = torch.zeros(2, 3, 2, 2)
    yours = expected.clone()
    yours[1, 2, 0, 1] = 5
    yours[0, 0, 0, 0] = 1
    place, parts = drawing.matrices(yours, expected)
    assert place == "slice [1, 2, :, :]"
    assert [name for name, _ in parts] == ["yours", "expected", "difference"]
    assert parts[2][1].tolist() == [[0, 5], [0, 0]]
    yours[0, 1, 1, 1] = torch.nan  # worse than any number
    assert drawing.matrices(yours, expected)[0] == "slice [0, 1, :, :]"


def test_small_inputs_are_shown_and_long_lines_end_in_dots():
    inputs = {"small": torch.ones(4, 4), "large": torch.ones(3, 6)}
    said = Example("a case", inputs, torch.zeros(1), torch.ones(1), "x" * 90 + "\nshort")
    result = Result("00.x", "wrong", "Wrong.", example=said)
    for text in (str(result), result._repr_html_()):
        assert "small = [[1, 1, 1, 1], " in text
        assert "large: 3 × 6 numbers" in text
        assert "x" * 75 + "…\n    short" in text


def test_numbers_are_short():
    text = drawn(example([[1 / 3, -0.0, 1e-9, 12345.678, torch.nan]], torch.zeros(1, 5)))
    for part in ("0.333", "1e-09", "1.235e+04", "nan"):
        assert part in text
    assert "-0" not in text.replace("e-09", "").replace("-0.", "")
    assert drawing.number(True) == "True"
    assert drawing.number(3) == "3"


def test_only_wrong_cells_are_marked_and_by_more_than_colour():
    html = drawing.result_as_html(
        Result("00.x", "wrong", "Wrong.", example=example([[1.0, 2.0]], torch.tensor([[1.0, 3.0]])))
    )
    assert html.count("font-weight:bold") == 2  # yours and the difference, one cell each


@pytest.mark.parametrize(
    ("yours", "expected"),
    [
        (torch.zeros(0), torch.zeros(2, 3)),
        (torch.zeros(2, 0, 3), torch.zeros(2, 0, 3)),
        (torch.zeros(()), 3),
        (torch.zeros(7), torch.zeros(7)),
        (torch.zeros(3, 20), torch.ones(3, 20)),
        (torch.zeros(20, 3), torch.ones(20, 3)),
        (torch.zeros(2, 2).bool(), torch.ones(2, 2).bool()),
        (torch.full((2, 2), -torch.inf), torch.full((2, 2), -torch.inf)),
        (torch.zeros(1, 2, 2, 2, 2), torch.zeros(4, 4)),
        (torch.zeros(2, 2).long(), torch.zeros(2, 2).bfloat16()),
    ],
)
def test_any_shape_can_be_drawn(yours, expected):
    one = example(yours, expected)
    assert "expected" in drawn(one)
    assert str(Result("00.x", "wrong", "Wrong.", example=one)).count("expected") == 1


def test_a_large_matrix_is_cut():
    text = drawn(example(torch.zeros(9, 30), torch.ones(9, 30)))
    assert text.count("…") == 3 * (8 + 9)  # in each: a column of dots, and a row of them


@pytest.mark.parametrize(("rows", "columns"), [(3, 20), (3, 2), (20, 5)])
def test_each_column_has_its_heading(rows, columns):
    one = example(torch.zeros(rows, columns), torch.ones(rows, columns))
    html = Result("00.x", "wrong", "Wrong.", example=one)._repr_html_()
    shown_rows, shown = (min(size, 8) + (size > 8) for size in (rows, columns))
    assert html.count('<th scope="col"') == 3 * shown
    assert html.count("<td style") == 3 * shown_rows * shown


def test_a_difference_that_does_not_count_is_zero():
    yours = torch.tensor([[-torch.inf, 0.1 + 1e-9, 3.0, torch.nan]]).double()
    expected = torch.tensor([[-torch.inf, 0.1, 1.0, 2.0]]).double()
    difference = drawing.matrices(yours, expected)[1][2][1]
    assert difference[0, :3].tolist() == [0, 0, 2]
    assert difference[0, 3].isnan()


def test_booleans_and_numbers_have_no_difference():
    yours = torch.tensor([[1.0, 0.0]])
    assert "difference" not in drawn(example(yours, torch.tensor([[True, False]])))


def test_of_many_slices_it_says_which_is_drawn():
    yours, expected = torch.zeros(8, 2, 1), torch.zeros(4, 2, 1)
    assert "the first slices of (8, 2, 1) and (4, 2, 1)" in drawn(example(yours, expected))
    failed = Result("00.x", "form", "Raised.", example=Example("a case", {}, None, expected))
    assert "slice [0, :, :]" in str(failed)


def test_code_in_a_sentence_is_set_as_code():
    said = drawing.prose("Use `x < 2` & `y`, not a lone `.")
    assert said == "Use <code>x &lt; 2</code> &amp; <code>y</code>, not a lone `."
    message = Result("00.x", "wrong", "Use `@`.")._repr_html_()
    assert "<div>Use <code>@</code>.</div>" in message


def test_a_large_matrix_is_shown_where_the_difference_is():
    expected = torch.zeros(40, 30)
    yours = expected.clone()
    yours[25, 3] = 7
    one = example(yours, expected)
    text = str(Result("00.x", "wrong", "Wrong.", example=one))
    assert "yours (rows 21 to 28 of 40, counted from 0):" in text
    assert text.count("7") == 2  # in yours and in the difference
    html = drawing.result_as_html(Result("00.x", "wrong", "Wrong.", example=one))
    assert html.count("font-weight:bold") == 2
    assert ">25</th>" in html


def test_numbers_that_differ_look_different():
    yours = torch.tensor([[0.123456, 2]], dtype=torch.float64)
    text = str(
        Result(
            "00.x",
            "wrong",
            "Wrong.",
            example=example(yours, yours + torch.tensor([[1e-6, 0]])),
        )
    )
    assert "0.123456" in text
    assert "0.123457" in text
    assert "1e-06" in text


def test_a_difference_that_counts_is_marked_however_small():
    right = torch.tensor([[1.0, 2.0]]).double()
    html = drawing.result_as_html(
        Result("00.x", "wrong", "Wrong.", example=example(right + torch.tensor([[0, 2e-6]]), right))
    )
    assert html.count("font-weight:bold") == 2


def test_tables_have_headings_for_rows_and_columns():
    html = check("02.scores", lambda query, key: query @ key.mT * 2)._repr_html_()
    assert html.count('<th scope="row"') == 3 * 2  # yours, expected, difference: two queries
    assert html.count('<th scope="col"') == 3 * 3
    assert html.count("<caption") == 3


@pytest.mark.parametrize("size", [(3, 4), (1, 30), (30, 1), (2, 12, 9)])
def test_plain_text_keeps_to_80_columns(size):
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn(size, generator=generator).double() * 1e-9
    result = Result(
        "00.x", "wrong", "Words " * 60, example=example(wide, -wide, x=wide.flatten()[:12])
    )
    assert max(map(len, str(result).splitlines())) <= 80


def test_text_is_escaped():
    def answer(query, key):
        print("<script>alert(1)</script>")
        raise ValueError("<img src=x onerror=alert(1)> & more")

    result = check("02.scores", answer)
    html = result._repr_html_()
    assert "<img" not in html
    assert "<script" not in html
    assert "<img src=x onerror=alert(1)> & more" in Balanced(html).text
    assert "<img src=x onerror=alert(1)> & more" in str(result)


def test_a_very_long_message_is_cut():
    def answer(query, key):
        raise ValueError("x" * 10_000)

    assert len(str(check("02.scores", answer))) < 1000


def test_the_same_answer_gives_the_same_text():
    def answer(query, key):
        return query @ key.mT * 2

    assert str(check("02.scores", answer)) == str(check("02.scores", answer))
    assert check("02.scores", answer)._repr_html_() == check("02.scores", answer)._repr_html_()
