"""Replaying a trace file: does it still show what it says?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fuzzresume.campaign.execute import Executed, Executor
from fuzzresume.campaign.findings import Diagnosis, diagnose
from fuzzresume.contract.explain import intersect
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.monitor import Exchange, sights
from fuzzresume.contract.trace import Found, Trace
from fuzzresume.contract.words import say_violation
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.sessions import Mode
from fuzzresume.harness.target import Target, TargetError, recorded_target

Outcome = Literal["reproduces", "no longer reproduces", "cannot run"]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it, and why, in one line; `trace` is the trace as it was seen this time."""

    outcome: Outcome
    why: str
    trace: Trace

    @property
    def words(self) -> str:
        """`outcome: why`."""
        return f"{self.outcome}: {self.why}" if self.why else self.outcome


def replay_trace(executor: Executor, trace: Trace, *, exact: bool = False) -> Replayed:
    """Send the trace's commands to the installed target, in real processes where its store is a file.

    `exact`: to the versions that the trace recorded, in an environment of their own where others are installed.
    """
    try:
        target = recorded_target(trace.target, trace.packages, trace.options, exact=exact)
    except TargetError as error:
        return Replayed("cannot run", str(error), trace)
    mode: Mode = "forked" if target.capabilities.durable else "in-process"
    profile = NONE if trace.found is None else frozenset(trace.found.beyond)
    try:
        done = executor.execute(target, trace.commands, mode, profile=profile)
    except Unsupported as reason:
        return Replayed("cannot run", str(reason), trace)
    now = _as_seen(trace, done, target)
    moved = moved_versions(trace.packages, target.packages)
    versions = f" ({moved})" if moved else ""
    if done.violation is None:
        if why := done.stopped or death_missed(trace, done.exchanges):
            return Replayed("cannot run", why + versions, trace)
        return Replayed("no longer reproduces", f"the contract admits all {done.sent} commands{versions}", now)
    found = diagnose(executor.reference, done.violation, profile, target)
    if trace.found is not None and not same_finding(found, trace.found):
        other = replace(now, found=_found(found, trace.found))
        return Replayed("no longer reproduces", f"it now violates {found.anomaly.property} in another way{versions}", other)
    same = replace(now, found=trace.found or _found(found))
    return Replayed("reproduces", f"RR-{found.anomaly.property} {say_violation(done.violation)[1]}{versions}", same)


def death_missed(trace: Trace, exchanges: Sequence[Exchange]) -> str:
    """Which planted death did not happen although it did when the trace was recorded, in words; "" for none.

    A run without it says nothing of what comes after it.
    """
    died = [seen.expect.kind == "crashed" for seen in trace.seen] or [True] * len(trace.commands)
    for number, ((command, observation), then) in enumerate(zip(exchanges, died, strict=False), 1):
        if command.crash is not None and then and observation.outcome.kind not in ("crashed", "failed"):
            return f"command {number} never came to {command.crash.hook}, passing {command.crash.nth}, where it is to die"
    return ""


def moved_versions(recorded: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Which packages have another version now than was recorded, in words; "" for none."""
    return ", ".join(f"{name} {v} instead of {recorded[name]}" for name, v in now.items() if recorded.get(name, v) != v)


def _as_seen(trace: Trace, done: Executed, target: Target) -> Trace:
    """The trace as it was seen this time, with the versions it was seen on, before anything was found in it."""
    seen = sights(done.exchanges)
    commands, packages = tuple(command for command, _ in seen), dict(target.packages)
    return replace(trace, commands=commands, packages=packages, found=None, seen=tuple(shown for _, shown in seen))


def _found(seen: Diagnosis, before: Found | None = None) -> Found:
    """What a replay found, under the name that the trace had."""
    expected, observed = say_violation(seen.violation)
    explained, beyond = [list(names) for names in seen.explanation], before.beyond if before else []
    name = before.id if before else "replayed"
    return Found(name, seen.anomaly.property, seen.anomaly.cls, expected, observed, explained, beyond=beyond)


def same_finding(seen: Diagnosis, recorded: Found) -> bool:
    """Whether what the replay shows is what the file says: by a shared explanation, else by property and class."""
    if seen.explanation and recorded.explained_by:
        return bool(intersect([seen.explanation, tuple(tuple(names) for names in recorded.explained_by)]))
    return (seen.anomaly.property, seen.anomaly.cls) == (recorded.property, recorded.cls)
