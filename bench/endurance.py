"""(g) Endurance: thousands of crash + recover scenarios in a row on `reference`, by SIGKILL and from crash images.

A scenario runs the target until a planted kill ends a life inside start, resume, fork or recover, recovers in a fresh life
and answers what is asked until the run is complete. The kills are all those that each command passes, in an order drawn from
the seed, over and over. The monitor judges every scenario. Beside it, from ledger and frontier alone: what was lost, and
what fired twice outside the window of the one task in doubt.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path

from bench.census import SHARED, Growth, census, resident
from bench.crashes import PLAIN, RECOVER, WORKLOAD, Scenario
from bench.place import place
from bench.results import Row, Target
from fuzzresume.campaign.sweep.facts import Effects, lost
from fuzzresume.campaign.sweep.onward import Onward, recover
from fuzzresume.contract.commands import DELIVERIES, Command
from fuzzresume.contract.monitor import Exchange, judge
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Token
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.session import Session, crash_points
from fuzzresume.harness.sessions import Mode, open_session
from fuzzresume.harness.target import Target as Subject
from fuzzresume.harness.target import load_adapter, spec_of

LENGTHS: dict[Mode, int] = {"forked": 10_000, "images": 100_000}
"""Scenarios in a row."""

QUICK = 30
"""The same in a quick run."""

WAYS: dict[Mode, str] = {"forked": "SIGKILL", "images": "crash images"}

SAMPLE_EVERY = 1_000
"""Scenarios between two looks at the memory; a short series is looked at `FEWEST_SAMPLES` times all the same."""

FEWEST_SAMPLES = 10


@dataclass
class Tally:
    """What the scenarios showed. `broken` are those of which anything else but refires is told.

    `lost` are tasks without effect or mark at the end; `twice` effects that fired again outside the window, `refires` those
    inside; `stuck` scenarios that were never complete; `unharmed` those that the planted kill did not end.
    """

    scenarios: int = 0
    broken: int = 0
    violations: int = 0
    lost: int = 0
    twice: int = 0
    refires: int = 0
    stuck: int = 0
    unharmed: int = 0

    def take(self, exchanges: list[Exchange], onward: Onward, *, violated: bool) -> None:
        """Count one scenario: the commands up to the death, and what came after it."""
        effects = Effects.of([*exchanges, *onward.exchanges])
        completed, died = onward.ended == "completed", exchanges[-1][1].outcome
        gone = len(lost(WORKLOAD, effects.fired, onward.last)) if completed else 0
        twice = len(effects.again["EO-a"]) + len(effects.again["EO-c"])
        unharmed = died.kind != "crashed" or died.error != ""
        self.scenarios += 1
        self.violations += violated
        self.lost += gone
        self.twice += twice
        self.refires += len(effects.again["EO-b"])
        self.stuck += not completed
        self.unharmed += unharmed
        self.broken += violated or bool(gone or twice) or not completed or unharmed


@dataclass
class Endured:
    """What a series came to. `left` is what was held at its end and not at its start, by kind; memory is in MB, of the
    controller and, where there is one, of the zygote."""

    mode: Mode
    tally: Tally
    seconds: float = 0.0
    left: dict[str, int] = field(default_factory=dict)
    controller: list[float] = field(default_factory=list)
    zygote: list[float] = field(default_factory=list)

    def rows(self) -> list[Row]:
        """The figures: three kinds with a target, each followed by its parts."""
        tally, told = self.tally, f"crash + recover in a row, {WAYS[self.mode]}"

        def row(what: str, value: float, unit: str, target: float | None = None, *beside: str | float) -> Row:
            other = (str(beside[0]), float(beside[1])) if beside else (None, None)
            return Row("g", f"{told}: {what}", value, unit, 1, None if target is None else Target("<=", target), *other)

        rows = [row("runs broken", tally.broken, "runs", 0, "runs in all", tally.scenarios)]
        rows += [row("violations", tally.violations, "runs"), row("tasks lost", tally.lost, "tasks")]
        rows += [row("effects twice outside the window", tally.twice, "effects")]
        rows += [row("in-doubt refires (EO-b)", tally.refires, "effects")]
        rows += [row("never complete", tally.stuck, "runs"), row("kills that did not kill", tally.unharmed, "runs")]
        rows += [row("scenarios a second", tally.scenarios / self.seconds, "scenarios/s")]
        rows += [row("processes, descriptors, files, shared memory left", sum(self.left.values()), "left", 0)]
        rows += [row(f"{kind} left", count, "left") for kind, count in self.left.items()]
        for whose, samples in (("controller", self.controller), ("zygote", self.zygote)):
            if samples:
                growth, memory = Growth.of(samples), f"memory of the {whose}"
                second = ("second third of the run", growth.earlier)
                rows += [row(f"{memory}, growth in the last third", growth.grown, "MB", growth.allowed, *second)]
                shown = {"first": samples[0], "last": samples[-1], "largest": max(samples)}
                rows += [row(f"{memory}, {which}", size, "MB") for which, size in shown.items()]
        return rows


class Series:
    """Scenarios of one target in a row, by one way to die. `shared` is where shared memory left behind would appear."""

    def __init__(self, subject: Subject, mode: Mode, folder: Path, shared: Path = SHARED) -> None:
        self.subject, self.mode, self.folder, self.shared = subject, mode, folder, shared
        self.endured = Endured(mode, Tally())
        self.zygotes = Zygotes()
        self._reference = Reference(WORKLOAD)
        self._strays = 0

    def endure(self, scenarios: Sequence[Scenario], count: int) -> Endured:
        """Play that many, three at least, over and over, after one that is not counted; measure what they leave."""
        gc.freeze()  # what was there before is none of the series' collections' business
        try:
            return self._endure(scenarios, count)
        finally:
            gc.unfreeze()

    def _endure(self, scenarios: Sequence[Scenario], count: int) -> Endured:
        before = census(self.folder, shared=self.shared)
        every = min(SAMPLE_EVERY, max(count // FEWEST_SAMPLES, 1))
        with self.zygotes:
            self.play(scenarios[0])
            self.endured.tally = Tally()
            warm = census(self.folder, self._helpers(), self.shared)
            self._sample()
            started = time.perf_counter()
            for number, scenario in enumerate(islice(cycle(scenarios), count), 1):
                self.play(scenario)
                if number % every == 0:
                    self._sample()
            self.endured.seconds = time.perf_counter() - started
            helpers = self._helpers()
            held = census(self.folder, helpers, self.shared).left_since(warm)
        left = census(self.folder, helpers, self.shared).left_since(before)
        self.endured.left = {kind: max(number, left[kind]) for kind, number in held.items()}
        self.endured.left["files"] += self._strays
        return self.endured

    def play(self, scenario: Scenario) -> None:
        """One scenario, in a folder of its own that is removed afterwards."""
        with open_session(self.subject, WORKLOAD, self.folder / "run", self.mode, zygotes=self.zygotes) as session:
            exchanges = [(command, session.execute(command)) for command in scenario]
            onward = recover(session, any(command.op in DELIVERIES for command in scenario))
        assert isinstance(session, Session)  # the target needs no environment of its own
        self._remove(session)
        violation = judge(self._reference, [*exchanges, *onward.exchanges])
        self.endured.tally.take(exchanges, onward, violated=violation is not None)

    def _remove(self, session: Session) -> None:
        """Remove a run's folder, after a look for what has no owner: store, ledger and hooks are all that it needs."""
        owned = {session.store.folder, session.ledger_path, session.folder / "hooks"}
        self._strays += sum(path not in owned for path in session.folder.iterdir())
        shutil.rmtree(session.folder)

    def _helpers(self) -> list[int]:
        return [self.zygotes.get(spec_of(self.subject.adapter)).pid] if self.mode == "forked" else []

    def _sample(self) -> None:
        # Nothing here leaves cycles, so Python never makes a full collection by itself; only that empties its free lists,
        # which else fill up for some ten thousand scenarios.
        gc.collect()
        self.endured.controller.append(resident(os.getpid()))
        self.endured.zygote += map(resident, self._helpers())


