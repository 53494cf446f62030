"""What the harness sees of a command: outcome, ledger entries, frontier (docs/CONTRACT.md, *Commands*).

Standard library only: outcomes and frontiers are made by adapters, in workers of foreign environments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fuzzresume.contract.workload import Mark, Question

OutcomeKind = Literal["parked", "completed", "failed", "refused", "crashed", "idle", "hung", "inert", "raced"]
EntryKind = Literal["enter", "effect", "exit"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that a run is parked at, with the opaque address that the framework gave for it (None: no address)."""

    question: Question
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one command ended, as the call returned it. Never inferred from the ledger.

    `marks` are the marks in the reply's own state (None: the reply shows no state). `announced` says whether a park was
    announced by the call or read from a quiescence test. `address` is the opaque address of the position the run now has
    (None: none on the wire); the harness keeps it to address this branch later. `inert` is the outcome of `inspect`,
    `reload` and `tamper`, which do not run anything; `raced` that of a race, whose racers have outcomes of their own.
    """

    kind: OutcomeKind
    asked: tuple[Asked, ...] = ()
    marks: tuple[Mark, ...] | None = None
    task: int | None = None
    error: str = ""
    message: str = ""
    announced: bool = True
    address: str | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the effect ledger. `tokens` and `reads` are what the effect was computed from."""

    kind: EntryKind
    task: int
    tokens: tuple[str, ...] = ()
    reads: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Frontier:
    """What the durable store records, read by a process that ran none of it.

    `done` are the completed tasks of the present epoch on the branch read, in store order; None means unreadable, which
    is *unknown*, never empty. `why` says why. `head` is the store's newest position, if it has one: it tells the
    harness whether a command moved the branch that it addressed.
    """

    done: tuple[int, ...] | None
    why: str = ""
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that one command showed. `twin` is the second recovery of `recover2`; `hooks` the hook names passed.

    `racers` are what each racer of a race showed, `told` those of their answers whose own reply shows them in its state.
    """

    outcome: Outcome
    entries: tuple[Entry, ...] = ()
    before: Frontier = field(default_factory=lambda: Frontier(()))
    after: Frontier = field(default_factory=lambda: Frontier(()))
    twin: Observation | None = None
    hooks: tuple[str, ...] = ()
    racers: tuple[Observation, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def effects(self) -> tuple[Mark, ...]:
        """The effects that fired, in order, each as (task, tokens)."""
        return tuple(Mark(e.task, e.tokens) for e in self.entries if e.kind == "effect")

    @property
    def entered(self) -> tuple[int, ...]:
        """The tasks entered, in order."""
        return tuple(e.task for e in self.entries if e.kind == "enter")

    @property
    def late(self) -> bool:
        """A refusal during which ledger or frontier moved."""
        return self.outcome.kind == "refused" and (bool(self.effects) or self.before.done != self.after.done)
