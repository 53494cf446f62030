"""The other end of `harness.remote`: a process in an environment of its own that holds the sessions of one adapter.

Whole sessions live here, not single lives: what a session reads of a store, the framework's own serializer must read.
Requests in, answers out, as plain data, one at a time. Standard library only, beside the adapter and its framework.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from fuzzresume.contract.commands import Command
from fuzzresume.contract.workload import Workload
from fuzzresume.harness import launch
from fuzzresume.harness.adapter import Adapter, on_request
from fuzzresume.harness.env import Env, Unsupported
from fuzzresume.harness.forked import ForkedSession, Zygotes
from fuzzresume.harness.ledger import MemoryLedger
from fuzzresume.harness.plain import from_plain, to_plain
from fuzzresume.harness.racing import Dose
from fuzzresume.harness.sessions import AnySession, open_session
from fuzzresume.harness.target import MissingExtra, NoEnvironment, Target, TargetError, resolve
from fuzzresume.harness.worker import Wire, receive, send
from fuzzresume.harness.zygote import die_with_controller


class Host:
    """The adapter, and the sessions that the controller has open."""

    def __init__(self, adapter: Adapter, zygotes: Zygotes) -> None:
        self._adapter = adapter
        self._zygotes = zygotes
        self._sessions: dict[int, AnySession] = {}

    def answer(self, wire: Wire) -> Wire:
        """Do what is asked; what is no fault of ours is told by its name and its words."""
        for number in wire["forget"]:
            self._sessions.pop(number, None)
        if "session" in wire and wire["do"] != "open" and wire["session"] not in self._sessions:
            return {"broken": "no session of that number: the process that had it is gone"}
        try:
            handler: Callable[[Wire], Any] = getattr(self, f"_{wire['do']}")
            return {"answer": handler(wire)}
        except MissingExtra as error:
            return {"error": "MissingExtra", "words": str(error), "extra": error.extra}
        except TargetError as error:
            return {"error": type(error).__name__, "words": str(error)}
        except Unsupported as reason:
            return {"error": "Unsupported", "words": str(reason)}
        except FileExistsError as error:
            return {"error": "FileExistsError", "words": str(error)}
        except OSError as error:
            return {"error": "OSError", "words": str(error), "errno": error.errno}
        except Exception:
            return {"broken": traceback.format_exc()}

    def greeting(self) -> Wire:
        """What is true of the adapter whatever the options."""
        adapter = self._adapter
        return {
            "name": adapter.name,
            "packages": list(adapter.packages),
            "options": to_plain(adapter.options),
            "on_request": to_plain(on_request(adapter)),
            "installed": {one.metadata["Name"]: one.version for one in metadata.distributions()},
        }

    def _valid(self, wire: Wire) -> bool:
        return self._adapter.valid(wire["options"])

    def _capabilities(self, wire: Wire) -> Wire:
        told: Wire = to_plain(Target(self._adapter, wire["options"]).capabilities)
        # Stores are made and copied here, by whoever keeps them.
        told.pop("keeper", None)
        return told

    def _ready(self, wire: Wire) -> None:
        """Stores can be made, and a life over one: an adapter may not be able to drive every version of its framework."""
        target = Target(self._adapter, wire["options"])
        can = target.capabilities
        can.keeper.ready()
        if can.absent:
            return
        with tempfile.TemporaryDirectory(prefix="fuzzresume-ready-") as folder:
            store = Path(folder) / "store"
            can.keeper.make(store)
            env = Env(store, target.options, Workload.linear(), ledger=MemoryLedger())
            try:
                self._adapter.life(env).close()
            except Exception as error:
                what = ", ".join(f"{name} {version}" for name, version in target.packages.items())
                raise NoEnvironment(f"the adapter cannot drive {what}: {type(error).__name__}: {error}") from error

    def _open(self, wire: Wire) -> None:
        target = Target(self._adapter, wire["options"])
        workload = from_plain(Workload, wire["workload"])
        folder, mode, limit = Path(wire["folder"]), wire["mode"], wire["limit"]
        self._sessions[wire["session"]] = open_session(target, workload, folder, mode, zygotes=self._zygotes, limit=limit)

    def _execute(self, wire: Wire) -> Wire:
        plain: Wire = to_plain(self._sessions[wire["session"]].execute(from_plain(Command, wire["command"])))
        return plain

    def _copied(self, wire: Wire) -> None:
        self._sessions[wire["new"]] = self._sessions[wire["session"]].copied(Path(wire["folder"]))

    def _pace(self, wire: Wire) -> None:
        session = self._sessions[wire["session"]]
        assert isinstance(session, ForkedSession), "only processes race"
        session.at_pace(from_plain(Dose, wire["pace"]))

    def _standing(self, wire: Wire) -> Wire:
        plain: Wire = to_plain(self._sessions[wire["session"]].standing())
        return plain

    def _close(self, wire: Wire) -> None:
        self._sessions[wire["session"]].close()


def main(descriptor: int, lifeline: int) -> None:
    """Serve the controller at the other end of `descriptor` until it hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_controller(lifeline)
    with socket.socket(fileno=descriptor) as control:
        hello = receive(control)
        if hello is None:
            return
        try:
            for name, package in hello["modules"].items():
                launch.install(name, Path(package))
            with Zygotes() as zygotes:
                host = Host(resolve(hello["adapter"]), zygotes)
                send(control, {"answer": host.greeting()})
                while (wire := receive(control)) is not None:
                    send(control, host.answer(wire))
        except ModuleNotFoundError as error:
            send(control, {"error": "MissingExtra", "words": str(error), "extra": ""})
        except TargetError as error:
            send(control, {"error": type(error).__name__, "words": str(error)})
        except Exception:
            with contextlib.suppress(OSError):
                send(control, {"broken": traceback.format_exc()})


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