def scenarios_of(subject: Subject, folder: Path, seed: int = 1) -> list[Scenario]:
    """Every kill inside start, an answer and a fork; and after each death there, also by an exception, every kill inside the
    recovery. In an order drawn from the seed."""

    def deaths(before: Scenario, command: Command) -> list[Scenario]:
        with open_session(subject, WORKLOAD, folder / "found") as session:
            hooks = [session.execute(sent) for sent in (*before, command)][-1].hooks
        shutil.rmtree(session.folder, ignore_errors=True)
        return [(*before, replace(command, crash=point)) for point in crash_points(hooks)]

    forks = [Command("fork", Token(question, n)) for n, question in enumerate(WORKLOAD.questions(), len(PLAIN))]
    plain = [(PLAIN[:at], command) for at, command in enumerate(PLAIN)] + [(PLAIN, fork) for fork in forks]
    firsts = [death for before, command in plain for death in deaths(before, command)]
    seconds = [death for first in firsts for death in deaths(first, RECOVER)]
    found = [death for death in (*firsts, *seconds) if death[-1].crash and death[-1].crash.by == "kill"]
    random.Random(seed).shuffle(found)
    return found


def benchmark(quick: bool) -> list[Row]:
    """The rows of (g)."""
    rows: list[Row] = []
    subject = Subject(load_adapter("reference"))
    for mode, length in LENGTHS.items():
        with place() as folder:
            scenarios = scenarios_of(subject, folder)
            rows += Series(subject, mode, folder).endure(scenarios, QUICK if quick else length).rows()
    return rows
