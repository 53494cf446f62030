"""What the fuzzer must find in LangGraph 1.2.9 by itself (known reports: langgraph 6663, 6491, 8837)."""

import pytest
from campaigns import campaign, without_one

from fuzzresume.harness.target import parse_target

PINS = ("1.2.9", "4.1.1", "3.1.0")
pytestmark = pytest.mark.skipif(
    tuple(parse_target("langgraph").packages.values()) != PINS, reason="other LangGraph packages than the pinned ones"
)


@pytest.fixture(scope="module")
def reports():
    return [campaign("langgraph", {}, seed=seed, runs=120)[0] for seed in (0, 1, 2)]


def test_the_fork_and_the_validity_violations_are_found_by_every_seed(reports):
    for report in reports:
        assert report.verdicts["FD"].verdict == report.verdicts["CV"].verdict == "violated"
        forks = [f for f in report.findings if f.property_name == "FD"]
        assert min(len(f.commands) for f in forks) == 3
        assert any("ForkIgnore" in names for f in forks for names in f.explained_by)
        assert any(f.explained_by == (("InvalidPersist",),) for f in report.findings)
        assert "restart" in report.verdicts["EO"].why
        assert all(v.why for v in report.verdicts.values())


def test_a_recovery_that_serves_an_answer_to_another_question_is_found(reports):
    found = [f for report in reports for f in report.findings if f.explained_by == (("Misroute",),)]
    assert any(f.words == ["start", "resume(a, gate 2 question 1)", "recover"] for f in found)


def test_a_documented_deviation_is_documented():
    report, _ = campaign("langgraph", {"durability": "exit", "executor": "inline"}, seed=1, runs=120)
    late = [f for f in report.findings if f.explained_by == (("LateRecord",),)]
    assert late and all(f.verdict == "documented" for f in late)
    assert all(f.profile or f.verdict == "documented" or f.explained_by != (("LateRecord",),) for f in report.findings)


def test_every_trace_is_minimal(reports):
    for finding in (finding for report in reports for finding in report.findings):
        assert finding.minimal and without_one(finding) == [], finding.words
