"""The workload as LangGraph programs: a graph and an entrypoint, each with plain or with async task bodies."""

import contextlib
import operator
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from typing import Annotated, Any, TypedDict

from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import create_model

from fuzzresume.adapters._surroundings import during
from fuzzresume.harness.env import Env

NULL = "null"
"""The value of an answer that LangGraph is given as `None`."""

_NAMELESS: ContextVar[str] = ContextVar("fuzzresume_langgraph_nameless", default="None")

# Not `from __future__ import annotations`: LangGraph takes channel types from the annotations of `entrypoint` functions.


def delivering(answer: str) -> AbstractContextManager[str | None]:
    """What LangGraph is given for an answer, during the call that delivers it: the answer, or `None` for the value `null`.

    A `None` does not say which answer it is. A body that gets one takes it for the answer of the call under way; in a call
    that delivers no `null`, nobody can say whose it is, and the effect shows `None`.
    """
    return _nameless(answer) if answer.partition("=")[2] == NULL else contextlib.nullcontext(answer)


@contextlib.contextmanager
def _nameless(answer: str) -> Iterator[None]:
    with during(_NAMELESS, answer):
        yield


def program(env: Env, saver: Any, *, awaited: bool = False) -> Any:
    """The program of `env`'s options over `saver`; `awaited`: its bodies are coroutines, for `ainvoke` alone."""
    if env.options["api"] != "functional":
        return _graph(env, saver, awaited)
    return _awaited_entrypoint(env, saver) if awaited else _entrypoint(env, saver)


def _graph(env: Env, saver: Any, awaited: bool) -> Any:
    """A compiled `StateGraph`: one node a task, in order. State, nodes and names are this life's own."""
    graph: Any = StateGraph(_pydantic_state() if env.options["schema"] == "pydantic" else _typed_state())
    names = {number: f"t{number}" for number in env.workload.order}
    graph.add_edge(START, next(iter(names.values())))
    for (number, name), after in zip(names.items(), [*names.values(), END][1:], strict=True):
        # A partial, because LangGraph parses a plain function's source in search of subgraphs, in every life again.
        graph.add_node(name, partial(_awaited_node if awaited else _node, env, number))
        if env.options["api"] == "routed":
            graph.add_conditional_edges(name, partial(_awaited_route if awaited else _route, env, number, after), [after])
        else:
            graph.add_edge(name, after)
    return graph.compile(checkpointer=saver)


def _entrypoint(env: Env, saver: Any) -> Any:
    """An `entrypoint` that calls one `task` a task, in order; its result is what the next input adds to."""
    steps: list[Any] = [task(name=f"t{number}")(_step(env, number)) for number in env.workload.order]

    @entrypoint(checkpointer=saver)
    def program(_: str, *, previous: list[str] | None = None) -> list[str]:
        marks = list(previous or ())
        for step in steps:
            marks += step(list(marks)).result()["marks"]
        return marks

    return program


def _awaited_entrypoint(env: Env, saver: Any) -> Any:
    """The same as coroutines."""
    steps: list[Any] = [task(name=f"t{number}")(_awaited_step(env, number)) for number in env.workload.order]

    @entrypoint(checkpointer=saver)
    async def program(_: str, *, previous: list[str] | None = None) -> list[str]:
        marks = list(previous or ())
        for step in steps:
            marks += (await step(list(marks)))["marks"]
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


async def _awaited_node(env: Env, number: int, state: Any) -> dict[str, Any]:
    return await _awaited_work(env, number, state["marks"] if isinstance(state, dict) else state.marks)


def _route(env: Env, number: int, after: str, state: Any) -> str:
    """The routing function behind a node. LangGraph runs it as a part of the node's task, whose failure its own one is."""
    env.hook(f"effect.route:{number}")
    return after


async def _awaited_route(env: Env, number: int, after: str, state: Any) -> str:
    await env.awaited_hook(f"effect.route:{number}")
    return after


def _step(env: Env, number: int) -> Any:
    def step(marks: list[str]) -> dict[str, Any]:
        return _work(env, number, marks)

    return step


def _awaited_step(env: Env, number: int) -> Any:
    async def step(marks: list[str]) -> dict[str, Any]:
        return await _awaited_work(env, number, marks)

    return step


def _work(env: Env, number: int, marks: list[str]) -> dict[str, Any]:
    update = env.body(number, _answers(env, number), reads=marks)
    return {"marks": [update.mark], "note": update.note}


async def _awaited_work(env: Env, number: int, marks: list[str]) -> dict[str, Any]:
    update = await env.awaited_body(number, _answers(env, number), reads=marks)
    return {"marks": [update.mark], "note": update.note}


def _answers(env: Env, number: int) -> list[Any]:
    env.enter(number)
    given = [interrupt(question.text) for question in env.workload.questions(number)]
    return [_NAMELESS.get() if one is None else one for one in given]
