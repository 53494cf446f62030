"""What of the reference's graph was exercised on a target, and why the rest was not (docs/DESIGN.md, *Searching*).

The graph holds every way that a legal engine may go; a target goes one of them. So most of what was not reached cannot be
reached: beyond a choice that the target does not make, a death that no point of it leads to, or a violation.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from fuzzresume.campaign.atlas import Atlas
from fuzzresume.campaign.graph import Graph, Node, Pair
from fuzzresume.contract.menu import Abstract, Label
from fuzzresume.contract.words import say_state

OPEN = "not tried yet"
MISSED = "no run that set out for it got there"


@dataclass(frozen=True, slots=True)
class Unreached:
    """A (state, command) pair that was never sent, in words, and why: `OPEN`, or what keeps this target from it."""

    state: str
    command: str
    why: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Reached and total, over the reference's graph at the default bounds; `unreached` names every pair that is missing.

    `certain` are the reached pairs of which what was observed left no doubt: no world that explains the run by the choices
    this target was seen to make stood elsewhere.
    """

    states: tuple[int, int]
    pairs: tuple[int, int]
    unreached: tuple[Unreached, ...]
    certain: int

    @property
    def open(self) -> int:
        """Pairs that a longer campaign may reach."""
        return sum(pair.why == OPEN for pair in self.unreached)

    @property
    def complete(self) -> bool:
        """Nothing that this target can reach is left."""
        return self.open == 0

    @property
    def reasons(self) -> dict[str, int]:
        """How many pairs each reason accounts for, the most frequent first."""
        return dict(Counter(pair.why for pair in self.unreached).most_common())


def coverage(atlas: Atlas, states: Collection[Abstract], pairs: Collection[Pair], certain: Collection[Pair]) -> Coverage:
    """Compare what a campaign reached, and what it reached for certain, with the graph. `atlas` is the map of the target's
    default options."""
    graph = atlas.graph
    reached_states, reached_pairs = graph.states & set(states), graph.pairs & set(pairs)
    possible = _possible(atlas)
    maybe: dict[Pair, bool] = {}
    for node in possible:
        for item in atlas.labels(node):
            pair = (node.state, item)
            maybe[pair] = maybe.get(pair, False) or (atlas.open(node, item) and not atlas.given_up((node, item)))
    why = _reasons(atlas, possible)
    unreached = []
    for state, item in graph.ordered:
        if (state, item) not in reached_pairs:
            words = why.get(state, "this target goes another legal way")
            if (state, item) in maybe:
                words = _refused(atlas, state, item) or (OPEN if maybe[state, item] else MISSED)
            unreached.append(Unreached(say_state(state), item.text, words))
    return Coverage(
        (len(reached_states), len(graph.states)),
        (len(reached_pairs), len(graph.pairs)),
        tuple(unreached),
        len(graph.pairs & set(certain)),
    )


def _possible(atlas: Atlas) -> dict[Node, None]:
    """The nodes that the target came to, and those that an open label can be expected to lead to, the nearest first."""
    seen, todo = {atlas.graph.first: None}, [atlas.graph.first]
    for node in todo:
        for item in atlas.labels(node):
            for _, after, _ in atlas.ways(node, item, foresee=True):
                if after not in seen:
                    seen[after] = None
                    todo.append(after)
    return seen


def _reasons(atlas: Atlas, possible: Collection[Node]) -> Mapping[Abstract, str]:
    """For every state beyond what is possible, what keeps the target from it: what happened at the nearest way there."""
    graph = atlas.graph
    why: dict[Abstract, str] = {}
    queue: deque[tuple[Node, str]] = deque()
    seen = set(possible)
    for node in possible:
        queue += [(after, _cut(atlas, graph, node, item, after)) for item, after in _edges(graph, node)]
    while queue:
        node, words = queue.popleft()
        if node in seen:
            continue
        seen.add(node)
        why.setdefault(node.state, words)
        queue += [(after, words) for _, after in _edges(graph, node)]
    return why


def _edges(graph: Graph, node: Node) -> list[tuple[Label, Node]]:
    return [(item, after) for item, leads in graph.out(node).items() for after in leads]


def _cut(atlas: Atlas, graph: Graph, node: Node, item: Label, after: Node) -> str:
    if (refused := atlas.refused.get((node, item))) is not None:
        return f"the API cannot express {item.op}: {refused}"
    if None in atlas.went.get((node, item), {}).values():
        return f"a violation at `{item.text}` comes before"
    if item.crash:
        return f"no death in `{item.op}` leads there"
    choices = sorted({f"{name}: {value}" for name, value in filter(None, graph.out(node)[item][after])})
    return f"this target does not choose {' or '.join(choices)}" if choices else f"`{item.op}` goes another legal way here"


def _refused(atlas: Atlas, state: Abstract, item: Label) -> str | None:
    words = (why for (node, label), why in atlas.refused.items() if node.state == state and label == item)
    found = next(words, None)
    return f"the API cannot express {item.op}: {found}" if found is not None else None
