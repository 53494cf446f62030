"""What the monitor says of a swept run: the first violation, and what a restart was."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzresume.campaign.findings import diagnose, excused
from fuzzresume.campaign.sweep.result import Broken
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.life import Faults
from fuzzresume.contract.monitor import Exchange, Monitor, Sight, Violation, World, advance, replay, sights
from fuzzresume.contract.reference import Reference
from fuzzresume.harness.run import profile_of
from fuzzresume.harness.target import Target


class Verdicts:
    """Judges the runs of one target; each violation is explained once."""

    def __init__(self, reference: Reference, target: Target) -> None:
        self._reference, self._target = reference, target
        self._profile = profile_of(target.capabilities)
        self._broken: dict[tuple[Sight, ...], Broken] = {}

    def watch(self, exchanges: Sequence[Exchange]) -> tuple[Monitor, Broken | None]:
        """The monitor after these exchanges, and the first violation among them."""
        monitor = Monitor(self._reference, self._profile)
        for command, observation in exchanges:
            if (violation := monitor.observe(command, observation)) is not None:
                return monitor, self._named(violation)
        return monitor, None

    def restarted(self, before: Sequence[Exchange], onward: Sequence[Exchange]) -> tuple[str, Broken | None]:
        """What a restart after `before`, the first of `onward`, was in words, by the worlds that are left, and what it
        violated."""
        monitor, broken = self.watch((*before, *onward))
        if broken is not None:
            told = len(monitor.exchanges) <= len(before)
            return "not judged: the contract was broken before" if told else f"breaks RR-{broken.property_name}", broken
        readings = self._readings(before, onward, self._profile if monitor.deviated else NONE)
        if len(readings) == 1:
            return next(iter(readings)), None
        reply = onward[0][1]
        if reply.outcome.kind == "refused":
            return "refused", None
        if before[-1][1].after.done == ():
            return "runs from the start, for nothing was durable", None
        return "continues" if reply.entries else "inert", None

    def _readings(self, before: Sequence[Exchange], onward: Sequence[Exchange], faults: Faults) -> set[str]:
        """The legal things, one of which the restart was in each world that what came after it leaves."""
        (command, seen), *rest = sights(onward)
        ways: dict[str, list[World]] = {}
        for world, way in advance(self._reference, replay(self._reference, sights(before), faults), command, seen, faults):
            if way.note is not None:
                ways.setdefault(way.note.value, []).append(world)
        return {value for value, worlds in ways.items() if replay(self._reference, rest, faults, tuple(worlds))}

    def _named(self, violation: Violation) -> Broken:
        if violation.sights not in self._broken:
            found = diagnose(self._reference, violation, self._profile, self._target)
            self._broken[violation.sights] = Broken(
                found.anomaly.property, found.anomaly.cls, found.explanation, excused(found, self._target)
            )
        return self._broken[violation.sights]
