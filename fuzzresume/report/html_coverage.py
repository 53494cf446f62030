"""What of the reference's graph a target was sent through, in a form that can be drawn: a cell a state, a bar a command.

A report counts what was reached and names what was not; the graph itself is explored once more for the rest, which takes a
fraction of a second.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.graph import Graph
from fuzzresume.contract.commands import OPS
from fuzzresume.contract.menu import Scope
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.words import say_state
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.run import scope_of

Fill = Literal["all", "some", "none"]


@dataclass(frozen=True, slots=True)
class Part:
    """A state or a command: how many of its (state, command) pairs were sent, out of how many."""

    name: str
    sent: int
    total: int

    @property
    def fill(self) -> Fill:
        """How a cell is drawn."""
        return "all" if self.sent == self.total else "some" if self.sent else "none"


@dataclass(frozen=True, slots=True)
class Picture:
    """States in the order of their distance from the start, and commands in the contract's."""

    states: list[Part]
    commands: list[Part]

    def count(self, fill: Fill) -> int:
        """How many states are drawn that way."""
        return sum(state.fill == fill for state in self.states)


def picture(report: TargetReport) -> Picture | None:
    """What can be drawn of a target's coverage; None where it was counted over another graph than the default one, or
    nothing was run."""
    if report.target.capabilities.absent:
        return None
    pairs = _pairs(scope_of(report.target.capabilities))
    missing = Counter((pair.state, pair.command) for pair in report.coverage.unreached)
    if len(pairs) != report.coverage.pairs[1] or missing.keys() - {(state, command) for state, command, _ in pairs}:
        return None
    sent: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for state, command, op in pairs:
        missed = missing[state, command] > 0
        missing[state, command] -= missed
        for part in (("state", state), ("op", op)):
            total[part] += 1
            sent[part] += not missed
    states = [Part(name, sent["state", name], total["state", name]) for kind, name in total if kind == "state"]
    ops = [Part(op, sent["op", op], total["op", op]) for op in OPS if total["op", op]]
    return Picture(states, ops)


@lru_cache(maxsize=16)
def _pairs(scope: Scope) -> tuple[tuple[str, str, str], ...]:
    """(state, command, its kind) of every pair within the scope, in words."""
    graph = Graph.of(Reference(Workload.linear()), scope)
    return tuple((say_state(state), item.text, item.op) for state, item in graph.ordered)
