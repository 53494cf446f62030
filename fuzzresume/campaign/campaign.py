"""A campaign against one target: tour, then random machines, until the budget ends (docs/DESIGN.md, *Searching*)."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzzresume.campaign.collector import Collector
from fuzzresume.campaign.confirm import Confirmer
from fuzzresume.campaign.events import (
    Event,
    FindingFound,
    Handler,
    Progress,
    RunFinished,
    TargetFinished,
    TargetReport,
    TargetStarted,
)
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, options_text
from fuzzresume.campaign.graph import Graph, Pair, node_of
from fuzzresume.campaign.points import CrashPoints
from fuzzresume.campaign.random_phase import random_phase
from fuzzresume.campaign.second_opinion import SecondOpinion
from fuzzresume.campaign.tour import STEPS, Tour
from fuzzresume.campaign.verdicts import Tally, verdicts
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.menu import Abstract, Label, Scope, abstract, label
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.run import Run, scope_of
from fuzzresume.harness.target import BadOption, Target

SHARE = 10
"""Runs of a variant's tour between two batches of random runs."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When a target's campaign ends: seconds or runs, whichever comes first; at least one run is always made."""

    seconds: float | None = None
    runs: int | None = None


@dataclass
class Campaign:
    """One target under one seed. `pinned` options keep their values, the rest is drawn for each run."""

    target: Target
    pinned: Mapping[str, str]
    executor: Executor
    seed: int
    budget: Budget
    handlers: list[Handler] = field(default_factory=list)
    confirmer: Confirmer | None = None
    save: Callable[[Finding], Path | None] = lambda finding: None
    second_opinion: SecondOpinion | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.rng = random.Random(f"{self.seed}/{self.target.adapter.name}")
        self.reference: Reference = self.executor.reference
        self.scope: Scope = scope_of(self.target.capabilities)
        self.graph = Graph(self.reference, self.scope)
        self.points = CrashPoints()
        self.tally = Tally()
        self.collector = Collector(self.executor, self.pinned, self.confirmer, self.save, self._found)
        self.troubles = self.collector.troubles
        self.policy: dict[str, set[str]] = {}
        self.reached: set[Pair] = set()
        self.states: set[Abstract] = set()
        self.runs = self.commands = 0
        self.phase = "tour"
        self._began = self.clock()
        self._counted_for: tuple[object, ...] | None = None
        self._counted: tuple[set[Abstract], set[Pair]] = (set(), set())

    # What phases call.

    def open(self, target: Target, *, crashes: int = 1, specials: int = 1) -> Run:
        """Begin a run within the given bounds."""
        self.runs += 1
        can = target.capabilities
        if not can.deterministic and self.target.capabilities.deterministic:
            # A death in the middle of real threads shows another state every time: only on request.
            crashes = 0
        if self.executor.search_mode(target) == "in-process" and not can.in_process:
            crashes = 0
        scope = scope_of(can, crashes=crashes, specials=specials)
        run = self.executor.open(target, scope=scope)
        self.states.add(abstract(run.state))
        return run

    def send(self, run: Run, chosen: Label, crash: CrashPoint | None, kind: str | None) -> bool:
        """Send one command of a run; False when nothing was sent, because the API cannot express it."""
        before = run.state
        sent = run.fill(chosen, crash, kind)
        if sent is None:
            return False
        try:
            observation = run.send(sent)
        except Unsupported as reason:
            run.unsupported[chosen] = str(reason)
            return False
        except Exception as error:
            # One broken run must not cost the campaign what it knows; it is reported, and the exit code says undetermined.
            self.troubles.append(f"harness error in run {self.runs} at {chosen.text}: {type(error).__name__}: {error}")
            run.hung = True
            return False
        self._count(run, before, sent, observation)
        return True

    def close(self, run: Run) -> None:
        """End a run: count it, look into its violation, tell the handlers."""
        self.executor.close(run)
        self.tally.run(run.monitor.exchanges)
        for choice, values in run.monitor.notes.items():
            self.policy.setdefault(choice, set()).update(values)
        for choice, value in run.monitor.policy.items():
            self.policy.setdefault(choice, set()).add(value)
        if run.hung and run.monitor.exchanges and run.monitor.exchanges[-1][1].outcome.kind == "hung":
            self.troubles.append(f"run {self.runs} hung at {run.monitor.exchanges[-1][0].op}")
        elif run.violation is not None or run.monitor.deviated:
            try:
                self.collector.take(run.session.target, run.monitor.exchanges)
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
        """The campaign's time is over."""
        return self.budget.seconds is not None and self.clock() - self._began >= self.budget.seconds

    def run(self) -> TargetReport:
        """The whole campaign. A KeyboardInterrupt ends it early with everything found so far."""
        self._tell(TargetStarted(self.target, self.seed))
        interrupted = False
        try:
            self._explore()
            self._ask()
        except KeyboardInterrupt:
            interrupted = True
        report = self.report(interrupted)
        self._tell(TargetFinished(report))
        return report

    def progress(self) -> Progress:
        """Where the campaign stands."""
        states, pairs = self._reachable()
        return Progress(
            self.phase,
            self.runs,
            self.commands,
            (len(self.states & states), len(states)),
            (len(self.reached & pairs), len(pairs)),
            len(self.collector.findings),
            self.clock() - self._began,
        )

    def report(self, interrupted: bool = False) -> TargetReport:
        """What the campaign says about the target."""
        found = sorted(self.collector.findings, key=lambda f: (f.verdict, f.id))
        said = {choice: " | ".join(sorted(values)) for choice, values in sorted(self.policy.items())}
        can = self.target.capabilities
        return TargetReport(
            self.target, verdicts(self.tally, can, found), said, found, self.progress(), self.troubles, interrupted
        )

    # The phases.

    def _explore(self) -> None:
        """The tour of the default options; then, in turn, random runs and tours under each other option value."""
        tour = Tour(self.graph, self.rng)
        while not self.spent and self._tour_run(tour, self.target):
            pass
        tours = [(target, Tour(self.graph, self.rng)) for target in self._variants()]
        while not self.spent:
            self.phase = "random"
            random_phase(self)
            self.phase = "tour"
            if tours:
                target, tour = tours.pop(0)
                if all(not self.spent and self._tour_run(tour, target) for _ in range(SHARE)):
                    tours.append((target, tour))

    def _variants(self) -> list[Target]:
        """The target with one option at a time away from its default."""
        found = []
        for option, values in self.target.adapter.options.items():
            for value in values if option not in self.pinned else ():
                if value != self.target.options[option]:
                    with contextlib.suppress(BadOption):
                        found.append(Target(self.target.adapter, {**self.target.options, option: value}))
        return found

    def _tour_run(self, tour: Tour, target: Target) -> bool:
        """One run of a tour; False when the tour is over."""
        run = self.open(target)
        tour.begin()
        planned = False
        try:
            for _ in range(STEPS):
                if run.over or self.late:
                    break
                node = node_of(run.state, run.spent)
                step = tour.next(node, run.offer())
                if step is None:
                    break
                planned = True
                chosen, hope = step
                crash = self._crash(run, chosen, hope.state if hope else None)
                kind = self.rng.choice(run.scope.tamper) if chosen.op == "tamper" else None
                if (chosen.crash and crash is None) or not self.send(run, chosen, crash, kind):
                    run.unsupported.setdefault(chosen, "no crash point is known here")
                    tour.went(node, chosen, None)
                else:
                    tour.went(node, chosen, None if run.violation else node_of(run.state, run.spent))
        finally:
            self.close(run)
        return planned

    def _crash(self, run: Run, chosen: Label, wanted: Abstract | None) -> CrashPoint | None:
        if not chosen.crash:
            return None
        target = run.session.target
        options = options_text(target.options)
        if not self.points.taught(options):
            try:
                known = dict(self.executor.crash_points(target))
            except Exception as error:
                self.troubles.append(f"no crash points for {options}: {type(error).__name__}: {error}")
                known = {}
            self.points.teach(options, known)
        return self.points.choose(options, abstract(run.state), chosen, self.rng, wanted)

    def _ask(self) -> None:
        """TLC's opinion of the findings, also in their trace files."""
        findings = self.collector.findings
        if self.second_opinion is not None and findings:
            self.troubles += self.second_opinion.give(findings)
            for finding in findings:
                self.collector.store(finding)

    # Bookkeeping.

    def _count(self, run: Run, before: State, sent: Command, observation: Observation) -> None:
        self.commands += 1
        options = options_text(run.session.target.options)
        chosen, state = label(sent), abstract(before)
        self.reached.add((state, chosen))
        self.points.passed(options, state, chosen, observation.hooks)
        self.tally.command(before, sent, observation)
        if run.violation is None and run.monitor.worlds:
            after = abstract(run.state)
            self.states.add(after)
            if sent.crash is not None:
                self.points.came_to(options, state, chosen, sent.crash, after)

    def _reachable(self) -> tuple[set[Abstract], set[Pair]]:
        key = tuple((choice, tuple(sorted(values))) for choice, values in sorted(self.policy.items()))
        if key != self._counted_for:
            self._counted_for, self._counted = key, self.graph.reachable(self.policy)
        return self._counted

    def _found(self, finding: Finding) -> None:
        self._tell(FindingFound(finding, self.progress()))

    def _tell(self, event: Event) -> None:
        for handler in list(self.handlers):
            try:
                handler.handle(event)
            except (OSError, ValueError) as error:  # a closed pipe, a full disk, a terminal that cannot show a letter
                self.handlers.remove(handler)
                self.troubles.append(f"{type(handler).__name__} gave up: {error}")
