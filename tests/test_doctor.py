"""The check-up of chapter 00: what it asks, and that it says what to do."""

import pytest
from packaging.requirements import Requirement

import attn_edu.attention
from attn_edu import datasets, doctor


def test_everything_is_in_place_here():
    findings = doctor.checkup()
    assert all(finding.ok for finding in findings), doctor.report(findings)
    assert doctor.report(findings).endswith("Everything is in place.")


def test_a_failure_says_what_to_do_and_is_counted():
    bad = doctor.Finding("water", "none", False, "open the tap")
    assert str(bad) == "FAIL  water: none\n      What to do: open the tap"
    assert doctor.report([bad, doctor.python()]).endswith("1 to mend, the first one first.")


def test_old_python_fails():
    assert not doctor.python((3, 10, 9)).ok
    assert doctor.python((3, 11, 0)).ok


@pytest.mark.parametrize(
    ("line", "ok"), [("pytest>=1", True), ("pytest<1", False), ("no-such-package", False)]
)
def test_package_must_be_there_and_in_its_range(line, ok):
    finding = doctor.package(Requirement(line))
    assert finding.ok == ok
    assert f"pip install '{line}'" in finding.remedy


def test_memory_is_compared_with_the_limit():
    assert doctor.memory(1).ok
    assert not doctor.memory(2**60).ok


def test_missing_data_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    datasets._sentences.cache_clear()
    finding = doctor.sentences()
    datasets._sentences.cache_clear()
    assert not finding.ok
    assert "is missing" in finding.remedy


@pytest.mark.parametrize("change", [{"scale": 1.0}, {"mask": None}])
def test_wrong_attention_is_found(monkeypatch, change):
    right = attn_edu.attention.scaled_dot_product_attention

    def wrong(query, key, value, *, mask=None):
        return right(query, key, value, **{"mask": mask, **change})

    monkeypatch.setattr(attn_edu.attention, "scaled_dot_product_attention", wrong)
    assert not doctor.attention().ok
