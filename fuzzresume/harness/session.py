"""A run under the controller: commands in, observations out (docs/DESIGN.md, *Three ways to die, one meaning*).

Everything that the three ways share is here: private folder, fresh or present life, branches, frontiers, twins. A way to
die supplies a `Host`, which is one life. The controller reads ledger and frontier itself; a dead life cannot lie about them.
"""

from __future__ import annotations

import copy
import errno
import shutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from fuzzresume.contract.commands import ELSEWHERE, Command, CrashPoint
from fuzzresume.contract.observation import Entry, Frontier, Observation, Outcome
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.branches import Branches
from fuzzresume.harness.calls import Call
from fuzzresume.harness.env import Store, Unsupported
from fuzzresume.harness.ledger import LedgerReader, MemoryLedger
from fuzzresume.harness.snapshot import Snapshot
from fuzzresume.harness.target import Target

FRESH_LIFE: frozenset[str] = frozenset({"recover", "recover2"})
"""Commands that always begin in a process that knows nothing but the store."""

DEAD: frozenset[str] = frozenset({"crashed", "hung"})
"""Outcomes after which nothing in memory is left."""

NO_SPACE = ("No space left on device", "database or disk is full")
"""What a refusal says when not the framework but the machine refused: that is no behaviour to judge."""

S = TypeVar("S", bound="Session")


class Host(Protocol):
    """One life, wherever it lives."""

    def perform(self, call: Call) -> tuple[Outcome, tuple[str, ...]]:
        """Make one call; returns how it ended and the hooks it passed. Raises Unsupported."""
        ...

    def close(self) -> None:
        """End the life and release everything it held."""
        ...


@dataclass(frozen=True, slots=True)
class Performed:
    """One call as seen from outside; `store` is what it left on disk when that is not what the folder holds now."""

    outcome: Outcome
    hooks: tuple[str, ...]
    entries: tuple[Entry, ...]
    store: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a run stands: what a fresh life can tell apart. `store` is equal for stores of equal content, and None where
    nothing is durable; `forked` says that a fork is known, `trunk` is the trunk's position then."""

    store: str | None
    forked: bool
    trunk: str | None


