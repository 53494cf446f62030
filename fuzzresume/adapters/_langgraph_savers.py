"""LangGraph's savers with a crash point before and after every call that reads or writes a record."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from fuzzresume.adapters._langgraph_scope import Clock
from fuzzresume.adapters._langgraph_store import MEMORY_KEY, MemoryContents, MemoryReader, SqliteReader, database
from fuzzresume.harness.env import Crash, Env


class Hooked(BaseCheckpointSaver[str]):
    """Mixed in before a saver. A dead life's calls raise Crash and touch nothing.

    `position` is the id of the checkpoint that the last call of LangGraph stands at: the last one loaded or put.
    """

    env: Env
    clock: Clock
    position: str | None = None

    def get_tuple(self, config: Any) -> Any:
        """Load a checkpoint."""
        self.env.hook("get_tuple.before")
        found = super().get_tuple(config)
        self.position = None if found is None else found.checkpoint["id"]
        self.env.hook("get_tuple.after")
        return found

    def list(self, config: Any, **kwargs: Any) -> Iterator[Any]:
        """Load the history. Not a crash point: only inspection calls it."""
        if self.env.dead:
            raise Crash("this life is over")
        return super().list(config, **kwargs)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Store a checkpoint."""
        self.env.hook("put.before")
        stored = super().put(config, checkpoint, metadata, new_versions)
        self.position = checkpoint["id"]
        self.env.hook("put.after")
        return stored

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store what one task wrote."""
        self.env.hook("put_writes.before")
        super().put_writes(config, writes, task_id, task_path)
        self.env.hook("put_writes.after")

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """The savers' own numbering, with the random part drawn from the run's clock."""
        return next_version(current, self.clock)


def next_version(current: str | int | None, clock: Clock) -> str:
    """The version after `current`, in the format of all of LangGraph's savers."""
    number = current if isinstance(current, int) else int((current or "0").partition(".")[0])
    return f"{number + 1:032}.{clock.fraction():016}"


class HookedSqliteSaver(Hooked, SqliteSaver):
    """A `SqliteSaver` on the run's file, with a connection of its own."""

    def __init__(self, env: Env, clock: Clock) -> None:
        super().__init__(sqlite3.connect(database(env), timeout=30, check_same_thread=False))
        # A process's death loses nothing that was written; only a power cut needs the disk to be awaited.
        self.conn.execute("PRAGMA synchronous=OFF")
        self.env, self.clock = env, clock

    def greatest(self) -> str | None:
        """The greatest checkpoint id stored; None also for a file that is no database, which LangGraph shall find out."""
        try:
            return SqliteReader(self.conn).greatest()
        except sqlite3.DatabaseError:
            return None

    def close(self) -> None:
        """Close the connection."""
        self.conn.close()


class HookedMemorySaver(Hooked, InMemorySaver):
    """An `InMemorySaver` whose containers outlive it in the harness's memory slot."""

    def __init__(self, env: Env, clock: Clock) -> None:
        super().__init__()
        fresh = MemoryContents(self.storage, self.writes, self.blobs)
        self.storage, self.writes, self.blobs = env.memory.setdefault(MEMORY_KEY, fresh)
        self.env, self.clock = env, clock

    def greatest(self) -> str | None:
        """The greatest checkpoint id stored."""
        return MemoryReader(self.env.memory[MEMORY_KEY]).greatest()

    def close(self) -> None:
        """Nothing is held."""
