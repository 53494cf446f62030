"""An adapter whose framework is in an environment of its own, behind a pipe (docs/DESIGN.md, *Pinned environments*).

To everybody else it is an adapter like any other, except that its sessions are opened by `RemoteAdapter.session`: they run,
whatever the way to die, in the process at the other end (`harness.host`).
"""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Frontier, Observation
from fuzzresume.contract.workload import Workload
from fuzzresume.harness import target as targets
from fuzzresume.harness.adapter import Capabilities, Life, OnRequest
from fuzzresume.harness.attendant import Attendant, WorkerError
from fuzzresume.harness.env import Env, Store, Unsupported
from fuzzresume.harness.plain import from_plain, to_plain
from fuzzresume.harness.racing import Dose
from fuzzresume.harness.session import Standing
from fuzzresume.harness.worker import Wire

PATIENCE = 900.0
"""Seconds that one request may take: a command has a limit of its own, but a race or a second recovery is several."""

NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""Variables that would bring packages of this environment into the other one."""


class Remote:
    """The connection: its process is started when it is first needed, and again when it is gone."""

    def __init__(self, python: Path, adapter: str, modules: Mapping[str, str]) -> None:
        self._python, self._adapter, self._modules = python, adapter, modules
        self._attendant: Attendant | None = None
        self.forgotten: list[int] = []
        self.greeting: Wire = self._start()

    def ask(self, do: str, **wire: Any) -> Any:
        """One request. Raises WorkerError, and what the other end raised: Unsupported, TargetError, OSError."""
        if not self.alive:
            self._start()
        assert self._attendant is not None
        forgotten, self.forgotten = self.forgotten, []
        return _answer(self._attendant.ask({"do": do, "forget": forgotten, **wire}))

    @property
    def pid(self) -> int:
        """The process at the other end."""
        assert self._attendant is not None
        return self._attendant.pid

    @property
    def alive(self) -> bool:
        """Whether that process is there; with it went every life it had."""
        return self._attendant is not None and self._attendant.alive

    def close(self) -> None:
        """End the process at the other end, with every worker of its own."""
        attendant, self._attendant = self._attendant, None
        if attendant is not None:
            attendant.close()

    def _start(self) -> Wire:
        self.close()
        environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        # The twins of `recover2` get hash seeds of their own; this process must not differ from one day to the next.
        environment["PYTHONHASHSEED"] = "0"
        self._attendant = Attendant(str(self._python), "fuzzresume.harness.host", environment, PATIENCE)
        try:
            greeting: Wire = _answer(self._attendant.ask({"adapter": self._adapter, "modules": dict(self._modules)}))
        except BaseException:
            self.close()
            raise
        return greeting


class RemoteAdapter:
    """The adapter as seen from here. Its framework's versions are those of the other environment."""

    def __init__(self, remote: Remote) -> None:
        told = remote.greeting
        self._remote = remote
        self.name: str = told["name"]
        self.packages: tuple[str, ...] = tuple(told["packages"])
        self.options: Mapping[str, tuple[str, ...]] = {key: tuple(values) for key, values in told["options"].items()}
        self.on_request: Mapping[str, Mapping[str, OnRequest]] = {
            key: {value: from_plain(OnRequest, wanted) for value, wanted in values.items()}
            for key, values in told["on_request"].items()
        }
        self._installed = {_normal(name): version for name, version in told["installed"].items()}
        self._valid: dict[tuple[tuple[str, str], ...], bool] = {}
        self._capabilities: dict[tuple[tuple[str, str], ...], Capabilities] = {}
        self._sessions = itertools.count(1)

    @property
    def pid(self) -> int:
        """The process at the other end."""
        return self._remote.pid

    def close(self) -> None:
        """End the process at the other end; whoever needs it again starts it again."""
        self._remote.close()

    def version_of(self, package: str) -> str | None:
        """The version that is installed over there, or None."""
        return self._installed.get(_normal(package))

    def ready(self, options: Mapping[str, str]) -> None:
        """Make sure that stores can be made. Raises TargetError."""
        self._remote.ask("ready", options=dict(options))

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """See `harness.adapter.Adapter`. The keeper of the stores stays over there."""
        key = tuple(sorted(options.items()))
        if key not in self._capabilities:
            self._capabilities[key] = from_plain(Capabilities, self._remote.ask("capabilities", options=dict(options)))
        return self._capabilities[key]

    def valid(self, options: Mapping[str, str]) -> bool:
        """See `harness.adapter.Adapter`."""
        key = tuple(sorted(options.items()))
        if key not in self._valid:
            self._valid[key] = self._remote.ask("valid", options=dict(options))
        return self._valid[key]

    def session(self, target: targets.Target, workload: Workload, folder: Path, mode: str, limit: float) -> RemoteSession:
        """Open a session over there. Raises as `harness.sessions.open_session`."""
        number = next(self._sessions)
        self._remote.ask(
            "open", session=number, options=dict(target.options), workload=to_plain(workload),
            folder=str(folder.absolute()), mode=mode, limit=limit,
        )  # fmt: skip
        return RemoteSession(target, workload, folder, self._remote, number, lambda: next(self._sessions))

    def life(self, env: Env) -> Life:
        """No life of this framework can be in this process."""
        self._nothing_here()

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """Nothing here can read the framework's store; sessions do, over there."""
        self._nothing_here()

    def tamper(self, store: Store, kind: str) -> None:
        """Nor damage it."""
        self._nothing_here()

    def _nothing_here(self) -> NoReturn:
        raise Unsupported(f"{self.name} lives in an environment of its own, where whole sessions run")


