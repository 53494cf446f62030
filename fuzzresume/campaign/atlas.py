"""What one target does under one option set, learnt run by run: where each command led in each node, and what is open.

Nodes are the reference's states with what was spent; labels are the commands that the reference offers there. A label is
closed in a node when nothing new can come of it: it was sent, with every kind of damage and a death for each durable state
that one can leave, or the API cannot express it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from fuzzresume.campaign.graph import Graph, Node, assumed, doubted, loosened, node_of, place
from fuzzresume.campaign.outlook import Outlook
from fuzzresume.campaign.points import CrashPoints
from fuzzresume.contract.commands import ELSEWHERE, CrashPoint
from fuzzresume.contract.menu import Label
from fuzzresume.harness.run import Run
from fuzzresume.harness.target import Target

PATIENCE = (1, 2)
"""Times that a run may set out for a goal and not get there, before nobody sets out for it any more. First the one, for all
goals, then the other."""

Goal = tuple[Node, Label]

Way = tuple["Step", Node, int]
"""A step, where it leads, and how bold it is to count on that: 0 where it was seen to lead there from this state, 1 where
the reference says that it may, 2 where it would have to clear up a doubt."""


class Step(NamedTuple):
    """A command with its drawn values, apart from tokens."""

    label: Label
    crash: CrashPoint | None = None
    kind: str | None = None


class Atlas:
    """One option set's map. `went` is what the target did (None: it violated there).

    `loose`: what a run has spent does not tell its nodes apart, and it may spend as much as it likes; whether its state is
    certain does, and what was seen of a command is expected wherever the state is the same.
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
        self.outlook = Outlook(records=target.capabilities.records)
        self._did: dict[tuple[Node, bool, Label], dict[Step, Node | None]] = {}
        self._rng = rng
        self._offered: dict[Node, list[Label]] = {}
        self._missed: Counter[tuple[Node, Label | None]] = Counter()
        self._refused: Counter[Goal] = Counter()
        self._openings: dict[Node, dict[Goal, tuple[Step, ...]]] = {}
        self._ways: dict[Node, dict[Goal, tuple[Way, ...]]] = {}
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
        self.went.setdefault((node, step.label), {})[step] = after
        self._did.setdefault((place(node), node.certain, step.label), {})[step] = after
        self.kinds.update((step.label.op, kind_of(node, step), (step.label.op, step.kind)))
        self.points.passed(node.state, step.label, hooks)
        self._forget(node)

    def learn(self, run: Run) -> None:
        """A run is over: what it tells of the target's choices."""
        if self.outlook.learn(run.choices):
            self._ways.clear()

    def refuse(self, node: Node, item: Label, why: str) -> None:
        """The API cannot express the command there; in a loose map, with another past it may."""
        self.refused[node, item] = why
        self._refused[node, item] += 1
        self._forget(node)

    def missed(self, goal: Goal) -> None:
        """A run set out for a goal and did not get there."""
        self._missed[self._sought(goal)] += 1

    def more_patience(self) -> bool:
        """Give what was given up another chance; False when it had that already."""
        more = self._patience < PATIENCE[-1]
        if more:
            self._patience = PATIENCE[-1]
            self._openings.clear()
            self._ways.clear()
        return more

    @property
    def patient(self) -> bool:
        """Whether what was given up has another chance."""
        return self._patience > PATIENCE[0]

    def given_up(self, goal: Goal) -> bool:
        """Whether nobody sets out for a goal any more; a run that comes by may still send it."""
        return self._missed[self._sought(goal)] >= self._patience

    def next_step(self, node: Node, item: Label) -> Step | None:
        """What to send next for a label: values not tried yet; None when the label is closed."""
        steps = self._untried((node, item))
        if len(steps) < 2 or item.crash:
            return steps[0] if steps else None
        damage = item.op == "tamper"
        return min(steps, key=lambda step: self.kinds[kind_of(node, step) if damage else (item.op, step.kind)])

    def ways(self, node: Node, item: Label, *, foresee: bool) -> Iterable[Way]:
        """Where a label is known to lead, and then, with `foresee`, where it may."""
        if not foresee:
            return [(step, after, 0) for step, after in self.went.get((node, item), {}).items() if after is not None]
        kept, goal = self._ways.setdefault(place(node), {}), (node, item)
        if goal not in kept:
            untried = (way for step in self._untried(goal) for way in self._expected(goal, step))
            kept[goal] = (*self._known(goal), *untried)
        return kept[goal]

    def rareness(self, goal: Goal) -> tuple[int, int]:
        """How often a goal's command was sent, and then its kind of it: the rare commands must not drown in the frequent."""
        step = self.next_step(*goal)
        return self.kinds[goal[1].op], self.kinds[kind_of(goal[0], step)] if step is not None else 0

    def open(self, node: Node, item: Label) -> bool:
        """Whether something new can come of sending a label there."""
        return self.next_step(node, item) is not None

    def _untried(self, goal: Goal) -> tuple[Step, ...]:
        kept = self._openings.setdefault(place(goal[0]), {})
        if goal not in kept:
            kept[goal] = tuple(self._open_steps(goal))
        return kept[goal]

    def _open_steps(self, goal: Goal) -> list[Step]:
        node, item = goal
        if self._refused[goal] >= (self._patience if self.loose else 1):
            return []
        went = self._seen(goal)
        if item.crash:
            came = {step.crash: after for step, after in went.items() if step.crash is not None}
            return [Step(item, point) for point in self.points.untried(node.state, item, came)]
        if kinds := self._kinds(item):
            return [step for kind in kinds if (step := Step(item, None, kind)) not in went]
        return [] if went else [Step(item)]

    def _seen(self, goal: Goal) -> dict[Step, Node | None]:
        """What a command did there; in a loose map, in the same state: for certain, if it was sent there for certain."""
        if not self.loose:
            return self.went.get(goal, {})
        node, item = goal
        known = self._did.get((place(node), True, item), {})
        if not node.certain:
            known = {**self._did.get((place(node), False, item), {}), **known}
        return {**{step: after for step, after in known.items() if after is not None}, **self.went.get(goal, {})}

    def _known(self, goal: Goal) -> Iterator[Way]:
        """What was seen. A doubt mostly stays, and may be cleared up by any command."""
        went = self.went.get(goal, {})
        for step, after in self._seen(goal).items():
            if after is None:
                continue
            if self._guessed_wrong(goal, after):
                yield from self._expected(goal, step)
                continue
            yield step, after if step in went or goal[0].certain else doubted(after), 0
            if not goal[0].certain and (after.certain or self.patient):
                yield step, assumed(after), 2

    def _guessed_wrong(self, goal: Goal, after: Node) -> bool:
        """Whether a node in doubt rests on a choice that the target is known by now not to make."""
        leads = self.graph.out(goal[0]).get(goal[1], {})
        choices = [choice for node in (assumed(after), doubted(after)) for choice in leads.get(node, ())]
        return not after.certain and bool(choices) and not self.outlook.chooses(choices)

    def _expected(self, goal: Goal, step: Step) -> Iterator[Way]:
        """Where the reference says that a step may lead, as far as that can be expected of this target."""
        for after, choices in self.graph.out(goal[0]).get(goal[1], {}).items():
            if self.outlook.leaves(step.crash, after) and self.outlook.chooses(choices):
                yield step, after, 1

    def _sought(self, goal: Goal) -> tuple[Node, Label | None]:
        """What a run sets out for, whether or not the state will be certain once it is there.

        Where nobody stood yet, no label is any nearer than another.
        """
        node = assumed(goal[0])
        return node, goal[1] if node in self._offered or goal[0] in self._offered else None

    def _forget(self, node: Node) -> None:
        """Something was learnt of a state: what is worked out from it has to be worked out again."""
        self._openings.pop(place(node), None)
        self._ways.pop(place(node), None)

    def _kinds(self, item: Label) -> tuple[str | None, ...]:
        can = self.target.capabilities
        if item.op == "inspect" and can.durable:
            return (None, ELSEWHERE)
        return can.tamper if item.op == "tamper" else ()


def kind_of(node: Node, step: Step) -> tuple[object, ...]:
    """What makes two commands alike to a search that looks for variety: everything but the task and which question it is.

    To answer a question and to answer it anew are two things, and every kind of damage is one of its own. From where the run
    is inspected makes no other thing of it.
    """
    item = step.label
    damage = step.kind if item.op == "tamper" else None
    trunk: Any = node.state[0]
    return (item.op, item.at, item.branch, item.crash, item.poison is not None, item.question in trunk[2], damage)
