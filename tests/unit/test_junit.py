"""Campaigns as JUnit XML: every verdict is told apart, and a suite is green only where the exit code is 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from junitparser import JUnitXml, TestCase, TestSuite
from report_samples import HOSTILE, TARGET, conforming, forked, interrupted, looked, shaky, tally, whole

from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.verdicts import verdicts
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.account import MEANING, Account
from fuzzresume.report.exit_codes import Exit, exit_code
from fuzzresume.report.junit import junit_xml

SHOWN = HOSTILE.replace("\x00", "\\x00").replace("\x1b", "\\x1b")


def suites(*reports: TargetReport, unusable: tuple[str, ...] = ()) -> list[TestSuite]:
    return list(JUnitXml.fromstring(junit_xml(Account(5, reports, exit_code(reports), unusable))))


def case(suite: TestSuite, name: str) -> TestCase:
    (found,) = [case for case in suite if case.name.split()[0] in (name, f"RR-{name}")]
    return found


def found_only(*findings: object) -> TargetReport:
    """Everything exercised; these new findings, and nothing else."""
    exercised = verdicts(tally(*PROPERTIES), TARGET.capabilities, findings)  # type: ignore[arg-type]
    return replace(conforming(), verdicts=exercised, findings=list(findings))


def known_only() -> TargetReport:
    exercised = verdicts(tally(*PROPERTIES), TARGET.capabilities, [looked()])
    return replace(conforming(), verdicts=exercised, known=[looked()])


def contradicted() -> TargetReport:
    finding = forked()
    finding.tlc = "contradicted"
    return found_only(finding)


@pytest.mark.parametrize(
    ("name", "tag", "kind"),
    [
        ("FD", "failure", "violated"),
        ("EO", None, None),
        ("RD", None, None),
        ("CV", "skipped", "inapplicable"),
        ("PC", "error", "unexercised"),
        ("RS", "error", "unexercised"),
        ("IN", "skipped", "violated"),
        ("campaign", "error", "undetermined"),
    ],
)
def test_each_verdict_has_its_result(name: str, tag: str | None, kind: str | None) -> None:
    (suite,) = suites(whole())
    results = case(suite, name).result
    assert [(result._tag, result.type) for result in results] == ([(tag, kind)] if tag else [])


def test_a_failure_tells_its_findings_in_words() -> None:
    (suite,) = suites(whole())
    (failure,) = case(suite, "FD").result
    for words in (
        "a fork was not served its own answer",
        "\n1. start\n2. resume(a, gate 2)\n3. fork(b, gate 2)\nexpected  completed; effects: 2(b), 3",
        "\nobserved  completed; effects: 2(a), 3",
        "explained by ForkIgnore",
        "confirmed 3/3 · tlc confirmed · 1-minimal after 7 executions",
    ):
        assert words in failure.text
    assert "known IN-0000ab" in case(suite, "IN").result[0].text


def test_what_passes_says_what_it_rests_on() -> None:
    (suite,) = suites(whole())
    assert "changes are written when a call ends (its guide, persistence, 1.2)" in (case(suite, "EO").system_out or "")
    assert "exercised 7 times" in (case(suite, "RD").system_out or "")


def test_a_hostile_text_stays_a_text() -> None:
    (suite,) = suites(whole(), unusable=(HOSTILE,))[:1]
    assert f"ValueError: {SHOWN}\n" in case(suite, "LV").result[0].text
    assert SHOWN in case(suite, "campaign").result[0].message


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (whole, Exit.VIOLATED),
        (interrupted, Exit.INTERRUPTED),
        (conforming, Exit.OK),
        (known_only, Exit.OK),
        (contradicted, Exit.UNDETERMINED),
        (lambda: found_only(shaky()), Exit.UNDETERMINED),
        (lambda: replace(conforming(), troubles=["run 3 hung at start"]), Exit.UNDETERMINED),
    ],
)
def test_a_suite_is_green_only_where_the_exit_code_is_0(make: Callable[[], TargetReport], code: Exit) -> None:
    (suite,) = suites(make())
    assert exit_code([make()]) == code
    assert (suite.failures + suite.errors == 0) == (code == Exit.OK)
    facts = {one.name: one.value for one in suite.properties()}
    assert (facts["exit_code"], facts["exit_code.meaning"]) == (str(int(code)), MEANING[code])


def test_a_suite_says_what_was_tested() -> None:
    (suite,) = suites(whole())
    facts = {one.name: one.value for one in suite.properties()}
    assert suite.name == "example@1.2.9" and suite.time == 59.5 and suite.tests == len(PROPERTIES) + 1
    assert facts["package.example-store"] == "4.1.1" and facts["options"] == "api=graph saver=file"
    assert (facts["seed"], facts["runs"], facts["coverage.pairs"]) == ("5", "812", "190/203")


def test_a_target_that_cannot_be_used_is_an_error() -> None:
    suite = suites(conforming(), unusable=("no environment for langgraph@0.0.1: no such version",))[1]
    assert (suite.tests, suite.errors) == (1, 1)
    assert next(iter(suite)).result[0].message == "no environment for langgraph@0.0.1: no such version"
