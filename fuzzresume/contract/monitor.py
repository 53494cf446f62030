"""The monitor: every possible world that explains what was observed so far (docs/DESIGN.md, *possible worlds*).

A world is a reference state plus the legal choices that led there. Each command keeps only the worlds that could have
shown what was seen; when none is left the contract is violated. Under a profile (known or documented deviations) a second
set of worlds goes on where the contract's own set has died, so what comes after a known deviation is still checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuzzresume.contract.commands import Command
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.life import Faults
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import Expect, Note, State, Transition
from fuzzresume.contract.workload import Mark

Exchange = tuple[Command, Observation]


class World(NamedTuple):
    """A state that explains the past, with the binding choices it rests on."""

    state: State
    policy: tuple[tuple[str, str], ...] = ()


FIRST = (World(State()),)
"""The worlds of a run to which nothing was sent yet."""


class Seen(NamedTuple):
    """An observation, reduced to what is compared exactly (docs/CONTRACT.md, *Compared exactly*)."""

    expect: Expect
    shown: frozenset[str]


NOTHING: frozenset[str] = frozenset()

Sight = tuple[Command, Seen]
"""A command and what was seen of it: all that a verdict rests on."""


@dataclass(frozen=True, slots=True)
class Violation:
    """The command that no world admits. `expected` is what the worlds before it would have admitted."""

    index: int
    exchanges: tuple[Exchange, ...]
    before: tuple[World, ...]
    expected: tuple[Expect, ...]

    @property
    def command(self) -> Command:
        """The command at which the last world died."""
        return self.exchanges[self.index][0]

    @property
    def observation(self) -> Observation:
        """What it showed."""
        return self.exchanges[self.index][1]

    @property
    def sights(self) -> tuple[Sight, ...]:
        """The whole trace, reduced."""
        return sights(self.exchanges)


def reduce(observation: Observation) -> Seen:
    """Project an observation on what the reference speaks about.

    A task's planted exception ends the life as a kill does, so `failed` is a `crashed`. Tasks that were durable before
    the command are read from the frontier; an unreadable one means *unknown*, then re-entry is not judged.
    """
    outcome, entries, after = observation.outcome, observation.entries, observation.after.done
    if observation.racers:
        return _reduce_race(observation)
    before = observation.before.done
    reentered = None if before is None else frozenset([e.task for e in entries if e.kind == "enter" and e.task in before])
    marks = outcome.marks if outcome.kind == "completed" else None
    expect = Expect(
        "crashed" if outcome.kind == "failed" else outcome.kind,
        tuple([Mark(e.task, e.tokens) for e in entries if e.kind == "effect"]),
        tuple([a.question for a in outcome.asked]) if outcome.kind == "parked" else None,
        marks,
        reentered,
        None if after is None else frozenset(after),
        None if observation.twin is None else reduce(observation.twin).expect,
    )
    return Seen(expect, frozenset([t for mark in outcome.marks for t in mark.tokens]) if outcome.marks else NOTHING)


def _reduce_race(observation: Observation) -> Seen:
    """In a race the order of effects between racers is no more than their schedule."""
    after = observation.after.done
    expect = Expect(
        observation.outcome.kind,
        tuple(sorted(observation.effects)),
        reentered=None,
        frontier=None if after is None else frozenset(after),
    )
    return Seen(expect, frozenset(observation.told))


def sights(exchanges: Iterable[Exchange]) -> tuple[Sight, ...]:
    """Exchanges, reduced to what is compared."""
    return tuple((command, reduce(observation)) for command, observation in exchanges)


def admits(expect: Expect, seen: Seen) -> bool:
    """Whether an expectation and an observation can be the same thing."""
    got = seen.expect
    return expect == got or (  # what is seen is never `fresh` nor `told`, so there is nothing more to compare
        expect.kind == got.kind
        and expect.effects == got.effects
        and (expect.pending is None or got.pending is None or expect.pending == got.pending)
        and (expect.marks is None or got.marks is None or expect.marks == got.marks)
        and (expect.reentered is None or got.reentered is None or expect.reentered == got.reentered)
        and (expect.frontier is None or got.frontier is None or expect.frontier == got.frontier)
        and (expect.fresh is None or expect.fresh not in seen.shown)
        and (expect.told is None or seen.shown <= expect.told)
        and (expect.twin is None or got.twin is None or admits(expect.twin, Seen(got.twin, frozenset())))
    )


def alike(one: Expect, other: Expect) -> bool:
    """Whether something may be seen that both expectations admit."""
    return (
        one.kind == other.kind
        and one.effects == other.effects
        and all(
            mine is None or theirs is None or mine == theirs
            for mine, theirs in (
                (one.pending, other.pending),
                (one.marks, other.marks),
                (one.reentered, other.reentered),
                (one.frontier, other.frontier),
            )
        )
        and (one.twin is None or other.twin is None or alike(one.twin, other.twin))
    )


def advance(
    reference: Reference, worlds: Iterable[World], command: Command, seen: Seen | None, faults: Faults
) -> Iterator[tuple[World, Transition]]:
    """Where a command leads the worlds that can have shown what was `seen` (None: whatever it shows), and by what.

    A binding choice is made once: a world never leaves the choices it rests on.
    """
    shown = None if seen is None else seen.expect
    kind = None if shown is None else shown.kind
    for before, past in worlds:
        for transition in reference.step(before, command, faults, shown):
            expect, state, note = transition
            if seen is not None and (expect.kind != kind or not admits(expect, seen)):
                continue
            policy = past
            if note is not None and note.binding:
                chosen = dict(policy)
                if chosen.setdefault(note.choice, note.value) != note.value:
                    continue
                policy = tuple(sorted(chosen.items()))
            yield World(state, policy), transition


class Monitor:
    """Judges one run, command by command.

    `profile` holds the switches that are known or documented for the target. `deviated` is True once only the profile
    explains the run; `observe` raises nothing and returns a `Violation` when nothing does.
    """

    def __init__(self, reference: Reference, profile: Faults = NONE) -> None:
        self.reference = reference
        self.profile = profile
        self.worlds: tuple[World, ...] = FIRST
        self.exchanges: list[Exchange] = []
        self.deviated = False
        self.notes: dict[str, set[str]] = {}

    def observe(self, command: Command, observation: Observation) -> Violation | None:
        """Take one command and what it showed. After a violation the monitor is spent."""
        before = self.worlds
        self.exchanges.append((command, observation))
        seen = reduce(observation)
        faults = self.profile if self.deviated else NONE
        left: list[World] = []
        notes: list[Note | None] = []
        for world, transition in advance(self.reference, before, command, seen, faults):
            left.append(world)
            notes.append(transition.note)
        worlds = tuple(dict.fromkeys(left) if len(left) > 1 else left)
        if not worlds and self.profile and not self.deviated:
            worlds, notes = replay(self.reference, sights(self.exchanges), self.profile), []
            self.deviated = bool(worlds)
        if not worlds:
            expected = dict.fromkeys(t.expect for w in before for t in self.reference.step(w.state, command, faults))
            return Violation(len(self.exchanges) - 1, tuple(self.exchanges), before, tuple(expected))
        self.worlds = worlds
        note = notes[0] if notes else None
        if note is not None and notes.count(note) == len(notes):
            self.notes.setdefault(note.choice, set()).add(note.value)
        return None

    @property
    def policy(self) -> dict[str, str]:
        """The binding choices that every surviving world agrees on."""
        shared = set(self.worlds[0].policy) if self.worlds else set()
        for world in self.worlds[1:]:
            shared &= set(world.policy)
        return dict(sorted(shared))


def judge(reference: Reference, exchanges: Iterable[Exchange], profile: Faults = NONE) -> Violation | None:
    """The first violation of a trace that was observed already, beyond `profile`."""
    monitor = Monitor(reference, profile)
    for command, observation in exchanges:
        if (violation := monitor.observe(command, observation)) is not None:
            return violation
    return None


def replay(
    reference: Reference, trace: Iterable[Sight], faults: Faults, worlds: tuple[World, ...] = FIRST
) -> tuple[World, ...]:
    """The worlds that explain a whole trace under `faults`, from those before it on; empty when none does."""
    for command, seen in trace:
        worlds = tuple(dict.fromkeys(world for world, _ in advance(reference, worlds, command, seen, faults)))
        if not worlds:
            break
    return worlds


def explainable(reference: Reference, trace: Sequence[Sight], faults: Faults, worlds: Iterable[World] = FIRST) -> bool:
    """Whether any world explains a whole trace under `faults`: `replay` for who needs but one, and so goes depth first.

    Where several mechanisms strike again and again there are thousands of worlds on the way.
    """
    todo = [(0, world) for world in worlds]
    seen = set(todo)
    while todo:
        index, world = todo.pop()
        if index == len(trace):
            return True
        command, sight = trace[index]
        onward = dict.fromkeys((index + 1, after) for after, _ in advance(reference, (world,), command, sight, faults))
        new = [place for place in onward if place not in seen]
        seen.update(new)
        todo += reversed(new)
    return False
