"""The first phase: traces that are known already, each tried once (docs/DESIGN.md, *Searching*).

A known finding that still shows is looked past: its mechanism joins the profile under which runs are judged, so it neither
stops a run nor is reported again. Any other trace is a seed: what it shows is a finding like every other, and so is what a
known trace shows that is not the finding it is known for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzresume.campaign.findings import Finding, diagnose
from fuzzresume.campaign.gallery import that_could_be_drawn
from fuzzresume.campaign.replay import death_missed, same_finding
from fuzzresume.contract.explain import intersect
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import Trace
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.target import Target, TargetError

if TYPE_CHECKING:
    from fuzzresume.campaign.campaign import Campaign

SHOWS = "still shows"
GONE = "no longer shows"
"""What is said of a known finding that is fixed."""
OTHER = "shows another finding"


@dataclass(frozen=True, slots=True)
class Checked:
    """One trace that was tried: its name, and `still shows`, `no longer shows`, `shows another finding`, or why it could not
    be tried."""

    name: str
    outcome: str
    known: bool


class Regress:
    """Tries the traces of one target; those of other targets are passed over."""

    name = "regress"

    def __init__(self, campaign: Campaign, known: Sequence[Trace], corpus: Sequence[Trace]) -> None:
        self._campaign = campaign
        self._known = known
        self._corpus = corpus
        self.checked: list[Checked] = []

    def run(self) -> None:
        """Try them all, or as many as there is time for."""
        for trace, known in self._traces():
            if self._campaign.late:
                self._done(trace, "not tried: the time was over", known)
                continue
            if known and not that_could_be_drawn([trace], self._campaign.target, self._campaign.pinned):
                # What other options show is no excuse for what these do.
                self._done(trace, "not tried: its options are not among those of this campaign", known)
                continue
            try:
                target = Target(self._campaign.target.adapter, trace.options)
                outcome = self._try(target, trace, known)
            except (TargetError, Unsupported) as error:
                outcome = f"cannot run: {error}"
            self._done(trace, outcome, known)

    def _traces(self) -> Iterator[tuple[Trace, bool]]:
        for traces, known in ((self._known, True), (self._corpus, False)):
            yield from ((trace, known) for trace in traces if trace.target == self._campaign.target.adapter.name)

    def _try(self, target: Target, trace: Trace, known: bool) -> str:
        campaign = self._campaign
        executor = campaign.executor.on(Reference(trace.workload))
        profile = frozenset(trace.found.beyond if trace.found else ())
        campaign.runs += 1
        campaign.counts[self.name].runs += 1
        done = executor.execute(target, trace.commands, profile=profile)
        campaign.commands += done.sent
        campaign.counts[self.name].commands += done.sent
        if done.violation is None:
            why = done.stopped or death_missed(trace, done.exchanges)
            return f"cannot run: {why}" if why else GONE
        diagnosis = diagnose(executor.reference, done.violation, profile, target)
        same = trace.found is None or same_finding(diagnosis, trace.found)
        if not known or not same:
            campaign.collector.take(target, done.exchanges, executor.reference)
            return SHOWS if same else OTHER
        # What was told apart before stays so: the trace alone may fit mechanisms that are not known of this target.
        recorded = tuple(tuple(names) for names in trace.found.explained_by) if trace.found is not None else ()
        explained = intersect([diagnosis.explanation, recorded]) or diagnosis.explanation
        finding = Finding(target, dict(target.options), trace.commands, diagnosis, explained, executor.reference)
        campaign.collector.look_past(finding, trace.found.id if trace.found is not None else "")
        return SHOWS

    def _done(self, trace: Trace, outcome: str, known: bool) -> None:
        name = trace.found.id if trace.found is not None else "trace"
        self.checked.append(Checked(name, outcome, known))
        self._campaign.checked(self.checked[-1])
