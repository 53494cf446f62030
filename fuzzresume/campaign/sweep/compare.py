"""The ways to die, compared: at every crash point they have to agree (docs/DESIGN.md, *Three ways to die*)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzresume.campaign.sweep.facts import say_point
from fuzzresume.campaign.sweep.result import CrashState, Section, Swept
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.harness.sessions import MODES, Mode
from fuzzresume.harness.target import Target

CHEAPEST: tuple[Mode, ...] = ("images", "in-process", "forked")
"""The ways to die, those first that cost a sweep least."""

Place = tuple[str, str, CrashPoint]


def barred(target: Target, mode: Mode) -> str:
    """Why a target cannot be swept by one way to die, in words; "" where it can."""
    can = target.capabilities
    if mode != "in-process" and not can.durable:
        return f"a store in memory has no {mode} death"
    if mode == "images" and not can.images:
        return "a copy of the store is no faithful death of this target"
    if mode == "in-process" and not can.in_process:
        return "an exception is no faithful death of this target"
    return ""


def cheapest(target: Target) -> Mode:
    """The cheapest faithful way to sweep a target."""
    return next((mode for mode in CHEAPEST if not barred(target, mode)), MODES[-1])


def differences(sweeps: Sequence[Swept]) -> list[str]:
    """Every crash point at which a sweep differs from the first of them, a line each; empty when all agree."""
    found = []
    for other in sweeps[1:]:
        found += list(_differ(sweeps[0], other))
    return found


def compared(sweeps: Sequence[Swept]) -> int:
    """At how many crash points all of these sweeps died."""
    died = [{*_by_point(one.sections), *_by_point(one.second)} for one in sweeps]
    return len(set.intersection(*died))


def _differ(one: Swept, other: Swept) -> Iterator[str]:
    for mine, its, whole in ((one.sections, other.sections, True), (one.second, other.second, False)):
        here, there = _by_point(mine), _by_point(its)
        # Second deaths are grouped by the first, of which the ways may keep more or fewer apart.
        places = dict.fromkeys((*here, *there)) if whole else [place for place in here if place in there]
        for place in places:
            if (a := here.get(place)) is None or (b := there.get(place)) is None:
                yield f"{_said(place)}: a death {one.mode if a else other.mode} only"
            elif a.facts != b.facts:
                named = [
                    f"{name} is {getattr(a, name)} {one.mode} but {getattr(b, name)} {other.mode}"
                    for name in CrashState.COMPARED
                    if getattr(a, name) != getattr(b, name)
                ]
                yield f"{_said(place)}: {'; '.join(named)}"


def _by_point(sections: Sequence[Section]) -> dict[Place, CrashState]:
    return {
        (section.command, section.after, point): state
        for section in sections
        for state in section.states
        for point in state.points
    }


def _said(place: Place) -> str:
    command, after, point = place
    return f"{command}{f' after {after}' if after else ''}, {say_point(point)}"
