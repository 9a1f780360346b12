"""Chapter 10: the definitions that it shows, and what it says of the recorded crossovers."""

import math
import runpy
from pathlib import Path

import jupytext
import pytest
import torch

from attn_edu.costs import KINDS, cost
from attn_edu.datasets import recorded

ROOT = Path(__file__).parents[2]
TEXT = ROOT / "notebooks" / "src" / "10_the_bill.md"


@pytest.fixture(scope="module")
def chapter():
    """The functions of the chapter, by name; nothing else of it is run."""
    cells = jupytext.reads(TEXT.read_text("utf-8"), fmt="md:myst").cells
    namespace = {"math": math, "KINDS": KINDS, "cost": cost, "stored": recorded("crossovers")}
    for name in ("multiply", "exponent", "times", "meeting", "forecast"):
        (source,) = [c.source for c in cells if f"def {name}(" in c.source]
        start = source.index(f"def {name}(")
        exec(source[start:].split("\n\n\n")[0], namespace)
    (source,) = [c.source for c in cells if "GIVES = {" in c.source]
    exec(source[source.index("GIVES = {") :].split("\n\n\n")[0], namespace)
    return namespace


def test_the_loop_multiplies_and_counts(chapter):
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    product, flops = chapter["multiply"](a.tolist(), b.tolist())
    torch.testing.assert_close(torch.tensor(product), a @ b)
    assert flops == 2 * 3 * 4 * 5


def test_exponents(chapter):
    exponent = chapter["exponent"]
    assert 1 < exponent("flops", "attention", 64) < 1.1
    assert 1.95 < exponent("flops", "attention", 16384) < 2
    assert exponent("flops", "lstm", 64) == exponent("flops", "lstm", 16384) == 1


def test_the_recorded_seconds_are_complete():
    script = runpy.run_path(str(ROOT / "data" / "scripts" / "crossovers.py"))
    found = recorded("crossovers")
    assert list(found["seconds"]) == [str(d) for d in script["WIDTHS"]]
    for d, modes in found["seconds"].items():
        assert list(modes) == ["forward", "training"]
        for kinds in modes.values():
            assert list(kinds) == list(script["KINDS"])
            for at in kinds.values():
                lengths = [int(n) for n in at]  # all of them up to some length
                assert lengths == list(script["LENGTHS"][: len(lengths)]) and lengths[-1] >= 2048
                assert all(0 < seconds < 10 for seconds in at.values()), d


def test_what_the_chapter_says_of_them(chapter):
    meeting = chapter["meeting"]

    def words(text):
        return int(text.replace("beyond ", "").replace(",", ""))

    for mode in ("forward", "training"):
        met = [words(meeting(d, mode, "fused", "lstm")) for d in (64, 256, 512)]
        assert met == sorted(met)  # wider layers cross later
        assert all(n > 1.9 * 2 * d for n, d in zip(met, (64, 256, 512)))  # later than counted
    for d in (64, 256, 512):
        assert meeting(d, "training", "fused", "gru").startswith("beyond ")


def test_a_meeting_is_where_two_straight_lines_cross(chapter):
    lengths = [64, 128, 256, 512]
    at = {
        "square": {str(n): n**2 / 4e4 for n in lengths},  # meets n / 200 at 200
        "line": {str(n): n / 200 for n in lengths},
    }
    namespace = dict(chapter, stored={"seconds": {"9": {"forward": at}}})
    for name in ("times", "meeting"):
        namespace[name] = type(chapter[name])(chapter[name].__code__, namespace)
    assert namespace["meeting"](9, "forward", "square", "line") == "200"
    at["square"] = {n: s / 100 for n, s in at["square"].items()}
    assert namespace["meeting"](9, "forward", "square", "line") == "beyond 512"
    at["square"] = {n: s * 1e4 for n, s in at["square"].items()}
    assert namespace["meeting"](9, "forward", "square", "line") == "below 64"


def test_the_forecast_takes_the_rate_of_the_nearest_length(chapter):
    class One:
        def __init__(self, seconds):
            self.seconds = seconds

    names = ("window", "block", "rank", "landmarks", "features")
    chapter.update(
        sizes=dict.fromkeys(names, 32),
        mine={kind: {256: One(1), 2048: One(1000)} for kind in chapter["GIVES"]},
    )
    for n, seconds in [(256, 1), (2048, 1000)]:
        assert all(found == pytest.approx(seconds) for found, _, _ in chapter["forecast"](n))


def test_the_forecast_leaves_out_what_was_not_asked_for(chapter):
    class One:
        seconds = 1.0

    names = ("window", "block", "rank", "landmarks", "features", "groups", "latent")
    sizes = dict.fromkeys(names, 32)
    chapter.update(sizes=sizes, mine={kind: {2048: One} for kind in chapter["GIVES"]})
    rows = chapter["forecast"](2048)
    assert len(rows) == len(chapter["GIVES"])
    assert all(seconds == pytest.approx(1) for seconds, _, _ in rows)
    exact = {name for _, name, _ in chapter["forecast"](2048, exact=True, sees_all=True)}
    assert exact == {KINDS[kind].label for kind in ("attention", "fused", "tiled")}
    small = chapter["forecast"](65536, exact=True, sees_all=True)
    assert KINDS["attention"].label not in {name for _, name, _ in small}