class RemoteSession:
    """A session that runs over there; see `harness.session.Session`."""

    def __init__(
        self,
        target: targets.Target,
        workload: Workload,
        folder: Path,
        remote: Remote,
        number: int,
        numbers: Callable[[], int],
    ) -> None:
        self.target = target
        self.workload = workload
        self.folder = folder
        self._remote = remote
        self._number = number
        self._numbers = numbers
        weakref.finalize(self, _forget, remote, number)

    def execute(self, command: Command) -> Observation:
        """Send one command and observe it. Raises Unsupported, with nothing sent, for what the target cannot express."""
        return from_plain(Observation, self._remote.ask("execute", session=self._number, command=to_plain(command)))

    def copied(self, folder: Path) -> RemoteSession:
        """A session in `folder` that goes on, by a fresh life, from a copy of the store as it is now."""
        number = self._numbers()
        self._remote.ask("copied", session=self._number, new=number, folder=str(folder.absolute()))
        return RemoteSession(self.target, self.workload, folder, self._remote, number, self._numbers)

    def standing(self) -> Standing:
        """Where the run stands now."""
        return from_plain(Standing, self._remote.ask("standing", session=self._number))

    def at_pace(self, pace: Dose) -> None:
        """Let racers go at once from now on."""
        self._remote.ask("pace", session=self._number, pace=to_plain(pace))

    def close(self) -> None:
        """End the present life. The session can go on afterwards, with a fresh one."""
        if self._remote.alive:
            self._remote.ask("close", session=self._number)

    def __enter__(self) -> RemoteSession:
        """The session itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def _forget(remote: Remote, number: int) -> None:
    """Nobody has the session any more; the other end hears of it with the next request."""
    remote.forgotten.append(number)


def _answer(reply: Wire) -> Any:
    """What the other end says, raised where it is an error that somebody here expects."""
    if "error" not in reply:
        return reply["answer"]
    name, words = reply["error"], reply["words"]
    if name == "Unsupported":
        raise Unsupported(words)
    if name == "MissingExtra":
        raise targets.MissingExtra(words, reply["extra"])
    if name == "FileExistsError":
        raise FileExistsError(words)
    if name == "OSError":
        raise OSError(reply["errno"], words)
    kind = getattr(targets, name, None)
    if isinstance(kind, type) and issubclass(kind, targets.TargetError):
        raise kind(words)
    raise WorkerError(f"{name}: {words}")


def _normal(name: str) -> str:
    """A distribution's name as packaging tools compare it."""
    return name.lower().replace("_", "-").replace(".", "-")
