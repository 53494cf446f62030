"""One process's view of a LangGraph run: the compiled program and the contract's commands as its calls."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from fuzzresume.adapters._langgraph_callers import Caller, caller
from fuzzresume.adapters._langgraph_programs import delivering
from fuzzresume.adapters._langgraph_scope import Clock, Scope, scoped
from fuzzresume.adapters._langgraph_store import THREAD
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Env, Unsupported

T = TypeVar("T")

_DEMAND = "you must specify the interrupt id"
"""What LangGraph's RuntimeError says when several interrupts are pending and the answer names none."""


class LangGraphCalls:
    """Every method is one call of LangGraph's, plus the `get_state` that tells completed from idle.

    An address is `"<checkpoint id>/<interrupt id>"`, a branch a checkpoint id. Over a blocking caller nothing here waits.
    """

    def __init__(self, env: Env, clock: Clock, caller: Caller) -> None:
        self._clock, self._caller = clock, caller
        self._scope = Scope(self._clock, env.options["executor"])
        self._durability = env.options["durability"]
        self._gate = env.options["wrap"] == "remit-gate"
        self._two_calls = env.options["fork"] == "two-call"
        self._input: Any = "go" if env.options["api"] == "functional" else {"marks": [], "note": "go"}

    async def start(self) -> Outcome:
        """`invoke(input, C)`."""
        return await self._invoke(self._input, None)

    async def restart(self) -> Outcome:
        """The same call as `start`: LangGraph has no other way to send an input."""
        return await self._invoke(self._input, None)

    async def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """`invoke(Command(resume=…), C)`; addressed, the answer is keyed by the interrupt's id."""
        with delivering(answer) as given:
            if address is None:
                return await self._deliver(question, given, branch)
            return await self._invoke(Command(resume={address.partition("/")[2]: given}), branch)

    async def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """`invoke(Command(resume=answer), C)` with the question's checkpoint id in the config.

        In two calls, `invoke(None, C@checkpoint)` first asks again on a branch of its own, which then is the latest.
        """
        checkpoint = address.partition("/")[0]
        if self._two_calls:
            if question.index > 1:
                raise Unsupported("a fork in two calls asks the gate's first question again, not this one")
            asked = await self._invoke(None, checkpoint)
            if asked.kind != "parked":
                return asked
        with delivering(answer) as given:
            return await self._deliver(question, given, None if self._two_calls else checkpoint)

    async def recover(self, *, branch: str | None) -> Outcome:
        """`invoke(None, C)`."""
        return await self._invoke(None, branch)

    async def inspect(self, *, branch: str | None) -> Outcome:
        """`get_state`, `get_state_history` and the saver's list, all read to the end."""
        with scoped(self._scope):
            state = await self._caller.state(self._reading(branch))
            await self._caller.history(self._reading(None))
        return Outcome("inert", marks=_marks(state.values.get("marks") if isinstance(state.values, dict) else state.values))

    def _reading(self, checkpoint: str | None) -> RunnableConfig:
        """The config of a call that only reads; REMIT's gate is to be told that it does."""
        config = _config(checkpoint)
        if self._gate:
            config["configurable"]["remit_inspect"] = True
        return config

    async def _deliver(self, question: Question, answer: str | None, checkpoint: str | None) -> Outcome:
        """The bare answer; keyed by the interrupt's id, as `get_state` tells it, only after LangGraph demanded one.

        What LangGraph counts as pending is more than `get_state` shows (it keeps an earlier epoch's interrupts), so its
        error is the only way to know. It is raised before anything runs or is written.
        """
        try:
            return await self._invoke(Command(resume=answer), checkpoint)
        except RuntimeError as demand:
            if _DEMAND not in str(demand):
                raise
            with scoped(self._scope):
                pending = (await self._caller.state(self._reading(checkpoint))).interrupts
            meant = [one.id for one in pending if one.value == question.text]
            if not meant:
                raise
        return await self._invoke(Command(resume={meant[-1]: answer}), checkpoint)

    async def _invoke(self, payload: Any, checkpoint: str | None) -> Outcome:
        self._clock.catch_up(self._caller.saver.greatest())
        with scoped(self._scope):
            reply = await self._caller.invoke(payload, _config(checkpoint), self._durability)
            position = self._caller.saver.position
            marks = _marks(reply.get("marks") if isinstance(reply, Mapping) else reply)
            if isinstance(reply, Mapping) and "__interrupt__" in reply:
                asked = tuple(Asked(Question.parse(i.value), f"{position}/{i.id}") for i in reply["__interrupt__"])
                return Outcome("parked", asked, marks, address=position)
            pending = (await self._caller.state(self._reading(position))).next
        return Outcome("idle" if pending else "completed", marks=marks, address=position)


class LangGraphLife:
    """A life: the calls, each run to its end."""

    def __init__(self, env: Env) -> None:
        clock = Clock(env.seed)
        self._caller = caller(env, clock)
        self.awaited = LangGraphCalls(env, clock, self._caller)

    def start(self) -> Outcome:
        """See `LangGraphCalls`, as for all of these."""
        return self.run(self.awaited.start())

    def restart(self) -> Outcome:
        """Send the input again."""
        return self.run(self.awaited.restart())

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """Deliver an answer."""
        return self.run(self.awaited.resume(question, answer, address=address, branch=branch))

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """Answer anew at the question's checkpoint."""
        return self.run(self.awaited.fork(question, answer, address=address))

    def recover(self, *, branch: str | None) -> Outcome:
        """Go on without news."""
        return self.run(self.awaited.recover(branch=branch))

    def inspect(self, *, branch: str | None) -> Outcome:
        """Look."""
        return self.run(self.awaited.inspect(branch=branch))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it to its end, on the loop if there is one."""
        return self._caller.run(coroutine)

    def close(self) -> None:
        """Close the connection, and end the loop if there is one."""
        self._caller.close()


def _config(checkpoint: str | None) -> RunnableConfig:
    at = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    return {"configurable": {"thread_id": THREAD, **at}}


def _marks(value: Any) -> tuple[Mark, ...] | None:
    return tuple(Mark.parse(mark) for mark in value) if isinstance(value, list) else None
