"""(d) fuzzresume's own overhead: a campaign's commands, executed and judged, against a bare script of the same calls."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from bench.bare import BareRun
from bench.place import place
from bench.results import Row, Target
from bench.timing import alternate
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Token, Workload
from fuzzresume.harness.run import Run, scope_of
from fuzzresume.harness.sessions import open_session
from fuzzresume.harness.target import Target as Subject
from fuzzresume.harness.target import load_adapter

WORKLOAD = Workload.linear()
_Q1, _Q2 = WORKLOAD.questions()
START, RECOVER, RELOAD, INSPECT = Command("start"), Command("recover"), Command("reload"), Command("inspect")
A, B = Command("resume", Token(_Q1, 1)), Command("resume", Token(_Q2, 2))

TRACES: tuple[tuple[Command, ...], ...] = (
    (START, A, B, RECOVER, INSPECT),
    (START, A, RELOAD, B, RECOVER),
    (START, RECOVER, A, INSPECT, B),
    (START, A, Command("fork", Token(_Q1, 2))),
    (START, A, B, Command("redeliver", Token(_Q2, 2)), INSPECT),
    (START, A, Command("resume", Token(_Q2, 2), crash=CrashPoint("effect.after:3")), RECOVER, INSPECT),
)
"""What is sent, run by run. A violation ends a run, so what violates (the fork) stands last."""

CALLS = (
    (StateGraph, "compile"), (Pregel, "invoke"), (Pregel, "get_state"), (Pregel, "get_state_history"),
    (InMemorySaver, "get_tuple"), (InMemorySaver, "put"), (InMemorySaver, "put_writes"), (InMemorySaver, "list"),
)  # fmt: skip
"""The framework calls that must be the same on both sides."""


class Sides:
    """Both ways to send the same commands. Each returns what the last reply of each run showed of the state."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._subject = Subject(load_adapter("langgraph"), {"saver": "memory"})
        self._reference = Reference(WORKLOAD)

    def fuzzresume(self) -> list[list[str] | None]:
        """By session and monitor, with the run's folder made and removed as a campaign does."""
        return [self._run(trace) for trace in TRACES]

    def bare(self, *, threads: bool = False) -> list[list[str] | None]:
        """By the bare script."""
        runs = [BareRun(WORKLOAD, threads=threads) for _ in TRACES]
        for run, trace in zip(runs, TRACES, strict=True):
            run.play(trace)
        return [run.marks for run in runs]

    def _run(self, trace: tuple[Command, ...]) -> list[str] | None:
        folder = self._place / "run"
        marks = None
        with open_session(self._subject, WORKLOAD, folder) as session:
            run = Run(session, self._reference, scope_of(self._subject.capabilities))
            for command in trace:
                if run.over:
                    raise RuntimeError(f"{trace} is violated before its end")
                seen = run.send(command).outcome.marks
                if command.op != "inspect" and seen is not None:
                    marks = [mark.text for mark in seen]
        shutil.rmtree(folder, ignore_errors=True)
        return marks


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the framework calls made inside."""
    calls: Counter[str] = Counter()

    def counting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls[name] += 1
            return original(*args, **kwargs)

        return call

    originals = [(owner, name, getattr(owner, name)) for owner, name in CALLS]
    try:
        for owner, name, original in originals:
            setattr(owner, name, counting(f"{owner.__name__}.{name}", original))
        yield calls
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def check(sides: Sides) -> None:
    """Raises RuntimeError unless both sides make the same framework calls, equally often, and see the same replies."""
    with counted() as ours:
        seen = sides.fuzzresume()
    with counted() as bare:
        shown = sides.bare()
    if ours != bare or seen != shown:
        raise RuntimeError(f"the two sides differ: {ours} and {seen}, against {bare} and {shown}")


def benchmark(quick: bool) -> list[Row]:
    """The rows of (d)."""
    repetitions = 1 if quick else 75  # many short turns: what disturbs the machine for a second then meets all sides
    with place() as folder:
        sides = Sides(folder)
        check(sides)
        times = alternate(
            {"ours": sides.fuzzresume, "bare": sides.bare, "pool": lambda: sides.bare(threads=True)}, repetitions
        )
    commands = sum(map(len, TRACES))
    each = {name: 1000 * median(found) / commands for name, found in times.items()}

    def ratio(against: str) -> float:
        return median(ours / other for ours, other in zip(times["ours"], times[against], strict=True))

    bare, pool = "bare script, same calls", "bare script in LangGraph's thread pool"
    return [
        Row("d", "commands of a campaign / bare script", ratio("bare"), "x", repetitions, Target("<=", 1.15), bare, 1),
        Row("d", "wall time a command", each["ours"], "ms", repetitions, None, bare, each["bare"]),
        Row("d", "commands of a campaign / bare script, pool", ratio("pool"), "x", repetitions, None, pool, 1),
    ]
