"""The zygote: a process that imports an adapter once, warms up, and forks a worker per life.

It is one thread that answers its controller over an inherited socket: `fork` (with the worker's end of a new pipe) and
`reap` (which waits, so a worker that is reported dead is dead and all its files are closed). When that socket closes it
kills its workers and exits. A second descriptor, the lifeline, is a pipe whose other end only the controller has: when the
controller dies in any way, the kernel kills the zygote, however deep inside the framework it is, and with it its workers.
Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import traceback
from pathlib import Path

from fuzzresume.contract.workload import Token, Workload
from fuzzresume.harness import launch, pages
from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.calls import Call, Resident
from fuzzresume.harness.env import Env, Unsupported
from fuzzresume.harness.ledger import LedgerWriter
from fuzzresume.harness.target import AdapterSlip, resolve
from fuzzresume.harness.worker import Birth, Wire, die_with_parent, receive, send, serve

WARM_DELIVERIES = 8
"""How many answers the warming scenario delivers at most."""


def warm(adapter: Adapter, options: dict[str, str], beside: Path) -> None:
    """Run one whole scenario in a throw-away folder, so that no worker pays for what frameworks build on first use.

    The folder is next to the store `beside`, whose folder has an owner: a zygote that is killed meanwhile cannot remove it.
    """
    workload = Workload.linear()
    with tempfile.TemporaryDirectory(prefix="warm-", dir=beside.parent) as folder:
        store = Path(folder) / "store"
        adapter.capabilities(options).keeper.make(store, beside)
        resident = Resident(adapter, Env(store, options, workload, ledger=LedgerWriter(Path(folder) / "ledger")))
        try:
            # A slip of the adapter is for the life in which it counts.
            with contextlib.suppress(AdapterSlip):
                outcome = resident.perform(Call("start"))
                for delivery in range(WARM_DELIVERIES):
                    if not outcome.asked:
                        break
                    question = outcome.asked[0].question
                    outcome = resident.perform(Call("resume", question, Token(question, delivery + 1).text))
            for op in ("inspect", "recover"):
                with contextlib.suppress(Unsupported, AdapterSlip):
                    resident.perform(Call(op))
        finally:
            resident.close()


class Nursery:
    """The zygote's state: the adapter, which options it is warm for, and the workers that nobody has reaped yet."""

    def __init__(self, adapter: Adapter, control: socket.socket) -> None:
        self._adapter = adapter
        self._control = control
        self._warm: set[tuple[tuple[str, str], ...]] = set()
        self._workers: set[int] = set()

    def answer(self, wire: Wire) -> Wire:
        """Do one thing that the controller asked for."""
        if wire["do"] == "reap":
            _, status = os.waitpid(wire["pid"], 0)
            self._workers.discard(wire["pid"])
            return {"status": os.waitstatus_to_exitcode(status)}
        birth = Birth.from_wire(wire["birth"])
        _, (descriptor,), _, _ = socket.recv_fds(self._control, 1, 1)
        with socket.socket(fileno=descriptor) as pipe:
            self._warm_for(birth.options, Path(birth.store))
            return {"pid": self._fork(pipe, birth)}

    def end(self) -> None:
        """Kill and reap every worker."""
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)
        for pid in self._workers:
            os.waitpid(pid, 0)

    def _fork(self, pipe: socket.socket, birth: Birth) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                die_with_parent(parent)
                self._control.close()
                serve(pipe, self._adapter, birth)
                status = 0
            finally:
                os._exit(status)
        self._workers.add(pid)
        return pid

    def _warm_for(self, options: dict[str, str], beside: Path) -> None:
        key = tuple(sorted(options.items()))
        if key in self._warm:
            return
        warm(self._adapter, options, beside)
        self._warm.add(key)
        gc.collect()
        gc.freeze()
        pages.enlarge()
        if (threads := threading.active_count()) != 1:
            raise RuntimeError(f"forking is unsafe: the adapter left {threads - 1} threads alive after the warming scenario")


def die_with_controller(lifeline: int) -> None:
    """Ask the kernel for SIGKILL when the write end of the pipe `lifeline` is closed (Linux; elsewhere only an idle zygote
    notices). Not by the death of a parent, which for Linux is the thread that started the zygote.
    """
    if sys.platform != "linux":
        return
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    if poll.poll(0):
        os._exit(1)


def main(descriptor: int, lifeline: int) -> None:
    """Serve the controller at the other end of `descriptor` until it hangs up.

    An interrupt from the keyboard is the controller's to handle: here and in the workers it is ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_controller(lifeline)
    with socket.socket(fileno=descriptor) as control:
        hello = receive(control)
        if hello is None:
            return
        sys.path.extend(path for path in hello["path"] if path not in sys.path)
        nursery: Nursery | None = None
        try:
            for name, package in hello["modules"].items():
                launch.install(name, Path(package))
            nursery = Nursery(resolve(hello["adapter"]), control)
            send(control, {"ready": os.getpid()})
            while (wire := receive(control)) is not None:
                send(control, nursery.answer(wire))
        except Exception:
            with contextlib.suppress(OSError):
                send(control, {"broken": traceback.format_exc()})
        finally:
            if nursery is not None:
                nursery.end()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
