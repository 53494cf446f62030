"""What CrewAI takes from its surroundings, per life: who calls its event handlers, its clock and its identifiers.

CrewAI reads these through one event bus and through module attributes, so those are replaced once, by functions that ask a
context variable. CrewAI copies the context into its threads, and each life has a context of its own, so nothing that one
leaves in CrewAI's many context variables reaches another. Nobody else uses CrewAI here: it has an environment of its own.
"""

from __future__ import annotations

import logging
import uuid
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from crewai.events import event_context
from crewai.events.event_bus import crewai_event_bus
from crewai.events.event_listener import event_listener
from crewai.flow import runtime
from crewai.state.provider import json_provider
from rich.console import Console

from fuzzresume.adapters._crewai_store import checkpoints
from fuzzresume.adapters._surroundings import settle
from fuzzresume.harness.env import Env

# Not CrewAI's interface, so nothing is typed.
_BUS: Any = crewai_event_bus
_RUNTIME: Any = runtime
_JSON: Any = json_provider
_EVENT_CONTEXT: Any = event_context

WORKERS = 10
"""How many threads the event bus's own pool has."""

_FIRST = "20200101T000000"
"""The time in the name of the checkpoint before the first one."""


class Scope:
    """One life's surroundings. `answer` is what its feedback provider tells whoever asks next (None: it pauses the flow)."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.answer: str | None = None
        self._executor = env.options["executor"]
        self._late: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._drawn = 0

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """Call the handlers of an event: at once, when somebody waits for them, or in a thread."""
        if self._executor == "threads":
            self._pool = self._pool or ThreadPoolExecutor(WORKERS)
            return self._pool.submit(fn, *args, **kwargs)
        if self._executor == "queue":
            late = _Late(self)
            self._late.append((late, lambda: fn(*args, **kwargs)))
            return late
        future: Future[Any] = Future()
        settle(future, lambda: fn(*args, **kwargs))
        return future

    def flush(self, wanted: Future[Any] | None = None) -> None:
        """Call what was put off, in order, up to `wanted`."""
        while self._late and (wanted is None or any(late is wanted for late, _ in self._late)):
            settle(*self._late.popleft())

    def close(self) -> None:
        """End the threads. The bus keeps count of what was put off; of what a dead life left it must not wait."""
        for late, _ in self._late:
            late.cancel()
        if self._pool is not None:
            self._pool.shutdown()

    def now(self, zone: tzinfo) -> datetime:
        """A second later than the newest checkpoint's, so names tell the order, as they do where tasks take their time."""
        found = checkpoints(self.env)
        newest = found[-1].name.partition("_")[0] if found else _FIRST
        return datetime.strptime(newest, "%Y%m%dT%H%M%S").replace(tzinfo=zone) + timedelta(seconds=1)

    def uuid4(self) -> uuid.UUID:
        """The next identifier of this life. Racers and twins have other seeds, which the first digits show."""
        self._drawn += 1
        return uuid.UUID(int=(self.env.seed & 0xFFFF_FFFF) << 96 | len(checkpoints(self.env)) << 32 | self._drawn)


class _Late(Future[Any]):
    """Handlers that are called once somebody waits for them. The first callback is the bus's own, which only keeps count."""

    def __init__(self, owner: Scope) -> None:
        super().__init__()
        self._owner = owner
        self._counted = False

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        if self._counted:
            self._owner.flush(self)
        self._counted = True
        super().add_done_callback(fn)


SCOPE: ContextVar[Scope] = ContextVar("fuzzresume_crewai_scope")
"""The surroundings of the life that the present code works for."""


class _Executor:
    """The event bus's executor."""

    @staticmethod
    def submit(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        return SCOPE.get().submit(fn, *args, **kwargs)


class _Identifiers:
    """The module `uuid`, as far as the names of checkpoints need it."""

    @staticmethod
    def uuid4() -> uuid.UUID:
        return SCOPE.get().uuid4()


class _Time:
    """The class `datetime`, as far as the names of checkpoints need it."""

    @staticmethod
    def now(zone: tzinfo = UTC) -> datetime:
        return SCOPE.get().now(zone)


def _flush(timeout: float | None = 30.0) -> bool:
    if (found := SCOPE.get(None)) is not None:
        found.flush()
    flushed: bool = type(_BUS).flush(_BUS, timeout)
    return flushed


def _install() -> None:
    """Replace what CrewAI looks up; and let it print nothing and have no memory, which would load an embedding store."""
    _BUS._sync_executor, _BUS._loop, _BUS._executor_initialized = _Executor, None, True
    _BUS.flush = _flush
    _JSON.datetime, _JSON.uuid = _Time, _Identifiers
    _RUNTIME.uuid4 = _Identifiers.uuid4
    _RUNTIME.Flow._skip_auto_memory = True
    for formatter in (event_listener.formatter, _BUS._console, _EVENT_CONTEXT._console):
        formatter.console = Console(quiet=True)
    logging.getLogger("crewai").setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")


_install()
