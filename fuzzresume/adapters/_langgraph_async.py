"""LangGraph's `AsyncSqliteSaver` with a crash point before and after every call that reads or writes a record.

Its driver hands every database operation to a thread, and which coroutine goes on meanwhile is a matter of speed. Two
speeds make it reproducible, and both are schedules that the driver itself can show: a thread that needs no time, and one
that is never done before the loop has nothing else left to do.
"""

from __future__ import annotations

import asyncio
import selectors
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

import aiosqlite
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from fuzzresume.adapters._langgraph_savers import Numbering
from fuzzresume.adapters._langgraph_scope import Clock
from fuzzresume.adapters._langgraph_store import SqliteReader, database
from fuzzresume.harness.env import Crash, Env


class Patient(selectors.DefaultSelector):
    """An event loop's selector that does one of the things put off whenever the loop would have to wait.

    When nothing is put off any longer, the harness is told (`Env.on_idle`).
    """

    def __init__(self, env: Env) -> None:
        super().__init__()
        self._env = env
        self.late: deque[Callable[[], None]] = deque()

    def select(self, timeout: float | None = None) -> Any:
        """As any selector; the loop asks with a timeout of 0 while it has something to run."""
        if timeout != 0 and self.late:
            self.late.popleft()()
            timeout = 0
        elif timeout != 0 and self._env.on_idle is not None:
            if ready := super().select(0):
                return ready
            self._env.on_idle()
        return super().select(timeout)


class Connection(aiosqlite.Connection):
    """A connection whose operations take no time (`inline`), or all the time there is (`queue`), or a thread's (`threads`).

    A dead life's operations raise Crash.
    """

    def __init__(self, env: Env, raw: sqlite3.Connection, patient: Patient) -> None:
        super().__init__(lambda: raw, iter_chunk_size=64)
        self._env, self._patient = env, patient

    async def end(self) -> None:
        """Close the database, whatever is still going on, and end the thread."""
        stopped = self.stop()
        if stopped is not None:
            await stopped
        self._thread.join()

    async def _execute(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        if self._env.dead:
            raise Crash("this life is over")
        executor = self._env.options["executor"]
        if executor == "threads":
            return await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        work = partial(fn, *args, **kwargs)
        if executor == "queue":
            self._patient.late.append(partial(self._late, work, done))
        else:
            loop.call_soon(_outcome(work), done)
        return await done

    def _late(self, work: Callable[[], Any], done: asyncio.Future[Any]) -> None:
        """What nobody waits for any longer, because a death came between, is not done at all."""
        if self._env.dead:
            _fail(Crash("this life is over"), done)
        elif not done.done():
            _outcome(work)(done)


def _outcome(work: Callable[[], Any]) -> Callable[[asyncio.Future[Any]], None]:
    """Do the work now; what is returned tells a future how it ended, unless that was cancelled meanwhile."""
    try:
        result = work()
    except Exception as error:
        return partial(_fail, error)
    return partial(_succeed, result)


def _succeed(result: Any, done: asyncio.Future[Any]) -> None:
    if not done.done():
        done.set_result(result)


def _fail(error: BaseException, done: asyncio.Future[Any]) -> None:
    if not done.done():
        done.set_exception(error)


class HookedAsyncSqliteSaver(Numbering, AsyncSqliteSaver):
    """An `AsyncSqliteSaver` on the run's file. A dead life's calls raise Crash and touch nothing."""

    conn: Connection

    def __init__(self, env: Env, clock: Clock, raw: sqlite3.Connection, patient: Patient) -> None:
        super().__init__(Connection(env, raw, patient))
        self.env, self.clock, self._raw = env, clock, raw

    @classmethod
    async def opened(cls, env: Env, clock: Clock, patient: Patient) -> HookedAsyncSqliteSaver:
        """The saver with its connection and its thread. Raises sqlite3.Error when the file cannot be opened."""
        raw = sqlite3.connect(database(env), timeout=30, check_same_thread=False)
        # A process's death loses nothing that was written; only a power cut needs the disk to be awaited.
        raw.execute("PRAGMA synchronous=OFF")
        saver = cls(env, clock, raw, patient)
        await saver.conn
        return saver

    async def aget_tuple(self, config: Any) -> Any:
        """Load a checkpoint."""
        await self.env.awaited_hook("get_tuple.before")
        found = await super().aget_tuple(config)
        self.stand_at(None if found is None else found.checkpoint["id"])
        await self.env.awaited_hook("get_tuple.after")
        self.notice_others()
        return found

    async def alist(self, config: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Load the history. Not a crash point: only inspection calls it."""
        async for found in super().alist(config, **kwargs):
            yield found

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Store a checkpoint."""
        await self.env.awaited_hook("put.before")
        stored = await super().aput(config, checkpoint, metadata, new_versions)
        self.stand_at(checkpoint["id"])
        await self.env.awaited_hook("put.after")
        self.notice_others()
        return stored

    async def aput_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Store what one task wrote."""
        await self.env.awaited_hook("put_writes.before")
        await super().aput_writes(config, writes, task_id, task_path)
        await self.env.awaited_hook("put_writes.after")
        self.notice_others()

    def greatest(self) -> str | None:
        """The greatest checkpoint id stored; None also for a file that is no database, which LangGraph shall find out."""
        try:
            return SqliteReader(self._raw).greatest()
        except sqlite3.DatabaseError:
            return None

    async def close(self) -> None:
        """Close the connection."""
        await self.conn.end()
