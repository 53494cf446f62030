"""A finding that needs a slow disk says so, with what the same trace shows on a fast one."""

import pytest
from campaigns import campaign

PINNED = {"api": "functional", "saver": "sqlite", "durability": "sync", "fork": "one-call"}


@pytest.fixture(scope="module")
def findings():
    report, _ = campaign("langgraph", {**PINNED, "executor": "queue"}, seed=0, runs=200, chosen=("enumerate", "minimise"))
    return {names[0]: finding for finding in report.findings for names in finding.explained_by if len(names) == 1}


def test_a_window_that_needs_the_delay(findings):
    words = findings["LateRecord"].undelayed
    assert words == "executor=queue puts off what is not waited for; with executor=inline, the contract is kept"
    assert findings["LateRecord"].to_trace().found.undelayed == words


def test_a_violation_that_does_not(findings):
    assert findings["DoubleConsume"].undelayed.endswith("with executor=inline, the same shows")


def test_without_delay_nothing_is_said():
    report, _ = campaign("langgraph", {**PINNED, "executor": "inline"}, seed=0, runs=40, chosen=("enumerate", "minimise"))
    assert report.findings and all(finding.undelayed == "" for finding in report.findings)
