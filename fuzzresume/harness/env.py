"""What the harness hands to an adapter: the store, the hooks, the ledger (docs/DESIGN.md, *What an adapter is*).

An `Env` belongs to one life. Everything that a crash must not survive hangs on the life; everything that it must
survive is in `folder` (files) or in `memory` (the slot of an in-memory store, which only an in-process death spares).
Standard library only.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.observation import Entry
from fuzzresume.contract.workload import Mark, Workload
from fuzzresume.harness.ledger import LedgerWriter, MemoryLedger

RACER: ContextVar[int | None] = ContextVar("fuzzresume_racer", default=None)
"""Which racer of this process the present code works for (`harness.crew`); None in a life that has its process to itself.

A context variable, because tasks of an event loop copy their context, and so do frameworks into their pools.
"""


class Crash(SystemExit):
    """The in-process death. A SystemExit, because that passes straight through asyncio and through `except Exception`."""


class TaskFailure(RuntimeError):
    """The task's own exception, planted by the harness: the outcome `failed(task)`, never a refusal."""

    def __init__(self, task: int) -> None:
        super().__init__(f"fuzzresume planted this exception in task {task}")
        self.task = task


class Unsupported(Exception):
    """The framework's API cannot express the command; the reason ends up in an `inapplicable` verdict."""


@dataclass(frozen=True, slots=True)
class Update:
    """What a task returns to the framework: its mark, and a `note` whose declared type is `str`.

    A poisoned task returns a note of another type; an adapter passes it on untouched.
    """

    mark: str
    note: Any


@dataclass
class Store:
    """The durable store of one run, as seen by code that runs no task: `frontier` and `tamper` get no more than this."""

    folder: Path
    options: Mapping[str, str]
    workload: Workload
    memory: MutableMapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Sent:
    """What is planted in one command, and the hooks that it has passed."""

    crash: CrashPoint | None = None
    poison: int | None = None
    passed: list[str] = field(default_factory=list)
    _comings: Iterator[int] = field(default_factory=lambda: count(1))

    def due(self, name: str) -> CrashPoint | None:
        """The death that is planted in this coming to a hook."""
        crash = self.crash
        # Counted by one call, because a framework's own threads may come to the hook at once.
        return crash if crash is not None and crash.hook == name and next(self._comings) == crash.nth else None


@dataclass
class Env(Store):
    """A store plus one life's hooks and ledger. `seed` stands for hash seed and schedule: twins get different ones.

    `racing`: other processes write to the store during this command. `on_hook` is called at every hook with its ordinal
    and name, `gate` is awaited at those that can be awaited, and `on_idle` is for an adapter's event loop to call whenever
    it would have to wait. Racers that share a process share its environment too, each with a command of its own.
    """

    ledger: LedgerWriter | MemoryLedger = field(kw_only=True)
    real: bool = False
    racing: bool = False
    seed: int = 0
    dead: bool = False
    on_hook: Callable[[int, str], None] | None = None
    gate: Callable[[str], Awaitable[None]] | None = None
    on_idle: Callable[[], None] | None = None
    _sent: dict[int | None, Sent] = field(default_factory=lambda: {None: Sent()})

    @property
    def passed(self) -> list[str]:
        """The hooks that the present command has passed."""
        return self._sent[RACER.get()].passed

    def arm(self, crash: CrashPoint | None, poison: int | None) -> None:
        """Begin a command: plant its crash point and its poison, and forget the hooks of the last one."""
        self._sent[RACER.get()] = Sent(crash, poison)

    def hook(self, name: str) -> None:
        """A point at which this life can die. Names are stable words such as `put.after` or `effect.before:2`.

        Raises Crash in process, or kills the process, at the planted point; and Crash at every hook after a death.
        """
        due = self._reach(name)
        if due is not None:
            self._meet(due)

    async def awaited_hook(self, name: str) -> None:
        """The same where a coroutine can wait: on an event loop that is shared, `hook` could hold none but all of it."""
        due = self._reach(name)
        if self.gate is not None:
            await self.gate(name)
        if due is not None:
            self._meet(due)

    def die(self) -> None:
        """End this life now: SIGKILL to itself in a worker process, else Crash."""
        if self.real:
            os.kill(os.getpid(), signal.SIGKILL)
        self.dead = True
        raise Crash("killed at a planted crash point")

    def enter(self, task: int) -> None:
        """The framework entered task `task`. Call it first in every task body, before any question is asked."""
        if self.dead:
            raise Crash("this life is over")
        self.ledger.append(Entry("enter", task))

    def body(self, task: int, tokens: Sequence[object] = (), reads: Sequence[str] = ()) -> Update:
        """Fire task `task`'s effect and return its state update.

        `tokens` are the answers the framework gave for the task's questions, in order; `reads` the mark texts visible in
        the state the task was given. Call it once per task body, after every question was answered.
        """
        firing = self._firing(task, tokens, reads)
        while True:
            try:
                self.hook(next(firing))
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    async def awaited_body(self, task: int, tokens: Sequence[object] = (), reads: Sequence[str] = ()) -> Update:
        """`body` for a task that is a coroutine."""
        firing = self._firing(task, tokens, reads)
        while True:
            try:
                name = next(firing)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            await self.awaited_hook(name)

    def _firing(self, task: int, tokens: Sequence[object], reads: Sequence[str]) -> Generator[str, None, Update]:
        """A task's effect; yields the hooks on its way."""
        wire = tuple(str(token) for token in tokens)
        yield f"effect.before:{task}"
        self.ledger.append(Entry("effect", task, wire, tuple(Mark.parse(text) for text in reads)))
        yield f"effect.after:{task}"
        self.ledger.append(Entry("exit", task))
        return Update(Mark(task, wire).text, 17 if self._sent[RACER.get()].poison == task else "ok")

    def _reach(self, name: str) -> CrashPoint | None:
        """Come to a hook; returns the death that is planted there."""
        if self.dead:
            raise Crash("this life is over")
        sent = self._sent[RACER.get()]
        sent.passed.append(name)
        due = None if sent.crash is None else sent.due(name)
        if self.on_hook is not None:
            self.on_hook(len(sent.passed), name)
        return due

    def _meet(self, crash: CrashPoint) -> None:
        """Die at a hook."""
        if crash.by == "exception":
            raise TaskFailure(int(crash.hook.rpartition(":")[2]))
        self.die()
