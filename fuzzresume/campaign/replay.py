"""Replaying a trace file: does it still show what it says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Diagnosis, diagnose
from fuzzresume.contract.explain import intersect
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.trace import Found, Trace
from fuzzresume.contract.words import say_violation
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.sessions import Mode
from fuzzresume.harness.target import Target, TargetError, load_adapter

Outcome = Literal["reproduces", "no longer reproduces", "cannot run"]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it, and why, in one line."""

    outcome: Outcome
    why: str

    @property
    def words(self) -> str:
        """`outcome: why`."""
        return f"{self.outcome}: {self.why}" if self.why else self.outcome


def replay_trace(executor: Executor, trace: Trace) -> Replayed:
    """Send the trace's commands to the installed target, in real processes where its store is a file."""
    try:
        target = Target(load_adapter(trace.target), trace.options)
    except TargetError as error:
        return Replayed("cannot run", str(error))
    mode: Mode = "forked" if target.capabilities.durable else "in-process"
    profile = NONE if trace.found is None else frozenset(trace.found.beyond)
    try:
        done = executor.execute(target, trace.commands, mode, profile=profile)
    except Unsupported as reason:
        return Replayed("cannot run", str(reason))
    moved = [f"{n} {v} instead of {trace.packages[n]}" for n, v in target.packages.items() if trace.packages.get(n, v) != v]
    versions = f" ({', '.join(moved)})" if moved else ""
    if done.violation is None:
        if done.stopped:
            return Replayed("cannot run", done.stopped + versions)
        return Replayed("no longer reproduces", f"the contract admits all {done.sent} commands{versions}")
    found = diagnose(executor.reference, done.violation, profile, target)
    if trace.found is not None and not _same(found, trace.found):
        return Replayed("no longer reproduces", f"it now violates {found.anomaly.property} in another way{versions}")
    return Replayed("reproduces", f"RR-{found.anomaly.property} {say_violation(done.violation)[1]}{versions}")


def _same(seen: Diagnosis, recorded: Found) -> bool:
    """Whether what the replay shows is what the file says: by a shared explanation, else by property and class."""
    if seen.explanation and recorded.explained_by:
        return bool(intersect([seen.explanation, tuple(tuple(names) for names in recorded.explained_by)]))
    return (seen.anomaly.property, seen.anomaly.cls) == (recorded.property, recorded.cls)
