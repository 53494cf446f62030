"""A campaign's events as they come, one JSON object a line: schema `fuzzresume.events/1`.

For whoever watches a campaign: a line is in the file before the next run begins. The first line names the schema, the last
one the exit code; a stream without it was cut off. A line holds what is new with its event; the whole of a finding is in
its trace, the whole of a target in `--json`.
"""

from __future__ import annotations

from typing import Any, BinaryIO

import msgspec

from fuzzresume import __version__
from fuzzresume.campaign.events import (
    Event,
    FindingFound,
    KnownChecked,
    PhaseFinished,
    Progress,
    RunFinished,
    TargetFinished,
    TargetReport,
    TargetStarted,
)
from fuzzresume.campaign.findings import Finding
from fuzzresume.report.account import MEANING
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.plain_words import printable
from fuzzresume.report.sentence import sentence

SCHEMA = "fuzzresume.events/1"


class EventLines:
    """A handler that writes each event to an unbuffered file. `handle` raises OSError when it cannot be written.

    The campaign then goes on without it, and says so. The stream stays broken, for after a line that was cut short nothing
    can follow, and a later campaign is told the same.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._broken: OSError | None = None

    def begin(self, seed: int) -> None:
        """The first line. Raises OSError."""
        self._write({"schema": SCHEMA, "fuzzresume": __version__, "seed": seed})

    def handle(self, event: Event) -> None:
        """Write one event. Raises OSError."""
        self._write(event_of(event))

    def end(self, code: Exit) -> str:
        """Write the last line and close the file; returns why that could not be done.

        Empty if it was done, or if the stream broke before, which the campaigns have told.
        """
        told = self._broken is not None
        with self._file:
            try:
                self._write({"event": "ended", "exit_code": int(code), "meaning": MEANING[code]})
            except OSError as error:
                return "" if told else error.strerror or str(error)
        return ""

    def _write(self, line: dict[str, Any]) -> None:
        if self._broken is not None:
            raise self._broken
        data = msgspec.json.encode(line) + b"\n"
        try:
            # One write a line: an interrupt comes before it or after it, and leaves no half of one.
            if (written := self._file.write(data)) != len(data):
                raise OSError(f"only {written} of {len(data)} bytes of a line were taken")
        except OSError as error:
            self._broken = error
            raise


def event_of(event: Event) -> dict[str, Any]:
    """An event as its line."""
    match event:
        case TargetStarted(target, seed):
            facts = {"packages": target.packages, "options": dict(target.options), "seed": seed}
            return {"event": "target-started", "target": target.label, **facts}
        case RunFinished(progress):
            return {"event": "run-finished", "progress": _progress(progress)}
        case PhaseFinished(count):
            return {"event": "phase-finished", **msgspec.to_builtins(count)}
        case KnownChecked(checked):
            words = printable(checked.outcome)
            return {"event": "known-checked", "name": checked.name, "outcome": words, "known": checked.known}
        case FindingFound(finding, progress):
            return {"event": "finding-found", "finding": _finding(finding), "progress": _progress(progress)}
        case TargetFinished(report):
            return {"event": "target-finished", **_report(report)}


def _progress(progress: Progress) -> dict[str, Any]:
    return {**msgspec.to_builtins(progress), "seconds": round(progress.seconds, 3)}


def _finding(finding: Finding) -> dict[str, Any]:
    expected, observed = finding.expected_observed
    return {
        "id": finding.id,
        "property": finding.property_name,
        "verdict": finding.verdict,
        "title": printable(finding.title),
        "options": finding.options,
        "commands": finding.words,
        "expected": printable(expected),
        "observed": printable(observed),
        "explained_by": [list(names) for names in finding.explanation],
        "minimal": finding.minimal,
        "confirmed": printable(finding.confirmed),
        "flaky": printable(finding.flaky),
        "trace": None if finding.trace is None else printable(str(finding.trace)),
    }


def _report(report: TargetReport) -> dict[str, Any]:
    return {
        "target": report.target.label,
        "verdicts": {name: v.verdict for name, v in report.verdicts.items()},
        "findings": {f.id: {"property": f.property_name, "tlc": f.tlc, "seen": f.seen} for f in report.findings},
        "known": {f.known: f.seen for f in report.known},
        "troubles": [printable(words) for words in report.troubles],
        "interrupted": report.interrupted,
        "sentence": printable(sentence(report)),
        "progress": _progress(report.progress),
    }
