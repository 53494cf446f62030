"""The baselines that ship: whole, of the paper's targets, and with a reason wherever a verdict is not the paper's."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fuzzresume.campaign.baselines import Baseline, BaselineError, baselines, read_baseline
from fuzzresume.cli_matrix import PINS
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.trace import load

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "corpus" / "baselines").glob("*.toml"))
SHIPPED = [pytest.param(baseline, id=label) for label, baseline in baselines().items()]

WHOLE = """
target = "langgraph"
version = "1.2.9"
[paper.FD]
verdict = "violated"
claim = "the second answer is never used"
[expected]
FD = "holds"
[differences.FD]
why = "mended since"
traces = ["shrinks/one.json"]
"""


def test_the_targets_of_the_paper_have_one_each() -> None:
    assert set(baselines()) == set(PINS)
    assert sorted(path.name for path in FILES) == sorted(f"{pin.replace('@', '-')}.toml" for pin in PINS)


def test_they_are_installed_with_the_package() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "fuzzresume.corpus" in setuptools["packages"] and setuptools["package-dir"]["fuzzresume.corpus"] == "corpus"
    matched = {
        path for pattern in setuptools["package-data"]["fuzzresume.corpus"] for path in (ROOT / "corpus").glob(pattern)
    }
    assert set(FILES) <= matched


@pytest.mark.parametrize("baseline", SHIPPED)
def test_every_claim_is_said_in_words(baseline: Baseline) -> None:
    assert baseline.paper and all(claim.claim.strip() for claim in baseline.paper.values())


@pytest.mark.parametrize("baseline", SHIPPED)
def test_verdicts_are_on_record_for_all_properties_or_for_none(baseline: Baseline) -> None:
    assert set(baseline.expected) in (set(), set(PROPERTIES))
    assert "unexercised" not in baseline.expected.values()


@pytest.mark.parametrize("baseline", SHIPPED)
def test_every_difference_from_the_paper_is_explained(baseline: Baseline) -> None:
    for name, claim in baseline.paper.items():
        if baseline.expected.get(name, claim.verdict) != claim.verdict:
            assert name in baseline.differences, f"{name}: expected {baseline.expected[name]}, claimed {claim.verdict}"
    for name, difference in baseline.differences.items():
        assert name in baseline.paper and name in baseline.expected and difference.why.strip()


@pytest.mark.parametrize("baseline", SHIPPED)
def test_the_traces_that_show_a_difference_are_of_this_target(baseline: Baseline) -> None:
    for name, difference in baseline.differences.items():
        for path in difference.traces:
            trace = load(ROOT / path)
            assert (trace.target, next(iter(trace.packages.values()))) == (baseline.target, baseline.version)
            assert trace.found is not None and trace.found.property == name, path


def test_a_baseline_is_read() -> None:
    read = read_baseline(WHOLE, "one.toml")
    assert read.label == "langgraph@1.2.9" and read.paper["FD"].verdict == "violated"
    assert read.expected == {"FD": "holds"} and read.differences["FD"].traces == ["shrinks/one.json"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[paper.FD]", "[paper.XX]", "paper.XX: there is no such property"),
        ("FD = ", "FE = ", "expected.FE: there is no such property"),
        ('"violated"', '"broken"', "broken"),
        ('version = "1.2.9"', "", "version"),
        ("claim =", "words =", "words"),
        ("[expected]", "[expected", "one.toml"),
    ],
)
def test_a_wrong_baseline_is_named_with_its_field(old: str, new: str, says: str) -> None:
    with pytest.raises(BaselineError) as raised:
        read_baseline(WHOLE.replace(old, new, 1), "one.toml")
    assert str(raised.value).startswith("one.toml: ") and says in str(raised.value)
    assert "\n" not in str(raised.value)
