"""What a crash state is in the contract's words, read from ledger and frontier alone (docs/CONTRACT.md, *Crash windows*)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.monitor import Exchange
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.words import say_commands
from fuzzresume.contract.workload import Workload

Window = Literal["W1", "W2", "W3", "several", "unknown"]
REFIRES = ("EO-a", "EO-b", "EO-c")
"""The classes of effects that fire again after a crash."""


@dataclass
class Effects:
    """What became of the effects of one branch and epoch.

    `fired` are the tasks whose effect ever fired, `in_doubt` those of them that the frontier does not show now, `again`
    those that fired again, by class.
    """

    fired: set[int] = field(default_factory=set)
    in_doubt: set[int] = field(default_factory=set)
    again: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in REFIRES})

    @classmethod
    def of(cls, exchanges: Iterable[Exchange]) -> Effects:
        """The effects of a whole run, the last of its branches."""
        effects = cls()
        for command, observation in exchanges:
            effects.take(command, observation)
        return effects

    def from_here(self) -> Effects:
        """The same effects, none of which has fired again yet."""
        return Effects(set(self.fired), set(self.in_doubt))

    def take(self, command: Command, observation: Observation) -> None:
        """Count one command. A fork and a new epoch begin with nothing in doubt, and a new epoch owes each effect again."""
        begun = begins_epoch(command, observation)
        if begun:
            self.fired.clear()
        if begun or command.op == "fork":
            self.in_doubt.clear()
        doubtful, before, here = frozenset(self.in_doubt), observation.before.done or (), set[int]()
        for task, _ in observation.effects:
            if task in before or task in here:
                self.again["EO-a"].append(task)
            elif task in doubtful:
                self.again["EO-b" if len(doubtful) == 1 else "EO-c"].append(task)
            here.add(task)
        self.fired |= here
        done = observation.after.done
        self.in_doubt = set() if done is None else (self.in_doubt | here) - set(done)


def begins_epoch(command: Command, observation: Observation) -> bool:
    """Whether the store shows that a restart began a new epoch: tasks are durable no more, or the head moved and a durable
    task fired again or none was durable. Else the old epoch stands, and so does its doubt."""
    if command.op != "restart":
        return False
    before, after = observation.before, observation.after
    if before.done is None or after.done is None:
        return False
    if not set(before.done) <= set(after.done):
        return True
    return before.head != after.head and (not before.done or _fires_durable(observation))


def present_epoch(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    """What was sent since the present epoch began, the restart that began it included."""
    begun = [place for place, exchange in enumerate(exchanges) if begins_epoch(*exchange)]
    return exchanges[begun[-1] :] if begun else exchanges


def window(died: Observation, in_doubt: Sequence[int]) -> Window:
    """Where a death struck: W1 before a task's effect, W2 between the effect and its record, W3 after the record.

    W3 of one task is W1 of the next: it is called W1 once the next task, or any, was entered.
    """
    if died.after.done is None:
        return "unknown"
    if in_doubt:
        return "W2" if len(in_doubt) == 1 else "several"
    last = next((entry.kind for entry in reversed(died.entries) if entry.kind != "exit"), None)
    return "W3" if last == "effect" else "W1"


def hidden_doubt(command: Command, died: Observation, forked: bool) -> tuple[int, ...] | None:
    """The tasks in doubt of a fork, or of a restart's new epoch, that the store does not show; None where the frontier is
    that of the branch and epoch in which the effects fired."""
    if command.op == "restart":
        hidden = _fires_durable(died) and died.before == died.after
    else:
        hidden = command.op == "fork" and not forked
    return tuple(sorted({task for task, _ in died.effects})) if hidden else None


def _fires_durable(observation: Observation) -> bool:
    """Whether the effect fired of a task that was durable before the command."""
    return any(task in (observation.before.done or ()) for task, _ in observation.effects)


def lost(workload: Workload, fired: Iterable[int], last: Observation) -> tuple[int, ...]:
    """The tasks of a run told complete whose effect never fired, or whose mark its final state does not have."""
    marks = last.outcome.marks
    kept = None if marks is None else {mark.task for mark in marks}
    fired = set(fired)
    return tuple(task for task in workload.order if task not in fired or (kept is not None and task not in kept))


def say_before(workload: Workload, told: Sequence[Exchange], command: Command) -> str:
    """What led to `command` besides the plain run, in words; where a restart comes first, the plain run's last command too,
    which tells where it stood."""
    sent = [earlier for earlier, _ in told]
    plain = len(list(itertools.takewhile(lambda one: one.op in ("start", "resume") and one.crash is None, sent)))
    since = plain - 1 if [*sent, command][plain].op == "restart" else plain
    return ", then ".join(say_commands(workload, sent)[since:])


def say_point(point: CrashPoint) -> str:
    """A crash point as in `killed at put.after (passing 2)`."""
    nth = f" (passing {point.nth})" if point.nth > 1 else ""
    return f"{'killed' if point.by == 'kill' else 'exception'} at {point.hook}{nth}"
