"""The sources of the site: what is taken out of the outputs, and what stays."""

import base64
import json
import re
from html import unescape

import pytest
import torch
import yaml

from attn_edu.cli.environment import ROOT
from attn_edu.cli.site import SITE
from attn_edu.course import chapters
from attn_edu.figures import curves
from attn_edu.site import KEPT, OUTSIDE, Pages, shared_script, starts
from attn_edu.views import AttentionMap


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "_static").mkdir()
    return Pages(tmp_path)


def test_the_shared_file_holds_each_view_once():
    script = shared_script()
    assert {"mountMap", "mountSteps", "mountSplit", "mountReach", "mountBill"} <= set(starts())
    for start in starts():
        assert script.count(f"attnEdu.{start} = {start};") == 1


def test_an_output_keeps_its_numbers_and_loses_the_code(pages):
    html = AttentionMap(torch.eye(3), ["a", "b", "c"])._html()
    shown = pages.without_modules(html)
    assert "const {mountMap} = attnEdu;" in shown
    assert len(shown) < len(html) - 15_000
    payload = re.search(r"mountMap\(host, (\{.*?\})\)\.then", html)[1]
    assert payload in shown


def test_large_pictures_become_files_and_small_ones_stay(pages):
    large, small = b"<svg>" + b"x" * KEPT + b"</svg>", b"<svg/>"
    sources = [base64.b64encode(content).decode() for content in (large, small)]
    html = "".join(f'<img alt="x" src="data:image/svg+xml;base64,{s}">' for s in sources)
    shown = pages.pictures_apart(html)
    assert shown.count("data:") == 1
    name = re.search(r'src="_static/(\w+\.svg)"', shown)[1]
    assert (pages.static / name).read_bytes() == large
    assert shown.count('alt="x"') == 2


def test_a_chart_brings_its_figure_along_escaped(pages):
    chart = curves({'<b>"a"</b>': ([1, 2, 3], [1, 4, 9])}, title="t", x="x", y="y", summary="s")
    data = chart._repr_mimebundle_()
    html = pages.output(data)["text/html"]
    stored = re.match(r'<div class="chart" data-figure="([^"]*)">', html)[1]
    figure = json.loads(unescape(stored))
    assert figure["data"][0]["name"] == '<b>"a"</b>'
    assert list(figure["data"][0]["y"]) == [1, 4, 9]
    assert "<img" in html


def test_links_between_chapters_in_an_output_lead_to_pages(pages):
    html = '<a href="03_multi_head.ipynb#What-we-measured">x</a> <a href="10_the_bill.ipynb">y</a>'
    shown = pages.output({"text/html": html, "text/plain": ""})["text/html"]
    assert 'href="03_multi_head.html#What-we-measured"' in shown
    assert 'href="10_the_bill.html"' in shown


def test_what_has_no_html_stays_as_it_is(pages):
    data = {"text/plain": "3"}
    assert pages.output(data) == data


def test_a_link_to_what_is_no_page_becomes_text():
    text = "see [the data](../data/README.md), [02](02_single_head.ipynb), ![x](../x.png)"
    expected = "see the data, [02](02_single_head.ipynb), ![x](../x.png)"
    assert OUTSIDE.sub(r"\1", text) == expected


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.number)
def test_no_page_carries_the_code_of_a_view(pages, chapter):
    for cell in pages.notebook(chapter).cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            for script in re.findall(r"<script[^>]*>(.*?)</script>", html, re.DOTALL):
                assert "attachShadow" not in script


def test_what_github_publishes_is_what_make_site_builds_and_nothing_unasked():
    text = (ROOT / ".github" / "workflows" / "site.yml").read_text("utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    assert job["if"] == "vars.SITE == 'on'"
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make site"]
    (artifact,) = [step for step in job["steps"] if "artifact" in step.get("uses", "")]
    assert ROOT / artifact["with"]["path"] == SITE
