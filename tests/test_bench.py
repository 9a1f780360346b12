"""The table of `make bench`: its goals, its arithmetic, and what is kept of it."""

import json
import math

import pytest
import torch

from attn_edu.datasets import DATA
from bench import attention, attention_rows, history, meter, peers
from bench.attention_rows import GROUPS, Row


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (Row("a", 15.0, at_least=15.0), True),
        (Row("a", 14.99, at_least=15.0), False),
        (Row("a", 1.1, at_most=1.1), True),
        (Row("a", 1.11, at_most=1.1), False),
        (Row("a", 3.0), None),
        (Row("a", None, at_least=2.0), None),
    ],
)
def test_a_goal_is_met_at_its_limit(row, met):
    assert row.met is met
    shown = attention.line(row)
    assert ("met" in shown.split()) == (met is True)
    assert ("MISSED" in shown.split()) == (met is False)


def test_medians_take_turns_and_repeat_what_is_short(monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr(meter.time, "process_time", lambda: clock[0])

    def takes(name, *seconds):
        turns = iter(seconds)

        def function():
            calls.append(name)
            clock[0] += next(turns)

        return function

    # a warm-up, a look at how long it takes, and three rounds
    slow = takes("slow", 9, 1, 1, 5, 2)
    quick = takes("quick", 9, 0.01, *(2 * [0.02] + 2 * [0.01] + 2 * [0.03]))
    assert meter.medians({"slow": slow, "quick": quick}, rounds=3) == pytest.approx(
        {"slow": 2, "quick": 0.02}
    )
    turn = ["slow", "quick", "quick"]
    assert calls == ["slow", "slow", "quick", "quick", *turn, *turn, *turn]


def test_the_exponent_of_growth():
    assert meter.exponent([2, 4, 8], [3 * n**1.5 for n in (2, 4, 8)]) == pytest.approx(1.5)


def test_a_peak_counts_every_byte():
    assert meter.peak(lambda: torch.ones(1000) + torch.ones(1000)) == 3 * 4000


def test_the_textbooks_forms_compute_the_same():
    query, key, value = torch.randn(3, 1, 2, 6, 4, dtype=torch.float64)
    causal = attention_rows.causal_linear(query, key, value)
    torch.testing.assert_close(peers.cumulative_sum(query, key, value), causal)
    exact = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(peers.naive(query, key, value), exact)


def test_the_bare_layer_is_multi_head_attention():
    bare = peers.BareAttention(12, 3)
    layer = attention_rows.MultiHeadAttention(12, 3)
    for own, name in zip((*bare.inputs, bare.out), ("query", "key", "value", "out")):
        own.load_state_dict(getattr(layer, name).state_dict())
    x = torch.randn(2, 7, 12)
    torch.testing.assert_close(bare(x), layer(x))


def test_a_missing_peer_is_named_with_the_way_to_install_it(monkeypatch):
    def missing(name):
        raise ImportError("not here")

    monkeypatch.setattr(peers.importlib, "import_module", missing)
    functions = {}
    row = attention_rows.with_peer("linformer", lambda: peers.linformer(8, 8, 2, 2), functions)
    assert row.value is None and row.met is None
    assert "linformer is not installed (.venv/bin/pip install" in attention.line(row)
    assert not functions


def test_groups_that_are_measured_again_replace_their_rows(tmp_path, monkeypatch, capsys):
    def some(rounds):
        """Some group."""
        yield Row("of two", 2.0, at_least=float(rounds))

    monkeypatch.setattr(attention, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(attention, "STORED", tmp_path / "stored.json")
    monkeypatch.setattr(meter, "HISTORY", tmp_path / "history.jsonl")
    monkeypatch.setitem(GROUPS, "some", some)
    kept = {"groups": {"some": [], "limit": [{"what": "kept"}]}, "points": [1]}
    attention.RESULTS.write_text(json.dumps(kept))
    threads = torch.get_num_threads()
    attention.main(["some", "--quick", "--store"])
    assert torch.get_num_threads() == threads
    (line,) = map(json.loads, meter.HISTORY.read_text("utf-8").splitlines())
    assert (line["what"], line["found"]) == ("attention some", {"of two": 2.0})
    assert line["machine"]["torch"] == torch.__version__.partition("+")[0]
    assert "of two" in capsys.readouterr().out
    for path in (attention.RESULTS, attention.STORED):
        found = json.loads(path.read_text())
        assert found["groups"]["some"][0] == {
            "what": "of two", "value": 2.0, "unit": "×",
            "at_least": 3.0, "at_most": None, "met": False, "note": "",
        }  # fmt: skip
        assert (found["groups"]["limit"], found["points"]) == ([{"what": "kept"}], [1])
        assert found["machine"]["threads"] == 1
        assert list(found["groups"]) == ["limit", "some"]  # in the order of GROUPS
    with pytest.raises(SystemExit):
        attention.main(["nothing"])


STORED = json.loads((DATA / "bench.json").read_text("utf-8"))


def test_what_is_stored_has_every_group_and_says_of_each_goal_whether_it_is_met():
    assert list(STORED["groups"]) == list(GROUPS)
    assert STORED["machine"]["threads"] == 1
    for name, rows in STORED["groups"].items():
        assert rows, name
        for row in rows:
            again = Row(row["what"], row["value"], row["unit"], row["at_least"], row["at_most"])
            assert row["value"] is not None, f"{row['what']}: not measured"
            assert again.met is row["met"]
            assert math.isfinite(row["value"]) and row["value"] > 0


def test_points_are_there_for_every_kind_and_length():
    found = {(point["kind"], point["n"]) for point in STORED["points"]}
    kinds = {kind for kind, _ in found}
    sizes = {n for _, n in found}
    assert found >= {(kind, n) for kind in kinds - {"attention"} for n in sizes}
    assert {"fused", "sliding_window", "causal_linear", "lstm", "attention"} <= kinds
    assert all(p["seconds"] > 0 and p["peak_bytes"] > 0 for p in STORED["points"])


def test_the_history_holds_the_last_value_against_the_median_of_those_before(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(meter, "HISTORY", tmp_path / "history.jsonl")
    monkeypatch.setattr(history, "HISTORY", tmp_path / "history.jsonl")
    history.main([])
    assert "0 numbers" in capsys.readouterr().out
    for ms in (4.0, 2.0, 3.0, 6.0):  # the median of the first three is 3
        meter.remember("views", {"ms": {"ours 32": ms, "peer": 5}, "note": "words"})
    meter.remember("imports", {"torch": 1.0})
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(meter, "_processor", lambda: "another")
        meter.remember("views", {"ms": {"ours 32": 99.0}})
    history.main([])
    header, _, *rows = capsys.readouterr().out.splitlines()
    assert header.startswith("3 numbers")
    (row,) = rows
    assert " ".join(row.split()) == "views · ms · ours 32 4 3 6 2.00"
    history.main(["imports", "--all"])
    row = capsys.readouterr().out.splitlines()[2]
    assert " ".join(row.split()) == "imports · torch 1 1 1 1.00"
