"""Two ways to choose where a run goes next (docs/DESIGN.md, *Searching*).

`Enumeration` takes the open goal nearest to the start, so what it has covered is said as a depth; what was spent tells its
nodes apart. `Tour` hunts for (state, command) pairs that were never reached, through deaths that the reference foresees too,
until none can be; what its runs spend is not counted, so that each of them reaches many pairs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator

from fuzzresume.campaign.atlas import Atlas, Goal, Step
from fuzzresume.campaign.graph import Node, place
from fuzzresume.contract.menu import SPECIALS, Label

STEPS = 16
"""Commands a run at most: no goal lies deeper at the default bounds."""

Wanted = Callable[[Node, Label], bool]
Found = tuple[Goal, Step]
"""A goal, and the first step of a shortest way to it."""


def search(
    atlas: Atlas, node: Node, offered: Collection[Label], wanted: Wanted, worth: Wanted, *, foresee: bool
) -> Iterator[list[Found]]:
    """The goals in order of their distance from `node`, a list for each distance that has any.

    `offered` are the labels that this run may send now: what it has no room for, it has no room for later either.
    `foresee`: also through nodes where nobody stood yet, if the reference says that an open label may lead there. Among the
    shortest ways the least bold comes first, then the one with the most commands that are `worth` sending.
    """
    spent = {kind for kind in ("crash", "special") if not any(kind in _spends(item) for item in offered)}
    level: dict[Node, tuple[int, int, Step | None]] = {node: (0, 0, None)}
    seen = {node}
    while level:
        goals: list[Found] = []
        onward: dict[Node, tuple[int, int, Step | None]] = {}
        for at, (bold, left_out, first) in level.items():
            for item in atlas.labels(at):
                if item not in offered if first is None else spent and spent & _spends(item):
                    continue
                # Asked first, of every label: the atlas keeps what is open as it was when it was asked.
                step = atlas.next_step(at, item)
                if step is not None and wanted(at, item) and not (first and atlas.given_up((at, item))):
                    goals.append(((at, item), first or step))
                new = [way for way in atlas.ways(at, item, foresee=foresee) if way[1] not in seen]
                if not new:
                    continue
                worthless = left_out + (not worth(at, item))
                for way, after, more in new:
                    found = (bold + more, worthless, first or way)
                    if after not in onward or found[:2] < onward[after][:2]:
                        onward[after] = found
        seen.update(onward)
        if goals:
            yield goals
        level = onward


def _spends(item: Label) -> set[str]:
    special = item.op in SPECIALS or item.poison is not None
    return {kind for kind, spends in (("crash", item.crash), ("special", special)) if spends}


def _all(node: Node, item: Label) -> bool:
    return True


def _none(node: Node, item: Label) -> bool:
    return False


class Enumeration:
    """Shortest first: every open label of every node, those nearest to the start first."""

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas

    @property
    def depth(self) -> int | None:
        """Every command was sent in every node that fewer than this many commands reach; None: in every node there is."""
        for distance, goals in enumerate(self._levels(self.atlas.graph.first), 0):
            if goals:
                return distance
        return None

    def begin(self) -> None:
        """A run begins."""

    def next(self, node: Node, offered: Collection[Label]) -> Found | None:
        """The nearest open goal, of the kind least often sent."""
        goals = next(search(self.atlas, node, offered, _all, _none, foresee=False), None)
        return min(goals, key=lambda found: self.atlas.rareness(found[0])) if goals else None

    def reached(self, node: Node, item: Label) -> None:
        """A label was sent in a node: the atlas knows."""

    def _levels(self, node: Node) -> Iterator[bool]:
        """For each distance, whether a label is open there."""
        level, seen = [node], {node}
        while level:
            yield any(self.atlas.open(at, item) for at in level for item in self.atlas.labels(at))
            onward = []
            for at in level:
                for item in self.atlas.labels(at):
                    for after in self.atlas.went.get((at, item), {}).values():
                        if after is not None and after not in seen:
                            seen.add(after)
                            onward.append(after)
            level = onward


class Tour:
    """Each run goes to a pair drawn from the kind least often sent, wherever it lies ahead, then on to the nearest."""

    def __init__(self, atlas: Atlas, rng: random.Random) -> None:
        self.atlas = atlas
        self._rng = rng
        self._sent: dict[Goal, bool] = {}  # by the place: whether for certain
        self._in_graph: dict[Goal, bool] = {}
        self._drawn: Goal | None = None
        self._far = False

    def begin(self) -> None:
        """A run begins: its first goal is drawn."""
        self._far, self._drawn = True, None

    def next(self, node: Node, offered: Collection[Label]) -> Found | None:
        """The first step towards the drawn goal, then towards the nearest; None when nothing is left ahead of this run.

        Pairs that were never sent come first, then those that were only sent in doubt. Of what was given up, these come
        first: they can be sent.
        """
        if self._far and self._drawn is not None:
            drawn = self._drawn
            goals = next(search(self.atlas, node, offered, lambda *goal: goal == drawn, self._worth, foresee=True), None)
            if goals:
                return goals[0]
        for wanted in (self._doubted, self._new) if self.atlas.patient else (self._new, self._doubted):
            levels = search(self.atlas, node, offered, wanted, self._worth, foresee=True)
            found = [found for goals in levels for found in goals] if self._far else next(levels, [])
            if found:
                chosen = self._rarest(found)
                if self._far:
                    self._drawn = chosen[0]
                return chosen
        return None

    def reached(self, node: Node, item: Label) -> None:
        """A label was sent in a node."""
        pair = (place(node), item)
        self._sent[pair] = node.certain or self._sent.get(pair, False)
        if (node, item) == self._drawn:
            self._far = False

    def _new(self, node: Node, item: Label) -> bool:
        pair = (place(node), item)
        if pair in self._sent:
            return False
        if pair not in self._in_graph:
            self._in_graph[pair] = (node.state, item) in self.atlas.graph.pairs
        return self._in_graph[pair]

    def _doubted(self, node: Node, item: Label) -> bool:
        return node.certain and self._sent.get((place(node), item)) is False

    def _worth(self, node: Node, item: Label) -> bool:
        return self._new(node, item) or self._doubted(node, item)

    def _rarest(self, found: list[Found]) -> Found:
        rareness = [self.atlas.rareness(goal) for goal, _ in found]
        fewest = min(rareness)
        return self._rng.choice([pair for pair, sent in zip(found, rareness, strict=True) if sent == fewest])
