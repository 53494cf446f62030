"""A campaign against one target: its phases take turns until the budget ends (docs/DESIGN.md, *Searching*)."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzzresume.campaign.atlas import Atlas
from fuzzresume.campaign.collector import Collector
from fuzzresume.campaign.confirm import Confirmer
from fuzzresume.campaign.coverage import coverage
from fuzzresume.campaign.events import (
    Event,
    FindingFound,
    Handler,
    KnownChecked,
    PhaseCount,
    PhaseFinished,
    Progress,
    RunFinished,
    TargetFinished,
    TargetReport,
    TargetStarted,
)
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, options_text
from fuzzresume.campaign.graph import Graph, Pair
from fuzzresume.campaign.phases import PHASES, EnumeratePhase, Phase, RandomPhase, TourPhase
from fuzzresume.campaign.points import CrashPoints
from fuzzresume.campaign.race_phase import RacePhase
from fuzzresume.campaign.regress import Checked, Regress
from fuzzresume.campaign.second_opinion import SecondOpinion
from fuzzresume.campaign.verdicts import Tally, vacuous, verdicts
from fuzzresume.contract.commands import Command, CrashPoint, Op
from fuzzresume.contract.life import Faults
from fuzzresume.contract.menu import Abstract, Label, Scope, abstract, label
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State
from fuzzresume.contract.trace import Trace
from fuzzresume.harness.choices import Choices
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.run import Run, profile_of, scope_of
from fuzzresume.harness.sessions import Mode
from fuzzresume.harness.target import BadOption, Target

EXPLORING = 0.9
"""The part of a campaign's time after which nothing new is begun: the rest is for minimising what was found last."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When a target's campaign ends: seconds or runs, whichever comes first; at least one run is always made."""

    seconds: float | None = None
    runs: int | None = None


@dataclass
class Campaign:
    """One target under one seed. `pinned` options keep their values, the rest is drawn for each run.

    `chosen` are the phases to go through. `known` are traces of findings that the campaign looks past, `corpus` are traces
    that it tries first.
    """

    target: Target
    pinned: Mapping[str, str]
    executor: Executor
    seed: int
    budget: Budget
    handlers: list[Handler] = field(default_factory=list)
    confirmer: Confirmer | None = None
    save: Callable[[Finding], Path | None] = lambda finding: None
    second_opinion: SecondOpinion | None = None
    chosen: Collection[str] = PHASES
    known: Sequence[Trace] = ()
    corpus: Sequence[Trace] = ()
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.seed}/{self.target.adapter.name}")
        self.reference: Reference = self.executor.reference
        self._graphs: dict[Scope, tuple[Graph, Graph]] = {}
        targets = (self.target, *self._variants())
        self.atlases = [self._atlas(target) for target in targets]
        self.tours = [self._atlas(target, loose=True) for target in targets]
        self.tally = Tally()
        self.collector = Collector(
            self.executor,
            self.pinned,
            self.confirmer,
            self.save,
            self._found,
            minimise="minimise" in self.chosen,
            late=lambda: self._over(1.0),
            names={
                trace.found.id
                for trace in self.known
                if trace.found is not None and trace.target == self.target.adapter.name
            },
        )
        self.troubles = self.collector.troubles
        self.regress = Regress(self, self.known, self.corpus)
        self.enumeration = EnumeratePhase(self, self.atlases)
        self.phases: list[Phase] = [
            self.enumeration,
            TourPhase(self, self.tours, self.rng),
            RandomPhase(self),
            RacePhase(self, targets),
        ]
        names = (self.regress.name, *(phase.name for phase in self.phases))
        self.counts = {name: PhaseCount(name) for name in names}
        self.choices = Choices()
        self.choices_by: dict[str, Choices] = {}
        self.reached: set[Pair] = set()
        self.certain: set[Pair] = set()
        self.states: set[Abstract] = set()
        self.runs = self.commands = 0
        self.phase = self.regress.name
        self._began = self.clock()

    # What phases call.

    def open(
        self,
        target: Target,
        *,
        crashes: int = 1,
        specials: int = 1,
        mode: Mode | None = None,
        reference: Reference | None = None,
    ) -> Run:
        """Begin a run within the given bounds, by the given way to die (None: the cheapest faithful one).

        `reference`: that of another workload than the campaign's; what its runs reach is not counted as covered.
        """
        self.runs += 1
        self.counts[self.phase].runs += 1
        can = target.capabilities
        if not can.deterministic and self.target.capabilities.deterministic:
            # A death in the middle of real threads shows another state every time: only on request.
            crashes = 0
        if self.executor.search_mode(target) == "in-process" and not can.in_process:
            crashes = 0
        scope = scope_of(can, crashes=crashes, specials=specials)
        executor = self.executor.on(reference or self.reference)
        run = executor.open(target, mode, scope=scope, profile=self._profile(target))
        run.choices = self.choices_by.setdefault(options_text(target.options), Choices())
        if run.reference is self.reference:
            self.states.add(abstract(run.state))
        return run

    def send(self, run: Run, chosen: Label, crash: CrashPoint | None, kind: str | None) -> Observation | None:
        """Send one command of a run, with the next token; None when nothing was sent."""
        sent = run.fill(chosen, crash, kind)
        return None if sent is None else self.command(run, sent)

    def command(self, run: Run, sent: Command) -> Observation | None:
        """Send one command as it is; None when nothing was sent, because the API cannot express it."""
        before, certain, chosen = run.state, run.certain, label(sent)
        try:
            observation = run.send(sent)
        except Unsupported as reason:
            run.unsupported[chosen] = str(reason)
            return None
        except Exception as error:
            # One broken run must not cost the campaign what it knows; it is reported, and the exit code says undetermined.
            self.troubles.append(f"harness error in run {self.runs} at {chosen.text}: {type(error).__name__}: {error}")
            run.hung = True
            return None
        self._count(run, before, sent, observation, certain=certain)
        return observation

    def close(self, run: Run, *, look: bool = True) -> None:
        """End a run: count it, look into its violation, tell the handlers. Without `look`, no finding comes of it."""
        self.executor.close(run)
        self.tally.run(run.monitor.exchanges)
        for choices in (self.choices, self.choices_by[options_text(run.session.target.options)]):
            choices.learn(run.monitor)
        if run.hung and run.monitor.exchanges and run.monitor.exchanges[-1][1].outcome.kind == "hung":
            self.troubles.append(f"run {self.runs} hung at {run.monitor.exchanges[-1][0].op}")
        elif look and (run.violation is not None or run.monitor.deviated):
            try:
                self.collector.take(run.session.target, run.monitor.exchanges, run.reference)
            except OSError as error:
                self.troubles.append(f"harness error while looking into run {self.runs}: {error}")
        self._tell(RunFinished(self.progress()))

    @property
    def spent(self) -> bool:
        """The budget is used up; at least one run is always made."""
        out_of_runs = self.budget.runs is not None and self.runs >= self.budget.runs
        return bool(self.runs) and (out_of_runs or self.late)

    @property
    def late(self) -> bool:
        """The time for new runs is over."""
        return self._over(EXPLORING)

    def run(self) -> TargetReport:
        """The whole campaign. A KeyboardInterrupt ends it early with everything found so far."""
        self._tell(TargetStarted(self.target, self.seed))
        interrupted = False
        try:
            if not self.target.capabilities.absent:
                self._explore()
                self._ask()
        except KeyboardInterrupt:
            interrupted = True
        report = self.report(interrupted)
        self._tell(TargetFinished(report))
        return report

    def progress(self) -> Progress:
        """Where the campaign stands."""
        graph = self.atlases[0].graph
        return Progress(
            self.phase,
            self.runs,
            self.commands,
            (len(self.states & graph.states), len(graph.states)),
            (len(self.reached & graph.pairs), len(graph.pairs)),
            len(self.collector.findings),
            self.clock() - self._began,
        )

    def report(self, interrupted: bool = False) -> TargetReport:
        """What the campaign says about the target."""
        found = sorted(self.collector.findings, key=lambda f: (f.verdict, f.id))
        can = self.target.capabilities
        return TargetReport(
            self.target,
            verdicts(self.tally, can, [*found, *self.collector.known]),
            {choice: " | ".join(sorted(values)) for choice, values in sorted(self.choices.told.items())},
            found,
            self.progress(),
            self.troubles,
            interrupted,
            coverage(self.tours[0], self.states, self.reached, self.certain),
            depths=self.enumeration.depths if "enumerate" in self.chosen else None,
            phases=[count for count in self.counts.values() if count.name in self.chosen and count.runs],
            vacuous=vacuous(
                self.tally,
                can,
                {finding.property_name for finding in (*found, *self.collector.known)},
                races="race" in self.chosen,
            ),
            known=self.collector.known,
            checked=self.regress.checked,
        )

    # The phases.

    def _explore(self) -> None:
        """Regress, whole; then the phases that still have work, each time the one whose next slice of runs takes it least
        beyond its share."""
        if "regress" in self.chosen:
            self.regress.run()
        live = [phase for phase in self.phases if phase.name in self.chosen]
        while live and not self.spent:
            phase = min(live, key=lambda phase: (self.counts[phase.name].runs + phase.slice) / phase.share)
            self.phase = phase.name
            if not phase.step():
                live.remove(phase)
        for phase in self.phases:
            if (count := self.counts[phase.name]).runs:
                count.covered = phase.covered()
                self._tell(PhaseFinished(count))

    def _variants(self) -> list[Target]:
        """The target with one option at a time away from its default."""
        found = []
        for option, values in self.target.adapter.options.items():
            for value in values if option not in self.pinned else ():
                if value != self.target.options[option]:
                    with contextlib.suppress(BadOption):
                        found.append(Target(self.target.adapter, {**self.target.options, option: value}))
        return found

    def _atlas(self, target: Target, *, loose: bool = False) -> Atlas:
        points = CrashPoints(lambda: self._crash_points(target), monotone=target.capabilities.monotone)
        return Atlas(target, lambda: self._graph(target, loose), points, self.rng, loose=loose)

    def _graph(self, target: Target, loose: bool) -> Graph:
        scope = scope_of(target.capabilities)
        if scope not in self._graphs:
            strict = Graph.of(self.reference, scope)
            self._graphs[scope] = (strict, strict.loose())
        return self._graphs[scope][loose]

    def _crash_points(self, target: Target) -> Mapping[Op, tuple[CrashPoint, ...]]:
        try:
            return self.executor.crash_points(target)
        except Exception as error:
            self.troubles.append(f"no crash points for {options_text(target.options)}: {type(error).__name__}: {error}")
            return {}

    def _ask(self) -> None:
        """TLC's opinion of the findings, also in their trace files."""
        findings = self.collector.findings
        if self.second_opinion is not None and findings:
            self.troubles += self.second_opinion.give(findings)
            for finding in findings:
                self.collector.store(finding)

    # Bookkeeping.

    def _profile(self, target: Target) -> Faults:
        return profile_of(target.capabilities) | self.collector.switches

    def _over(self, part: float) -> bool:
        return self.budget.seconds is not None and self.clock() - self._began >= self.budget.seconds * part

    def _count(self, run: Run, before: State, sent: Command, observation: Observation, *, certain: bool) -> None:
        self.commands += 1
        count = self.counts[self.phase]
        count.commands += 1
        self.tally.command(before, sent, observation)
        if run.reference is not self.reference:
            return
        pair = (abstract(before), label(sent))
        count.pairs += pair not in self.reached
        self.reached.add(pair)
        if certain:
            self.certain.add(pair)
        if run.violation is None and run.monitor.worlds:
            self.states.add(abstract(run.state))

    def checked(self, checked: Checked) -> None:
        """Tell what came of a known or a corpus trace."""
        self._tell(KnownChecked(checked))

    def _found(self, finding: Finding) -> None:
        self.counts[self.phase].findings += 1
        self._tell(FindingFound(finding, self.progress()))

    def _tell(self, event: Event) -> None:
        for handler in list(self.handlers):
            try:
                handler.handle(event)
            except (OSError, ValueError) as error:  # a closed pipe, a full disk, a terminal that cannot show a letter
                self.handlers.remove(handler)
                self.troubles.append(f"{type(handler).__name__} gave up: {error}")
