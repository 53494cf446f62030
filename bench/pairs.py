"""(a) Runs until every (state, command) pair is reached: the tour, beside random walks and a plain Hypothesis machine.

All stay with the default options and with the bounds of the tour's runs, in process, and learn from each run which legal
choices the target makes. The pairs are those of the reference's graph at the default bounds; one is reached for certain
where what was observed left no doubt of the state. 100 % are those that any run of any method reached for certain in this
benchmark: no engine goes every legal way, so no target shows all of the graph, and what was only ever met in doubt may have
been a wrong guess.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, inf

from bench.apart import apart
from bench.place import place
from bench.plain import PlainMachine, play
from bench.results import Row, Target, middle
from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.events import Event
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.graph import Graph, Pair
from fuzzresume.campaign.phases import CRASHES, SPECIALS, TourPhase
from fuzzresume.campaign.walks import STEPS
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.menu import Label, abstract, label
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.choices import Choices
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.run import Run, profile_of, scope_of
from fuzzresume.harness.target import Target as Subject
from fuzzresume.harness.target import load_adapter

WORKLOAD = Workload.linear()
EARLY = 200
"""The number of runs after which the shares are compared."""

TARGETS: dict[str, Target | None] = {"langgraph": Target("<=", EARLY - 1), "reference": None}


@dataclass
class Reached:
    """How many runs were made, and the run in which each pair was reached first: for certain, and at all, in doubt too."""

    runs: int = 0
    certain: dict[Pair, int] = field(default_factory=dict)
    at_all: dict[Pair, int] = field(default_factory=dict)

    def date(self, pair: Pair, *, certain: bool) -> None:
        """A pair was reached in this run."""
        self.at_all.setdefault(pair, self.runs)
        if certain:
            self.certain.setdefault(pair, self.runs)


@dataclass
class Dated:
    """Of some pairs, the run in which each was reached first."""

    pairs: frozenset[Pair]
    first: dict[Pair, int]

    def until(self, share: float) -> float:
        """Runs until that share of the pairs was reached; infinite when it never was."""
        return sorted(self.first.get(pair, inf) for pair in self.pairs)[ceil(share * len(self.pairs)) - 1]

    def share(self, runs: float = inf) -> float:
        """The percentage of the pairs that was reached by then, or at the end."""
        return 100 * sum(pair in self.first and self.first[pair] <= runs for pair in self.pairs) / len(self.pairs)

    def last(self) -> int:
        """The run that reached the last new pair."""
        return max(self.first[pair] for pair in self.pairs & self.first.keys())


def tour(adapter: str, seed: int, most: int) -> Reached:
    """The tour of the default options, until nothing new is left for it."""
    reached = Reached()
    with place() as folder:
        executor = Executor(Reference(WORKLOAD), folder)
        campaign = Campaign(Subject(load_adapter(adapter)), {}, executor, seed, Budget(None, most), chosen=("tour",))
        campaign.phases = [TourPhase(campaign, campaign.tours[:1], campaign.rng)]

        class Watch:
            """Dates the pairs that are new."""

            def handle(self, event: Event) -> None:
                """A run ended."""
                reached.runs = campaign.runs
                for pair in campaign.reached:
                    reached.date(pair, certain=pair in campaign.certain)

        campaign.handlers.append(Watch())
        campaign.run()
    return reached


def walks(adapter: str, seed: int, most: int) -> Reached:
    """Uniform random walks: each command is drawn from those offered, with its crash point and its damage."""
    rng, reached = random.Random(seed), Reached()
    choices = Choices()
    with place() as folder:
        subject = Subject(load_adapter(adapter))
        executor = Executor(Reference(WORKLOAD), folder)
        can, points = subject.capabilities, executor.crash_points(subject)
        for reached.runs in range(1, most + 1):
            scope = scope_of(can, crashes=CRASHES, specials=SPECIALS)
            run = executor.open(subject, scope=scope, profile=profile_of(can))
            run.choices = choices
            for _ in range(STEPS):
                if not (offered := run.offer()):
                    break
                chosen = rng.choice(offered)
                crash = rng.choice(points[chosen.op]) if chosen.crash and points.get(chosen.op) else None
                _send(reached, run, chosen, crash, rng.choice(can.tamper) if chosen.op == "tamper" else None)
            executor.close(run)
            choices.learn(run.monitor)
    return reached


def hypothesis(adapter_: str, seed: int, most_: int) -> Reached:
    """A plain Hypothesis machine, with as many steps a run as are its default."""
    reached = Reached()
    subject = Subject(load_adapter(adapter_))
    with place() as folder:
        choices = Choices()

        class Machine(PlainMachine):
            adapter = adapter_
            options = subject.options
            workload = WORKLOAD
            executor = Executor(Reference(WORKLOAD), folder)
            crashes, specials, most = CRASHES, SPECIALS, most_

            def begin(self, target: Subject) -> Run:
                """A run that knows what was learnt."""
                run = super().begin(target)
                run.choices = choices
                return run

            def end(self, run: Run) -> None:
                """Learn from it."""
                super().end(run)
                choices.learn(run.monitor)

            def send(self, run: Run, chosen: Label, crash: CrashPoint | None, kind: str | None) -> None:
                """Send it, and date the pair."""
                reached.runs = type(self).runs
                _send(reached, run, chosen, crash, kind)

            def report(self, violation: object) -> None:
                """A violation ends the run, and the search goes on."""

        play(Machine, seed, shrink=False)
    return reached


def _send(reached: Reached, run: Run, chosen: Label, crash: CrashPoint | None, kind: str | None) -> None:
    before, certain = abstract(run.state), run.certain
    if (sent := run.fill(chosen, crash, kind)) is None:
        return
    try:
        run.send(sent)
    except Unsupported as reason:
        run.unsupported[chosen] = str(reason)
    else:
        reached.date((before, label(sent)), certain=certain)


METHODS = {"tour": tour, "random walks": walks, "plain Hypothesis": hypothesis}


def benchmark(quick: bool) -> list[Row]:
    """The rows of (a)."""
    most = 10 if quick else 1000
    seeds = {way: 1 if quick else 5 if way == "tour" else 2 for way in METHODS}
    asked = [(way, adapter, seed) for adapter in TARGETS for way in METHODS for seed in range(seeds[way])]
    done = dict(zip(asked, apart(search, [(*one, most) for one in asked]), strict=True))
    rows: list[Row] = []
    for adapter in TARGETS:
        found = {way: [done[way, adapter, seed] for seed in range(seeds[way])] for way in METHODS}
        rows += _rows(adapter, found, most)
    return rows


def search(way: str, adapter: str, seed: int, most: int) -> Reached:
    """One method under one seed, for `most` runs at most."""
    return METHODS[way](adapter, seed, most)


def _rows(adapter: str, found: dict[str, list[Reached]], most: int) -> list[Row]:
    can = Subject(load_adapter(adapter)).capabilities
    graph = Graph.of(Reference(WORKLOAD), scope_of(can)).pairs
    ways = {
        " for certain": {way: [one.certain for one in reached] for way, reached in found.items()},
        "": {way: [one.at_all for one in reached] for way, reached in found.items()},
    }
    pairs = graph & {pair for reached in found.values() for one in reached for pair in one.certain}
    rows: list[Row] = []
    for how, firsts in ways.items():
        figures: dict[str, tuple[str, Callable[[Dated], float]]] = {
            f"runs until 100 % of {len(pairs)} pairs{how}": ("runs", lambda one: one.until(1)),
            f"runs until 99 %{how}": ("runs", lambda one: one.until(0.99)),
            f"runs until its own last new pair{how}": ("runs", lambda one: one.last()),
            f"reached{how} after {EARLY} runs": ("%", lambda one: one.share(EARLY)),
            f"reached{how} at its end": ("%", lambda one: one.share()),
        }
        dated = {way: [Dated(pairs, first) for first in reached] for way, reached in firsts.items()}
        ours = dated["tour"]
        for other in list(METHODS)[1:]:
            beside = f"{other} ({len(dated[other])} x {most:,} runs)"
            for number, (name, (unit, figure)) in enumerate(figures.items()):
                target = TARGETS[adapter] if number == 0 else None
                value, theirs = middle(map(figure, ours)), middle(map(figure, dated[other]))
                rows.append(Row("a", f"{adapter}, tour: {name}", value, unit, len(ours), target, beside, theirs))
    ends = middle(one.runs for one in found["tour"])
    return [*rows, Row("a", f"{adapter}, tour: runs until it is over", ends, "runs", len(found["tour"]))]
