"""The reference's own graph at given bounds: what tours walk and what coverage is counted in (docs/DESIGN.md, *Searching*).

Nodes are states without what no observation shows, plus what the run has spent: deduplicating by the state alone loses
violations that need the special to have been spent on the way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.menu import Abstract, Label, Scope, Spent, abstract, command, menu, spend
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State, Transition
from fuzzresume.contract.workload import Question, Token

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


class Graph:
    """Every node reachable within the scope, its labels in menu order, and where each may lead."""

    def __init__(self, reference: Reference, scope: Scope, policy: Mapping[str, set[str]] | None = None) -> None:
        self.edges: dict[Node, dict[Label, tuple[Node, ...]]] = {}
        self._reference = reference
        self._scope = scope
        self._policy = policy or {}
        self._build()

    @property
    def states(self) -> set[Abstract]:
        """The abstract states."""
        return {node.state for node in self.edges}

    @property
    def pairs(self) -> set[Pair]:
        """The (abstract state, command) pairs: the known total that coverage is counted out of."""
        return {(node.state, item) for node, out in self.edges.items() for item in out}

    def _allowed(self, transition: Transition) -> bool:
        note = transition.note
        return note is None or note.choice not in self._policy or note.value in self._policy[note.choice]

    def _build(self) -> None:
        first = (State(), Spent())
        seen = {_concrete(*first)}
        todo = deque([first])
        while todo:
            state, spent = todo.popleft()
            node = node_of(state, spent)
            out = self.edges.setdefault(node, {})
            for item in menu(self._reference.workload, state, spent, self._scope):
                leads = dict.fromkeys(out.get(item, ()))
                sent = command(item, _token(state, spent, item), _crash(item))
                for transition in self._reference.step(state, sent):
                    if not self._allowed(transition):
                        continue
                    died = transition.expect.kind == "crashed"
                    after = spend(
                        state, spent, sent, "failed" if died and item.crash == "exception" else transition.expect.kind
                    )
                    leads[node_of(transition.state, after)] = None
                    key = _concrete(transition.state, after)
                    if key not in seen:
                        seen.add(key)
                        todo.append((transition.state, after))
                out[item] = tuple(leads)


def _token(state: State, spent: Spent, item: Label) -> Token | None:
    if item.question is None:
        return None
    if item.fresh:
        return Token(item.question, spent.tokens + 1)
    return next((t for t in reversed(state.tokens) if t.question == item.question), Token(item.question, 1))


def _crash(item: Label) -> CrashPoint | None:
    if item.crash is None:
        return None
    return CrashPoint("effect.before:1", 1, "exception" if item.crash == "exception" else "kill")


def _concrete(state: State, spent: Spent) -> Abstract:
    """What tells two states apart for the search: all but the tokens' numbers, of which there is no end."""
    doubts = tuple(
        (branch.hidden, tuple(question for question, _ in branch.answers))
        for branch in (state.trunk, state.fork)
        if branch is not None
    )
    asked: set[Question] = {token.question for token in state.tokens}
    return (node_of(state, spent), doubts, tuple(sorted(asked)))
