"""The reference's own graph at given bounds: what tours walk and what coverage is counted in (docs/DESIGN.md, *Searching*).

Nodes are states without what no observation shows, plus what the run has spent: deduplicating by the state alone loses
violations that need the special to have been spent on the way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.menu import Abstract, Label, Scope, Spent, abstract, command, menu, spend, token_for
from fuzzresume.contract.monitor import alike
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State, Transition
from fuzzresume.contract.workload import Question

Pair = tuple[Abstract, Label]


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A node: the abstract state, what has been spent, and whether the observations leave no other state.

    There is one object for each, made by `node_of` and `loosened`: searches look nodes up all the time, and to hash what is
    in them would take most of that.
    """

    state: Abstract
    crashes: int
    specials: tuple[str, ...]
    failed: bool
    certain: bool = True


_one = lru_cache(maxsize=None)(Node)


def node_of(state: State, spent: Spent, *, certain: bool = True) -> Node:
    """The node on which a run stands."""
    return _one(abstract(state), spent.crashes, tuple(sorted(spent.specials)), spent.failed, certain)


def loosened(node: Node, *, certain: bool = True) -> Node:
    """The node without what was spent. After a death the observations may leave several states: then none is `certain`."""
    return _one(node.state, 0, (), node.failed, certain)


Choice = tuple[str, str] | None
"""The legal choice that an edge rests on, or None."""


@cache
def assumed(node: Node) -> Node:
    """The certain node of the same state."""
    return _one(node.state, node.crashes, node.specials, node.failed, True)


@cache
def doubted(node: Node) -> Node:
    """The node of the same state that is in doubt of it."""
    return _one(node.state, node.crashes, node.specials, node.failed, False)


@cache
def place(node: Node) -> Node:
    """The node that stands for all of the same state, for searches to look up: to hash a state takes long."""
    return _one(node.state, 0, (), False, True)


Edges = dict[Node, dict[Label, dict[Node, dict[Choice, None]]]]
"""From certain nodes only: an uncertain one has the edges of its state."""


class Graph:
    """Every node reachable within the scope, its labels in menu order, and where each may lead by which choice.

    `ordered` are all (state, command) pairs, those nearest to the start first.
    """

    def __init__(self, edges: Edges) -> None:
        self.edges = edges
        self.first = next(iter(edges))
        self.ordered: tuple[Pair, ...] = tuple(dict.fromkeys((node.state, i) for node, out in edges.items() for i in out))
        self.pairs = frozenset(self.ordered)
        self.states = frozenset(node.state for node in edges)

    @classmethod
    def of(cls, reference: Reference, scope: Scope) -> Graph:
        """Explore the reference within the scope."""
        return cls(_explore(reference, scope))

    def out(self, node: Node) -> dict[Label, dict[Node, dict[Choice, None]]]:
        """What the reference offers in a node's state, and where each may lead."""
        return self.edges.get(node if node.certain else assumed(node), {})

    def leads(self, node: Node, item: Label) -> tuple[Node, ...]:
        """Where a command may lead, by any legal choice."""
        return tuple(self.out(node).get(item, ()))

    def loose(self) -> Graph:
        """The same graph with nodes that are alike but for what was spent made one."""
        edges: Edges = {}
        for node, out in self.edges.items():
            merged = edges.setdefault(loosened(node), {})
            for item, leads in out.items():
                onward = merged.setdefault(item, {})
                for after, choices in leads.items():
                    onward.setdefault(loosened(after, certain=after.certain), {}).update(choices)
        return Graph(edges)


def _explore(reference: Reference, scope: Scope) -> Edges:
    edges: Edges = {}
    start = (State(), Spent())
    seen = {_concrete(*start)}
    todo = deque([start])
    while todo:
        state, spent = todo.popleft()
        out = edges.setdefault(node_of(state, spent), {})
        for item in menu(reference.workload, state, spent, scope):
            leads = out.setdefault(item, {})
            sent = command(item, token_for(state, spent, item), _crash(item), _damage(item, scope))
            found = reference.step(state, sent)
            for transition in found:
                kind, note = transition.expect.kind, transition.note
                choice = (note.choice, note.value) if note is not None else None
                certain = _tells(transition, found)
                for outcome in ("crashed", "failed") if kind == "crashed" else (kind,):
                    after = spend(state, spent, sent, outcome)
                    leads.setdefault(node_of(transition.state, after, certain=certain), {})[choice] = None
                    key = _concrete(transition.state, after)
                    if key not in seen:
                        seen.add(key)
                        todo.append((transition.state, after))
    return edges


def _tells(transition: Transition, among: Iterable[Transition]) -> bool:
    """Whether what a transition shows may leave no other state than its own.

    A binding choice counts as told: a run that saw it made knows it from then on.
    """
    shown, state = transition.expect, abstract(transition.state)
    return all(
        abstract(other.state) == state or not alike(shown, other.expect) or _binding(transition, other)
        for other in among
        if other is not transition
    )


def _binding(one: Transition, other: Transition) -> bool:
    return one.note is not None and one.note.binding and one.note != other.note


def _crash(item: Label) -> CrashPoint | None:
    return CrashPoint("effect.before:1") if item.crash else None


def _damage(item: Label, scope: Scope) -> str | None:
    return scope.tamper[0] if item.op == "tamper" else None


def _concrete(state: State, spent: Spent) -> Abstract:
    """What tells two states apart for the search: all but the tokens' numbers, of which there is no end."""
    doubts = tuple(
        (branch.hidden, tuple(question for question, _ in branch.answers))
        for branch in (state.trunk, state.fork)
        if branch is not None
    )
    asked: set[Question] = {token.question for token in state.tokens}
    return (node_of(state, spent), doubts, tuple(sorted(asked)))
