"""What was seen of a command, as a trace file holds it: enough to judge the trace again without running its target."""

from __future__ import annotations

from typing import get_args

import msgspec

from fuzzresume.contract.monitor import Seen
from fuzzresume.contract.observation import OutcomeKind
from fuzzresume.contract.state import Expect
from fuzzresume.contract.workload import Mark, Question


class Sighting(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One observation, reduced to what is compared. What is absent was not seen, or is not compared."""

    kind: str
    effects: list[Mark] = []
    pending: list[str] | None = None
    marks: list[Mark] | None = None
    reentered: list[int] | None = None
    frontier: list[int] | None = None
    twin: Sighting | None = None
    shown: list[str] = []


def write_seen(seen: Seen) -> Sighting:
    """A sighting of what was seen."""
    expect = seen.expect
    return Sighting(
        expect.kind,
        list(expect.effects),
        None if expect.pending is None else [question.text for question in expect.pending],
        None if expect.marks is None else list(expect.marks),
        None if expect.reentered is None else sorted(expect.reentered),
        None if expect.frontier is None else sorted(expect.frontier),
        None if expect.twin is None else write_seen(Seen(expect.twin, frozenset())),
        sorted(seen.shown),
    )


def read_seen(sighting: Sighting) -> Seen:
    """The inverse of `write_seen`. Raises ValueError, which names the field."""
    if sighting.kind not in get_args(OutcomeKind):
        raise ValueError(f"kind: {sighting.kind!r} is not one of {', '.join(get_args(OutcomeKind))}")
    try:
        pending = None if sighting.pending is None else tuple(map(Question.parse, sighting.pending))
    except ValueError as error:
        raise ValueError(f"pending: {error}") from error
    return Seen(
        Expect(
            sighting.kind,
            tuple(sighting.effects),
            pending,
            None if sighting.marks is None else tuple(sighting.marks),
            None if sighting.reentered is None else frozenset(sighting.reentered),
            None if sighting.frontier is None else frozenset(sighting.frontier),
            None if sighting.twin is None else read_seen(sighting.twin).expect,
        ),
        frozenset(sighting.shown),
    )
