"""Lives in worker processes: a crash is SIGKILL, and what the controller knows of it are the files it left.

`Zygotes` is owned by the controller and shared by its sessions. One zygote serves one adapter under one hash seed, so the
twins of `recover2` really recover under different ones.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from fuzzresume.contract.commands import Command, Unit
from fuzzresume.contract.observation import Observation, Outcome
from fuzzresume.contract.workload import Workload
from fuzzresume.harness import launch
from fuzzresume.harness.attendant import Attendant, WorkerError
from fuzzresume.harness.calls import Call
from fuzzresume.harness.deadline import DEFAULT_LIMIT
from fuzzresume.harness.env import Store, Unsupported
from fuzzresume.harness.line import Line, SharedLine
from fuzzresume.harness.racing import Gated, Lane, Pace, Racer, observed, race
from fuzzresume.harness.session import Session
from fuzzresume.harness.target import AdapterSlip, Target, spec_of
from fuzzresume.harness.worker import Birth, Wire, call_to_wire, outcome_from_wire

PATIENCE = 120.0
"""Seconds that a zygote may take over one request; the longest is to import an adapter or to run a warming scenario."""

S = TypeVar("S", bound="ForkedSession")


class Zygote:
    """The controller's handle on one zygote process. Safe to share between threads.

    A zygote that leaves a request unanswered for `patience` seconds is killed. Raises WorkerError when it cannot be started.
    """

    def __init__(self, adapter: str, hash_seed: int = 0, patience: float = PATIENCE) -> None:
        environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
        self._attendant = Attendant(sys.executable, "fuzzresume.harness.zygote", environment, patience)
        try:
            self._attendant.ask({"adapter": adapter, "path": sys.path, "modules": launch.installed})
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The zygote's process id."""
        return self._attendant.pid

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._attendant.alive

    def fork(self, birth: Birth) -> tuple[int, socket.socket]:
        """A new worker: its process id and the controller's end of its pipe. Raises WorkerError."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                pid = self._attendant.ask({"do": "fork", "birth": birth.to_wire()}, theirs)["pid"]
        except BaseException:
            ours.close()
            raise
        return pid, ours

    def reap(self, pid: int) -> int:
        """Wait until the dying worker is gone with all its descriptors; returns its exit code, -9 for SIGKILL."""
        status: int = self._attendant.ask({"do": "reap", "pid": pid})["status"]
        return status

    def close(self) -> None:
        """End the zygote and every worker it has, and wait for it. May be repeated."""
        self._attendant.close()


class Zygotes:
    """The zygotes of one controller, started when first needed. A context manager: the end of it ends them all."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._zygotes: dict[tuple[str, int], Zygote] = {}
        self._lock = threading.Lock()

    def get(self, adapter: str, hash_seed: int = 0) -> Zygote:
        """The zygote of the adapter that `"module:ATTRIBUTE"` names. Raises WorkerError when it cannot be started."""
        with self._lock:
            zygote = self._zygotes.get((adapter, hash_seed))
            if zygote is None or not zygote.alive:
                if zygote is not None:
                    zygote.close()
                zygote = self._zygotes[adapter, hash_seed] = Zygote(adapter, hash_seed, self._patience)
            return zygote

    def close(self) -> None:
        """End every zygote and its workers."""
        while self._zygotes:
            self._zygotes.popitem()[1].close()

    def __enter__(self) -> Zygotes:
        """The pool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


class ForkedHost:
    """A life in a worker process, or a crew of racers, whose threads here may then share it.

    `doomed`: a crash is planted in whatever command, not just in the one that sees the worker die.
    """

    def __init__(self, zygote: Zygote, birth: Birth, limit: float, deaths: list[str], *, doomed: bool = False) -> None:
        self._zygote = zygote
        self._limit = limit
        self._deaths = deaths
        self._hooks = Path(birth.hooks)
        self._doomed = doomed
        self.pid, pipe = zygote.fork(birth)
        self._line = Line(pipe, limit) if birth.unit == "processes" else SharedLine(pipe, limit)
        self._burial = threading.RLock()
        self._alive = True
        self._how = ""

    def perform(self, call: Call) -> tuple[Outcome, tuple[str, ...]]:
        """Make one call and wait for its end, see `converse`; the hooks are those passed until then."""
        passed_before = self._hooks.stat().st_size if self._hooks.exists() else 0
        outcome = self.converse(call_to_wire(call), call)
        assert isinstance(outcome, Outcome), "only a gated call stops on its way"
        return outcome, self._passed(passed_before)

    def converse(self, wire: Wire, call: Call) -> Outcome | str:
        """Send one message of a call and wait: for the outcome, or in a gated call for the name of the next hook.

        A worker that dies has crashed, one that is silent for longer than the limit is killed and has hung. An interrupt
        kills it too, and passes through: the reply that is still to come must not answer another call. Raises Unsupported,
        AdapterSlip, and WorkerError for another fault of adapter or harness.
        """
        try:
            reply = self._line.exchange(wire)
        except TimeoutError:
            self._kill()
            return Outcome("hung", seconds=self._limit)
        except BaseException:
            self._kill()
            raise
        if reply is None:
            how = self._reap()
            planted = (self._doomed or call.crash is not None) and how == "SIGKILL"
            return Outcome("crashed") if planted else Outcome("crashed", error=how, message="died without a planted kill")
        if "broken" in reply:
            raise WorkerError(reply["broken"])
        if "slip" in reply:
            raise AdapterSlip(reply["slip"])
        if "unsupported" in reply:
            raise Unsupported(reply["unsupported"])
        return str(reply["at"]) if "at" in reply else outcome_from_wire(reply["outcome"])

    def close(self) -> None:
        """Let the worker close its life and exit; kill it when it does not. Returns when it is reaped."""
        if not self._alive:
            return
        try:
            self._line.hang_up()
        except BaseException as error:
            self._kill()
            if not isinstance(error, TimeoutError):
                raise
        else:
            with contextlib.suppress(WorkerError):  # without its zygote the worker is dead already
                self._reap()

    def _kill(self) -> None:
        with self._burial, contextlib.suppress(WorkerError):
            # Without its zygote the kernel has killed the worker, and its number may be another process's.
            if self._alive and self._zygote.alive:
                os.kill(self.pid, signal.SIGKILL)
            self._reap()

    def _passed(self, offset: int) -> tuple[str, ...]:
        if not self._hooks.exists():
            return ()
        with self._hooks.open("rb") as file:
            file.seek(offset)
            return tuple(file.read().decode().split())

    def _reap(self) -> str:
        with self._burial:
            if self._alive:
                self._alive = False
                self._line.close()
                code = self._zygote.reap(self.pid)
                self._how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
                self._deaths.append(self._how)
            return self._how


class ForkedSession(Session):
    """A run whose lives are worker processes. `deaths` are the exit signals or statuses of those that ended, in order.

    Without a pool it has its own, which `close` ends.
    """

    def __init__(
        self,
        target: Target,
        workload: Workload,
        folder: Path,
        seed: int = 0,
        *,
        zygotes: Zygotes | None = None,
        limit: float = DEFAULT_LIMIT,
    ) -> None:
        super().__init__(target, workload, folder, seed)
        self.limit = limit
        self._pace: Pace = race
        self.deaths: list[str] = []
        self._owns_zygotes = zygotes is None
        self._zygotes = Zygotes() if zygotes is None else zygotes

    def close(self) -> None:
        """End the present life, and the pool if it is this session's own."""
        super().close()
        if self._owns_zygotes:
            self._zygotes.close()

    def at_pace(self, pace: Pace) -> None:
        """Let `pace` run the racers from now on, instead of taking the turns that a race says."""
        self._pace = pace

    @property
    def worker(self) -> int | None:
        """The process id of the present life."""
        return self._host.pid if isinstance(self._host, ForkedHost) else None

    def _host_for(self, store: Store, hooks_file: str = "hooks") -> ForkedHost:
        return ForkedHost(*self._forking(store, hooks_file), self.limit, self.deaths)

    def _forking(self, store: Store, hooks_file: str, unit: Unit = "processes") -> tuple[Zygote, Birth]:
        files = store.folder, self.ledger_path, self.folder / hooks_file
        folder, ledger, hooks = (str(path.absolute()) for path in files)
        birth = Birth(folder, ledger, hooks, dict(store.options), store.workload, self._seed, unit)
        return self._zygotes.get(spec_of(self.target.adapter), self._seed), birth

    def _race(self, command: Command) -> Observation:
        if command.unit not in ("processes", *self.target.capabilities.units):
            raise Unsupported(f"the adapter does not say that its lives can be {command.unit} of one process")
        calls = [self.branches.call(racer, self.target.capabilities) for racer in command.racers]
        self._drop()
        before, newest = self.branches.before(command, self.workload, self._frontier)
        self._at_rest.clear()
        racers: list[Racer] = []
        try:
            for host, call in zip(self._hosts(command.unit, calls), calls, strict=True):
                racers.append(Racer(host, call))
            entries = self._pace(racers, command.turns, self._ledger.take)
        finally:
            for racer in racers:
                racer.host.close()
        outcomes = [racer.finish() for racer in racers]
        after = self.branches.settle_race(command, newest, outcomes, self._frontier)
        return observed(command, before, after, racers, entries)

    def _hosts(self, unit: Unit, calls: Sequence[Call]) -> Iterator[Gated]:
        """One for each racer; those after the first are made when they are asked for."""
        if unit == "processes":
            for i in range(len(calls)):
                zygote, birth = self._forking(self.store, f"hooks-{i + 1}")
                # Racers must not draw the same identifiers from the same store; a twin has the seed 1.
                yield ForkedHost(zygote, replace(birth, seed=self._seed + 2 * i), self.limit, self.deaths)
        else:
            doomed = any(call.crash is not None for call in calls)
            crew = ForkedHost(*self._forking(self.store, "hooks-crew", unit), self.limit, self.deaths, doomed=doomed)
            yield from (Lane(crew, i) for i in range(len(calls)))

    def _sibling(self: S, folder: Path, seed: int) -> S:
        return type(self)(self.target, self.workload, folder, seed, zygotes=self._zygotes, limit=self.limit)
