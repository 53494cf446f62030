"""What pydantic-graph takes from its surroundings, per call of a life: threads for files, identifiers, clock, lock names.

It reads these through module attributes, so the attributes are replaced once, by functions that ask a context variable and
do the original thing outside a `scoped` block. Other lives and other users of pydantic-graph in the process are unaffected.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, tzinfo
from types import SimpleNamespace
from typing import Any

from anyio import to_thread
from pydantic_graph import basenode
from pydantic_graph.persistence import _utils, file

from fuzzresume.adapters._surroundings import during, moment
from fuzzresume.harness.env import Crash, Env

# Not pydantic-graph's interface, so nothing is typed.
_NODES: Any = basenode
_TIME: Any = _utils
_FILE: Any = file
_THREADS: Any = to_thread


class CallerExecutor(ThreadPoolExecutor):
    """Runs what is submitted at once, in the calling thread. A dead life's work is not done, and raises Crash.

    The one coroutine of a run awaits each of its file operations, so nothing else could run meanwhile anyway.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(max_workers=1)  # a thread that is never started
        self._env = env

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it now."""
        future: Future[Any] = Future()
        try:
            future.set_result(self.call(fn, *args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future

    def call(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Do it now and return what it returns."""
        if self._env.dead:
            raise Crash("this life is over")
        return fn(*args, **kwargs)


class Clock:
    """Identifiers and times of one life: the same in every execution of one trace.

    `stored` is the number of snapshots that the life found in the store, which only grows; with the `seed` it keeps
    identifiers of different lives apart, wherever one of them was stored.
    """

    def __init__(self, seed: int, stored: int) -> None:
        self._prefix = f"{stored:08x}{seed:08x}"
        self._ticks = 0

    def identifier(self) -> str:
        """The next one, as long as those that pydantic-graph makes."""
        self._ticks += 1
        return f"{self._prefix}{self._ticks:016x}"

    def now(self, zone: tzinfo | None) -> datetime:
        """The number of identifiers drawn so far as a time, one second each."""
        return moment(self._ticks, zone)


@dataclass(frozen=True, slots=True)
class Scope:
    """One life's surroundings."""

    clock: Clock
    executor: CallerExecutor


_SCOPE: ContextVar[Scope | None] = ContextVar("fuzzresume_pydantic_graph_scope", default=None)


def scoped(scope: Scope) -> AbstractContextManager[None]:
    """Give pydantic-graph the surroundings `scope` for the calls made inside."""
    return during(_SCOPE, scope)


def _install() -> None:
    """Replace the module attributes by context-aware ones."""
    run_sync, snapshot_id = _THREADS.run_sync, _NODES.generate_snapshot_id
    perf_counter, token = _FILE.perf_counter, _FILE.secrets.token_urlsafe

    async def run_sync_in_caller(func: Callable[..., Any], *args: Any, **options: Any) -> Any:
        scope = _SCOPE.get()
        return await run_sync(func, *args, **options) if scope is None else scope.executor.call(func, *args)

    def generate_snapshot_id(node_id: str) -> Any:
        scope = _SCOPE.get()
        return snapshot_id(node_id) if scope is None else f"{node_id}:{scope.clock.identifier()}"

    def token_urlsafe() -> Any:
        scope = _SCOPE.get()
        return token() if scope is None else scope.clock.identifier()

    class ScopedTime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            scope = _SCOPE.get()
            return datetime.now(tz) if scope is None else scope.clock.now(tz)

    for module, name, value in (
        (_THREADS, "run_sync", run_sync_in_caller),
        (_NODES, "generate_snapshot_id", generate_snapshot_id),
        (_TIME, "datetime", ScopedTime),
        (_FILE, "perf_counter", lambda: perf_counter() if _SCOPE.get() is None else 0.0),
        (_FILE, "secrets", SimpleNamespace(token_urlsafe=token_urlsafe)),
    ):
        setattr(module, name, value)


_install()
