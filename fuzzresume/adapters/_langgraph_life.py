"""One process's view of a LangGraph run: the compiled program and the contract's commands as its calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from fuzzresume.adapters._langgraph_callers import caller
from fuzzresume.adapters._langgraph_scope import Clock, Scope, scoped
from fuzzresume.adapters._langgraph_store import THREAD
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Env, Unsupported

_DEMAND = "you must specify the interrupt id"
"""What LangGraph's RuntimeError says when several interrupts are pending and the answer names none."""


class LangGraphLife:
    """A life; every method is one call of LangGraph's, plus the `get_state` that tells completed from idle.

    An address is `"<checkpoint id>/<interrupt id>"`, a branch a checkpoint id.
    """

    def __init__(self, env: Env) -> None:
        self._clock = Clock(env.seed)
        self._caller = caller(env, self._clock)
        self._scope = Scope(self._clock, env.options["executor"])
        self._durability = env.options["durability"]
        self._two_calls = env.options["fork"] == "two-call"
        self._input: Any = "go" if env.options["api"] == "functional" else {"marks": [], "note": "go"}

    def start(self) -> Outcome:
        """`invoke(input, C)`."""
        return self._invoke(self._input, None)

    def restart(self) -> Outcome:
        """The same call as `start`: LangGraph has no other way to send an input."""
        return self._invoke(self._input, None)

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """`invoke(Command(resume=…), C)`; addressed, the answer is keyed by the interrupt's id."""
        if address is None:
            return self._deliver(question, answer, branch)
        return self._invoke(Command(resume={address.partition("/")[2]: answer}), branch)

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """`invoke(Command(resume=answer), C)` with the question's checkpoint id in the config.

        In two calls, `invoke(None, C@checkpoint)` first asks again on a branch of its own, which then is the latest.
        """
        checkpoint = address.partition("/")[0]
        if not self._two_calls:
            return self._deliver(question, answer, checkpoint)
        if question.index > 1:
            raise Unsupported("a fork in two calls asks the gate's first question again, not this one")
        asked = self._invoke(None, checkpoint)
        return self._deliver(question, answer, None) if asked.kind == "parked" else asked

    def recover(self, *, branch: str | None) -> Outcome:
        """`invoke(None, C)`."""
        return self._invoke(None, branch)

    def inspect(self, *, branch: str | None) -> Outcome:
        """`get_state`, `get_state_history` and the saver's list, all read to the end."""
        config = _config(branch)
        with scoped(self._scope):
            state = self._caller.state(config)
            self._caller.history(_config(None))
        return Outcome("inert", marks=_marks(state.values.get("marks") if isinstance(state.values, dict) else state.values))

    def close(self) -> None:
        """Close the connection, and end the loop if there is one."""
        self._caller.close()

    def _deliver(self, question: Question, answer: str, checkpoint: str | None) -> Outcome:
        """The bare answer; keyed by the interrupt's id, as `get_state` tells it, only after LangGraph demanded one.

        What LangGraph counts as pending is more than `get_state` shows (it keeps an earlier epoch's interrupts), so its
        error is the only way to know. It is raised before anything runs or is written.
        """
        try:
            return self._invoke(Command(resume=answer), checkpoint)
        except RuntimeError as demand:
            if _DEMAND not in str(demand):
                raise
            with scoped(self._scope):
                pending = self._caller.state(_config(checkpoint)).interrupts
            meant = [one.id for one in pending if one.value == question.text]
            if not meant:
                raise
        return self._invoke(Command(resume={meant[-1]: answer}), checkpoint)

    def _invoke(self, payload: Any, checkpoint: str | None) -> Outcome:
        self._clock.catch_up(self._caller.saver.greatest())
        with scoped(self._scope):
            reply = self._caller.invoke(payload, _config(checkpoint), self._durability)
            position = self._caller.saver.position
            marks = _marks(reply.get("marks") if isinstance(reply, Mapping) else reply)
            if isinstance(reply, Mapping) and "__interrupt__" in reply:
                asked = tuple(Asked(Question.parse(i.value), f"{position}/{i.id}") for i in reply["__interrupt__"])
                return Outcome("parked", asked, marks, address=position)
            pending = self._caller.state(_config(position)).next
        return Outcome("idle" if pending else "completed", marks=marks, address=position)


def _config(checkpoint: str | None) -> RunnableConfig:
    at = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    return {"configurable": {"thread_id": THREAD, **at}}


def _marks(value: Any) -> tuple[Mark, ...] | None:
    return tuple(Mark.parse(mark) for mark in value) if isinstance(value, list) else None
