"""The reference's own graph at given bounds: what tours walk and what coverage is counted in (docs/DESIGN.md, *Searching*).

Nodes are states without what no observation shows, plus what the run has spent: deduplicating by the state alone loses
violations that need the special to have been spent on the way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.menu import Abstract, Label, Scope, Spent, abstract, command, menu, spend, token_for
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State
from fuzzresume.contract.workload import Question

Pair = tuple[Abstract, Label]


class Node(NamedTuple):
    """A node's key: the abstract state, and what has been spent."""

    state: Abstract
    crashes: int
    specials: tuple[str, ...]
    failed: bool


def node_of(state: State, spent: Spent) -> Node:
    """The node on which a run stands."""
    return Node(abstract(state), spent.crashes, tuple(sorted(spent.specials)), spent.failed)


Choice = tuple[str, str] | None
"""The legal choice that an edge rests on, or None."""


class Graph:
    """Every node reachable within the scope, its labels in menu order, and where each may lead by which choice."""

    def __init__(self, reference: Reference, scope: Scope) -> None:
        self.edges: dict[Node, dict[Label, dict[Node, dict[Choice, None]]]] = {}
        self.first = node_of(State(), Spent())
        self._build(reference, scope)

    def leads(self, node: Node, item: Label) -> tuple[Node, ...]:
        """Where a command may lead, by any legal choice."""
        return tuple(self.edges.get(node, {}).get(item, ()))

    def reachable(self, policy: Mapping[str, set[str]]) -> tuple[set[Abstract], set[Pair]]:
        """The states, and the (state, command) pairs, of the graph of one policy: what coverage is counted out of.

        A choice that the policy does not mention was never seen to be made; its edges stay in.
        """
        seen, todo = {self.first}, [self.first]
        while todo:
            for leads in self.edges[todo.pop()].values():
                for onward, choices in leads.items():
                    if onward not in seen and any(_allowed(choice, policy) for choice in choices):
                        seen.add(onward)
                        todo.append(onward)
        return {node.state for node in seen}, {(node.state, item) for node in seen for item in self.edges[node]}

    def _build(self, reference: Reference, scope: Scope) -> None:
        start = (State(), Spent())
        seen = {_concrete(*start)}
        todo = deque([start])
        while todo:
            state, spent = todo.popleft()
            out = self.edges.setdefault(node_of(state, spent), {})
            for item in menu(reference.workload, state, spent, scope):
                leads = out.setdefault(item, {})
                sent = command(item, token_for(state, spent, item), _crash(item), _damage(item, scope))
                for transition in reference.step(state, sent):
                    kind, note = transition.expect.kind, transition.note
                    choice = (note.choice, note.value) if note is not None else None
                    for outcome in ("crashed", "failed") if kind == "crashed" else (kind,):
                        after = spend(state, spent, sent, outcome)
                        leads.setdefault(node_of(transition.state, after), {})[choice] = None
                        key = _concrete(transition.state, after)
                        if key not in seen:
                            seen.add(key)
                            todo.append((transition.state, after))


def _allowed(choice: Choice, policy: Mapping[str, set[str]]) -> bool:
    return choice is None or choice[0] not in policy or choice[1] in policy[choice[0]]


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
