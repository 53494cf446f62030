"""One process's view of a LangGraph run: the compiled program and the contract's commands as its calls."""

import operator
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import create_model

from fuzzresume.adapters._langgraph_savers import Hooked, hooked_saver
from fuzzresume.adapters._langgraph_scope import Clock, Scope, scoped
from fuzzresume.adapters._langgraph_store import THREAD
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Env, Unsupported

_DEMAND = "you must specify the interrupt id"
"""What LangGraph's RuntimeError says when several interrupts are pending and the answer names none."""

# Not `from __future__ import annotations`: LangGraph takes channel types from the annotations of `entrypoint` functions.


class LangGraphLife:
    """A life; every method is one call of LangGraph's, plus the `get_state` that tells completed from idle.

    An address is `"<checkpoint id>/<interrupt id>"`, a branch a checkpoint id.
    """

    def __init__(self, env: Env) -> None:
        self._clock = Clock(env.seed)
        self._saver = hooked_saver(env, self._clock)
        self._scope = Scope(self._clock, env.options["executor"])
        self._durability = env.options["durability"]
        self._two_calls = env.options["fork"] == "two-call"
        functional = env.options["api"] == "functional"
        self._app: Any = functional_program(env, self._saver) if functional else graph_program(env, self._saver)
        self._input: Any = "go" if functional else {"marks": [], "note": "go"}

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
            state = self._app.get_state(config)
            list(self._app.get_state_history(_config(None)))
            list(self._saver.list(_config(None)))
        return Outcome("inert", marks=_marks(state.values.get("marks") if isinstance(state.values, dict) else state.values))

    def close(self) -> None:
        """Close the connection."""
        self._saver.close()

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
                pending = self._app.get_state(_config(checkpoint)).interrupts
            meant = [one.id for one in pending if one.value == question.text]
            if not meant:
                raise
        return self._invoke(Command(resume={meant[-1]: answer}), checkpoint)

    def _invoke(self, payload: Any, checkpoint: str | None) -> Outcome:
        self._clock.catch_up(self._saver.greatest())
        with scoped(self._scope):
            reply = self._app.invoke(payload, _config(checkpoint), durability=self._durability)
            position = self._saver.position
            marks = _marks(reply.get("marks") if isinstance(reply, Mapping) else reply)
            if isinstance(reply, Mapping) and "__interrupt__" in reply:
                asked = tuple(Asked(Question.parse(i.value), f"{position}/{i.id}") for i in reply["__interrupt__"])
                return Outcome("parked", asked, marks, address=position)
            pending = self._app.get_state(_config(position)).next
        return Outcome("idle" if pending else "completed", marks=marks, address=position)


def graph_program(env: Env, saver: Hooked) -> Any:
    """The workload as a compiled `StateGraph`: one node a task, in order. State, nodes and names are this life's own."""
    graph: Any = StateGraph(_pydantic_state() if env.options["schema"] == "pydantic" else _typed_state())
    before = START
    for number in env.workload.order:
        name = f"t{number}"
        # A partial, because LangGraph parses a plain function's source in search of subgraphs, in every life again.
        graph.add_node(name, partial(_node, env, number))
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph.compile(checkpointer=saver)


def functional_program(env: Env, saver: Hooked) -> Any:
    """The workload as an `entrypoint` that calls one `task` a task, in order; its result is what the next input adds to."""
    steps: list[Any] = [task(name=f"t{number}")(_step(env, number)) for number in env.workload.order]

    @entrypoint(checkpointer=saver)
    def program(_: str, *, previous: list[str] | None = None) -> list[str]:
        marks = list(previous or ())
        for step in steps:
            marks += step(list(marks)).result()["marks"]
        return marks

    return program


def _typed_state() -> Any:
    class State(TypedDict):
        marks: Annotated[list[str], operator.add]
        note: str

    return State


def _pydantic_state() -> Any:
    return create_model("State", marks=(Annotated[list[str], operator.add], ...), note=(str, ...))


def _node(env: Env, number: int, state: Any) -> dict[str, Any]:
    return _work(env, number, state["marks"] if isinstance(state, dict) else state.marks)


def _step(env: Env, number: int) -> Any:
    def step(marks: list[str]) -> dict[str, Any]:
        return _work(env, number, marks)

    return step


def _work(env: Env, number: int, marks: list[str]) -> dict[str, Any]:
    env.enter(number)
    answers = [interrupt(question.text) for question in env.workload.questions(number)]
    update = env.body(number, answers, reads=marks)
    return {"marks": [update.mark], "note": update.note}


def _config(checkpoint: str | None) -> RunnableConfig:
    at = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    return {"configurable": {"thread_id": THREAD, **at}}


def _marks(value: Any) -> tuple[Mark, ...] | None:
    return tuple(Mark.parse(mark) for mark in value) if isinstance(value, list) else None
