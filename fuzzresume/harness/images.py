"""Crash images: a death is photographed, not died; one execution yields the crash states of all its hooks.

The store is copied at a hook and the run goes on; a crashed life's store is that copy. Cheaper than dying and closer to
SIGKILL than an exception, because nothing unwinds between the hook and the copy.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Entry, Frontier, Observation, Outcome
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.branches import Branches, ReadFrontier
from fuzzresume.harness.calls import Call
from fuzzresume.harness.deadline import DEFAULT_LIMIT
from fuzzresume.harness.env import Env, Unsupported
from fuzzresume.harness.inprocess import InProcessHost, InProcessSession
from fuzzresume.harness.keeper import Keeper
from fuzzresume.harness.ledger import LedgerReader, LedgerWriter
from fuzzresume.harness.session import Performed
from fuzzresume.harness.snapshot import Snapshot
from fuzzresume.harness.target import Target


@dataclass(frozen=True, slots=True)
class Image:
    """One crash state of one execution.

    `points` are all the planted kills that leave exactly this state, `observation` what `execute` shows for the first of
    them, `folder` holds the store, `branches` is what the controller knows after that crash, `read` the frontiers that it
    has read from it.
    """

    points: tuple[CrashPoint, ...]
    folder: Path
    observation: Observation
    branches: Branches
    read: Mapping[str | None, Frontier]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The ledger entries of the command until the crash."""
        return self.observation.entries


@dataclass(frozen=True, slots=True)
class Sweep:
    """One command executed to its end, and the distinct crash states it went through, in order."""

    observation: Observation
    images: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class _Shot:
    store: Snapshot
    ledger_size: int
    entries: tuple[Entry, ...]
    hooks: tuple[str, ...]

    @property
    def point(self) -> CrashPoint:
        return _point(self.hooks)


class _Camera:
    """Photographs store and ledger at the wanted hooks. Its own errors surface after the call, not inside the framework."""

    def __init__(
        self, env: Env, keeper: Keeper, ledger: LedgerReader, ledger_path: Path, wanted: Callable[[CrashPoint], bool]
    ) -> None:
        self.shots: list[_Shot] = []
        self.entries: tuple[Entry, ...] = ()
        self.error: OSError | None = None
        self._env, self._keeper, self._ledger, self._path, self._wanted = env, keeper, ledger, ledger_path, wanted
        self._one_at_a_time = threading.Lock()

    def __call__(self, ordinal: int, name: str) -> None:
        with self._one_at_a_time:
            hooks = tuple(self._env.passed[:ordinal])
            if not self._wanted(_point(hooks)):
                return
            try:
                self.entries += self._ledger.take()
                size = self._path.stat().st_size if self._path.exists() else 0
                self.shots.append(_Shot(self._keeper.take(self._env.folder), size, self.entries, hooks))
            except OSError as error:
                self.error = error


