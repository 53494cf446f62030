"""Frameworks by properties: what campaigns against several targets come to, beside what the paper claims of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fuzzresume.campaign.baselines import Baseline, Claim, Difference
from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.findings import Finding
from fuzzresume.campaign.verdicts import Verdict
from fuzzresume.contract.properties import VerdictName

Agreement = Literal["agrees", "differs", "not claimed", "not judged"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A finding behind a cell. `commands` are its trace in words, `trace` its file below the folder of traces (None: not
    written). `proven`: the trace is minimal, it was replayed 3 times of 3 in real processes, and TLC confirms it or no known
    mechanism explains it."""

    id: str
    title: str
    commands: list[str]
    explained_by: list[list[str]]
    minimal: bool
    confirmed: str
    tlc: str
    trace: str | None
    proven: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One property of one target: the verdict, why, and the findings behind it, proven and short ones first.

    `paper` is the paper's claim (None: it makes none). `difference` explains a verdict that is the paper's no more, or rests
    on something else; it is there only where the verdict is the one `expected`. `expected` is None where none is on record.
    """

    verdict: VerdictName
    why: str
    evidence: list[Evidence]
    agreement: Agreement
    paper: Claim | None = None
    difference: Difference | None = None
    expected: VerdictName | None = None

    @property
    def unproven(self) -> bool:
        """The cell says `violated` and no finding proves it."""
        return self.verdict == "violated" and not any(one.proven for one in self.evidence)

    @property
    def unexpected(self) -> bool:
        """Another verdict is on record."""
        return self.expected is not None and self.expected != self.verdict


@dataclass(frozen=True, slots=True)
class Row:
    """One target. `unusable` says why there is no campaign; otherwise it is empty, and there is a cell for every property.

    `pinned` are the options that were not drawn. `states` and `pairs` are (reached, total), `untried` the pairs that a
    longer campaign may reach. `depth` was enumerated under the default options (None: every sequence within the bounds).
    """

    target: str
    unusable: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    pinned: dict[str, str] = field(default_factory=dict)
    cells: dict[str, Cell] = field(default_factory=dict)
    runs: int = 0
    commands: int = 0
    seconds: float = 0.0
    states: tuple[int, int] = (0, 0)
    pairs: tuple[int, int] = (0, 0)
    untried: int = 0
    depth: int | None = 0
    troubles: list[str] = field(default_factory=list)
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Matrix:
    """Every target's row under one seed. `max_seconds` and `max_runs` bound each target's campaign (None: they do not)."""

    seed: int
    max_seconds: float | None
    max_runs: int | None
    rows: list[Row]

    @property
    def whole(self) -> bool:
        """Every target could be used."""
        return not any(row.unusable for row in self.rows)


def row_of(report: TargetReport, pinned: Mapping[str, str], baseline: Baseline | None) -> Row:
    """A target's row. `baseline` is what is on record of it; its expectations count only where no option is pinned."""
    progress, coverage = report.progress, report.coverage
    findings = {finding.id: finding for finding in (*report.findings, *report.known)}
    return Row(
        target=report.target.label,
        packages=report.target.packages,
        pinned=dict(pinned),
        cells={name: _cell(name, verdict, findings, baseline, bool(pinned)) for name, verdict in report.verdicts.items()},
        runs=progress.runs,
        commands=progress.commands,
        seconds=round(progress.seconds, 3),
        states=coverage.states,
        pairs=coverage.pairs,
        untried=coverage.open,
        depth=0 if report.depths is None else report.depths[0],
        troubles=report.troubles,
        interrupted=report.interrupted,
    )


def _cell(name: str, verdict: Verdict, findings: Mapping[str, Finding], baseline: Baseline | None, pinned: bool) -> Cell:
    paper = None if baseline is None else baseline.paper.get(name)
    expected = None if baseline is None or pinned else baseline.expected.get(name)
    difference = None
    if baseline is not None and expected == verdict.verdict:
        difference = baseline.differences.get(name)
    evidence = sorted((_evidence(findings[each]) for each in verdict.findings), key=_telling)
    return Cell(verdict.verdict, verdict.why, evidence, _agreement(verdict.verdict, paper), paper, difference, expected)


def _telling(one: Evidence) -> tuple[bool, int, str]:
    return not one.proven, len(one.commands), one.id


def _agreement(verdict: VerdictName, paper: Claim | None) -> Agreement:
    if paper is None:
        return "not claimed"
    if verdict == "unexercised":
        return "not judged"
    return "agrees" if verdict == paper.verdict else "differs"


def _evidence(finding: Finding) -> Evidence:
    explained = [list(names) for names in finding.explanation]
    return Evidence(
        id=finding.id,
        title=finding.title,
        commands=finding.words,
        explained_by=explained,
        minimal=finding.minimal,
        confirmed=finding.confirmed,
        tlc=finding.tlc,
        trace=None if finding.trace is None else "/".join(finding.trace.parts[-2:]),
        proven=finding.minimal and finding.confirmed == "3/3" and (finding.tlc == "confirmed" or not explained),
    )
