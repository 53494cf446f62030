"""What a race may show: its racers one after the other, in some order (docs/CONTRACT.md, *race*).

Whoever comes second may be refused, or find what the first has left; so a race is judged by what an order of its racers can
explain, in which any of them may have been turned away. How far a first racer has got when a second one reads the store is
no excuse: the second sees an unfinished run, and must neither answer its question again nor run its tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.life import Faults
from fuzzresume.contract.state import Expect, State, Transition, add
from fuzzresume.contract.workload import Mark

Step = Callable[[State, Command, Faults], tuple[Transition, ...]]

Place = tuple[frozenset[int], frozenset[str], State, tuple[Mark, ...]]
"""Who has acted, the answers that were served, where that led, and the effects that fired, in sorted order."""

ANYWHERE = CrashPoint("anywhere")

CONCURRENT: Faults = frozenset({"ConcurrentConsume", "RaceEffect"})


def raced(step: Step, state: State, command: Command, faults: Faults) -> Iterator[Transition]:
    """Every way in which a race can go. `step` is the relation for a single command."""
    state = state._replace(tokens=add(state.tokens, *(racer.token for racer in command.racers if racer.token is not None)))
    if command.unit != "processes" and any(racer.crash is not None for racer in command.racers):
        # They are one process, and die together, wherever each of them stands.
        command = replace(command, racers=tuple(replace(racer, crash=ANYWHERE) for racer in command.racers))
    single = faults - CONCURRENT
    if not command.turns:
        faults = single  # one after the other: nobody reads what another one is about to change
    views = tuple(_views(step, state, command, single)) if "RaceEffect" in faults else ()
    todo: list[Place] = [(frozenset(), frozenset(), state, ())]
    places = dict.fromkeys(todo)
    while todo:
        acted, served, now, fired = todo.pop()
        for i, racer in enumerate(command.racers):
            if i not in acted:
                for takes, effects, after in _acts(step, now, racer, single, views):
                    mine = frozenset([racer.token.text]) if takes and racer.token is not None else frozenset()
                    place = (acted | {i}, served | mine, after, tuple(sorted((*fired, *effects))))
                    if place not in places:
                        places[place] = None
                        todo.append(place)
    for _, served, after, fired in places:
        told = None if "ConcurrentConsume" in faults else served
        frontier = frozenset(after.branch(command.branch).visible)
        yield Transition(Expect("raced", fired, reentered=None, frontier=frontier, told=told), after)


def _acts(
    step: Step, now: State, racer: Command, faults: Faults, views: tuple[State, ...]
) -> Iterator[tuple[bool, tuple[Mark, ...], State]]:
    """Whether a racer's answer is taken, what it fires, and the state after it: from the present state, or from one that
    another racer has left since."""
    for expect, after, _ in step(now, racer, faults):
        if expect.effects or after != now:
            yield expect.kind != "refused" and expect.fresh is None, expect.effects, after
    for view in views:
        for expect, after, _ in step(view, racer, faults):
            if expect.effects:
                yield True, expect.effects, after
                yield True, expect.effects, now


def _views(step: Step, state: State, command: Command, faults: Faults) -> Iterator[State]:
    """What a racer can have read: the store as it was before the race, or as an unfinished run of another one left it."""
    found = {state: None}
    for racer in command.racers:
        for transition in step(state, replace(racer, crash=ANYWHERE), faults):
            if transition.expect.kind == "crashed":
                found[transition.state] = None
    yield from found
