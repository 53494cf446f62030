"""The greedy tour: always towards the nearest command that was never sent in its state (docs/DESIGN.md, *Searching*).

Planned on the reference's graph, executed on the real target. A target that does not go where the plan hoped (a legal
engine takes one of several ways, a crash point leads elsewhere) is planned for again from where it stands; a goal that was
missed twice is given up and counted as not reached.
"""

from __future__ import annotations

import random
from collections import Counter, deque

from fuzzresume.campaign.graph import Graph, Node
from fuzzresume.contract.menu import Label

GIVE_UP = 2
"""Runs that may miss a goal before the tour leaves it."""


class Tour:
    """Remembers what was sent where, and says what to send next."""

    def __init__(self, graph: Graph, rng: random.Random) -> None:
        self._graph = graph
        self._rng = rng
        self._sent: set[tuple[Node, Label]] = set()
        self._missed: Counter[tuple[Node, Label]] = Counter()
        self._aim: tuple[Node, Label] | None = None
        self._order: dict[Node, list[Label]] = {}

    def begin(self) -> None:
        """A new run begins: a goal still aimed at was missed."""
        if self._aim is not None:
            self._missed[self._aim] += 1
            self._aim = None

    def next(self, node: Node, offered: tuple[Label, ...]) -> tuple[Label, Node | None] | None:
        """The next command from `node` and the node hoped for, or None when nothing new lies ahead in this run."""
        first = {item for item in offered}
        if node not in self._graph.edges:
            fresh = [item for item in offered if (node, item) not in self._sent]
            return (fresh[0], None) if fresh else None
        queue: deque[tuple[Node, Label | None, Node | None]] = deque([(node, None, None)])
        seen = {node}
        while queue:
            at, step, hope = queue.popleft()
            for item in self._labels(at):
                if step is None and item not in first:
                    continue
                goal = (at, item)
                if goal not in self._sent and self._missed[goal] < GIVE_UP:
                    self._aim = goal
                    return (item, None) if step is None else (step, hope)
                for onward in self._graph.edges[at].get(item, ()):
                    if onward not in seen and onward in self._graph.edges:
                        seen.add(onward)
                        queue.append((onward, step or item, hope if step is not None else onward))
        return None

    def sent(self, node: Node, item: Label) -> None:
        """A command was executed."""
        self._sent.add((node, item))
        if self._aim == (node, item):
            self._aim = None

    def _labels(self, node: Node) -> list[Label]:
        """The node's labels in a drawn but fixed order, plain commands first: they teach the crash points."""
        if node not in self._order:
            labels = list(self._graph.edges[node])
            self._rng.shuffle(labels)
            self._order[node] = sorted(labels, key=lambda item: item.crash is not None)
        return self._order[node]
