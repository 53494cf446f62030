"""Why a trace is not legal: the smallest sets of fault switches that admit it (docs/CONTRACT.md, *faults*).

Searched lazily, only for a trace that failed: singles, then pairs. All sets of the smallest size are returned: an
explanation says "consistent with", never "caused by".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from fuzzresume.contract.faults import NONE, SEQUENTIAL
from fuzzresume.contract.life import Faults
from fuzzresume.contract.monitor import Sight, replay
from fuzzresume.contract.reference import Reference

Explanation = tuple[tuple[str, ...], ...]


def explain(reference: Reference, trace: Sequence[Sight], profile: Faults = NONE, *, largest: int = 2) -> Explanation:
    """Every smallest set of switches, beyond the profile, that admits the trace; empty means unexplained."""
    candidates = [name for name in SEQUENTIAL if name not in profile]
    for size in range(1, largest + 1):
        found = tuple(
            names for names in combinations(candidates, size) if replay(reference, trace, profile | frozenset(names))
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
