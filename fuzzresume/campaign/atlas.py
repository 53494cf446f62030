"""What one target does under one option set, learnt run by run: where each command led in each node, and what is open.

Nodes are the reference's states with what was spent; labels are the commands that the reference offers there. A label is
closed in a node when nothing new can come of it: it was sent, with every kind of damage and a death for each durable state
that one can leave, or the API cannot express it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any, NamedTuple

from fuzzresume.campaign.graph import Graph, Node, assumed, loosened, node_of
from fuzzresume.campaign.points import CrashPoints
from fuzzresume.contract.commands import ELSEWHERE, CrashPoint
from fuzzresume.contract.menu import Label
from fuzzresume.harness.run import Run
from fuzzresume.harness.target import Target

PATIENCE = (1, 2)
"""Times that a run may set out for a goal and not get there, before nobody sets out for it any more. First the one, for all
goals, then the other."""

Goal = tuple[Node, Label]


class Step(NamedTuple):
    """A command with its drawn values, apart from tokens."""

    label: Label
    crash: CrashPoint | None = None
    kind: str | None = None


class Atlas:
    """One option set's map. `went` is what the target did (None: it violated there).

    `loose`: what a run has spent does not tell its nodes apart, and it may spend as much as it likes; whether its state is
    certain does.
    """

    def __init__(
        self,
        target: Target,
        graph: Callable[[], Graph],
        points: CrashPoints,
        rng: random.Random,
        *,
        loose: bool = False,
    ) -> None:
        self.loose = loose
        self.target = target
        self._build = graph
        self.points = points
        self.went: dict[Goal, dict[Step, Node | None]] = {}
        self.refused: dict[Goal, str] = {}
        self.kinds: Counter[object] = Counter()
        self._rng = rng
        self._offered: dict[Node, list[Label]] = {}
        self._missed: Counter[Goal] = Counter()
        self._refused: Counter[Goal] = Counter()
        self._closed: set[Goal] = set()
        self._patience = PATIENCE[0]

    @cached_property
    def graph(self) -> Graph:
        """What the reference foresees, explored when it is first asked for."""
        return self._build()

    def node(self, run: Run) -> Node:
        """Where a run stands."""
        node = node_of(run.state, run.spent)
        return loosened(node, certain=run.certain) if self.loose else node

    def visit(self, node: Node, offered: Collection[Label]) -> None:
        """A run stands on `node`, where these labels are offered: kept in a drawn order, the plain ones first, for they
        teach the crash points of the others. In a loose map a run that has spent more is offered less."""
        known = self._offered.setdefault(node, [])
        labels = [item for item in offered if item not in known]
        if labels:
            self._rng.shuffle(labels)
            self._offered[node] = sorted([*known, *labels], key=lambda item: item.crash)

    def labels(self, node: Node) -> list[Label]:
        """What is offered in a node: seen, or else foreseen."""
        return self._offered[node] if node in self._offered else list(self.graph.out(node))

    def took(self, node: Node, step: Step, after: Node | None, hooks: tuple[str, ...]) -> None:
        """A step was executed and led to `after` (None: it violated, or the run ended there)."""
        goal = (node, step.label)
        self.went.setdefault(goal, {})[step] = after
        self.kinds.update((step.label.op, kind_of(node, step), (step.label.op, step.kind)))
        self.points.passed(node.state, step.label, hooks)
        if step.crash is not None:
            self.points.came_to(goal, step.crash, after)

    def refuse(self, node: Node, item: Label, why: str) -> None:
        """The API cannot express the command there; in a loose map, with another past it may."""
        self.refused[node, item] = why
        self._refused[node, item] += 1

    def missed(self, goal: Goal) -> None:
        """A run set out for a goal and did not get there."""
        self._missed[_sought(goal)] += 1

    def more_patience(self) -> bool:
        """Give what was given up another chance; False when it had that already."""
        more = self._patience < PATIENCE[-1]
        if more:
            self._patience = PATIENCE[-1]
            self._closed.clear()
        return more

    def given_up(self, goal: Goal) -> bool:
        """Whether nobody sets out for a goal any more; a run that comes by may still send it."""
        return self._missed[_sought(goal)] >= self._patience

    def was_missed(self, goal: Goal) -> bool:
        """Whether a run set out for a goal in vain before."""
        return self._missed[_sought(goal)] > 0

    def next_step(self, node: Node, item: Label) -> Step | None:
        """What to send next for a label: values not tried yet; None when the label is closed."""
        goal = (node, item)
        if goal in self._closed:
            return None
        step = self._untried(goal)
        if step is None:
            self._closed.add(goal)
        return step

    def rareness(self, goal: Goal) -> tuple[int, int]:
        """How often a goal's command was sent, and then its kind of it: the rare commands must not drown in the frequent."""
        step = self.next_step(*goal)
        return self.kinds[goal[1].op], self.kinds[kind_of(goal[0], step)] if step is not None else 0

    def open(self, node: Node, item: Label) -> bool:
        """Whether something new can come of sending a label there."""
        return self.next_step(node, item) is not None

    def _untried(self, goal: Goal) -> Step | None:
        node, item = goal
        if self._refused[goal] >= (self._patience if self.loose else 1):
            return None
        went = self.went.get(goal, {})
        if item.crash:
            point = self.points.untried(node.state, goal)
            return Step(item, point) if point is not None else None
        if kinds := self._kinds(item):
            steps = [Step(item, None, kind) for kind in kinds]
            untried = [step for step in steps if step not in went]
            damage = item.op == "tamper"
            return min(
                untried, key=lambda step: self.kinds[kind_of(node, step) if damage else (item.op, step.kind)], default=None
            )
        return None if went else Step(item)

    def _kinds(self, item: Label) -> tuple[str | None, ...]:
        can = self.target.capabilities
        if item.op == "inspect" and can.durable:
            return (None, ELSEWHERE)
        return can.tamper if item.op == "tamper" else ()


def _sought(goal: Goal) -> Goal:
    """What a run sets out for, whether or not the state will be certain once it is there."""
    return goal if goal[0].certain else (assumed(goal[0]), goal[1])


def kind_of(node: Node, step: Step) -> tuple[object, ...]:
    """What makes two commands alike to a search that looks for variety: everything but the task and which question it is.

    To answer a question and to answer it anew are two things, and every kind of damage is one of its own. From where the run
    is inspected makes no other thing of it.
    """
    item = step.label
    damage = step.kind if item.op == "tamper" else None
    trunk: Any = node.state[0]
    return (item.op, item.at, item.branch, item.crash, item.poison is not None, item.question in trunk[2], damage)
