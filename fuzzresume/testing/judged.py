"""How far an undisturbed run can be held against its adapter: up to where the framework itself goes astray.

Some frameworks break the contract although nobody disturbs them: an answer makes them run again what was durable. That is a
finding, and no slip of the adapter, where a known mechanism explains it. A start has no such excuse, and what no mechanism
explains has none either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fuzzresume.contract.explain import Explanation, explain
from fuzzresume.contract.monitor import judge, sights
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.words import say_explanation
from fuzzresume.testing.lab import Trial
from fuzzresume.testing.undisturbed import frontier_complaints, ledger_complaints, outcome_complaint, steps

Complaint = tuple[int, str]
"""The index of a command, and what is wrong with what it showed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is wrong with an undisturbed run, by the check that says so; `finding` says what was left to the fuzzer."""

    outcomes: tuple[Complaint, ...]
    ledger: tuple[Complaint, ...]
    frontier: tuple[Complaint, ...]
    finding: str = ""


def judged(trial: Trial) -> Judged:
    """Hold an undisturbed run against what it must show, without what follows a command that a finding explains."""
    way = steps(trial.workload, trial.sent)
    whole = Judged(
        tuple(_outcomes(trial)), tuple(ledger_complaints(way, trial.seen)), tuple(frontier_complaints(way, trial.seen))
    )
    first = min((index for found in (whole.outcomes, whole.ledger, whole.frontier) for index, _ in found), default=0)
    explanation = _explained(trial, first) if first else None
    if explanation is None:
        return whole
    if not explanation:
        outcomes, ledger, frontier = whole.outcomes, whole.ledger, whole.frontier
        return Judged(_unexplained(outcomes, first), _unexplained(ledger, first), _unexplained(frontier, first))
    names = say_explanation(explanation)
    return Judged(
        _until(whole.outcomes, first),
        _until(whole.ledger, first),
        _until(whole.frontier, first),
        f"{trial.words[first]} breaks the contract, a finding about the framework ({names})",
    )


def _unexplained(complaints: tuple[Complaint, ...], index: int) -> tuple[Complaint, ...]:
    return tuple(
        (at, f"{words}; no known fault of an engine explains it" if at == index else words) for at, words in complaints
    )


def _until(complaints: tuple[Complaint, ...], index: int) -> tuple[Complaint, ...]:
    return tuple(one for one in complaints if one[0] < index)


def _outcomes(trial: Trial) -> Iterator[Complaint]:
    for index, (step, seen) in enumerate(zip(steps(trial.workload, trial.sent), trial.seen, strict=True)):
        if complaint := outcome_complaint(step, seen):
            yield index, complaint


def _explained(trial: Trial, index: int) -> Explanation | None:
    """The mechanisms that explain a violation at that command: empty where none does, None where it is no violation."""
    reference = Reference(trial.workload)
    exchanges = list(zip(trial.sent, trial.seen, strict=True))[: index + 1]
    violation = judge(reference, exchanges)
    return explain(reference, sights(exchanges)) if violation is not None and violation.index == index else None
