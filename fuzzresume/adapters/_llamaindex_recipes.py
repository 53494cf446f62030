"""How the caller of a LlamaIndex workflow keeps a run, by the documentation's recipes: snapshots, or the journal of ticks.

Both follow one handler for one life, by tasks of the life's loop, and give a later life the context to go on from.
"""

from __future__ import annotations

from typing import Any, Protocol

from workflows import Context, Workflow
from workflows.events import Event, InputRequiredEvent, StepState, StepStateChanged
from workflows.handler import WorkflowHandler
from workflows.plugins import basic as _basic

from fuzzresume.adapters import _llamaindex_journal as journal
from fuzzresume.adapters import _llamaindex_store as store
from fuzzresume.adapters._llamaindex_loop import Loop
from fuzzresume.harness.env import Env


class Recipe(Protocol):
    """What keeps a run."""

    def context(self, workflow: Workflow) -> Context[Any] | None:
        """A context to go on from, None when nothing was kept. Raises what the framework raises of a damaged record."""
        ...

    async def saw(self, handler: WorkflowHandler, event: Event) -> None:
        """The handler's stream has brought `event`."""
        ...

    async def ended(self, handler: WorkflowHandler) -> None:
        """The handler's stream has ended. Raises what the run raised."""
        ...

    async def follow(self, handler: WorkflowHandler) -> None:
        """Whatever is to be done beside reading the stream, from the run's start to its end."""
        ...


class Snapshots:
    """`json.dumps(handler.ctx.to_dict())` whenever a step has finished, or when a question is asked and at the end."""

    def __init__(self, env: Env, loop: Loop) -> None:
        self._env = env
        self._loop = loop
        self._steps = env.options["policy"] == "step"

    def context(self, workflow: Workflow) -> Context[Any] | None:
        """See `Recipe`."""
        snapshot = store.load(self._env)
        return None if snapshot is None else Context.from_dict(workflow, snapshot)

    async def saw(self, handler: WorkflowHandler, event: Event) -> None:
        """See `Recipe`."""
        finished = isinstance(event, StepStateChanged) and event.step_state == StepState.NOT_RUNNING
        if finished if self._steps else isinstance(event, InputRequiredEvent):
            await self._save(handler)

    async def ended(self, handler: WorkflowHandler) -> None:
        """See `Recipe`."""
        if not self._steps:
            await handler
            await self._save(handler)

    async def follow(self, handler: WorkflowHandler) -> None:
        """See `Recipe`."""

    async def _save(self, handler: WorkflowHandler) -> None:
        if self._env.options["save"] == "slow":
            await self._loop.put_off(until_written=True)
        snapshot = handler.ctx.to_dict()
        if self._env.options["save"] == "late":
            await self._loop.put_off()
        store.save(self._env, snapshot)


# Snapshots work with versions that have no journal.
basic: Any = _basic


class Journal:
    """`async for record in basic_runtime.journal(handler.run_id)`, and the state whenever all ticks until then were read."""

    def __init__(self, env: Env, loop: Loop) -> None:
        self._env = env
        self._loop = loop

    def context(self, workflow: Workflow) -> Context[Any] | None:
        """See `Recipe`."""
        entries = journal.load(self._env)
        if not entries:
            return None
        ticks = [basic.JournalRecord(**tick) for entry in entries for tick in entry["ticks"]]
        snapshot = basic.basic_runtime.restore(workflow, None, ticks).to_dict(include_state=False)
        return Context.from_dict(workflow, {**snapshot, "state": entries[-1]["state"]})

    async def saw(self, handler: WorkflowHandler, event: Event) -> None:
        """See `Recipe`."""

    async def ended(self, handler: WorkflowHandler) -> None:
        """See `Recipe`."""

    async def follow(self, handler: WorkflowHandler) -> None:
        """See `Recipe`."""
        ticks: list[dict[str, Any]] = []
        context: Any = handler.ctx
        async for record in basic.basic_runtime.journal(handler.run_id):
            ticks.append({"seq": record.seq, "data": record.data})
            if self._env.options["save"] == "slow":
                await self._loop.put_off(until_written=True)
            # A state goes with the ticks that led to it, so not with one that others have followed already.
            if record.seq + 1 < context.to_dict(include_state=False)["journal_seq"]:
                continue
            entry = {"ticks": ticks, "state": basic.basic_runtime.state_checkpoint(handler.run_id).to_dict()}
            ticks = []
            if self._env.options["save"] == "late":
                await self._loop.put_off()
            journal.append(self._env, entry)


def recipe(env: Env, loop: Loop) -> Recipe:
    """The recipe of `env`'s options."""
    return Journal(env, loop) if env.options["store"] == "journal" else Snapshots(env, loop)
