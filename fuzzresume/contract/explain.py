"""Why a trace is not legal: the smallest sets of fault switches that admit it (docs/CONTRACT.md, *faults*).

Searched lazily, only for a trace that failed: singles, then pairs. All sets of the smallest size are returned: an
explanation says "consistent with", never "caused by".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from fuzzresume.contract.commands import Command
from fuzzresume.contract.faults import FAULTS, NONE
from fuzzresume.contract.life import Faults
from fuzzresume.contract.monitor import FIRST, Sight, World, explainable, replay
from fuzzresume.contract.reference import Reference

Explanation = tuple[tuple[str, ...], ...]


def candidates(trace: Iterable[Sight], profile: Faults = NONE) -> tuple[str, ...]:
    """The switches, beyond the profile, that can make a difference to a trace of these commands.

    A switch that strikes only in a command which was not sent changes nothing, so no smallest set has it.
    """
    return tuple(_strikes(trace, profile))


def explain(reference: Reference, trace: Sequence[Sight], profile: Faults = NONE, *, largest: int = 2) -> Explanation:
    """Every smallest set of switches, beyond the profile, that admits the trace; empty means unexplained."""
    strikes = _strikes(trace, profile)
    before = _before(reference, trace, profile)
    for size in range(1, largest + 1):
        found = []
        for names in combinations(strikes, size):
            # Until one of them can strike the worlds are the profile's own, and where those have died nothing helps.
            first = min(strikes[name] for name in names)
            if first < len(before) and explainable(reference, trace[first:], profile | frozenset(names), before[first]):
                found.append(names)
        if found:
            return _of_racing(trace, found)
    return ()


def _of_racing(trace: Sequence[Sight], found: Sequence[tuple[str, ...]]) -> Explanation:
    """What one process can do alone is no explanation of a race where a mechanism of racing explains it: it would show
    without racers."""
    racing = [names for names in found if any(FAULTS[name].concurrent for name in names)]
    return tuple(racing if racing and trace[-1][0].op == "race" else found)


def _strikes(trace: Iterable[Sight], profile: Faults) -> dict[str, int]:
    """The candidates in their order, and the index of the first command in which each can strike."""
    sent = [_words(command) for command, _ in trace]
    found = {}
    for name, fault in FAULTS.items():
        where = fault.strikes_in
        first = next((i for i, words in enumerate(sent) if not where or words & where), None)
        if first is not None and name not in profile:
            found[name] = first
    return found


def _words(command: Command) -> set[str]:
    """What of a command `Fault.strikes_in` speaks about."""
    ops = {command.op, *(racer.op for racer in command.racers)}
    return {*ops, *(["crash"] if command.crash else []), *(["poison"] if command.poison is not None else [])}


def _before(reference: Reference, trace: Sequence[Sight], profile: Faults) -> list[tuple[World, ...]]:
    """The worlds before each command under the profile alone, as long as there are any."""
    before: list[tuple[World, ...]] = [FIRST]
    for sight in trace:
        if not (worlds := replay(reference, [sight], profile, before[-1])):
            break
        before.append(worlds)
    return before


def intersect(explanations: Iterable[Explanation]) -> Explanation:
    """What explains a whole group of traces of one finding: the sets that explain every one of them."""
    groups = [frozenset(e) for e in explanations]
    if not groups:
        return ()
    shared = frozenset.intersection(*groups)
    return tuple(sorted(shared))
