"""The racers of one process: threads, or coroutines of one event loop (docs/CONTRACT.md, *race*).

As in a server, where requests come in at once and the framework's objects are shared. Each racer has a gate of its own, at
which it waits at every hook until it is told to go on, and every message says whose it is. Which racer a hook belongs to
is what `RACER` says there. SIGKILL ends them all. Standard library only: workers import it.
"""

from __future__ import annotations

import asyncio
import os
import queue
import socket
import threading
import traceback
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn, cast

from fuzzresume.harness.adapter import Adapter, AwaitedLife
from fuzzresume.harness.calls import Call, Resident
from fuzzresume.harness.env import RACER, Env, Unsupported
from fuzzresume.harness.target import AdapterSlip
from fuzzresume.harness.worker import Wire, call_from_wire, no_outcome, outcome_to_wire, receive, send


@dataclass
class Gate:
    """Where a thread waits; `told` brings whether it is to stop again."""

    told: queue.SimpleQueue[bool] = field(default_factory=queue.SimpleQueue)
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    open: bool = False


class Threads:
    """Racers that are threads, which call one life (`shared`) or one each.

    This thread only listens. A racer that waits for a lock which a held one has is silent until the controller gives up.
    """

    def __init__(self, pipe: socket.socket, adapter: Adapter, env: Env, shared: bool) -> None:
        self._pipe = pipe
        self._gates: dict[int | None, Gate] = {}
        self._speaking = threading.Lock()
        one = Resident(adapter, env)
        self._residents: defaultdict[int, Resident] = defaultdict(lambda: one if shared else Resident(adapter, env))
        self._log, env.on_hook = env.on_hook, self._pass

    def serve(self) -> None:
        """Race until the controller hangs up."""
        while (wire := receive(self._pipe)) is not None:
            racer: int = wire["racer"]
            if "go" in wire:
                self._gates[racer].told.put(wire["go"])
                continue
            self._gates[racer] = Gate()
            work = (racer, self._residents[racer], call_from_wire(wire))
            threading.Thread(target=self._race, args=work, daemon=True).start()
        self._gates.clear()
        for resident in set(self._residents.values()):
            resident.close()

    def _race(self, racer: int, resident: Resident, call: Call) -> None:
        RACER.set(racer)
        try:
            try:
                reply: Wire = {"outcome": outcome_to_wire(resident.perform(call))}
            except (Unsupported, AdapterSlip) as reason:
                reply = no_outcome(reason)
            self._say(racer, reply)
        except BaseException:
            _give_up(self._pipe, traceback.format_exc())

    def _pass(self, ordinal: int, name: str) -> None:
        if self._log is not None:
            self._log(ordinal, name)
        if not self._gates:  # the race is over, and a life that closes may pass hooks
            return
        racer = RACER.get()
        if racer is None:
            _give_up(
                self._pipe, f"no racer passed the hook {name}: the framework's threads do not get their caller's context"
            )
        gate = self._gates[racer]
        with gate.one_at_a_time:
            if not gate.open:
                self._say(racer, {"at": name})
                gate.open = not gate.told.get()

    def _say(self, racer: int, reply: Wire) -> None:
        with self._speaking:
            send(self._pipe, {**reply, "racer": racer})


class Coroutines:
    """Racers that are coroutines of the one loop of one life. All of it happens in one thread.

    The loop takes in what the controller says, and answers only when it has nothing to run: by then every task of a racer
    that was told to go on has come to a hook, to its end, or to something that it waits for.
    """

    def __init__(self, pipe: socket.socket, adapter: Adapter, env: Env) -> None:
        self._pipe = pipe
        self._env = env
        self._resident = Resident(adapter, env)
        self._at: defaultdict[int, deque[tuple[str, asyncio.Future[None]]]] = defaultdict(deque)
        self._ended: dict[int, Wire] = {}
        self._going: set[int] = set()
        self._open: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self) -> None:
        """Race until the controller hangs up."""
        while (wire := receive(self._pipe)) is not None:
            try:
                life = cast(AwaitedLife, self._resident.life())
            except BaseException as error:  # a store that cannot be opened is the refusal of each call
                send(self._pipe, {**self._unbuilt(error, call_from_wire(wire)), "racer": wire["racer"]})
                continue
            self._env.gate, self._env.on_idle = self._wait, self._idle
            life.run(self._listen(wire))
            self._env.gate = self._env.on_idle = None
            break
        self._resident.close()

    def _unbuilt(self, error: BaseException, call: Call) -> Wire:
        try:
            return {"outcome": outcome_to_wire(self._resident.ended(error, call.op))}
        except AdapterSlip as slip:
            return no_outcome(slip)

    async def _listen(self, first: Wire) -> None:
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        self._hear(first)
        loop.add_reader(self._pipe, self._guarded(lambda: self._take(over)))
        await over
        loop.remove_reader(self._pipe)

    def _take(self, over: asyncio.Future[None]) -> None:
        wire = receive(self._pipe)
        if wire is not None:
            self._hear(wire)
        elif not over.done():
            over.set_result(None)

    def _hear(self, wire: Wire) -> None:
        racer: int = wire["racer"]
        self._going.add(racer)
        if "go" not in wire:
            self._tasks.add(asyncio.get_running_loop().create_task(self._race(racer, call_from_wire(wire))))
            return
        if not wire["go"]:
            self._open.add(racer)
        for _ in range(len(self._at[racer]) if racer in self._open else 1):
            self._at[racer].popleft()[1].set_result(None)

    async def _race(self, racer: int, call: Call) -> None:
        RACER.set(racer)
        try:
            try:
                self._ended[racer] = {"outcome": outcome_to_wire(await self._resident.perform_awaited(call))}
            except (Unsupported, AdapterSlip) as reason:
                self._ended[racer] = no_outcome(reason)
        except Exception:
            _give_up(self._pipe, traceback.format_exc())

    async def _wait(self, name: str) -> None:
        racer = RACER.get()
        if racer is None:
            _give_up(self._pipe, f"no racer passed the hook {name}: the framework's tasks do not get their caller's context")
        if racer not in self._open:
            gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._at[racer].append((name, gate))
            await gate

    def _idle(self) -> None:
        for racer in sorted(self._going):
            if self._at[racer]:
                reply: Wire = {"at": self._at[racer][0][0]}
            elif racer in self._ended:
                reply = self._ended.pop(racer)
            else:
                continue
            self._going.discard(racer)
            send(self._pipe, {**reply, "racer": racer})

    def _guarded(self, work: Callable[[], None]) -> Callable[[], None]:
        """An event loop only notes what goes wrong in a callback; here it ends the process."""

        def guarded() -> None:
            try:
                work()
            except Exception:
                _give_up(self._pipe, traceback.format_exc())

        return guarded


def _give_up(pipe: socket.socket, why: str) -> NoReturn:
    """A fault of adapter or harness, from whatever thread or task: it must not look like the framework's."""
    try:
        send(pipe, {"broken": why})
    finally:
        os._exit(1)
