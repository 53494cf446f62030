"""From violations to findings: explain, recognise, minimise, confirm, keep (docs/DESIGN.md, *Findings*).

A run is judged against the contract itself, then beyond what the target's documentation excuses, then beyond what is known
of it, so that neither hides what comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fuzzresume.campaign.confirm import Confirmer
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Diagnosis, Finding, diagnose, excused
from fuzzresume.campaign.minimise import Minimiser
from fuzzresume.campaign.steady import steady
from fuzzresume.campaign.telling import tell_apart
from fuzzresume.campaign.undelayed import undelayed
from fuzzresume.contract.explain import explain
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.life import Faults
from fuzzresume.contract.menu import label
from fuzzresume.contract.monitor import Exchange, Violation, explainable, judge
from fuzzresume.contract.reference import Reference
from fuzzresume.harness.run import profile_of
from fuzzresume.harness.target import Target

Shape = tuple[object, ...]


@dataclass
class Collector:
    """A campaign's findings. `save` stores a finding's trace and may raise OSError, which becomes a trouble.

    `minimise`: shrink what is found, until `late` says that the time is over. `known` are findings that are looked past;
    `names` the ids of those that are known, whether or not their own traces could be run.
    """

    executor: Executor
    pinned: Mapping[str, str]
    confirmer: Confirmer | None = None
    save: Callable[[Finding], Path | None] = lambda finding: None
    found: Callable[[Finding], None] = lambda finding: None
    minimise: bool = True
    late: Callable[[], bool] = lambda: False
    names: Collection[str] = ()
    findings: list[Finding] = field(default_factory=list)
    known: list[Finding] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    _explained: dict[Shape, Diagnosis] = field(default_factory=dict)

    @property
    def switches(self) -> Faults:
        """The mechanisms of the known findings that one switch alone explains: runs go on past them."""
        return frozenset(f.explained_by[0][0] for f in self.known if len(f.explained_by) == 1 == len(f.explained_by[0]))

    def look_past(self, finding: Finding, name: str) -> None:
        """A known finding that still shows: what belongs to it is counted on it, and not reported again."""
        finding.known = name or finding.id
        self.known.append(finding)

    def take(self, target: Target, exchanges: Sequence[Exchange], reference: Reference | None = None) -> None:
        """Record what a run that deviated breaks. `reference`: that of its workload, where it is not the campaign's."""
        reference = reference or self.executor.reference
        documented = profile_of(target.capabilities)
        for profile in dict.fromkeys((NONE, documented, documented | self.switches)):
            violation = judge(reference, exchanges, profile)
            if violation is None:
                return
            diagnosis = self._diagnose(reference, violation, profile, target)
            finding = self._record(target, diagnosis, profile, reference)
            if not (excused(diagnosis, target) or (finding is not None and finding.known)):
                return

    def _diagnose(self, reference: Reference, violation: Violation, profile: Faults, target: Target) -> Diagnosis:
        """Explaining is the dear part, and most violations of a campaign are old acquaintances: pairs are tried only where
        neither one switch nor those of the findings so far, all together, explain the trace."""
        shape = (
            reference.workload,
            profile,
            target.capabilities.names_question,
            *((label(c), c.token, seen) for c, seen in violation.sights),
        )
        if shape not in self._explained:
            alone = diagnose(reference, violation, profile, target, largest=1)
            if not alone.explanation and self._sum_of_known(alone, excused(alone, target), reference) is None:
                alone = diagnose(reference, violation, profile, target)
            self._explained[shape] = alone
        return replace(self._explained[shape], violation=violation)

    def _known(self, diagnosis: Diagnosis, target: Target, reference: Reference) -> Finding | None:
        """The finding that a violation belongs to: one that covers it, or one of several whose sum explains it."""
        excuse = excused(diagnosis, target)
        everything = [*self.findings, *self.known]
        for finding in everything:
            if (finding.verdict == "documented") == excuse and finding.covers(diagnosis):
                return finding
        singles = {f.explained_by[0][0]: f for f in everything if len(f.explained_by) == 1 == len(f.explained_by[0])}
        for names in diagnosis.explanation:
            if len(names) > 1 and set(names) <= set(singles):
                return singles[names[0]]
        if not diagnosis.explanation:
            return self._sum_of_known(diagnosis, excuse, reference)
        return None

    def _sum_of_known(self, diagnosis: Diagnosis, excuse: bool, reference: Reference) -> Finding | None:
        """More than two known mechanisms at once are no new finding: the nearest of them counts the trace."""
        everything = (*self.findings, *self.known)
        group = [f for f in everything if len(f.explained_by) == 1 and (f.verdict == "documented") == excuse]
        switches = frozenset(name for f in group for names in f.explained_by for name in names)
        if not switches or not explainable(reference, diagnosis.violation.sights, switches):
            return None
        return next((f for f in group if f.property_name == diagnosis.anomaly.property), group[0])

    def _record(self, target: Target, diagnosis: Diagnosis, profile: Faults, reference: Reference) -> Finding | None:
        """The finding that the violation belongs to, a new one where there is none."""
        if (known := self._known(diagnosis, target, reference)) is not None:
            known.join(diagnosis)
            return known
        finding = Finding(
            target,
            dict(target.options),
            tuple(c for c, _ in diagnosis.violation.exchanges),
            diagnosis,
            diagnosis.explanation,
            reference,
            verdict="documented" if excused(diagnosis, target) else "violated",
            profile=profile,
        )
        try:
            known = self._small(finding)
        except KeyboardInterrupt:
            self._keep(finding)
            raise
        if known is not None:
            return known
        if finding.id in self.names and not finding.flaky:
            self.look_past(finding, finding.id)
        else:
            self._keep(finding)
        return finding

    def _small(self, finding: Finding) -> Finding | None:
        """Run it again, minimise, confirm. Returns the other finding that the minimal trace belongs to, if there is one."""
        finding.flaky = steady(self.executor.on(finding.reference), finding)
        if finding.flaky:
            return None
        if self.minimise:
            small = Minimiser(self.executor, finding, self.late)
            small.run(frozenset(self.pinned))
            small.put_into(finding)
            if (known := self._known(finding.diagnosis, finding.target, finding.reference)) is not None:
                known.join(finding.diagnosis)
                return known
            tell_apart(self.executor.on(finding.reference), finding, self.late)
            if not finding.explained_by and not self.late():
                # Three at once are looked for here alone: in a minimal trace they are few, and cheap to try.
                sights = finding.diagnosis.violation.sights
                finding.composite = explain(finding.reference, sights, finding.profile, largest=3)
        finding.undelayed = undelayed(self.executor.on(finding.reference), finding)
        if self.confirmer is not None:
            finding.confirmed = self.confirmer.confirm(finding)
        return None

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
