"""Why a trace is not legal: the smallest sets of fault switches that admit it (docs/CONTRACT.md, *faults*).

Searched lazily, only for a trace that failed: singles, then pairs. All sets of the smallest size are returned: an
explanation says "consistent with", never "caused by".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from fuzzresume.contract.faults import FAULTS, NONE, SEQUENTIAL
from fuzzresume.contract.life import Faults
from fuzzresume.contract.monitor import Sight, replay
from fuzzresume.contract.reference import Reference

Explanation = tuple[tuple[str, ...], ...]


def candidates(trace: Iterable[Sight], profile: Faults = NONE) -> tuple[str, ...]:
    """The switches, beyond the profile, that can make a difference to a trace of these commands.

    A switch that strikes only in a command which was not sent changes nothing, so no smallest set has it.
    """
    sent = set()
    for command, _ in trace:
        sent |= {command.op, *(["crash"] if command.crash else []), *(["poison"] if command.poison is not None else [])}
    return tuple(n for n in SEQUENTIAL if n not in profile and (FAULTS[n].strikes_in or sent) & sent)


def explain(reference: Reference, trace: Sequence[Sight], profile: Faults = NONE, *, largest: int = 2) -> Explanation:
    """Every smallest set of switches, beyond the profile, that admits the trace; empty means unexplained."""
    switches = candidates(trace, profile)
    for size in range(1, largest + 1):
        found = tuple(
            names for names in combinations(switches, size) if replay(reference, trace, profile | frozenset(names))
        )
        if found:
            return found
    return ()


def intersect(explanations: Iterable[Explanation]) -> Explanation:
    """What explains a whole group of traces of one finding: the sets that explain every one of them."""
    groups = [frozenset(e) for e in explanations]
    if not groups:
        return ()
    shared = frozenset.intersection(*groups)
    return tuple(sorted(shared))
