"""The bill: what it says is what `costs` counts, in words, table, picture and page."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path

import pytest

from attn_edu.cli.checks import node
from attn_edu.costs import KINDS, Measurement, cost, crossover
from attn_edu.views import Bill
from attn_edu.views.bill import LENGTHS, STYLES, WHAT
from attn_edu.views.bundle import bundle, module_source
from attn_edu.views.loglog import short

POINTS = {
    "attention": {256: Measurement(2e-3, 3_000_000), 512: Measurement(9e-3, 11_000_000)},
    "lstm": {256: Measurement(4e-3, 2_000_000)},
}


def test_it_says_what_costs_counts_and_where_two_kinds_cross():
    bill = Bill(96, 4, n=192, window=20, pair=("sliding_window", "gru"))
    flops = [cost(*k, 192, 96, 4, **o).flops for k, o in ((["sliding_window"], {"window": 20}),)]
    assert f"sliding window {short(flops[0])} FLOPs" in bill.summary()
    n = crossover("sliding_window", "gru", 96, 4, window=20)
    assert bill.crossover() == n
    assert ("Up to n" in bill.summary()) == (n is not None)
    assert "Up to n = 192 attention as written costs no more in FLOPs than LSTM." in repr(Bill(96))
    assert Bill(96, of="path_length").crossover() is None


@pytest.mark.parametrize("projections", [True, False])
def test_the_table_is_costs_at_one_length(projections):
    bill = Bill(64, 4, n=512, batch=3, features=31, projections=projections)
    _, head, rows = bill._table()
    assert head == ["kind", *WHAT.values()] and len(rows) == len(KINDS)
    for kind, (name, flops, size, steps, path) in zip(KINDS, rows):
        found = bill.cost(kind)
        assert name == KINDS[kind].label
        assert (flops, size) == (short(found.flops), short(found.bytes) + "B")
        assert steps == f"{found.sequential_steps:,}"
        assert path == ("never" if found.path_length == float("inf") else f"{found.path_length:,}")
    own = cost("performer", 512, 64, 4, batch=3, features=31, projections=projections)
    assert bill.cost("performer") == own


@pytest.mark.parametrize("of", WHAT)
def test_the_picture_has_a_line_for_each_kind_that_is_shown(of):
    bill = Bill(64, 2, of=of, shown=list(KINDS), measured=POINTS, rate=5e10)
    svg = bill._svg()
    drawn = {
        (c, d)
        for c, d in re.findall(
            r'stroke="(#\w+)" stroke-width="2.2" stroke-dasharray="([\d ]*)"', svg
        )
    }
    assert len(drawn) == svg.count("<polyline") == len(KINDS) == len(set(STYLES.values()))
    squares = {"flops": 3, "bytes": 3}.get(of, 0)
    assert svg.count('width="9" height="9"') == squares
    for kind in KINDS:
        assert KINDS[kind].label in svg
    assert ("crossover" in svg) == (of in ("flops", "bytes"))


def test_points_are_bytes_or_seconds_at_the_machines_rate():
    assert Bill(64, 2, of="bytes", measured=POINTS).marks("lstm") == [(256, 2_000_000)]
    timed = Bill(64, 2, measured=POINTS, rate=5e10)
    assert timed.marks("attention") == [(256, pytest.approx(1e8)), (512, pytest.approx(4.5e8))]
    assert Bill(64, 2, measured=POINTS).marks("attention") == []


def test_the_output_stands_alone_and_is_small():
    bill = Bill(measured=POINTS, title="</script><b>")
    html = bill._repr_mimebundle_()["text/html"]
    assert len(bundle("bill", "mountBill")) <= 30 * 1024
    assert len(html) <= 60_000
    assert "http" not in html.replace("http://www.w3.org", "")
    assert html.count("</script>") == 1 and "<b>" not in html
    assert bill._repr_mimebundle_()["text/plain"] == bill.summary()


def test_files(tmp_path):
    bill = Bill(64)
    assert bill.to_html(tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")
    assert bill.to_svg(tmp_path / "a.svg").read_text("utf-8").startswith("<svg")
    assert bill.to_png(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "error", "names"),
    [
        ({"d_model": 64, "n_heads": 5}, ValueError, "n_heads: got 5"),
        ({"window": 0}, ValueError, "window must be at least 1"),
        ({"rank": 2.5}, TypeError, "rank must be a whole number"),
        ({"n": 63}, ValueError, "n must be 64 to 131072, got 63"),
        ({"of": "time"}, ValueError, "of must be one of"),
        ({"shown": ["tree"]}, ValueError, "shown must be one of"),
        ({"shown": "lstm"}, TypeError, "shown must be a sequence of kinds"),
        ({"pair": ["lstm"]}, ValueError, "pair must be two kinds, got 1"),
        ({"rate": 0}, ValueError, "rate must be positive"),
        ({"measured": {"tree": {}}}, None, None),
        ({"measured": {"tree": {5: Measurement(1, 1)}}}, ValueError, "measured must be one of"),
    ],
)
def test_bad_input_is_named(options, error, names):
    if error is None:
        assert Bill(**options).measured == []
        return
    with pytest.raises(error, match=names):
        Bill(**options)


def test_the_page_says_the_same_numbers_and_the_same_crossover():
    """`billwords.js` and `costs.js` run in node, with the payload of the view."""
    bill = Bill(64, 2, window=30, block=50)
    cases = [
        {"of": of, "n": n, "kind": kind, "sizes": bill.sizes}
        for of in WHAT for n in (LENGTHS[0], 1024, LENGTHS[-1]) for kind in KINDS
    ]  # fmt: skip
    pairs = [("attention", "lstm"), ("attention", "causal"), ("block", "rnn"), ("fused", "linear")]
    root = Path(__file__).parents[2] / "attn_edu/views/js"
    program = f"""
    import {{ price, crossing }} from {json.dumps((root / "billwords.js").as_uri())};
    import {{ cost }} from {json.dumps((root / "costs.js").as_uri())};
    const at = (kind, n, sizes) => cost(kind, {{ ...sizes, n }});
    const cases = {json.dumps(cases)}, pairs = {json.dumps(pairs)};
    const sizes = cases[0].sizes;
    console.log(JSON.stringify({{
      prices: cases.map((c) => price(c.of, at(c.kind, c.n, c.sizes)[c.of])),
      meet: pairs.map(([a, b]) => crossing((n) => at(a, n, sizes).flops - at(b, n, sizes).flops)),
    }}));
    """
    run = [node(), "--input-type=module", "-e", program]
    said = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    for case, price in zip(cases, said["prices"]):
        value = getattr(bill.cost(case["kind"], case["n"]), case["of"])
        unit = "B" if case["of"] == "bytes" else ""
        count = "never" if value == float("inf") else f"{value:,}"
        text = count if case["of"].endswith(("steps", "length")) else short(value) + unit
        assert price == text.strip(), case
    assert said["meet"] == [Bill(64, 2, window=30, block=50, pair=p).crossover() for p in pairs]


def test_the_fixtures_of_the_closed_forms_are_fresh():
    script = Path(__file__).parents[1] / "js" / "make_cost_fixtures.py"
    spec = importlib.util.spec_from_file_location("make_cost_fixtures", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kept = json.loads(module.PATH.read_text("utf-8"))
    assert kept == json.loads(json.dumps(module.fixtures())), f"run {script}"


def test_every_kind_has_its_form_in_the_page():
    forms = module_source("costs").partition("const FORMS")[2]
    assert [kind for kind in KINDS if not re.search(rf"^  {kind}: ", forms, re.M)] == []
