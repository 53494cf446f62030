"""(f) One worker and two: the same work done by one process, and by two at once.

Each process has seeds and files of its own. A repetition is three rounds of the same wall time, between barriers: either
process alone, and both together; the ratio is what both finished together, over the mean of what each finished alone. Two
bare Python loops show what the machine itself gives to two processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, cycle
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, median
from typing import Any

from bench.crashes import Crashes
from bench.place import place
from bench.results import Row, Target
from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.events import Event, RunFinished
from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.faults import SEQUENTIAL
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.target import Target as Subject
from fuzzresume.harness.target import load_adapter

Work = Callable[[float], int]
"""Works until that moment and returns how much was finished by then."""

MUTANT_RUNS = 30
"""Runs of one mutant before the next one's turn."""

ROUNDS = ((0,), (1,), (0, 1))
"""Which processes work in each round of a repetition."""

WAIT = 120.0
"""Seconds after which a process that does not come to a barrier is given up."""


@dataclass
class Runs:
    """Campaigns of one process; each stops, late, when the time is over."""

    reference: Reference
    folder: Path

    def finished(self, subject: Subject, pinned: dict[str, str], seed: int, most: int | None, until: float) -> int:
        """Runs that one campaign finished in time."""
        executor = Executor(self.reference, self.folder)
        campaign = Campaign(subject, pinned, executor, seed, Budget(None, most))
        done = 0

        class Watch:
            """Counts."""

            def handle(self, event: Event) -> None:
                """A run ended, in time or not."""
                nonlocal done
                if isinstance(event, RunFinished):
                    if time.perf_counter() < until:
                        done += 1
                    else:
                        campaign.budget = Budget(None, 1)

        campaign.handlers.append(Watch())
        campaign.run()
        return done


def works(worker: int, folder: Path) -> dict[str, Work]:
    """What the process of that number does."""
    runs = Runs(Reference(Workload.linear()), folder)
    langgraph = Subject(load_adapter("langgraph"))
    mutants = {fault: Subject(load_adapter("mutant"), {"fault": fault}) for fault in SEQUENTIAL}
    crashes = Crashes({}, folder / "crashes")

    def mutant(until: float) -> int:
        done = 0
        for fault in cycle(SEQUENTIAL):
            if time.perf_counter() >= until:
                return done
            done += runs.finished(mutants[fault], {"fault": fault}, worker, MUTANT_RUNS, until)
        return done

    def crash(until: float) -> int:
        scenarios = cycle(crashes.scenarios)
        return _count(until, lambda: crashes.play(next(scenarios), "in-process"))

    return {
        "runs of a campaign on LangGraph": lambda until: runs.finished(langgraph, {}, worker, None, until),
        "crash + recover on LangGraph": crash,
        "runs of campaigns on the mutants": mutant,
        LOOP: lambda until: _count(until, lambda: sum(range(10_000))),
    }


LOOP = "bare Python loop"
UNITS = ("runs/s", "scenarios/s", "runs/s", "loops/s")


def _count(until: float, one: Callable[[], object]) -> int:
    for finished in count():
        one()
        if time.perf_counter() >= until:
            return finished
    raise AssertionError("the work is endless")


def serve(worker: int, seconds: float, repetitions: int, barrier: Any, told: Any) -> None:
    """A process: take part in the rounds, and tell what was finished in each."""
    with place() as folder:
        mine = works(worker, folder)
        for work in mine.values():
            work(time.perf_counter() + seconds / 4)
        for repetition in range(repetitions):
            for name, work in mine.items():
                for number, who in enumerate(ROUNDS):
                    barrier.wait(WAIT)
                    if worker in who:
                        told.put((repetition, name, number, work(time.perf_counter() + seconds) / seconds))
                    barrier.wait(WAIT)


def measure(seconds: float, repetitions: int) -> dict[tuple[int, str, int], list[float]]:
    """Things a second of each process that took part, by repetition, work and round. Raises RuntimeError if one broke."""
    context = get_context("spawn")
    barrier, told = context.Barrier(2), context.Queue()
    processes = [context.Process(target=serve, args=(i, seconds, repetitions, barrier, told)) for i in range(2)]
    for process in processes:
        process.start()
    found: dict[tuple[int, str, int], list[float]] = {}
    for _ in range(repetitions * len(UNITS) * sum(map(len, ROUNDS))):
        *key, rate = told.get(timeout=WAIT)
        found.setdefault(tuple(key), []).append(rate)
    for process in processes:
        process.join(WAIT)
    return found


def benchmark(quick: bool) -> list[Row]:
    """The rows of (f)."""
    seconds, repetitions = (1.0, 1) if quick else (2.5, 4)
    found = measure(seconds, repetitions)
    names = dict.fromkeys(name for _, name, _ in found)
    one = {name: [mean(found[i, name, 0] + found[i, name, 1]) for i in range(repetitions)] for name in names}
    two = {name: [sum(found[i, name, 2]) for i in range(repetitions)] for name in names}
    ratio = {name: median(b / a if a else 0 for a, b in zip(one[name], two[name], strict=True)) for name in names}
    rows = []
    for name, unit in zip(names, UNITS, strict=True):
        if name != LOOP:
            target = Target(">=", 1.8)
            both = f"{name}: two processes"
            rows.append(Row("f", f"{both} / one", ratio[name], "x", repetitions, target, LOOP, ratio[LOOP]))
            rows.append(Row("f", both, median(two[name]), unit, repetitions, None, "one", median(one[name])))
    return rows
