"""One process's view of a LlamaIndex run: a workflow, its handler, an event loop, and the contract's commands as calls.

A handler that has parked stays: the loop just does not run between two calls. A process that comes later has the snapshot.
"""

from __future__ import annotations

import asyncio
from typing import Any

from workflows import Context
from workflows.events import InputRequiredEvent
from workflows.handler import WorkflowHandler

from fuzzresume.adapters import _llamaindex_store as store
from fuzzresume.adapters._llamaindex_loop import Loop
from fuzzresume.adapters._llamaindex_programs import Shape, program
from fuzzresume.adapters._llamaindex_recipes import recipe
from fuzzresume.adapters._llamaindex_runtime import InOrder
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Env, Unsupported


class LlamaIndexLife:
    """The calls. Each ends when the run has ended, or when nothing of it is left to run."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._shape = Shape(env.workload, env.options["idiom"], env.options["input"] == "declared")
        self._workflow = program(self._shape)(timeout=None, runtime=InOrder())
        self._loop = Loop(env)
        self._workflow.env, self._workflow.written = env, self._loop.written
        self._recipe = recipe(env, self._loop)
        self._handler: WorkflowHandler | None = None
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self._announced = False

    def start(self) -> Outcome:
        """`workflow.run(start_event=…)`, with the context of the run if there is one."""
        return self._loop.run(self._begin())

    def restart(self) -> Outcome:
        """The same call as `start`: a run is known by its context alone."""
        return self._loop.run(self._begin())

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """`handler.ctx.send_event(answer)`, after `workflow.run(ctx=Context.from_dict(…))` where there is no handler."""
        return self._loop.run(self._answer(question, answer))

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """Cannot be said."""
        raise Unsupported("the API has no way to say fork")

    def recover(self, *, branch: str | None) -> Outcome:
        """`workflow.run(ctx=Context.from_dict(workflow, snapshot))`."""
        return self._loop.run(self._recover())

    def inspect(self, *, branch: str | None) -> Outcome:
        """`to_dict`, `running_steps` and the state of the context at hand; of what was kept, the state."""
        return self._loop.run(self._inspect())

    def close(self) -> None:
        """End whatever is left of the run in this process."""
        self._loop.close()

    async def _begin(self) -> Outcome:
        context = self._context() if self._handler is None else self._handler.ctx
        return await self._follow(self._workflow.run(ctx=context, start_event=self._shape.input))

    async def _answer(self, question: Question, answer: str) -> Outcome:
        handler = self._handler or self._restored()
        handler.ctx.send_event(self._shape.answered(question, answer))
        return await self._follow(handler)

    async def _recover(self) -> Outcome:
        return await self._follow(self._restored())

    async def _inspect(self) -> Outcome:
        context = self._context() if self._handler is None else self._handler.ctx
        if context is None:
            return Outcome("inert")
        if self._handler is not None:
            context.to_dict()
            await context.running_steps()
        return Outcome("inert", marks=await _marks(context))

    def _context(self) -> Context[Any] | None:
        return self._recipe.context(self._workflow)

    def _restored(self) -> WorkflowHandler:
        context = self._context()
        if context is None:
            raise store.NothingSaved("nothing of this run was kept")
        return self._workflow.run(ctx=context)

    async def _follow(self, handler: WorkflowHandler) -> Outcome:
        """Read the handler's events until it has ended or nothing is left to run. Raises what the run raises."""
        self._announced = False
        if handler is not self._handler:
            self._handler = handler
            self._tasks = tuple(asyncio.create_task(way) for way in (self._read(handler), self._recipe.follow(handler)))
        if not await self._loop.settled(*self._tasks):
            return await self._quiet(handler)
        try:
            await asyncio.gather(*self._tasks)
            marks: Any = await handler
        except Exception:
            # What is left of a run that failed is what was kept of it.
            self._handler = None
            if not handler.is_done():
                await handler.cancel_run()
            raise
        return Outcome("completed", marks=tuple(Mark.parse(mark) for mark in marks))

    async def _read(self, handler: WorkflowHandler) -> None:
        async for event in handler.stream_events(expose_internal=True):
            self._announced = self._announced or isinstance(event, InputRequiredEvent)
            await self._recipe.saw(handler, event)
        await self._recipe.ended(handler)

    async def _quiet(self, handler: WorkflowHandler) -> Outcome:
        pending = await self._pending(handler.ctx)
        asked = tuple(Asked(question) for question in self._env.workload.questions() if question.text in pending)
        return Outcome("parked" if asked else "idle", asked, await _marks(handler.ctx), announced=self._announced)

    async def _pending(self, context: Context[Any]) -> list[str]:
        """The questions that are open: what waits, or where nothing does, what the program noted."""
        if self._shape.idiom == "events":
            return [(await context.store.get_state()).asked]
        return store.waiting(context.to_dict())


async def _marks(context: Context[Any]) -> tuple[Mark, ...]:
    return tuple(Mark.parse(mark) for mark in (await context.store.get_state()).marks)
