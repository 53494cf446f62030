"""What the tests of the corpus database write into it: findings by number, campaigns, a clock that ticks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

from report_samples import TARGET, forked, whole

from fuzzresume.campaign.corpus.database import Corpus
from fuzzresume.campaign.events import FindingFound, TargetFinished, TargetReport, TargetStarted
from fuzzresume.campaign.findings import Finding
from fuzzresume.contract.commands import Command

PROGRESS = whole().progress
STARTED = TargetStarted(TARGET, 7)
DIGITS = (Command("inspect"), Command("reload"), Command("recover"), Command("restart"))


def numbered(number: int) -> Finding:
    """A finding of its own for each number: its commands spell it."""
    spelled = []
    while number:
        number, digit = divmod(number, len(DIGITS))
        spelled.append(DIGITS[digit])
    found = forked()
    return replace(found, commands=(*found.commands, *spelled), tlc="not run")


def found(finding: Finding) -> FindingFound:
    return FindingFound(finding, PROGRESS)


def ended(findings: Sequence[Finding], known: Sequence[Finding] = ()) -> TargetFinished:
    return TargetFinished(report(findings, known))


def report(findings: Sequence[Finding], known: Sequence[Finding] = ()) -> TargetReport:
    return replace(whole(), findings=list(findings), known=list(known))


def record(corpus: Corpus, *findings: Finding, night: str | None = None) -> str:
    """A whole campaign with these findings; its id."""
    recorder = corpus.recorder(night)
    recorder.handle(STARTED)
    for finding in findings:
        recorder.handle(found(finding))
    recorder.handle(ended(findings))
    return recorder.campaign


def ticking() -> Callable[[], datetime]:
    """A clock that goes on by a second whenever it is read."""
    seconds = count()
    return lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))
