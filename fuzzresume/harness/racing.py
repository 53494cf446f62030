"""Racers: several lives over one store, released hook by hook (docs/CONTRACT.md, *race*).

Each racer stops at every hook and says where it stands, and one of them at a time is told to go on. So an interleaving is a
list of turns and no matter of timing: the same turns give the same race. A `Dose` lets them all go at once instead, for
measurements of what happens when nobody holds them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

from fuzzresume.contract.commands import Command, Turn
from fuzzresume.contract.observation import Entry, Frontier, Observation, Outcome
from fuzzresume.harness.calls import Call
from fuzzresume.harness.worker import Wire, call_to_wire


class Gated(Protocol):
    """A life that can be held at its hooks."""

    def converse(self, wire: Wire, call: Call) -> Outcome | str:
        """Send one message; returns the outcome, or the name of the hook at which the life now stands."""
        ...

    def close(self) -> None:
        """End the life."""
        ...


class Lane:
    """One racer of a process that has several (`harness.crew`), as a life of its own."""

    def __init__(self, crew: Gated, racer: int) -> None:
        self._crew, self._racer = crew, racer

    def converse(self, wire: Wire, call: Call) -> Outcome | str:
        """See `Gated`."""
        return self._crew.converse({**wire, "racer": self._racer}, call)

    def close(self) -> None:
        """End all of them."""
        self._crew.close()


@dataclass
class Racer:
    """One racer: where it stands (`hooks`, of which it has not passed the last), and its outcome once it has one."""

    host: Gated
    call: Call
    hooks: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    outcome: Outcome | None = None

    def start(self) -> None:
        """Begin the call and stop at its first hook."""
        if not self.hooks and self.outcome is None:
            self._step()

    def run(self, turn: Turn) -> None:
        """Go on as far as the turn says."""
        while self.outcome is None:
            self._step()
            if self.hooks and self.hooks[-1] == turn.hook and self.hooks.count(turn.hook) == turn.nth:
                return

    def finish(self) -> Outcome:
        """Go on to the end without stopping again."""
        self.start()
        if self.outcome is None:
            self._step(stopping=False)
        assert self.outcome is not None
        return self.outcome

    def _step(self, *, stopping: bool = True) -> None:
        wire = {"go": stopping} if self.hooks else call_to_wire(replace(self.call, gated=True))
        reply = self.host.converse(wire, self.call)
        if isinstance(reply, str):
            self.hooks.append(reply)
        else:
            self.outcome = reply


def race(racers: Sequence[Racer], turns: Sequence[Turn], take: Callable[[], tuple[Entry, ...]]) -> tuple[Entry, ...]:
    """Run them in turns, then those that are left to their ends. Returns the ledger entries in order; each racer has its
    own.

    Who has had the last turn comes last of those. `take` returns the entries since it was last called, which are those of
    whose turn it was.
    """
    found: list[Entry] = []
    after = turns[-1].racer + 1 if turns else 0
    for turn in (*turns, *(Turn((after + i) % len(racers)) for i in range(len(racers)))):
        racers[turn.racer].run(turn)
        entries = take()
        racers[turn.racer].entries += entries
        found += entries
    return tuple(found)


Pace = Callable[[Sequence[Racer], Sequence[Turn], Callable[[], tuple[Entry, ...]]], tuple[Entry, ...]]
"""Who runs racers to their ends, and how: `race`, or `Dose`."""


@dataclass(frozen=True)
class Dose:
    """Racers let go at once, for measurements: each waits for its part of `delays` first, and at the hook `gate` for
    `dwell`, both in seconds. What comes of it depends on the machine's timing, so no verdict rests on it.
    """

    gate: str
    dwell: float
    delays: tuple[float, ...]

    def __call__(
        self, racers: Sequence[Racer], turns: Sequence[Turn], take: Callable[[], tuple[Entry, ...]]
    ) -> tuple[Entry, ...]:
        """Hold all of them at their first hook, then let them go; `turns` are not taken."""
        for racer in racers:
            racer.start()
        with ThreadPoolExecutor(len(racers)) as pool:
            list(pool.map(self._run, racers, self.delays))
        return take()

    def _run(self, racer: Racer, delay: float) -> None:
        time.sleep(delay)
        racer.run(Turn(0, self.gate))
        time.sleep(self.dwell if racer.outcome is None else 0)
        racer.finish()


def observed(
    command: Command, before: Frontier, after: Frontier, racers: Sequence[Racer], entries: tuple[Entry, ...]
) -> Observation:
    """What a race showed. A racer that hung makes the race hang: nobody knows what it would have done."""
    outcomes = [racer.outcome for racer in racers if racer.outcome is not None]
    hung = next((outcome for outcome in outcomes if outcome.kind == "hung"), None)
    shown = tuple(
        Observation(outcome, tuple(racer.entries), before, after, hooks=tuple(racer.hooks))
        for racer, outcome in zip(racers, outcomes, strict=True)
    )
    told = tuple(
        sent.token.text
        for sent, outcome in zip(command.racers, outcomes, strict=True)
        if sent.token is not None and any(sent.token.text in mark.tokens for mark in outcome.marks or ())
    )
    return Observation(hung or Outcome("raced"), entries, before, after, racers=shown, told=told)
