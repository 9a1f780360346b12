"""The still picture: valid SVG, the right colours, and PNG files that hold something."""

import base64
import builtins
import io
import sys
import types
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from attn_edu.attention import causal_mask, sliding_window_mask
from attn_edu.views import AttentionMap, AttentionSteps, HeadSplit, MaskReach, colours, picture

WORDS = ["The", "猫", "a&b", "<i>", "🙂"]
VIEWS = [
    AttentionMap(torch.eye(5), WORDS, mask=causal_mask(5)),
    AttentionSteps(*torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)), WORDS),
    HeadSplit(5, 2, 3, WORDS),
    MaskReach({"causal": causal_mask(5), "window 2": sliding_window_mask(5, 2)}, WORDS, depth=2),
]
by_name = pytest.mark.parametrize("view", VIEWS, ids=lambda v: type(v).__name__)


@by_name
def test_svg_is_well_formed_and_names_every_word(view, tmp_path):
    root = ElementTree.parse(view.to_svg(tmp_path / "v.svg")).getroot()
    texts = {t.text for t in root.iter("{http://www.w3.org/2000/svg}text")}
    assert set(WORDS) <= texts


@by_name
def test_png_holds_a_picture(view, tmp_path):
    image = Image.open(view.to_png(tmp_path / "v.png")).convert("RGB")
    assert min(image.size) > 150
    assert len(np.unique(np.asarray(image.reduce(4)).reshape(-1, 3), axis=0)) > 10


@by_name
def test_html_is_one_page_with_the_view_in_it(view, tmp_path):
    text = view.to_html(tmp_path / "v.html").read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert view._html() in text


def test_chinese_words_are_drawn(tmp_path):
    """A font without the letter would draw the same box for both."""
    one, two = (AttentionMap([[1.0]], [word]).to_png(tmp_path / f"{word}.png") for word in "猫狗")
    assert one.read_bytes() != two.read_bytes()


def test_cells_have_the_colour_of_their_weight():
    codes, kind = colours.codes_of(np.array([[0.0, 0.25], [1.0, np.nan]]), "sqrt")
    assert kind == "weight"
    assert codes.tolist() == [[0, 128], [255, -1]]
    codes, _ = colours.codes_of(np.array([[0.1, 0.4], [0.0, 0.0]]), "row")
    assert codes.tolist() == [[64, 255], [0, 0]]
    codes, kind = colours.codes_of(np.array([[-2.0, 1.0, 0.0]]), "linear")
    assert kind == "score"
    assert codes.tolist() == [[1, 192, 128]]


@pytest.mark.parametrize("kind", ["weight", "score"])
def test_a_missing_number_has_a_colour_of_its_own(kind):
    address = picture.png(np.array([[0, 128, 255, -1]]), kind)
    image = Image.open(io.BytesIO(base64.b64decode(address.split(",")[1])))
    *known, missing = map(tuple, np.asarray(image.convert("RGB"))[0].tolist())
    assert missing == colours.bytes_of(colours.BAD)
    assert missing not in known
    for got, want in zip(known, (0, 128, 255)):
        assert np.abs(np.subtract(got, colours.ramp(kind)[want])).max() <= 3


def test_hidden_cells_are_hatched_and_others_not():
    mask = causal_mask(5)
    svg, *_ = picture.heat(np.eye(5), hidden=~mask.numpy())
    (path,) = [part for part in svg.split("<path") if "url(#hatch)" in part]
    assert path.count("M") == 4  # one stretch in each row but the last
    assert "url(#hatch)" not in picture.heat(np.eye(5), hidden=np.zeros((5, 5), bool))[0]


def test_without_the_package_png_says_what_to_install(monkeypatch, tmp_path):
    found = builtins.__import__

    def missing(name, *rest):
        if name == "resvg_py":
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match="pip install resvg_py"):
        VIEWS[0].to_png(tmp_path / "v.png")


def test_without_a_font_png_says_so(monkeypatch, tmp_path):
    blind = types.SimpleNamespace(svg_to_bytes=lambda **options: b"the same")
    monkeypatch.setitem(sys.modules, "resvg_py", blind)
    with pytest.raises(RuntimeError, match="found no font"):
        VIEWS[0].to_png(tmp_path / "v.png")
