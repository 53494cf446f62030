"""Campaigns as SARIF 2.1.0, for code scanning views. A pure writer.

The rules are the ten properties, the results the findings: `error` where the contract is violated, `warning` where that does
not show every time, `note` where the target documents the weaker rule or the finding was known before (then it is
suppressed too). A finding lies in its trace file, at the command that breaks the contract; the commands before it are its
code flow. One run holds all targets: views tell results of one tool apart by their fingerprint, which is the finding's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from fuzzresume import __version__
from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.findings import Finding
from fuzzresume.contract.properties import PROPERTIES, Property
from fuzzresume.contract.trace import dumps
from fuzzresume.report.account import Account
from fuzzresume.report.plain_words import evidence, printable
from fuzzresume.report.sentence import sentence

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
"""The identity of the standard's own schema."""

ROOT = "%SRCROOT%"
"""What relative paths are relative to; views set it to the root of the checkout."""


def sarif_json(account: Account) -> bytes:
    """The file's bytes, indented, ending in a newline."""
    found = [(report, finding) for report in account.reports for finding in (*report.findings, *report.known)]
    run = {
        "tool": {"driver": {"name": "fuzzresume", "version": __version__, "rules": [_rule(p) for p in PROPERTIES.values()]}},
        "invocations": [_invocation(account)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(account, report, finding) for report, finding in found],
        "properties": {"seed": account.seed, "targets": [_target(report) for report in account.reports]},
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _rule(rule: Property) -> dict[str, Any]:
    text = f"{rule.title}. Violated when {rule.violated}. Judged after {rule.exercise}. Source: {rule.source}."
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.title.replace("-", " ").split()),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"Violated when {rule.violated}."},
        "help": {"text": text},
        "defaultConfiguration": {"level": "error"},
    }


def _invocation(account: Account) -> dict[str, Any]:
    notes = [
        {"level": "error", "message": _message(f"{report.target.label}: {words}")}
        for report in account.reports
        for words in report.troubles
    ]
    notes += [{"level": "error", "message": _message(words)} for words in account.unusable]
    return {
        "exitCode": int(account.code),
        "exitCodeDescription": account.meaning,
        # The tool did what it was asked to; what it found is in the results.
        "executionSuccessful": not (account.unusable or any(r.troubles or r.interrupted for r in account.reports)),
        "toolExecutionNotifications": notes,
    }


def _target(report: TargetReport) -> dict[str, Any]:
    return {
        "target": report.target.label,
        "packages": report.target.packages,
        "verdicts": {name: {"verdict": v.verdict, "why": printable(v.why)} for name, v in report.verdicts.items()},
        "sentence": printable(sentence(report)),
        "interrupted": report.interrupted,
    }


def _result(account: Account, report: TargetReport, finding: Finding) -> dict[str, Any]:
    expected, observed = finding.expected_observed
    text = f"{finding.id} {finding.title}. Expected: {expected}. Observed: {observed}. {evidence(finding)}"
    places = list(_places(account, report, finding))
    result = {
        "ruleId": PROPERTIES[finding.property_name].code,
        "ruleIndex": list(PROPERTIES).index(finding.property_name),
        "level": _level(finding),
        "message": _message(text),
        "locations": [{key: value for key, value in places[-1].items() if key != "message"}],
        "codeFlows": [{"threadFlows": [{"locations": [{"location": place} for place in places]}]}],
        # The second is the one that GitHub reads; without it, it would take a hash of lines of the trace.
        "partialFingerprints": {"fuzzresumeFinding/v1": finding.id, "primaryLocationLineHash": finding.id},
        "properties": {
            "target": report.target.label,
            "packages": finding.target.packages,
            "options": finding.options,
            "verdict": finding.verdict,
            "explained_by": [list(names) for names in finding.explanation],
            "minimal": finding.minimal,
            "confirmed": printable(finding.confirmed),
            "tlc": finding.tlc,
            "flaky": printable(finding.flaky),
            "seen": finding.seen,
        },
    }
    if finding.known:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": printable(f"known as {finding.known}")}
        ]
    return result


def _level(finding: Finding) -> str:
    if finding.known or finding.verdict == "documented":
        return "note"
    return "warning" if finding.flaky else "error"


def _places(account: Account, report: TargetReport, finding: Finding) -> Iterator[dict[str, Any]]:
    """A location for each command: the target, the command in words and, where there is a trace file, its line there."""
    file = account.file_of(finding)
    named = [{"name": report.target.adapter.name, "fullyQualifiedName": report.target.label, "kind": "module"}]
    for words, line in zip(finding.words, _lines(finding), strict=True):
        place: dict[str, Any] = {"message": _message(words), "logicalLocations": named}
        if file is not None:
            uri = account.uri_of(file)
            artifact = {"uri": uri} if ":" in uri else {"uri": uri, "uriBaseId": ROOT}
            # A known trace is somebody else's file, which need not be laid out as this one.
            place["physicalLocation"] = {"artifactLocation": artifact, "region": {"startLine": 1 if finding.known else line}}
        yield place


def _lines(finding: Finding) -> list[int]:
    """The line of each command in the trace file, counted from 1."""
    # What was found stands below the commands, and holds the framework's own error text.
    lines = dumps(replace(finding.to_trace(), found=None)).splitlines()
    first = lines.index(b'  "commands": [')
    last = lines.index(b"  ],", first)
    return [number for number, line in enumerate(lines, 1) if first < number <= last and line == b"    {"]


def _message(text: str) -> dict[str, str]:
    """A text as a message that is read back as it is: a brace is written twice, and nothing in it is a link."""
    return {"text": printable(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")}
