"""The campaign as JSON, schema `fuzzresume.campaign/1`. A pure writer: same seed and versions give the same file,
timings and paths aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.findings import Finding
from fuzzresume.contract.words import say_commands
from fuzzresume.report.sentence import sentence

SCHEMA = "fuzzresume.campaign/1"


def campaign_json(seed: int, reports: Sequence[TargetReport], exit_code: int) -> bytes:
    """The file's bytes, indented, ending in a newline."""
    document = {
        "schema": SCHEMA,
        "seed": seed,
        "targets": [_target(report) for report in reports],
        "exit_code": int(exit_code),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _target(report: TargetReport) -> dict[str, Any]:
    progress, coverage = report.progress, report.coverage
    return {
        "target": report.target.label,
        "packages": report.target.packages,
        "verdicts": {
            name: {"verdict": v.verdict, "findings": list(v.findings), "why": v.why} for name, v in report.verdicts.items()
        },
        "policy": report.policy,
        "findings": [_finding(finding) for finding in report.findings],
        "known": [{"name": f.known, "id": f.id, "property": f.property_name, "seen": f.seen} for f in report.known],
        "checked": [{"name": c.name, "outcome": c.outcome, "known": c.known} for c in report.checked],
        "coverage": {
            "states": list(coverage.states),
            "pairs": list(coverage.pairs),
            "certain": coverage.certain,
            "open": coverage.open,
            "unreached": [{"state": u.state, "command": u.command, "why": u.why} for u in coverage.unreached],
        },
        "depths": None if report.depths is None else [_depth(depth) for depth in report.depths],
        "phases": [
            {
                "name": count.name,
                "runs": count.runs,
                "commands": count.commands,
                "pairs": count.pairs,
                "findings": count.findings,
                "covered": count.covered,
            }
            for count in report.phases
        ],
        "vacuous": report.vacuous,
        "sentence": sentence(report),
        "runs": progress.runs,
        "commands": progress.commands,
        "seconds": round(progress.seconds, 3),
        "troubles": report.troubles,
        "interrupted": report.interrupted,
    }


def _depth(depth: int | None) -> int | str:
    return "all within the bounds" if depth is None else depth


def _finding(finding: Finding) -> dict[str, Any]:
    expected, observed = finding.expected_observed
    return {
        "id": finding.id,
        "property": finding.property_name,
        "class": finding.diagnosis.anomaly.cls,
        "title": finding.title,
        "verdict": finding.verdict,
        "options": finding.options,
        "commands": finding.words,
        "length": len(finding.commands),
        "expected": expected,
        "observed": observed,
        "explained_by": [list(names) for names in finding.explanation],
        "told_apart_by": say_commands(finding.reference.workload, finding.telling),
        "undelayed": finding.undelayed,
        "minimal": finding.minimal,
        "executions": finding.executions,
        "confirmed": finding.confirmed,
        "flaky": finding.flaky,
        "tlc": finding.tlc,
        "trace": str(finding.trace) if finding.trace is not None else None,
    }
