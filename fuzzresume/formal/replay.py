"""TLC as the judge of recorded traces: a whole batch in one run, explanations in a second and third.

Traces that begin alike are judged together: the batch is a forest of prefixes, and a prefix that is reachable under a
fault set is admissible under it. Only what the contract refuses is tried again, first under single switches, then under
pairs (docs/CONTRACT.md, *faults*).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from fuzzresume.contract.explain import Explanation, candidates
from fuzzresume.contract.faults import NONE, SEQUENTIAL
from fuzzresume.contract.life import Faults
from fuzzresume.contract.monitor import Sight
from fuzzresume.contract.workload import Workload
from fuzzresume.formal import encode
from fuzzresume.formal.toolchain import MEDIUM, SMALL, Toolchain
from fuzzresume.formal.values import Record, Value, wrap, write

CONFIG = "SPECIFICATION Spec\nINVARIANT Reached\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A trace to judge, beyond the deviations in `profile`. `largest` is the most switches that may explain it."""

    workload: Workload
    trace: tuple[Sight, ...]
    profile: Faults = NONE
    largest: int = 2


@dataclass(frozen=True, slots=True)
class Judgement:
    """What TLC says: the index of the first event that the reference refuses (None: the trace is admitted), and every
    smallest set of switches, beyond the profile, that admits the whole trace."""

    refused: int | None
    explained_by: Explanation = ()


@dataclass
class Forest:
    """Every prefix of the traces, once. Nodes count from 1, as sequences do in TLA+."""

    events: dict[Value, int] = field(default_factory=dict)
    children: list[dict[int, int]] = field(default_factory=list)
    roots: dict[tuple[Value, Faults, frozenset[Faults]], int] = field(default_factory=dict)

    def plant(self, case: Case, fault_sets: frozenset[Faults]) -> list[int]:
        """Add a trace, to be read under each fault set beyond its profile; its nodes, from the root to the leaf."""
        tokens = encode.Tokens()
        root = (encode.shape(case.workload), case.profile, fault_sets)
        if root not in self.roots:
            self.roots[root] = self._node()
        path = [self.roots[root]]
        for command, seen in case.trace:
            event = Record(command=encode.command(command, tokens), seen=encode.seen(seen, tokens))
            number = self.events.setdefault(event, len(self.events) + 1)
            onward = self.children[path[-1] - 1]
            if number not in onward:
                onward[number] = self._node()
            path.append(onward[number])
        return path

    def _node(self) -> int:
        self.children.append({})
        return len(self.children)

    def module(self) -> str:
        """The module Traces, as Replay.tla wants it."""
        roots = (
            write((shape, profile, beyond, node))
            for (shape, profile, fault_sets), node in self.roots.items()
            for beyond in sorted(fault_sets, key=sorted)
        )
        return "\n".join(
            (
                "---- MODULE Traces ----",
                f"Roots == {wrap(roots, '{', '}')}",
                f"Events == {wrap(map(write, self.events), '<<', '>>', per_line=1)}",
                f"Children == {wrap((write(frozenset(c.items())) for c in self.children), '<<', '>>')}",
                "====",
                "",
            )
        )


def judge(cases: Sequence[Case], toolchain: Toolchain) -> list[Judgement]:
    """Judge every case. Raises TlcError."""
    if not cases:
        return []
    reached = _reached(cases, [frozenset({NONE})] * len(cases), toolchain)
    refused = [next((i for i, hit in enumerate(hits) if NONE not in hit), None) for hits in reached]
    explained: dict[int, Explanation] = {}
    for size in range(1, max(case.largest for case in cases) + 1):
        open_ = [i for i, at in enumerate(refused) if at is not None and i not in explained and cases[i].largest >= size]
        if not open_:
            continue
        sets = [_sets(cases[i], size) for i in open_]
        for i, hits in zip(open_, _reached([cases[i] for i in open_], sets, toolchain), strict=True):
            if hits[-1]:
                explained[i] = tuple(sorted(tuple(sorted(names, key=SEQUENTIAL.index)) for names in hits[-1]))
    return [Judgement(at, explained.get(i, ())) for i, at in enumerate(refused)]


def _sets(case: Case, size: int) -> frozenset[Faults]:
    return frozenset(map(frozenset, combinations(candidates(case.trace, case.profile), size)))


def _reached(
    cases: Sequence[Case], fault_sets: Sequence[frozenset[Faults]], toolchain: Toolchain
) -> list[list[set[Faults]]]:
    """For every case and event: those of its fault sets that admit the trace up to and with that event."""
    forest = Forest()
    paths = [forest.plant(case, sets) for case, sets in zip(cases, fault_sets, strict=True)]
    flags = SMALL if max(map(len, fault_sets)) <= len(SEQUENTIAL) else MEDIUM
    result = toolchain.run("Replay", CONFIG, extra={"Traces": forest.module()}, flags=flags)
    reached: dict[int, set[Faults]] = {}
    for node, extra in result.prints:
        reached.setdefault(node, set()).add(extra)
    return [[reached.get(node, set()) for node in path[1:]] for path in paths]
