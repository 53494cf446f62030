"""LangGraph's savers with a crash point before and after every call that reads or writes a record."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from fuzzresume.adapters._langgraph_scope import Clock
from fuzzresume.adapters._langgraph_store import MEMORY_KEY, MemoryContents, MemoryReader, SqliteReader, database
from fuzzresume.harness.env import RACER, Crash, Env


class Numbering:
    """Mixed in before a saver: what it numbers, it numbers by the run's clock."""

    env: Env
    clock: Clock
    greatest: Callable[[], str | None]

    @property
    def position(self) -> str | None:
        """The id of the checkpoint that the last call of LangGraph stands at: the last one loaded or put."""
        return self._positions.get(RACER.get())

    def stand_at(self, checkpoint: str | None) -> None:
        """A call has loaded or put that checkpoint."""
        self._positions[RACER.get()] = checkpoint

    @property
    def _positions(self) -> dict[int | None, str | None]:
        """Each racer has its own; of racing threads one makes the table for all."""
        found: dict[int | None, str | None] = vars(self).setdefault("positions", {})
        return found

    def notice_others(self) -> None:
        """What this life draws next is later than what other processes have written while it stood at a hook."""
        if self.env.racing:
            self.clock.catch_up(self.greatest())

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """The savers' own numbering, with the random part drawn from the run's clock."""
        number = current if isinstance(current, int) else int((current or "0").partition(".")[0])
        return f"{number + 1:032}.{self.clock.fraction():016}"


class Hooked(Numbering, BaseCheckpointSaver[str]):
    """Mixed in before a saver. A dead life's calls raise Crash and touch nothing."""

    def get_tuple(self, config: Any) -> Any:
        """Load a checkpoint."""
        self.env.hook("get_tuple.before")
        found = super().get_tuple(config)
        self.stand_at(None if found is None else found.checkpoint["id"])
        self.env.hook("get_tuple.after")
        self.notice_others()
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
        self.stand_at(checkpoint["id"])
        self.env.hook("put.after")
        self.notice_others()
        return stored

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store what one task wrote."""
        self.env.hook("put_writes.before")
        super().put_writes(config, writes, task_id, task_path)
        self.env.hook("put_writes.after")
        self.notice_others()


class HookedSqliteSaver(Hooked, SqliteSaver):
    """A `SqliteSaver` on the run's file, with a connection of its own. `wrapping` is for a class that wraps the saver."""

    def __init__(self, env: Env, clock: Clock, **wrapping: Any) -> None:
        super().__init__(sqlite3.connect(database(env), timeout=30, check_same_thread=False), **wrapping)
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
    """An `InMemorySaver` whose containers outlive it in the harness's memory slot. `wrapping` as above."""

    def __init__(self, env: Env, clock: Clock, **wrapping: Any) -> None:
        super().__init__(**wrapping)
        fresh = MemoryContents(self.storage, self.writes, self.blobs)
        self.storage, self.writes, self.blobs = env.memory.setdefault(MEMORY_KEY, fresh)
        self.env, self.clock = env, clock

    def greatest(self) -> str | None:
        """The greatest checkpoint id stored."""
        return MemoryReader(self.env.memory[MEMORY_KEY]).greatest()

    def close(self) -> None:
        """Nothing is held."""
