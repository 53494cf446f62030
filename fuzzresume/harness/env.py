"""What the harness hands to an adapter: the store, the hooks, the ledger (docs/DESIGN.md, *What an adapter is*).

An `Env` belongs to one life. Everything that a crash must not survive hangs on the life; everything that it must
survive is in `folder` (files) or in `memory` (the slot of an in-memory store, which only an in-process death spares).
Standard library only.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.observation import Entry
from fuzzresume.contract.workload import Mark, Workload
from fuzzresume.harness.ledger import LedgerWriter, MemoryLedger


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


@dataclass
class Env(Store):
    """A store plus one life's hooks and ledger. `seed` stands for hash seed and schedule: twins get different ones."""

    ledger: LedgerWriter | MemoryLedger = field(kw_only=True)
    real: bool = False
    seed: int = 0
    crash: CrashPoint | None = None
    poison: int | None = None
    passed: list[str] = field(default_factory=list)
    dead: bool = False
    _count: dict[str, int] = field(default_factory=dict)
    on_hook: Any = None

    def arm(self, crash: CrashPoint | None, poison: int | None) -> None:
        """Begin a command: plant its crash point and its poison, and forget the hooks of the last one."""
        self.crash, self.poison = crash, poison
        self.passed.clear()
        self._count.clear()

    def hook(self, name: str) -> None:
        """A point at which this life can die. Names are stable words such as `put.after` or `effect.before:2`.

        Raises Crash in process, or kills the process, at the planted point; and Crash at every hook after a death.
        """
        if self.dead:
            raise Crash("this life is over")
        self.passed.append(name)
        nth = self._count[name] = self._count.get(name, 0) + 1
        if self.on_hook is not None:
            self.on_hook(len(self.passed), name)
        if self.crash is None or self.crash.hook != name or self.crash.nth != nth:
            return
        if self.crash.by == "exception":
            raise TaskFailure(int(name.rpartition(":")[2]))
        self.die()

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
        wire = tuple(str(token) for token in tokens)
        self.hook(f"effect.before:{task}")
        self.ledger.append(Entry("effect", task, wire, tuple(Mark.parse(text) for text in reads)))
        self.hook(f"effect.after:{task}")
        self.ledger.append(Entry("exit", task))
        return Update(Mark(task, wire).text, 17 if self.poison == task else "ok")
