"""What a campaign tells the world: a typed stream of events. Every output is a handler of these, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fuzzresume.campaign.findings import Finding
from fuzzresume.campaign.verdicts import Verdict
from fuzzresume.harness.target import Target


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a target's campaign stands. `states` and `pairs` are (reached, total); `seconds` since its start."""

    phase: str
    runs: int
    commands: int
    states: tuple[int, int]
    pairs: tuple[int, int]
    findings: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TargetStarted:
    """A target's campaign begins."""

    target: Target
    seed: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """One run ended, with or without a violation."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class FindingFound:
    """A new finding, minimised; not confirmed yet."""

    finding: Finding
    progress: Progress


@dataclass(frozen=True, slots=True)
class TargetReport:
    """All that a campaign says about one target. `troubles` are hangs and harness errors, in words."""

    target: Target
    verdicts: dict[str, Verdict]
    policy: dict[str, str]
    findings: list[Finding]
    progress: Progress
    troubles: list[str]
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class TargetFinished:
    """A target's campaign ended."""

    report: TargetReport


Event = TargetStarted | RunFinished | FindingFound | TargetFinished


class Handler(Protocol):
    """Something that listens. Must not raise: a broken output never loses a finding."""

    def handle(self, event: Event) -> None:
        """Take one event."""
        ...
