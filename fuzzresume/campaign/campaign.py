"""A campaign against one target: tour, then random machines, until the budget ends (docs/DESIGN.md, *Searching*)."""

from __future__ import annotations

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
from fuzzresume.campaign.tour import STEPS, Tour
from fuzzresume.campaign.verdicts import Tally, verdicts
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.menu import Abstract, Label, Scope, abstract, label
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State
from fuzzresume.harness.catalogue import catalogue
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.run import Run, scope_of
from fuzzresume.harness.target import BadOption, Target


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
        self._reported = 0

    # What phases call.

    def draw_target(self) -> Target:
        """The options of the next run: the defaults one time in three, else drawn; pinned ones keep their values."""
        adapter = self.target.adapter
        if self.rng.random() < 1 / 3:
            return self.target
        while True:
            options = {k: self.pinned.get(k) or self.rng.choice(values) for k, values in adapter.options.items()}
            try:
                return Target(adapter, options)
            except BadOption:
                continue

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

    def send(self, run: Run, chosen: Label, crash: CrashPoint | None) -> bool:
        """Send one command of a run; False when nothing was sent, because the API cannot express it."""
        before = run.state
        sent = run.fill(chosen, crash)
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
            self.collector.take(run.session.target, run.monitor.exchanges)
        self._tell(RunFinished(self.progress()))

    @property
    def spent(self) -> bool:
        """The budget is used up."""
        if self.runs and self.budget.runs is not None and self.runs >= self.budget.runs:
            return True
        return bool(self.runs) and self.budget.seconds is not None and self.clock() - self._began >= self.budget.seconds

    def run(self) -> TargetReport:
        """The whole campaign. A KeyboardInterrupt ends it early with everything found so far."""
        self._tell(TargetStarted(self.target, self.seed))
        interrupted = False
        try:
            tour = Tour(self.graph, self.rng)
            while not self.spent and self._tour_run(tour):
                pass
            self.phase = "random"
            while not self.spent:
                random_phase(self)
        except KeyboardInterrupt:
            interrupted = True
        report = self.report(interrupted)
        self._tell(TargetFinished(report))
        return report

    def progress(self) -> Progress:
        """Where the campaign stands."""
        total = self._specialised()
        pairs = self.reached & total.pairs
        return Progress(
            self.phase,
            self.runs,
            self.commands,
            (len(self.states & total.states), len(total.states)),
            (len(pairs), len(total.pairs)),
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

    # The tour phase.

    def _tour_run(self, tour: Tour) -> bool:
        """One run of the tour; False when the tour is over."""
        target = self.draw_target()
        run = self.open(target)
        planned = False
        try:
            for _ in range(STEPS):
                if run.over or self._stopping():
                    break
                node = node_of(run.state, run.spent)
                step = tour.next(node, run.offer())
                if step is None:
                    break
                planned = True
                chosen, hope = step
                crash = self._crash(run, chosen, hope.state if hope else None)
                if (chosen.crash is not None and crash is None) or not self.send(run, chosen, crash):
                    run.unsupported.setdefault(chosen, "no crash point is known here")
                    tour.went(node, chosen, None)
                else:
                    tour.went(node, chosen, None if run.violation else node_of(run.state, run.spent))
        finally:
            tour.end()
            self.close(run)
        return planned

    def _crash(self, run: Run, chosen: Label, wanted: Abstract | None) -> CrashPoint | None:
        if chosen.crash is None:
            return None
        target = run.session.target
        options = options_text(target.options)
        if not self.points.taught(options):
            self.points.teach(options, catalogue(target, self.executor.workload, self.executor.search_mode(target)))
        return self.points.choose(options, abstract(run.state), chosen, self.rng, wanted)

    def _stopping(self) -> bool:
        return self.budget.seconds is not None and self.clock() - self._began >= self.budget.seconds

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

    def _specialised(self) -> Graph:
        key = tuple((c, tuple(sorted(v))) for c, v in sorted(self.policy.items()))
        if getattr(self, "_special_key", None) != key:
            self._special_key = key
            self._special = Graph(self.reference, self.scope, self.policy)
        return self._special

    def _found(self, finding: Finding) -> None:
        self._tell(FindingFound(finding, self.progress()))

    def _tell(self, event: Event) -> None:
        for handler in self.handlers:
            handler.handle(event)
