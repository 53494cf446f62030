"""From violations to findings: explain, recognise, minimise, confirm, keep (docs/DESIGN.md, *Findings*).

A run is judged twice: against the contract itself, and beyond what the target's documentation excuses, so that a documented
deviation does not hide what comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fuzzresume.campaign.confirm import Confirmer
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Diagnosis, Finding, diagnose, excused
from fuzzresume.campaign.minimise import Minimiser
from fuzzresume.contract.commands import Command
from fuzzresume.contract.explain import explain, intersect
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.life import Faults
from fuzzresume.contract.menu import label
from fuzzresume.contract.monitor import Exchange, Violation, judge, replay
from fuzzresume.contract.workload import Token
from fuzzresume.harness.run import profile_of
from fuzzresume.harness.target import Target

Shape = tuple[object, ...]


@dataclass
class Collector:
    """A campaign's findings. `save` stores a finding's trace and may raise OSError, which becomes a trouble."""

    executor: Executor
    pinned: Mapping[str, str]
    confirmer: Confirmer | None = None
    save: Callable[[Finding], Path | None] = lambda finding: None
    found: Callable[[Finding], None] = lambda finding: None
    findings: list[Finding] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    _explained: dict[Shape, Diagnosis] = field(default_factory=dict)

    def take(self, target: Target, exchanges: Sequence[Exchange]) -> None:
        """Record what a run that deviated breaks."""
        for profile in dict.fromkeys((NONE, profile_of(target.capabilities))):
            violation = judge(self.executor.reference, exchanges, profile)
            if violation is None:
                return
            diagnosis = self._diagnose(violation, profile, target)
            self._record(target, diagnosis, profile)
            if not excused(diagnosis, target):
                return

    def _diagnose(self, violation: Violation, profile: Faults, target: Target) -> Diagnosis:
        """Explaining is the dear part, and most violations of a campaign are old acquaintances."""
        shape = (
            profile,
            target.capabilities.names_question,
            *((label(c), c.token, seen) for c, seen in violation.sights),
        )
        if shape not in self._explained:
            self._explained[shape] = diagnose(self.executor.reference, violation, profile, target)
        return replace(self._explained[shape], violation=violation)

    def _known(self, diagnosis: Diagnosis, target: Target) -> Finding | None:
        """The finding that a violation belongs to: one that covers it, or one of several whose sum explains it."""
        excuse = excused(diagnosis, target)
        for finding in self.findings:
            if (finding.verdict == "documented") == excuse and finding.covers(diagnosis):
                return finding
        singles = {f.explained_by[0][0]: f for f in self.findings if len(f.explained_by) == 1 == len(f.explained_by[0])}
        for names in diagnosis.explanation:
            if len(names) > 1 and set(names) <= set(singles):
                return singles[names[0]]
        if not diagnosis.explanation:
            return self._sum_of_known(diagnosis, excuse)
        return None

    def _sum_of_known(self, diagnosis: Diagnosis, excuse: bool) -> Finding | None:
        """More than two known mechanisms at once are no new finding: the nearest of them counts the trace."""
        group = [f for f in self.findings if f.explained_by and (f.verdict == "documented") == excuse]
        switches = frozenset(name for f in group for names in f.explained_by for name in names)
        if not switches or not replay(self.executor.reference, diagnosis.violation.sights, switches):
            return None
        return next((f for f in group if f.property_name == diagnosis.anomaly.property), group[0])

    def _record(self, target: Target, diagnosis: Diagnosis, profile: Faults) -> None:
        if (known := self._known(diagnosis, target)) is not None:
            known.join(diagnosis)
            return
        finding = Finding(
            target,
            dict(target.options),
            tuple(c for c, _ in diagnosis.violation.exchanges),
            diagnosis,
            diagnosis.explanation,
            self.executor.reference,
            verdict="documented" if excused(diagnosis, target) else "violated",
            profile=profile,
        )
        try:
            if self._small(finding):
                self._keep(finding)
        except KeyboardInterrupt:
            self._keep(finding)
            raise

    def _small(self, finding: Finding) -> bool:
        """Minimise and confirm; False when the minimal trace turns out to belong to another finding."""
        executor = self.executor.on(finding.reference)
        again = executor.execute(finding.target, finding.commands, profile=finding.profile)
        if again.violation is None:
            finding.flaky = "did not show again in process"
            return True
        small = Minimiser(self.executor, finding)
        small.run(frozenset(self.pinned))
        finding.commands, finding.target, finding.diagnosis = small.commands, small.target, small.diagnosis
        finding.options, finding.profile = dict(small.target.options), small.profile
        finding.explained_by, finding.reference = small.diagnosis.explanation, small.executor.reference
        if (known := self._known(finding.diagnosis, finding.target)) is not None:
            known.join(finding.diagnosis)
            return False
        self._tell_apart(finding)
        if not finding.explained_by:
            # Three at once are looked for here alone: in a minimal trace they are few, and cheap to try.
            finding.composite = explain(finding.reference, finding.diagnosis.violation.sights, finding.profile, largest=3)
        if self.confirmer is not None:
            finding.confirmed = self.confirmer.confirm(finding)
        return True

    def _tell_apart(self, finding: Finding) -> None:
        """Where several mechanisms explain a recovery, die later: the longer the durable prefix, the more they differ."""
        died = [i for i, c in enumerate(finding.commands) if c.crash is not None]
        executor = self.executor.on(finding.reference)
        questions = executor.workload.questions()
        if len(finding.explained_by) < 2 or not died or not questions:
            return
        answers = [Command("resume", Token(question, n)) for n, question in enumerate(questions, 1)]
        known = executor.crash_points(finding.target)
        for point in reversed(known.get("resume", ())):
            if len(finding.explained_by) < 2:
                return
            late = (Command("start"), *answers[:-1], replace(answers[-1], crash=point), *finding.commands[died[-1] + 1 :])
            done = executor.execute(finding.target, late, profile=finding.profile, steered=True)
            if done.violation is not None:
                diagnosis = diagnose(executor.reference, done.violation, finding.profile, finding.target)
                if diagnosis.same_as(finding.diagnosis):
                    finding.explained_by = intersect([finding.explained_by, diagnosis.explanation]) or finding.explained_by

    def _keep(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.store(finding)
        self.found(finding)
        self._merge()

    def store(self, finding: Finding) -> None:
        """Write the finding's trace file; a failure is a trouble."""
        try:
            finding.trace = self.save(finding)
        except OSError as error:
            self.troubles.append(f"the trace of {finding.id} was not saved: {error.strerror or error}")

    def _merge(self) -> None:
        """Findings whose sum of known single mechanisms explains them are those mechanisms, found early."""
        composite = [f for f in self.findings if f.explained_by and all(len(names) > 1 for names in f.explained_by)]
        for finding in composite:
            rest = [f for f in self.findings if f is not finding]
            singles = {f.explained_by[0][0]: f for f in rest if len(f.explained_by) == 1 == len(f.explained_by[0])}
            for names in finding.explained_by:
                if set(names) <= set(singles):
                    self.findings = rest
                    singles[names[0]].seen += finding.seen
                    break
