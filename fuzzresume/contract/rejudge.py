"""A trace judged again by what it recorded, without its target."""

from __future__ import annotations

from collections.abc import Callable

from fuzzresume.contract.faults import NONE
from fuzzresume.contract.monitor import Seen, Sight, replay
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import Trace


def whole(seen: Seen) -> Seen:
    """All that was seen."""
    return seen


def recorded_sights(trace: Trace, part: Callable[[Seen], Seen] = whole) -> tuple[Sight, ...]:
    """The commands of a trace, each with the part of what was seen that counts. Raises ValueError where none is recorded."""
    return tuple((command, part(seen)) for command, seen in zip(trace.commands, trace.seen, strict=True))


def violates(trace: Trace, part: Callable[[Seen], Seen] = whole) -> bool:
    """Whether the record of a trace is a violation, beyond what its finding says it looked past.

    It is one where no world explains the whole. `part`: what of an observation counts. Raises ValueError where nothing is
    recorded.
    """
    beyond = NONE if trace.found is None else frozenset(trace.found.beyond)
    return not replay(Reference(trace.workload), recorded_sights(trace, part), beyond)