class Session(ABC):
    """One run in a private folder: `<folder>/store…` for the framework, `<folder>/ledger` for the effects.

    A context manager; `close()` ends the present life and leaves the folder to its owner. What is kept in memory has no
    file: neither the store of a target that is not durable, nor the ledger of lives in this process.
    """

    def __init__(self, target: Target, workload: Workload, folder: Path, seed: int = 0) -> None:
        self.target = target
        self.workload = workload
        self.folder = folder
        self.branches = Branches()
        self._seed = seed
        self._host: Host | None = None
        self._names: Counter[str] = Counter()
        self.store = Store(folder / "store", target.options, workload)
        if target.capabilities.durable:
            folder.mkdir(parents=True, exist_ok=True)
            target.capabilities.keeper.make(self.store.folder)
        self.ledger_path = folder / "ledger"
        self._at_rest: dict[str | None, Frontier] = {}
        self._ledger: LedgerReader | MemoryLedger = LedgerReader(self.ledger_path)

    def execute(self, command: Command) -> Observation:
        """Send one command and observe it. Raises Unsupported, with nothing sent, for what the target cannot express."""
        self._check(command)
        match command.op:
            case "reload":
                return self._reload()
            case "tamper":
                return self._tamper(command)
            case "recover2":
                return self._recover_twice(command)
            case "race":
                return self._race(command)
            case "inspect" if command.kind == ELSEWHERE:
                return self._inspect_elsewhere(command)
        call = self.branches.call(command, self.target.capabilities)
        if command.op in FRESH_LIFE:
            self._drop()
        before, newest = self.branches.before(command, self.workload, self._frontier)
        return self._settle(command, before, newest, self._perform(call))

    def close(self) -> None:
        """End the present life. The session can go on afterwards, with a fresh one."""
        self._drop()

    def copied(self: S, folder: Path) -> S:
        """A session in `folder` that goes on, by a fresh life, from a copy of the store as it is now."""
        return self._continue(folder, self._snapshot())

    def standing(self) -> Standing:
        """Where the run stands now."""
        store = self._snapshot().digest if self.target.capabilities.durable else None
        return Standing(store, self.branches.forked, self.branches.trunk_head)

    def __enter__(self: S) -> S:
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    @abstractmethod
    def _host_for(self, store: Store) -> Host:
        """Build a life's host over `store`."""

    @abstractmethod
    def _sibling(self: S, folder: Path, seed: int) -> S:
        """An empty session of the same kind in another folder."""

    def _perform(self, call: Call) -> Performed:
        if self._host is None:
            self._host = self._host_for(self.store)
        self._at_rest.clear()
        try:
            outcome, hooks = self._host.perform(call)
        except Unsupported as reason:
            if fired := self._ledger.take():
                raise RuntimeError(f"the adapter gave up ({reason}) after the run had moved: {fired}") from reason
            raise
        except BaseException:
            # Interrupted in the middle of a call: nobody knows what this life would do next.
            self._drop()
            raise
        if any(words in outcome.message for words in NO_SPACE):
            raise OSError(errno.ENOSPC, f"no room for the run's files in {self.folder}")
        return Performed(outcome, hooks, self._ledger.take())

    def _bury(self, performed: Performed) -> None:
        """Drop a dead life; what is left of it may not reach the next life's files."""
        self._drop()

    def _settle(self, command: Command, before: Frontier, newest: Frontier, performed: Performed) -> Observation:
        if performed.outcome.kind in DEAD:
            self._bury(performed)
        after = self.branches.settle(command, newest, performed.outcome, self._frontier)
        return Observation(performed.outcome, performed.entries, before, after, hooks=performed.hooks)

    def _check(self, command: Command) -> None:
        can = self.target.capabilities
        if command.op == "retry" and not can.retry:
            raise Unsupported("a process that saw an exception cannot try again without a reload")
        if command.kind == ELSEWHERE and not can.durable:
            raise Unsupported("no other process can see a store that is kept in memory")
        if command.op == "tamper" and command.kind not in can.tamper:
            raise Unsupported(f"the adapter cannot damage a store by {command.kind!r}")
        if command.poison is not None and not can.schema:
            raise Unsupported("no state schema is declared, so no update can violate it")

    def _frontier(self, branch: str | None) -> Frontier:
        """Read from the store; only once while it is at rest, for nothing moves it while no life exists."""
        if self._host is not None:
            return self.target.adapter.frontier(self.store, branch)
        if branch not in self._at_rest:
            self._at_rest[branch] = self.target.adapter.frontier(self.store, branch)
        return self._at_rest[branch]

    def _drop(self) -> None:
        host, self._host = self._host, None
        if host is not None:
            host.close()

    def _reload(self) -> Observation:
        before = self._frontier(None)
        self._drop()
        return Observation(Outcome("inert"), self._ledger.take(), before, self._frontier(None))

    def _tamper(self, command: Command) -> Observation:
        self._drop()
        before = self._frontier(None)
        self._at_rest.clear()
        self.target.adapter.tamper(self.store, command.kind or "")
        return Observation(Outcome("inert"), self._ledger.take(), before, self._frontier(None))

    def _inspect_elsewhere(self, command: Command) -> Observation:
        """By a life of its own, while the present one stays as it is."""
        call = self.branches.call(command, self.target.capabilities)
        before, newest = self.branches.before(command, self.workload, self._frontier)
        self._at_rest.clear()
        host = self._host_for(self.store)
        try:
            outcome, hooks = host.perform(call)
        finally:
            host.close()
        after = self.branches.settle(command, newest, outcome, self._frontier)
        return Observation(outcome, self._ledger.take(), before, after, hooks=hooks)

    def _race(self, command: Command) -> Observation:
        raise Unsupported("racers are processes of their own; run it forked")

    def _recover_twice(self, command: Command) -> Observation:
        """Both recoveries meet the command's crash point and poison; the copy's is the twin, the original goes on.

        The twin has another hash seed where it is a process, and another schedule, unless a death is planted: schedules
        pass other points.
        """
        recover = replace(command, op="recover")
        self.branches.call(recover, self.target.capabilities)
        self._drop()
        with self._continue(self._new_folder("twin"), self._snapshot(), seed=1) as copied:
            if command.crash is None:
                other = self.target.capabilities.other_schedule
                copied.store = replace(copied.store, options={**copied.store.options, **other})
            twin = copied.execute(recover)
        shutil.rmtree(copied.folder, ignore_errors=True)
        return replace(self.execute(recover), twin=twin)

    def _continue(self: S, folder: Path, store: Snapshot, seed: int = 0) -> S:
        """A sibling that goes on from a copy of the store, knowing what this session knows."""
        session = self._sibling(folder, seed)
        session.branches = copy.deepcopy(self.branches)
        session.store.memory = copy.deepcopy(self.store.memory)
        if self.target.capabilities.durable:
            self.target.capabilities.keeper.fill(session.store.folder, store)
        return session

    def _replace_store(self, content: Snapshot, memory: MutableMapping[str, Any]) -> None:
        """Move the run to a directory that no earlier life has ever seen."""
        old = self.store
        self._at_rest.clear()
        if not self.target.capabilities.durable:
            self.store = replace(old, memory=memory)
            return
        folder = self._new_folder("store")
        self.target.capabilities.keeper.make(folder)
        self.target.capabilities.keeper.fill(folder, content)
        self.store = replace(old, folder=folder, memory=memory)
        shutil.rmtree(old.folder, ignore_errors=True)

    def _snapshot(self) -> Snapshot:
        """A copy of the store as it is now."""
        can = self.target.capabilities
        return can.keeper.take(self.store.folder) if can.durable else Snapshot(())

    def _new_folder(self, kind: str) -> Path:
        self._names[kind] += 1
        return self.folder / f"{kind}-{self._names[kind]}"


def crash_points(hooks: Sequence[str]) -> list[CrashPoint]:
    """Every way to die along `hooks`, as one execution passed them: a kill at each, and an exception too at the effects."""
    passed: Counter[str] = Counter()
    points = []
    for hook in hooks:
        passed[hook] += 1
        points.append(CrashPoint(hook, passed[hook]))
        if hook.startswith("effect."):
            points.append(CrashPoint(hook, passed[hook], "exception"))
    return points
