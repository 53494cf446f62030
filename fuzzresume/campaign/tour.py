"""The greedy tour: always towards a command that was never sent in its state (docs/DESIGN.md, *Searching*).

Each run first goes to one such command, drawn from all that lie ahead, so that deep states do not wait for shallow ones;
then on to the nearest. Planned on the reference's graph, executed on the real target. The graph holds every way that a legal
engine may go; the tour learns which ways this target goes and plans with those. A way that several deaths did not take is
given up.
"""

from __future__ import annotations

import random
from collections import Counter, deque

from fuzzresume.campaign.graph import Graph, Node
from fuzzresume.contract.menu import Label

GIVE_UP = 4
"""Times that a death may lead elsewhere than hoped, or that a command may not be offered where the graph has it, before the
tour stops hoping for it."""

STEPS = 16
"""Commands a run at most: no goal lies deeper at the default bounds."""

Goal = tuple[Node, Label]


class Tour:
    """Remembers what was sent where and what came of it, and says what to send next."""

    def __init__(self, graph: Graph, rng: random.Random) -> None:
        self._graph = graph
        self._rng = rng
        self._went: dict[Goal, dict[Node, None]] = {}
        self._failed: Counter[tuple[Node, Label, Node]] = Counter()
        self._ops: Counter[str] = Counter()
        self._known_leads: dict[Goal, tuple[Node, ...]] = {}
        self._absent: Counter[Goal] = Counter()
        self._far = False
        self._drawn: Goal | None = None
        self._hope: Node | None = None
        self._order: dict[Node, list[Label]] = {}

    def begin(self) -> None:
        """A run begins: its first goal is drawn."""
        self._far = True

    def next(self, node: Node, offered: tuple[Label, ...]) -> tuple[Label, Node | None] | None:
        """The next command from `node` and the node hoped for, or None when nothing new lies ahead in this run."""
        for item in self._labels(node):
            if item not in offered:
                self._absent[node, item] += 1
        found = self._nearest(node, offered)
        self._hope = found[1] if found is not None else None
        return found

    def went(self, node: Node, item: Label, after: Node | None) -> None:
        """A command was executed and led to `after` (None: the run ended there, or nothing was sent)."""
        self._went.setdefault((node, item), {}).update({after: None} if after is not None else {})
        self._known_leads.pop((node, item), None)
        self._ops[item.op] += 1
        if (node, item) == self._drawn:
            self._far, self._drawn = False, None
        if self._hope is not None and after != self._hope:
            self._failed[node, item, self._hope] += 1

    def _nearest(self, node: Node, offered: tuple[Label, ...]) -> tuple[Label, Node | None] | None:
        """The first step towards the nearest goal, or towards a drawn one when the run begins."""
        goals: list[tuple[Goal, Label, Node | None]] = []
        queue: deque[tuple[Node, Label | None, Node | None]] = deque([(node, None, None)])
        seen = {node}
        while queue:
            at, step, hope = queue.popleft()
            for item in self._labels(at) if at in self._graph.edges else offered if step is None else ():
                goal = (at, item)
                if self._absent[goal] >= GIVE_UP or (step is None and item not in offered):
                    continue
                if goal not in self._went:
                    goals.append((goal, item if step is None else step, None if step is None else hope))
                    if not self._far or goal == self._drawn:
                        return goals[-1][1:]
                for onward in self._leads(goal):
                    if onward not in seen:
                        seen.add(onward)
                        queue.append((onward, step or item, hope if step is not None else onward))
        if not goals:
            return None
        # The command sent least often first, then any place for it: else the rare commands drown in the frequent ones.
        ops = list(dict.fromkeys(goal[1].op for goal, _, _ in goals))
        fewest = min(self._ops[op] for op in ops)
        op = self._rng.choice([op for op in ops if self._ops[op] == fewest])
        self._drawn, first, hope = self._rng.choice([found for found in goals if found[0][1].op == op])
        return first, hope

    def _leads(self, goal: Goal) -> tuple[Node, ...]:
        """Where a command leads: where it went, unless it dies, for another crash point can lead elsewhere."""
        if goal not in self._known_leads:
            self._known_leads[goal] = self._leads_now(goal)
        return self._known_leads[goal]

    def _leads_now(self, goal: Goal) -> tuple[Node, ...]:
        node, item = goal
        went = tuple(self._went.get(goal, ()))
        predicted = self._graph.leads(node, item)
        if goal in self._went and not item.crash:
            return went
        hoped = (onward for onward in predicted if self._failed[node, item, onward] < GIVE_UP)
        return tuple(dict.fromkeys((*went, *hoped)))

    def _labels(self, node: Node) -> list[Label]:
        """The node's labels in a drawn but fixed order, plain commands first: they teach the crash points."""
        if node not in self._order:
            labels = list(self._graph.edges.get(node, ()))
            self._rng.shuffle(labels)
            self._order[node] = sorted(labels, key=lambda item: item.crash)
        return self._order[node]
