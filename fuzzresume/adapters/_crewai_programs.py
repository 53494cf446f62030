"""The workload as a CrewAI flow: a method a task, and before it, for a gate, a method a question.

A method's human is asked after it returned, so a gate's effect has to be in a method of its own, which listens to the one
that asks. An answer comes as that listener's argument; the listener that asks the next question keeps it in the state.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from crewai.flow import HumanFeedbackPending, human_feedback
from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import persist
from pydantic import BaseModel, create_model

from fuzzresume.adapters._crewai_persistence import HookedPersistence
from fuzzresume.adapters._crewai_scope import SCOPE
from fuzzresume.contract.workload import Question, Workload

Method = Callable[..., str]

INPUT = "go"
"""What a run is sent."""


class Provider:
    """Asks the human: pauses the flow, unless the life was given an answer."""

    def request_feedback(self, context: Any, flow: Any) -> str:
        """The answer. Raises HumanFeedbackPending when there is none yet."""
        answer, SCOPE.get().answer = SCOPE.get().answer, None
        if answer is None:
            raise HumanFeedbackPending(context=context)
        return answer


@lru_cache(maxsize=64)
def program(workload: Workload, structured: bool, persisted: bool) -> Any:
    """The flow class of a workload. It holds nothing of a life: its methods work for the one in whose scope they run, and an
    instance's own persistence stands before the class's.
    """
    methods: dict[str, Any] = {}
    before: Question | None = None
    for task in workload.order:
        for question in workload.questions(task):
            method = _named(f"ask_{question.task}_{question.index}", _asking(question, before))
            human_feedback(message=question.text, llm=None, provider=Provider())(method)
            _follow(methods, method)
            before = question
        _follow(methods, _named(f"task_{task}", _working(task, workload.questions(task))))
        before = None
    base: Any = Flow[_state()] if structured else Flow
    if not structured:
        methods["initial_state"] = _unstructured()
    flow = type(base)("Run", (base,), {"__module__": __name__, **methods})
    return persist(HookedPersistence())(flow) if persisted else flow


def marks_of(flow: Any) -> list[str]:
    """The marks in a flow's state."""
    marks: list[str] = _get(flow, "marks")
    return marks


def _follow(methods: dict[str, Any], method: Method) -> None:
    """Let a method run when the last one has."""
    last = next(reversed(methods), None)
    methods[method.__name__] = (start() if last is None else listen(last))(method)


def _named(name: str, method: Method) -> Method:
    method.__name__, method.__qualname__ = name, f"Run.{name}"
    return method


def _asking(question: Question, before: Question | None) -> Method:
    """The method whose human is asked a question; `before` is the question that was asked just before."""

    def ask(flow: Any, result: Any = None) -> str:
        _begin(flow, question.task)
        _keep(flow, before, result)
        return question.text

    return ask


def _working(task: int, asked: tuple[Question, ...]) -> Method:
    """The method that is the task; `asked` are its questions."""

    def work(flow: Any, result: Any = None) -> str:
        _begin(flow, task)
        _keep(flow, asked[-1] if asked else None, result)
        answers = [_get(flow, "answers")[question.text] for question in asked]
        marks = marks_of(flow)
        update = SCOPE.get().env.body(task, answers, reads=marks)
        _set(flow, marks=[*marks, update.mark], note=update.note)
        return update.mark

    return work


def _begin(flow: Any, task: int) -> None:
    """Enter a task. An input that nobody has taken begins an epoch: the state keeps how many marks are older."""
    SCOPE.get().env.enter(task)
    if _get(flow, "input"):
        _set(flow, base=len(marks_of(flow)), input="")


def _keep(flow: Any, question: Question | None, result: Any) -> None:
    """Put the answer to a question into the state. Raises AttributeError when CrewAI does not bring the human's reply."""
    if question is not None:
        if not hasattr(result, "feedback"):
            # Said on purpose: a task without its human's reply is CrewAI's doing, and no slip of this adapter.
            raise AttributeError(f"CrewAI brings {result!r} instead of the human's reply")
        _set(flow, answers={**_get(flow, "answers"), question.text: result.feedback})


def _unstructured() -> dict[str, Any]:
    return {"marks": [], "note": "", "input": "", "base": 0, "answers": {}}


def _state() -> type[BaseModel]:
    model: type[BaseModel] = create_model(
        "State", marks=(list[str], []), note=(str, ""), input=(str, ""), base=(int, 0), answers=(dict[str, str], {})
    )
    return model


def _get(flow: Any, name: str) -> Any:
    return flow.state[name] if isinstance(flow.state, dict) else getattr(flow.state, name)


def _set(flow: Any, **values: Any) -> None:
    for name, value in values.items():
        if isinstance(flow.state, dict):
            flow.state[name] = value
        else:
            setattr(flow.state, name, value)
