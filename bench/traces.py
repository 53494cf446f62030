"""Recorded runs for the benchmarks of the judge: what in-tree engines showed, and traces that violate the contract."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from fuzzresume.contract.commands import CrashPoint, Op
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.life import Faults
from fuzzresume.contract.monitor import Exchange, Sight, judge
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import load
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.catalogue import catalogue
from fuzzresume.harness.run import Run, Unsupported, scope_of
from fuzzresume.harness.sessions import open_session
from fuzzresume.harness.target import Target, load_adapter

WORKLOAD = Workload.linear()
SHRINKS = Path(__file__).parents[1] / "shrinks"
LENGTH = 10
"""Commands a run at most."""

RUNS = 25
"""Random runs in which a mutant may show a violation."""

Exchanges = tuple[Exchange, ...]


class Violating(NamedTuple):
    """A trace that the contract does not admit, beyond the deviations of `profile`."""

    workload: Workload
    trace: tuple[Sight, ...]
    profile: Faults


def recorded(adapter: str, place: Path, **options: str) -> Iterator[Exchanges]:
    """Random runs of an in-tree engine without end, each until its first violation; the same ones every time."""
    rng = random.Random(1)
    subject = Target(load_adapter(adapter), options)
    reference = Reference(WORKLOAD)
    points = catalogue(subject, WORKLOAD, place=place)
    place = place / "-".join([adapter, *options.values()])
    while True:
        with open_session(subject, WORKLOAD, place / str(rng.getrandbits(64))) as session:
            run = Run(session, reference, scope_of(subject.capabilities, crashes=2, specials=2))
            for _ in range(LENGTH):
                if not _send_something(run, rng, points, subject.capabilities.tamper):
                    break
        yield tuple(run.monitor.exchanges)


def violating(place: Path) -> list[Violating]:
    """The gallery's traces, and for each planted fault the first violation among its random runs."""
    found = []
    for path in sorted(SHRINKS.rglob("trace.json")):
        trace = load(path)
        beyond = NONE if trace.found is None else frozenset(trace.found.beyond)
        found.append(Violating(trace.workload, tuple(zip(trace.commands, trace.seen, strict=True)), beyond))
    for fault in load_adapter("mutant").options["fault"]:
        runs = islice(recorded("mutant", place, fault=fault), RUNS)
        violation = next(filter(None, (judge(Reference(WORKLOAD), run) for run in runs)), None)
        if violation is not None:
            found.append(Violating(WORKLOAD, violation.sights, NONE))
    return found


def _send_something(
    run: Run, rng: random.Random, points: Mapping[Op, tuple[CrashPoint, ...]], damage: tuple[str, ...]
) -> bool:
    """Send one of the offered commands; False when there is none, or the API cannot express the one drawn."""
    if not (offered := run.offer()):
        return False
    label = rng.choice(offered)
    crash = rng.choice(points[label.op]) if label.crash and label.op in points else None
    command = run.fill(label, crash, rng.choice(damage) if label.op == "tamper" else None)
    try:
        if command is not None:
            run.send(command)
    except Unsupported:
        return False
    return True
