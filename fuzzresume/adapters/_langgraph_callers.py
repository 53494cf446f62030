"""How a life calls LangGraph: its blocking methods, or its coroutines on an event loop of the life's own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar, cast

from fuzzresume.adapters._langgraph_async import HookedAsyncSqliteSaver, Patient
from fuzzresume.adapters._langgraph_programs import program
from fuzzresume.adapters._langgraph_savers import HookedMemorySaver, HookedSqliteSaver
from fuzzresume.adapters._langgraph_scope import Clock
from fuzzresume.adapters._surroundings import unwind
from fuzzresume.harness.env import Env

T = TypeVar("T")


class Saver(Protocol):
    """What a life asks its saver beside what LangGraph does."""

    @property
    def position(self) -> str | None:
        """The id of the checkpoint that the last call of LangGraph stands at."""
        ...

    def greatest(self) -> str | None:
        """The greatest checkpoint id stored."""
        ...


class Caller(Protocol):
    """The compiled program behind the calls that a life makes."""

    @property
    def saver(self) -> Saver:
        """The saver under the program."""
        ...

    async def invoke(self, payload: Any, config: Any, durability: str) -> Any:
        """Run to the next stop. Raises what the program or LangGraph raises."""
        ...

    async def state(self, config: Any) -> Any:
        """The snapshot at `config`."""
        ...

    async def history(self, config: Any) -> None:
        """Read the state history and the saver's list to the end."""
        ...

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of these calls to its end."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


class Blocking:
    """`invoke`, `get_state`, `get_state_history`."""

    def __init__(self, env: Env, clock: Clock) -> None:
        self.saver = _blocking_saver(env, clock)
        self._app = program(env, self.saver)

    async def invoke(self, payload: Any, config: Any, durability: str) -> Any:
        """See `Caller`."""
        return self._app.invoke(payload, config, durability=durability)

    async def state(self, config: Any) -> Any:
        """See `Caller`."""
        return self._app.get_state(config)

    async def history(self, config: Any) -> None:
        """See `Caller`."""
        list(self._app.get_state_history(config))
        list(self.saver.list(config))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """See `Caller`; none of the calls waits, so neither does the coroutine."""
        try:
            coroutine.send(None)
        except StopIteration as end:
            return cast(T, end.value)
        raise RuntimeError("a blocking call waited")

    def close(self) -> None:
        """See `Caller`."""
        self.saver.close()


def _blocking_saver(env: Env, clock: Clock) -> Any:
    if env.options["wrap"] != "none":
        from fuzzresume.adapters._langgraph_remit import wrapped

        return wrapped(env, clock)
    match env.options["saver"]:
        case "memory":
            return HookedMemorySaver(env, clock)
        case "postgres":
            from fuzzresume.adapters._langgraph_postgres_saver import HookedPostgresSaver

            return HookedPostgresSaver(env, clock)
        case _:
            return HookedSqliteSaver(env, clock)


class Awaiting:
    """`ainvoke`, `aget_state`, `aget_state_history`. The loop runs only inside a call."""

    def __init__(self, env: Env, clock: Clock) -> None:
        patient = Patient(env)
        self._loop = asyncio.SelectorEventLoop(patient)
        # A dead task's end is never asked for; the loop would print it.
        self._loop.set_exception_handler(lambda loop, context: None)
        try:
            self.saver = self.run(HookedAsyncSqliteSaver.opened(env, clock, patient))
        except BaseException:
            self._loop.close()
            raise
        self._app = program(env, self.saver, awaited=True)

    async def invoke(self, payload: Any, config: Any, durability: str) -> Any:
        """See `Caller`."""
        return await self._app.ainvoke(payload, config, durability=durability)

    async def state(self, config: Any) -> Any:
        """See `Caller`."""
        return await self._app.aget_state(config)

    async def history(self, config: Any) -> None:
        """See `Caller`."""
        async for _ in self._app.aget_state_history(config):
            pass
        async for _ in self.saver.alist(config):
            pass

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """See `Caller`; several calls can be under way, and the loop is theirs together."""
        return self._loop.run_until_complete(coroutine)

    def close(self) -> None:
        """Unwind what a death left on the loop, then close the connection, its thread and the loop."""
        try:
            unwind(self.saver.env, self._loop, self.run)
        finally:
            try:
                self.run(self.saver.close())
            finally:
                self._loop.close()
                # LangGraph makes the loop it runs on the thread's current one, and leaves it so.
                asyncio.set_event_loop(None)


def caller(env: Env, clock: Clock) -> Caller:
    """The caller of `env`'s options. Raises what the store's driver raises when it cannot be opened."""
    return Awaiting(env, clock) if env.options["saver"] == "async-sqlite" else Blocking(env, clock)
