"""The event loop of one life: it knows when nothing is left to run, and can put things off until then."""

from __future__ import annotations

import asyncio
import selectors
import warnings
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

from fuzzresume.adapters._surroundings import unwind
from fuzzresume.harness.env import Env

T = TypeVar("T")


class _Quiet(selectors.DefaultSelector):
    """A selector whose loop has nothing left to run when it is asked to wait.

    What was put off is done first, one thing whenever the loop would have to wait. Only then is it quiet.
    """

    def __init__(self) -> None:
        super().__init__()
        self.late: deque[asyncio.Future[None]] = deque()
        self.quiet: asyncio.Future[None] | None = None

    def select(self, timeout: float | None = None) -> Any:
        """As any selector; the loop asks with a timeout of 0 while it has something to run."""
        if timeout != 0 and (told := self._next()) is not None:
            if not told.done():
                told.set_result(None)
            timeout = 0
        return super().select(timeout)

    def _next(self) -> asyncio.Future[None] | None:
        if self.late:
            return self.late.popleft()
        quiet, self.quiet = self.quiet, None
        return quiet


class Loop:
    """An event loop that runs only inside a call."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._selector = _Quiet()
        self._until_written: list[asyncio.Future[None]] = []
        self._loop = asyncio.SelectorEventLoop(self._selector)
        # A dead task's end is never asked for; the loop would print it.
        self._loop.set_exception_handler(lambda loop, context: None)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        with warnings.catch_warnings():
            # Of a value that breaks the declared schema pydantic only warns, whenever the state is serialized.
            warnings.filterwarnings("ignore", "Pydantic serializer warnings")
            return self._loop.run_until_complete(coroutine)

    async def settled(self, *tasks: asyncio.Task[None]) -> bool:
        """Wait until all tasks have ended or one has failed, which is True, or until nothing is left to run."""
        quiet = self._selector.quiet = self._loop.create_future()
        left = set(tasks)
        while left:
            done, _ = await asyncio.wait({*left, quiet}, return_when=asyncio.FIRST_COMPLETED)
            if any(task.exception() is not None for task in done & left):
                break
            left -= done
            if quiet in done:
                break
        self._selector.quiet = None
        return not left or any(task.done() for task in left)

    async def put_off(self, *, until_written: bool = False) -> None:
        """Come back when the loop would have to wait, or, if that is sooner and `until_written`, at the next `written`."""
        turn: asyncio.Future[None] = self._loop.create_future()
        self._selector.late.append(turn)
        if until_written:
            self._until_written.append(turn)
        await turn

    def written(self) -> None:
        """A step has written to the run's state."""
        turns, self._until_written = self._until_written, []
        for turn in turns:
            if not turn.done():
                turn.set_result(None)

    def close(self) -> None:
        """Cancel until nothing is left, then close. Whatever passes a hook on its way meets its own death."""
        unwind(self._env, self._loop, self.run)
        self._loop.close()
