"""The plane of `tla/Plane.tla` once more, from the Python reference: the two graphs must be the same.

Compared are the nodes, every edge with what it shows and the choice that it rests on, and TLC's own counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.faults import NONE, SEQUENTIAL
from fuzzresume.contract.life import Faults
from fuzzresume.contract.menu import Scope, Spent, command, menu, spend, token_for
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State, Transition
from fuzzresume.contract.workload import Workload
from fuzzresume.formal import encode
from fuzzresume.formal.toolchain import Result, Toolchain
from fuzzresume.formal.values import Record, Value

TOKENS = encode.Tokens(numbered=True)
NONE_OR_ONE: tuple[Faults, ...] = (NONE, *(frozenset({name}) for name in SEQUENTIAL))


@dataclass(frozen=True, slots=True)
class Bounds:
    """One comparison: the names that Plane.tla gives to workload and fault sets, what they mean, and the budgets."""

    name: str
    shape: str
    gates: tuple[int, ...]
    fault_sets: str = "NoFaults"
    crashes: int = 1
    specials: int = 1
    deliveries: int = 3
    marks: int = 9

    @property
    def workload(self) -> Workload:
        """The workload of that shape."""
        return Workload.linear(len(self.gates), dict(enumerate(self.gates, 1)))

    @property
    def faults(self) -> tuple[Faults, ...]:
        """The fault sets, as Python has them."""
        return NONE_OR_ONE if self.fault_sets == "NoneOrOne" else (NONE,)

    @property
    def config(self) -> str:
        """TLC's configuration."""
        constants = {
            "Shapes <-": self.shape,
            "FaultSets <-": self.fault_sets,
            "Crashes =": self.crashes,
            "Specials =": self.specials,
            "Deliveries =": self.deliveries,
            "Marks =": self.marks,
        }
        return "SPECIFICATION Spec\nINVARIANT Printed\nCONSTANTS\n" + "".join(f" {k} {v}\n" for k, v in constants.items())


COMPARED = (
    Bounds("gate-first", "GateFirst", (1, 0)),
    Bounds("one-question", "OneQuestion", (0, 1, 0)),
    Bounds("default", "DefaultBounds", (0, 2, 0)),
    Bounds("two-gates", "TwoGates", (1, 1), crashes=2, specials=0),
    Bounds("single-faults", "GateFirst", (1, 0), "NoneOrOne", deliveries=2, marks=2),
)

Node = Value
Edges = dict[Value, frozenset[Value]]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by key, the edges of each by command, and the counts that TLC reports."""

    nodes: dict[Node, Edges]
    initial: int
    generated: int

    @property
    def edges(self) -> int:
        """The number of edges."""
        return sum(len(leads) for edges in self.nodes.values() for leads in edges.values())


def python_graph(bounds: Bounds, reference: Reference | None = None) -> Graph:
    """The graph of the Python reference."""
    reference = reference or Reference(bounds.workload)
    nodes: dict[Node, Edges] = {}
    generated = len(bounds.faults)
    for faults in bounds.faults:
        start = (State(), Spent())
        seen, todo = {start}, deque([start])
        while todo:
            state, spent = todo.popleft()
            here = encode.state(state, TOKENS)
            edges: Edges = {}
            for sent in _menu(bounds, reference, state, spent):
                found = reference.step(state, sent, faults)
                generated += len(found)
                edges[encode.command(sent, TOKENS)] = frozenset(_edge(here, t) for t in found)
                for transition in found:
                    onward = (transition.state, spend(state, spent, sent, transition.expect.kind))
                    if onward not in seen:
                        seen.add(onward)
                        todo.append(onward)
            nodes[(encode.shape(bounds.workload), faults, here, _spent(spent))] = edges
    return Graph(nodes, len(bounds.faults), generated)


def tlc_graph(bounds: Bounds, toolchain: Toolchain) -> tuple[Graph, Result]:
    """The graph that TLC explores, and what TLC counted."""
    result = toolchain.run("Graph", bounds.config)
    nodes = {tuple(key): dict(edges) for *key, edges in result.prints}
    return Graph(nodes, result.initial, result.generated), result


def compare(ours: Graph, theirs: Graph) -> tuple[str, ...]:
    """Where the Python graph and TLC's part, in words, one line a difference; empty when they are one."""
    return tuple(_differences(ours, theirs))


def _differences(ours: Graph, theirs: Graph) -> Iterator[str]:
    for what in ("initial", "generated"):
        if getattr(ours, what) != getattr(theirs, what):
            yield f"{what} states: {getattr(ours, what)} in Python, {getattr(theirs, what)} in TLC"
    for node, where in _one_sided(ours.nodes, theirs.nodes):
        yield f"a state of {where} alone: {node}"
    for node in sorted(ours.nodes.keys() & theirs.nodes.keys(), key=repr):
        mine, its = ours.nodes[node], theirs.nodes[node]
        for sent, where in _one_sided(mine, its):
            yield f"{sent} is sent by {where} alone, at {node}"
        for sent in sorted(mine.keys() & its.keys(), key=repr):
            for edge, where in _one_sided(mine[sent], its[sent]):
                yield f"an edge of {where} alone: {sent} at {node}: {edge}"


def _one_sided(mine: Iterable[Value], its: Iterable[Value]) -> Iterator[tuple[Value, str]]:
    mine, its = frozenset(mine), frozenset(its)
    yield from ((value, "Python") for value in sorted(mine - its, key=repr))
    yield from ((value, "TLC") for value in sorted(its - mine, key=repr))


def _menu(bounds: Bounds, reference: Reference, state: State, spent: Spent) -> Iterator[Command]:
    """The menu without `retry` and addresses, as Plane.tla has it."""
    if any(len(branch.marks) > bounds.marks for branch in (state.trunk, state.fork) if branch is not None):
        return
    scope = Scope(addressed=False, retry=False, tamper=("truncated",), crashes=bounds.crashes, specials=bounds.specials)
    for label in menu(reference.workload, state, spent, scope):
        token = token_for(state, spent, label)
        if token is None or token.delivery <= bounds.deliveries:
            crash = CrashPoint("effect.before:1") if label.crash else None
            yield command(label, token, crash, "truncated" if label.op == "tamper" else None)


def _spent(spent: Spent) -> Value:
    return Record(crashes=spent.crashes, specials=spent.specials, tokens=spent.tokens)


def _edge(here: Record, transition: Transition) -> Value:
    """An edge as Graph.tla prints it: what it shows, its choice, and what it changes."""
    shows, there = encode.expect(transition.expect, TOKENS), encode.state(transition.state, TOKENS)
    fields = ("kind", "effects", "pending", "marks", "reentered", "frontier", "twin", "fresh")
    return (
        *(getattr(shows, field) for field in fields),
        encode.note(transition.note),
        _changed(here.trunk, there.trunk),
        _changed(here.fork, there.fork),
        _changed(_rest(here), _rest(there)),
    )


def _changed(old: Record, new: Record) -> Value:
    return frozenset(pair for pair in new if pair not in old)


def _rest(state: Record) -> Record:
    return Record(pair for pair in state if pair[0] not in ("trunk", "fork"))
