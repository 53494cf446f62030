"""What LangGraph takes from its surroundings, per call of a life: clock, identifiers, executor.

LangGraph reads these through module attributes, so the attributes are replaced once, by functions that ask a context
variable and do the original thing outside a `scoped` block. Interleaved lives, other threads and other users of LangGraph
in the process are unaffected; LangGraph itself copies the context into its pool threads.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import random
import uuid
from collections import deque
from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache
from itertools import count
from typing import Any

from langgraph._internal import _queue
from langgraph.pregel import _checkpoint, _executor, _loop

from fuzzresume.adapters._surroundings import during, moment, settle

# Not LangGraph's interface, so nothing is typed.
_QUEUE: Any = _queue
_EXECUTOR: Any = _executor
_CHECKPOINT: Any = _checkpoint

PUT_OFF = {
    "inline": frozenset[str](),
    "queue": frozenset({"put_writes", "_checkpointer_put_after_previous"}),
    "late-writes": frozenset({"put_writes"}),
}
"""By executor: which of the functions are put off that LangGraph submits to write what tasks wrote, and checkpoints."""

_BLOCK = 16
"""How many numbers of a sequence are drawn at once; few calls need more."""

_FIRST_TICK = 0x1F0_0000_0000_0000
"""The 60-bit timestamp before the first identifier of a run."""


class Clock:
    """Time and chance of one run: strictly increasing, and the same in every execution of one trace.

    It is derived from the greatest identifier in the store, so that it goes on across processes and in copies of a store,
    and no identifier that reached the store is ever drawn again. `seed` keeps lives apart that start from the same bytes.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._tick = _FIRST_TICK
        self._chances = f"{seed}", count()

    def catch_up(self, greatest: str | None) -> None:
        """Begin a call on a store whose greatest identifier is `greatest`."""
        self._tick = max(self._tick, _FIRST_TICK if greatest is None else _timestamp(greatest))
        self._chances = f"{self._seed}:{self._tick}", count()

    def uuid6(self, clock_seq: int | None) -> uuid.UUID:
        """The next identifier: its order is that of the ticks, as LangGraph's is that of the time."""
        self._tick += 1
        high, low = self._tick >> 12, self._tick & 0xFFF
        variant, node = 0x8000 | ((clock_seq or 0) & 0x3FFF), self._seed & 0xFFFF_FFFF_FFFF
        return uuid.UUID(int=high << 80 | 6 << 76 | low << 64 | variant << 48 | node)

    def now(self, zone: tzinfo | None) -> datetime:
        """The tick as a time, one second each."""
        return moment(self._tick - _FIRST_TICK, zone)

    def fraction(self) -> float:
        """A number in [0, 1): what tells equal channel versions of two branches apart."""
        start, drawn = self._chances
        block, place = divmod(next(drawn), _BLOCK)
        return _drawn(start, block)[place]


@lru_cache(maxsize=1024)
def _drawn(start: str, block: int) -> list[float]:
    """The numbers that a `Random(start)` draws, a block of them.

    Runs make the same calls on the same bytes again and again, and to begin a sequence takes as long as hundreds of its
    numbers.
    """
    chance = random.Random(start)
    return [chance.random() for _ in range((block + 1) * _BLOCK)][-_BLOCK:]


def _timestamp(identifier: str) -> int:
    number = int(identifier.replace("-", ""), 16)
    return (number >> 80) << 12 | (number >> 64) & 0xFFF


@dataclass(frozen=True, slots=True)
class Scope:
    """One life's surroundings: its clock, and who runs what LangGraph submits, as the option `executor` says."""

    clock: Clock
    executor: str


_SCOPE: ContextVar[Scope | None] = ContextVar("fuzzresume_langgraph_scope", default=None)


def scoped(scope: Scope) -> AbstractContextManager[None]:
    """Give LangGraph the surroundings `scope` for the calls made inside."""
    return during(_SCOPE, scope)


class _Deferred(concurrent.futures.Future[Any]):
    """A record that is written once somebody asks for it."""

    def __init__(self, owner: CallerExecutor) -> None:
        super().__init__()
        self._owner = owner

    def result(self, timeout: float | None = None) -> Any:
        self._owner.flush(self)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._owner.flush(self)
        return super().exception(timeout)

    def done(self) -> bool:
        self._owner.flush(self)
        return super().done()


class CallerExecutor(contextlib.AbstractContextManager["CallerExecutor"]):
    """Runs everything in the calling thread: tasks when they are submitted; records too, or late (`put_off`), in order.

    An exception ends up in the future; a death (any other BaseException) passes straight through to the caller.
    """

    def __init__(self, put_off: Container[str]) -> None:
        self._put_off = put_off
        self._late: deque[tuple[_Deferred, Callable[[], Any]]] = deque()

    def __exit__(self, *_: object) -> None:
        while self._late:
            self._write_next()

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Run or defer `fn`. LangGraph wraps what it submits: the function meant is the first or second argument."""
        meant = args[1] if fn is _EXECUTOR.next_tick else args[0]
        if getattr(meant, "__func__", None) is _QUEUE.SyncQueue.wait:
            # It waits until another thread may have streamed something. There is none, so the wait is over.
            waiter: concurrent.futures.Future[Any] = concurrent.futures.Future()
            waiter.set_result(None)
            return waiter
        if getattr(meant, "__name__", "") in self._put_off:
            late = _Deferred(self)
            self._late.append((late, lambda: fn(*args, **kwargs)))
            return late
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        settle(future, lambda: fn(*args, **kwargs))
        return future

    def flush(self, wanted: _Deferred) -> None:
        """Write the deferred records up to `wanted`."""
        while any(late is wanted for late, _ in self._late):
            self._write_next()

    def _write_next(self) -> None:
        settle(*self._late.popleft())


def _install() -> None:
    """Replace LangGraph's module attributes by the context-aware ones."""
    stock_executor, stock_uuid6 = _EXECUTOR.get_executor_for_config, _CHECKPOINT.uuid6

    def get_executor_for_config(config: Any) -> Any:
        scope = _SCOPE.get()
        if scope is None or scope.executor == "threads":
            return stock_executor(config)
        return CallerExecutor(PUT_OFF[scope.executor])

    def uuid6(node: int | None = None, clock_seq: int | None = None) -> Any:
        scope = _SCOPE.get()
        return stock_uuid6(node, clock_seq) if scope is None else scope.clock.uuid6(clock_seq)

    class ScopedTime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            scope = _SCOPE.get()
            return datetime.now(tz) if scope is None else scope.clock.now(tz)

    for module, name, value in (
        (_executor, "get_executor_for_config", get_executor_for_config),
        (_checkpoint, "uuid6", uuid6),
        (_checkpoint, "datetime", ScopedTime),
        (_loop, "datetime", ScopedTime),
    ):
        setattr(module, name, value)


_install()
