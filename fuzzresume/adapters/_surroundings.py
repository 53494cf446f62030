"""What adapters have in common that give a framework other surroundings for a life: a clock, a thread, the end of a loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, TypeVar

from fuzzresume.harness.env import Env

T = TypeVar("T")

UNWINDING = 100
"""How often at most the tasks that a life left on its loop are cancelled; each dead task can end one round."""


@contextlib.contextmanager
def during(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a context variable a value for the calls made inside."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def moment(tick: int, zone: tzinfo | None) -> datetime:
    """A tick as a time, one second each; in UTC without a zone."""
    return datetime(2020, 1, 1, tzinfo=zone or UTC) + timedelta(seconds=tick)


def settle(future: Future[Any], work: Callable[[], Any]) -> None:
    """Run `work` now. An exception ends up in the future.

    A death (any other BaseException) passes through to the caller too; it is in the future as well, because frameworks that
    unwind wait for every future they were given.
    """
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
        if not isinstance(error, Exception):
            raise
    else:
        future.set_result(result)


def unwind(env: Env, loop: asyncio.AbstractEventLoop, run: Callable[[Coroutine[Any, Any, Any]], object]) -> None:
    """Cancel what a life left on its loop until nothing is left; `run` runs a coroutine on it.

    Whatever reaches the store or a hook on its way meets its own death, for the life is over; nothing but memory is unwound.
    """
    for _ in range(UNWINDING):
        left = asyncio.all_tasks(loop)
        if not left:
            break
        env.dead = True
        for task in left:
            task.cancel()
        with contextlib.suppress(SystemExit):
            run(_ended(left))
    with contextlib.suppress(SystemExit):
        run(loop.shutdown_asyncgens())


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks)
