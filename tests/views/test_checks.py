"""What every view refuses, by name, and what it takes all the same."""

import math
from xml.dom import minidom

import numpy as np
import pytest
import torch

from attn_edu.views import AttentionMap, AttentionSteps, HeadSplit, MaskReach
from attn_edu.views.checks import as_array, as_mask, as_positive, as_words

NO_NUMBERS = [
    [["0.5"]],
    np.array([["0.5"]]),
    np.eye(2) * 1j,
    torch.eye(2) * 1j,
    torch.eye(2, device="meta"),
    None,
    {},
    [[10**400]],
    [[None]],
]


@pytest.mark.parametrize("values", NO_NUMBERS)
@pytest.mark.filterwarnings("error")
def test_what_holds_no_real_numbers_is_refused_by_name(values):
    with pytest.raises(TypeError, match=r"^weights must be a tensor, an array or lists of numbers"):
        as_array(values, "weights")


@pytest.mark.parametrize(
    "values",
    [
        torch.eye(2).to_sparse(),
        torch._neg_view(-torch.eye(2)),
        [torch.tensor([1.0, 0.0], requires_grad=True), torch.tensor([0.0, 1.0])],
        [[torch.tensor(1.0, requires_grad=True), 0.0], [0.0, torch.tensor(1.0)]],
        [torch.tensor([1.0, 0.0]).bfloat16(), torch.tensor([0.0, 1.0]).bfloat16()],
        [[np.float16(1), 0], [False, True]],
        np.array([[1, 0], [0, 1]], dtype=object),
    ],
)
def test_every_kind_of_real_numbers_is_read(values):
    assert as_array(values, "weights").tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("mask", [torch.eye(2).bfloat16(), torch.eye(2).int(), [[1, 0]], "causal"])
def test_a_mask_that_is_not_boolean_is_refused_by_name(mask):
    with pytest.raises(TypeError, match=r"^mask must be boolean"):
        as_mask(mask, (2, 2))


@pytest.mark.parametrize("mask", [[[True], [True, False]], torch.ones(2, 2, device="meta").bool()])
def test_a_mask_without_a_shape_or_numbers_is_refused_by_name(mask):
    with pytest.raises(TypeError, match=r"^mask must be boolean"):
        as_mask(mask, (2, 2))


def test_a_mask_may_be_sparse():
    mask = torch.tensor([[True, False], [True, True]])
    assert as_mask(mask.to_sparse(), (2, 2)).tolist() == mask.tolist()


@pytest.mark.parametrize("tokens", ["ab", b"ab", 2, {"a", "b"}])
def test_words_come_as_a_sequence(tokens):
    with pytest.raises(TypeError, match=r"^tokens must be a sequence of 2 words"):
        as_words(tokens, 2)


def test_a_number_beyond_every_float_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^scale must be positive and finite"):
        as_positive(10**400, "scale")


VIEWS = {
    "map": lambda **given: AttentionMap(torch.eye(2), **given),
    "steps": lambda **given: AttentionSteps(*torch.ones(3, 2, 2), **given),
    "split": lambda **given: HeadSplit(2, 2, 2, **given),
    "reach": lambda **given: MaskReach({"all": torch.ones(2, 2).bool()}, **given),
}


@pytest.mark.parametrize("kind", VIEWS)
def test_labels_that_no_page_may_hold_are_shown_as_signs(kind, tmp_path):
    view = VIEWS[kind](tokens=["\x00\x1b", "\ud800\uffff"], title="t\x07\udfff")
    minidom.parse(str(view.to_svg(tmp_path / "view.svg")))
    page = view.to_html(tmp_path / "view.html").read_text("utf-8")
    assert "␀␛" in page
    assert "t␇\ufffd" in page
    assert not set(page) & {"\x00", "\x07", "\x1b", "\uffff"}


@pytest.mark.parametrize("kind", VIEWS)
def test_a_title_is_a_string(kind):
    with pytest.raises(TypeError, match=r"^title must be a string or None, got int"):
        VIEWS[kind](title=5)


def test_tokens_may_come_from_a_generator():
    view = AttentionMap(torch.eye(2), (word for word in ("good", "day")))
    assert view.query_tokens == view.key_tokens == ["good", "day"]


@pytest.mark.filterwarnings("error")
def test_a_large_map_of_nothing_but_nan_is_drawn():
    view = AttentionMap(torch.full((300, 300), math.nan))
    assert "NaN" not in str(view._payload()["weights"]["levels"])
    assert "nan" not in str(view._payload()["weights"]["levels"])
