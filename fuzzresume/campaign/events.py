"""What a campaign tells the world: a typed stream of events. Every output is a handler of these, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fuzzresume.campaign.coverage import Coverage
from fuzzresume.campaign.findings import Finding
from fuzzresume.campaign.verdicts import Verdict
from fuzzresume.harness.target import Target

if TYPE_CHECKING:
    from fuzzresume.campaign.regress import Checked


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


@dataclass
class PhaseCount:
    """What one phase did: its runs and commands, the pairs that it was the first to reach, what it found, and what it has
    covered, in words."""

    name: str
    runs: int = 0
    commands: int = 0
    pairs: int = 0
    findings: int = 0
    covered: str = ""


@dataclass(frozen=True, slots=True)
class PhaseFinished:
    """A phase has done its part."""

    count: PhaseCount


@dataclass(frozen=True, slots=True)
class KnownChecked:
    """A known finding, or a trace of the corpus, was tried."""

    checked: Checked


@dataclass(frozen=True, slots=True)
class FindingFound:
    """A new finding, minimised; not confirmed yet."""

    finding: Finding
    progress: Progress


@dataclass(frozen=True, slots=True)
class TargetReport:
    """All that a campaign says about one target. `troubles` are hangs and harness errors, in words.

    `depths`: the depth that was enumerated under the default options, and the least under another option value; None for
    either: every sequence within the bounds. `vacuous` says what never happened, so that nothing rests on it. `known` are
    the findings looked past, `checked` what came of every trace that was tried first.
    """

    target: Target
    verdicts: dict[str, Verdict]
    policy: dict[str, str]
    findings: list[Finding]
    progress: Progress
    troubles: list[str]
    interrupted: bool
    coverage: Coverage
    depths: tuple[int | None, int | None] | None = None
    phases: list[PhaseCount] = field(default_factory=list)
    vacuous: list[str] = field(default_factory=list)
    known: list[Finding] = field(default_factory=list)
    checked: list[Checked] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TargetFinished:
    """A target's campaign ended."""

    report: TargetReport


Event = TargetStarted | RunFinished | PhaseFinished | KnownChecked | FindingFound | TargetFinished


class Handler(Protocol):
    """Something that listens. Must not raise: a broken output never loses a finding."""

    def handle(self, event: Event) -> None:
        """Take one event."""
        ...
