"""Every interleaving of a few racers that can make a difference (docs/DESIGN.md, *Searching*).

What a racer does falls into parts: it reads the store, it consumes the question (the last write before its effect, and the
effect with it), it records the rest. Two orders of parts are one interleaving if they differ only in the order of parts that
cannot disturb one another: two readers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from fuzzresume.contract.commands import Turn

Part = Literal["read", "consume", "record"]

_EFFECT = re.compile(r"effect\.after:")


def parts(racer: int, hooks: Sequence[str]) -> tuple[list[Part], list[Turn]]:
    """A racer's parts, and for each the turn that takes it to its end. A racer that fires nothing has two parts at most."""
    kinds: list[Part] = []
    turns: list[Turn] = []
    fired = next((i for i, hook in enumerate(hooks) if _EFFECT.match(hook)), None)
    first = next((i for i, hook in enumerate(hooks) if hook.partition(":")[0].endswith(".after")), 0)
    if hooks and (fired is None or first < fired):
        kinds.append("read")
        turns.append(_at(racer, hooks, first))
    if fired is not None:
        kinds.append("consume")
        turns.append(_at(racer, hooks, fired))
    return [*kinds, "record"], [*turns, Turn(racer)]


def interleavings(kinds: Sequence[Sequence[Part]]) -> Iterator[tuple[int, ...]]:
    """One order, as the racers in turn, for every class of orders that commuting parts turn into one another."""
    seen: set[tuple[frozenset[tuple[int, int]], ...]] = set()
    for order in _orders(tuple(len(mine) for mine in kinds)):
        form = _normal_form(order, kinds)
        if form not in seen:
            seen.add(form)
            yield order


def _orders(left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not any(left):
        yield ()
    for racer, parts_left in enumerate(left):
        if parts_left:
            rest = (*left[:racer], parts_left - 1, *left[racer + 1 :])
            yield from ((racer, *order) for order in _orders(rest))


def _normal_form(order: Sequence[int], kinds: Sequence[Sequence[Part]]) -> tuple[frozenset[tuple[int, int]], ...]:
    """Foata's: each part in the first step in which nothing that it depends on is left to come before it."""
    steps: list[set[tuple[int, int]]] = []
    taken: Counter[int] = Counter()
    for racer in order:
        part = (racer, taken[racer])
        taken[racer] += 1
        level = 0
        for i, step in enumerate(steps, 1):
            if any(_depend(part, other, kinds) for other in step):
                level = i
        if level == len(steps):
            steps.append(set())
        steps[level].add(part)
    return tuple(map(frozenset, steps))


def _depend(one: tuple[int, int], other: tuple[int, int], kinds: Sequence[Sequence[Part]]) -> bool:
    same = one[0] == other[0]
    return same or not (kinds[one[0]][one[1]] == kinds[other[0]][other[1]] == "read")


def _at(racer: int, hooks: Sequence[str], index: int) -> Turn:
    return Turn(racer, hooks[index], hooks[: index + 1].count(hooks[index]))