class ImageSession(InProcessSession):
    """A run whose kills are photographs. Exceptions planted in a task are real ones.

    The ledger is a file, so that what comes after a photograph can be cut off.
    """

    _ledger: LedgerReader

    def __init__(
        self, target: Target, workload: Workload, folder: Path, seed: int = 0, *, limit: float = DEFAULT_LIMIT
    ) -> None:
        super().__init__(target, workload, folder, seed, limit=limit)
        self._ledger = LedgerReader(self.ledger_path)

    def sweep(self, command: Command) -> Sweep:
        """Execute `command`, which plants no kill, to its end and return every distinct crash state on the way.

        Raises ValueError for a command that is no single call: reload, tamper, recover2.
        """
        if command.op in ("reload", "tamper", "recover2") or (command.crash is not None and command.crash.by == "kill"):
            raise ValueError(f"only a single call without a planted kill can be swept, not {command}")
        self._check(command)
        call = self.branches.call(command, self.target.capabilities)
        if command.op == "recover":
            self._drop()
        before, newest = self.branches.before(command, self.workload, self._frontier)
        known = copy.deepcopy(self.branches)
        performed, camera = self._photographed(call, lambda _: True)
        images = self._develop(command, camera.shots, known, before, newest)
        performed = replace(performed, entries=camera.entries + performed.entries)
        return Sweep(self._settle(command, before, newest, performed), images)

    def session_at(self, image: Image, folder: Path) -> ImageSession:
        """A session in `folder` that goes on from `image`, by a fresh life."""
        session = self._continue(folder, self.target.capabilities.keeper.take(image.folder))
        session.branches = copy.deepcopy(image.branches)
        session._at_rest.update(image.read)
        return session

    def _writer(self) -> LedgerWriter:
        return LedgerWriter(self.ledger_path)

    def _check_death(self, command: Command) -> None:
        if not self.target.capabilities.images:
            raise Unsupported("a copy of the store is no faithful death of this target; run it forked")

    def _perform(self, call: Call) -> Performed:
        point = call.crash
        if point is None or point.by != "kill":
            return super()._perform(call)
        performed, camera = self._photographed(replace(call, crash=None), lambda passed: passed == point)
        if not camera.shots:
            return performed
        shot = camera.shots[0]
        self._cut_ledger(shot.ledger_size)
        return Performed(Outcome("crashed"), shot.hooks, shot.entries, shot.store)

    def _photographed(self, call: Call, wanted: Callable[[CrashPoint], bool]) -> tuple[Performed, _Camera]:
        host = self._host = self._host or self._host_for(self.store)
        assert isinstance(host, InProcessHost)
        keeper = self.target.capabilities.keeper
        camera = host.env.on_hook = _Camera(host.env, keeper, self._ledger, self.ledger_path, wanted)
        try:
            performed = super()._perform(call)
        finally:
            host.env.on_hook = None
        if camera.error is not None:
            raise camera.error
        return performed, camera

    def _cut_ledger(self, size: int) -> None:
        """Forget what the run did after the photograph."""
        if self.ledger_path.exists():
            os.truncate(self.ledger_path, size)
        self._ledger = LedgerReader(self.ledger_path)
        self._ledger.take()

    def _develop(
        self, command: Command, shots: list[_Shot], known: Branches, before: Frontier, newest: Frontier
    ) -> tuple[Image, ...]:
        """Shots that left the same store and ledger are one image; each learns from its crash as a real one would.

        `exit` entries make no difference: nothing compares them.
        """
        alike: dict[tuple[str, int], list[_Shot]] = {}
        for shot in shots:
            compared = sum(entry.kind != "exit" for entry in shot.entries)
            alike.setdefault((shot.store.digest, compared), []).append(shot)
        images, keeper = [], self.target.capabilities.keeper
        for first, *others in alike.values():
            folder = self._new_folder("image")
            keeper.make(folder)
            keeper.fill(folder, first.store)
            branches = copy.deepcopy(known)
            crashed = Outcome("crashed")
            read: dict[str | None, Frontier] = {}
            after = branches.settle(command, newest, crashed, self._reading(folder, read))
            seen = Observation(crashed, first.entries, before, after, hooks=first.hooks)
            images.append(Image(tuple(shot.point for shot in (first, *others)), folder, seen, branches, read))
        return tuple(images)

    def _reading(self, folder: Path, read: dict[str | None, Frontier]) -> ReadFrontier:
        """Reads frontiers from the image in `folder`, each once, into `read`."""
        store = replace(self.store, folder=folder)

        def frontier(branch: str | None) -> Frontier:
            if branch not in read:
                read[branch] = self.target.adapter.frontier(store, branch)
            return read[branch]

        return frontier


def _point(hooks: tuple[str, ...]) -> CrashPoint:
    """The kill at the last of `hooks`."""
    return CrashPoint(hooks[-1], hooks.count(hooks[-1]))
