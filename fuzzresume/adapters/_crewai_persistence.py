"""CrewAI's stores with a crash point before and after every call that reads or writes one, and within a checkpoint file."""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from crewai.flow.persistence import sqlite
from crewai.flow.persistence.factory import set_flow_persistence_factory
from crewai.state.provider import json_provider
from crewai_core.lock_store import set_lock_backend
from pydantic import model_validator

from fuzzresume.adapters._crewai_scope import SCOPE
from fuzzresume.adapters._crewai_store import database
from fuzzresume.harness.env import Env

# Not CrewAI's interface, so nothing is typed.
_JSON: Any = json_provider
_SQLITE: Any = sqlite


class HookedPersistence(sqlite.SQLiteFlowPersistence):  # type: ignore[misc]  # CrewAI is never installed where mypy runs
    """A `SQLiteFlowPersistence` on the present life's file. A dead life's calls raise Crash and touch nothing.

    A checkpoint names the file of the flow's persistence; there too it means the present life's, for a store may be a copy.
    """

    persistence_type: str = "HookedPersistence"

    @model_validator(mode="before")
    @classmethod
    def _here(cls, _: Any) -> dict[str, Any]:
        return {"db_path": str(database(SCOPE.get().env))}

    def save_state(self, *args: Any, **kwargs: Any) -> None:
        """Store the state after a method."""
        with _hooked("save_state"):
            super().save_state(*args, **kwargs)

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        """Load the newest state."""
        with _hooked("load_state"):
            found: dict[str, Any] | None = super().load_state(flow_uuid)
        return found

    def save_pending_feedback(self, *args: Any, **kwargs: Any) -> None:
        """Store the state and the question that is pending."""
        with _hooked("save_pending"):
            super().save_pending_feedback(*args, **kwargs)

    def load_pending_feedback(self, flow_uuid: str) -> Any:
        """Load the question that is pending."""
        with _hooked("load_pending"):
            return super().load_pending_feedback(flow_uuid)

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        """Forget the question that was pending."""
        with _hooked("clear_pending"):
            super().clear_pending_feedback(flow_uuid)


@contextlib.contextmanager
def _hooked(name: str) -> Iterator[None]:
    env = SCOPE.get().env
    env.hook(f"{name}.before")
    yield
    env.hook(f"{name}.after")


class _CheckpointFile:
    """A checkpoint that is being written: CrewAI opens it under its final name and writes all of it at once.

    `how` are the further arguments of `open`, which differ between its versions.
    """

    def __init__(self, env: Env, path: Any, how: Mapping[str, Any]) -> None:
        self._env, self._path, self._how = env, path, how

    def __enter__(self) -> _CheckpointFile:
        self._env.hook("checkpoint.before")
        self._file = builtins.open(self._path, "w", **self._how)
        return self

    def write(self, content: str) -> None:
        self._env.hook("checkpoint.opened")
        self._file.write(content[: len(content) // 2])
        self._file.flush()
        self._env.hook("checkpoint.half")
        self._file.write(content[len(content) // 2 :])

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is None:
            self._env.hook("checkpoint.after")


def _open(path: Any, mode: str = "r", **how: Any) -> Any:
    return _CheckpointFile(SCOPE.get().env, path, how)


def _reading(stock: Callable[[Any, str], str]) -> Callable[[Any, str], str]:
    def from_checkpoint(self: Any, location: str) -> str:
        with _hooked("load_checkpoint"):
            return stock(self, location)

    return from_checkpoint


@contextlib.contextmanager
def _locked(name: str, *, timeout: float) -> Iterator[None]:
    """A lock of the folder of the file that the name ends in, which the kernel releases when its owner dies.

    CrewAI's own are files in the system's place for temporary files, one for each database for ever.
    """
    folder = os.path.dirname(name.partition(":")[2])
    descriptor = os.open(folder if os.path.isdir(folder) else tempfile.gettempdir(), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class _Connection(sqlite3.Connection):
    """CrewAI leaves the closing to the garbage collector, whose moments would decide which files there are."""

    def __exit__(self, *error: Any) -> Literal[False]:
        super().__exit__(*error)
        self.close()
        return False


class _Driver:
    """The module `sqlite3`, as far as CrewAI's persistence needs it."""

    @staticmethod
    def connect(path: str, timeout: float) -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=timeout, factory=_Connection)
        # A process's death loses nothing that was written; only a power cut needs the disk to be awaited.
        connection.execute("PRAGMA synchronous=OFF")
        return connection


_SQLITE.sqlite3 = _Driver
_JSON.open = _open
_JSON.JsonProvider.from_checkpoint = _reading(_JSON.JsonProvider.from_checkpoint)
set_lock_backend(_locked)
set_flow_persistence_factory(HookedPersistence)
