"""Findings: what a violation is called, and when two violations are the same finding (docs/DESIGN.md, *Findings*)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from fuzzresume.contract.commands import Command
from fuzzresume.contract.explain import Explanation, explain, intersect
from fuzzresume.contract.faults import FAULTS, NONE
from fuzzresume.contract.life import Faults
from fuzzresume.contract.menu import label
from fuzzresume.contract.monitor import Violation
from fuzzresume.contract.properties import Anomaly, attribute
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import Found, Trace
from fuzzresume.contract.words import say_commands, say_violation
from fuzzresume.harness.run import profile_of
from fuzzresume.harness.target import Target


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A violating trace, named: its property and class, and every smallest set of switches that explains it."""

    anomaly: Anomaly
    explanation: Explanation
    violation: Violation

    def same_as(self, other: Diagnosis) -> bool:
        """Whether two violations can be one defect: they share an explanation, or look alike where none has one."""
        if self.anomaly.limit != other.anomaly.limit:
            return False
        if self.explanation or other.explanation:
            shared = intersect([self.explanation, other.explanation])
            return bool(shared) and (self.anomaly.property == other.anomaly.property or len(shared[0]) == 1)
        return self.anomaly == other.anomaly

    def purer_than(self, other: Diagnosis) -> bool:
        """Whether fewer of the same mechanisms explain it: what remains of a violation in which two came together."""
        same = self.anomaly.property == other.anomaly.property and self.anomaly.limit == other.anomaly.limit
        return same and any(set(mine) < set(its) for mine in self.explanation for its in other.explanation)


def diagnose(reference: Reference, violation: Violation, profile: Faults, target: Target, *, largest: int = 2) -> Diagnosis:
    """Explain a violation, by `largest` switches at once at most, and give it its property.

    Where the wire cannot name a question, an answer that reaches another one is the API's limit, not the engine's slip
    (docs/CONTRACT.md, *redeliver*: CO, reported with FI): those are findings of their own.
    """
    explanation = tuple(sorted(explain(reference, violation.sights, profile, largest=largest)))
    named = attribute(reference.workload, violation, explanation)
    mute = not target.capabilities.names_question and any(
        sent.op in ("resume", "redeliver", "stray") and sent.at == "latest" for sent in violation.command.sent
    )
    if mute and any("Misroute" in names for names in explanation):
        named = named._replace(cls="an answer reached another question, for the call names none (FI)", limit="FI")
    return Diagnosis(named, explanation, violation)


def excused(diagnosis: Diagnosis, target: Target) -> bool:
    """Whether mechanisms that the target's documentation states explain the trace: then it keeps the documented rule, and
    proves no other mechanism that would explain it too."""
    documented = profile_of(target.capabilities)
    return any(set(names) <= documented for names in diagnosis.explanation)


@dataclass
class Finding:
    """One defect of one target: its minimal trace, and every violation of the campaign that it accounts for.

    `confirmed` is such as `3/3` (replays in real processes that reproduced it) or the words that say why there were none;
    `verdict` is `violated`, or `documented` where the framework states the weaker rule. `profile` are the deviations that
    the trace was judged beyond. `composite` are the sets of three switches that explain a minimal trace which no two do.
    `tlc` is what TLC says of it: `confirmed`, `contradicted` or `not run`. `minimal`: without any one of its commands the
    violation is gone; `executions` is what that took. `known` is the name of a finding that was known before.
    `telling` is the trace that told several explanations apart. `undelayed`: what the trace shows where nothing is put off.
    """

    target: Target
    options: dict[str, str]
    commands: tuple[Command, ...]
    diagnosis: Diagnosis
    explained_by: Explanation
    reference: Reference
    confirmed: str = "not run"
    verdict: str = "violated"
    seen: int = 1
    flaky: str = ""
    trace: Path | None = None
    profile: Faults = NONE
    composite: Explanation = ()
    tlc: str = "not run"
    minimal: bool = False
    executions: int = 0
    known: str = ""
    telling: tuple[Command, ...] = ()
    undelayed: str = ""

    @property
    def explanation(self) -> Explanation:
        """What explains the minimal trace: what explains the whole group, or else the sets of three."""
        return self.explained_by or self.composite

    @property
    def property_name(self) -> str:
        """The property violated, by the group's explanation where that names one."""
        named = {FAULTS[names[0]].properties[0] for names in self.explained_by if len(names) == 1}
        return next(iter(named)) if len(named) == 1 else self.diagnosis.anomaly.property

    @cached_property
    def id(self) -> str:
        """Stable name: adapter, property, explaining switches and the skeleton of the minimal trace, not the input.

        Kept from its first use on: what explains the group can still narrow, its files are named already.
        """
        skeleton = [label(c).text for c in self.commands]
        excused = ("documented",) if self.verdict == "documented" else ()
        key = repr((self.target.adapter.name, self.property_name, self.explained_by, skeleton, *excused))
        return f"{self.property_name}-{hashlib.sha256(key.encode()).hexdigest()[:6]}"

    @property
    def title(self) -> str:
        """One line: what goes wrong."""
        cls = self.diagnosis.anomaly.cls
        if len(self.explained_by) == 1:
            return f"{cls}: {' and '.join(FAULTS[name].mechanism for name in self.explained_by[0])}"
        return cls if self.explanation else f"{cls} (unexplained: no known mechanism fits)"

    @property
    def words(self) -> list[str]:
        """The minimal trace in words."""
        return say_commands(self.reference.workload, self.commands)

    @property
    def expected_observed(self) -> tuple[str, str]:
        """What the contract admits at the last command, and what was seen."""
        return say_violation(self.diagnosis.violation)

    def covers(self, diagnosis: Diagnosis) -> bool:
        """Whether a violation belongs to this finding."""
        mine = Diagnosis(
            self.diagnosis.anomaly._replace(property=self.property_name), self.explained_by, self.diagnosis.violation
        )
        return mine.same_as(diagnosis)

    def join(self, diagnosis: Diagnosis) -> None:
        """Count a further violation: the group is explained by what explains every one of its traces."""
        self.seen += 1
        self.explained_by = intersect([self.explained_by, diagnosis.explanation]) or self.explained_by

    def to_trace(self) -> Trace:
        """The trace file's content."""
        expected, observed = self.expected_observed
        sights = self.diagnosis.violation.sights
        found = Found(
            self.id,
            self.property_name,
            self.diagnosis.anomaly.cls,
            expected,
            observed,
            [list(names) for names in self.explanation],
            self.verdict,
            sorted(self.profile),
            self.tlc,
            self.undelayed,
        )
        return Trace(
            self.target.adapter.name,
            dict(self.options),
            self.reference.workload,
            tuple(command for command, _ in sights),
            dict(self.target.packages),
            tuple(self.words),
            found,
            tuple(seen for _, seen in sights),
        )


def renumber(commands: Sequence[Command]) -> tuple[Command, ...]:
    """The same commands with deliveries numbered from 1, as a trace that was never longer would have them."""
    numbers: dict[object, int] = {}

    def numbered(command: Command) -> Command:
        token = command.token
        if token is not None:
            token = token._replace(delivery=numbers.setdefault(token, len(numbers) + 1))
        return replace(command, token=token, racers=tuple(map(numbered, command.racers)))

    return tuple(map(numbered, commands))


def options_text(options: Mapping[str, str]) -> str:
    """Options as one stable line."""
    return " ".join(f"{key}={value}" for key, value in sorted(options.items()))
