"""The workload as LlamaIndex workflows: one step a task, or, where answers come as events, one step more a question.

Snapshots name event and state classes by module and class, so those live in this module; the classes of tasks and questions
are made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from pydantic import BaseModel, create_model
from workflows import Context, Workflow, step
from workflows.events import Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent

from fuzzresume.contract.workload import Question, Workload
from fuzzresume.harness.env import Env

# Events take any keyword, which their types do not say.
_Start: Any = StartEvent
_Request: Any = InputRequiredEvent
_Response: Any = HumanResponseEvent

# What a step does. LlamaIndex reads the event classes from a step's annotations, which `program` therefore sets.
Body = Callable[["Tasks", Context[Any], Any], Coroutine[Any, Any, Event]]


class State(BaseModel):
    """The declared state. `marks` and `note` are what tasks return; `base` is how many marks earlier epochs left.

    `asked` and `answers` are for answers that come as events: the framework keeps neither the question nor the answer.
    """

    marks: list[str] = []
    note: str = ""
    base: int = 0
    asked: str = ""
    answers: dict[str, str] = {}


class Begin(StartEvent):
    """An input that is declared: a run cannot start without it."""

    topic: str


class Tasks(Workflow):
    """A workflow of one life; its steps are added by `program`. `written` is told whenever a task has written its update."""

    env: Env
    written: Callable[[], None]


def __getattr__(name: str) -> type[Event]:
    """`Reached3`: task 3 is next. `Answer2_1`: a person's answer to question 2.1."""
    kind = name.rstrip("0123456789_")
    base = {"Reached": Event, "Answer": HumanResponseEvent}.get(kind)
    if base is None or kind == name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _event(name, base)


@cache
def _event(name: str, base: type[Event]) -> type[Event]:
    return create_model(name, __base__=base, __module__=__name__)


@dataclass(frozen=True)
class Shape:
    """What a program is made from: the workload, the option `idiom`, and whether the input is declared."""

    workload: Workload
    idiom: str
    declared: bool

    @property
    def input(self) -> StartEvent:
        """What a run is started with."""
        started: StartEvent = Begin(topic="go") if self.declared else _Start(topic="go")
        return started

    def answer(self, question: Question) -> type[Event]:
        """The class of the answer to `question`."""
        return _event(f"Answer{question.task}_{question.index}", HumanResponseEvent)

    def answered(self, question: Question, answer: str) -> Event:
        """What a person's answer is on the wire."""
        if self.idiom == "events":
            return self.answer(question)(response=answer)
        named = {} if self.idiom == "wait-bare" else {"question": question.text}
        response: Event = _Response(response=answer, **named)
        return response

    def reached(self, number: int) -> type[Event]:
        """The event that a task's first step accepts."""
        return type(self.input) if number == self.workload.order[0] else _event(f"Reached{number}", Event)

    def after(self, number: int) -> type[Event]:
        """The event that a task's last step returns."""
        place = self.workload.order.index(number) + 1
        return StopEvent if place == len(self.workload.order) else self.reached(self.workload.order[place])


@lru_cache(maxsize=64)
def program(shape: Shape) -> type[Tasks]:
    """The workflow class. It holds no state: an instance's `env` is that of its life."""
    steps: dict[str, Any] = {}

    def add(name: str, accepts: type[Event], returns: type[Event], body: Body) -> None:
        async def run(self: Tasks, ctx: Any, ev: Any) -> Any:
            return await body(self, ctx, ev)

        run.__name__, run.__qualname__ = name, f"Tasks.{name}"
        run.__annotations__ = {"ctx": Context[State], "ev": accepts, "return": returns}
        steps[name] = step(run)

    if shape.idiom == "one-step":
        add("all", type(shape.input), StopEvent, _whole(shape))
    else:
        for number in shape.workload.order:
            if shape.idiom == "events" and shape.workload.questions(number):
                _asking(shape, number, add)
            else:
                add(f"t{number}", shape.reached(number), shape.after(number), _task(shape, number))
    return type("Tasks", (Tasks,), steps)


def _asking(shape: Shape, number: int, add: Callable[[str, type[Event], type[Event], Body], None]) -> None:
    """A gate whose answers come as events: a step that asks, and a step for each answer, the last of which does the work."""
    questions = shape.workload.questions(number)

    async def ask(self: Tasks, ctx: Context[Any], ev: Event) -> Event:
        self.env.enter(number)
        await _begin(ctx, ev)
        return await _ask(ctx, questions[0])

    add(f"ask{number}", shape.reached(number), InputRequiredEvent, ask)
    for question, following in zip(questions, [*questions[1:], None], strict=True):
        returns = InputRequiredEvent if following is not None else shape.after(number)
        add(f"answered{number}_{question.index}", shape.answer(question), returns, _answered(shape, question, following))


def _answered(shape: Shape, question: Question, following: Question | None) -> Body:
    async def answered(self: Tasks, ctx: Context[Any], ev: Any) -> Event:
        self.env.enter(question.task)
        async with ctx.store.edit_state() as state:
            state.answers[question.text] = ev.response
        if following is not None:
            return await _ask(ctx, following)
        answers = [state.answers[asked.text] for asked in shape.workload.questions(question.task)]
        return await _work(self, ctx, shape, question.task, answers)

    return answered


def _task(shape: Shape, number: int) -> Body:
    """A task in one step, which waits for its answers, if any. The step runs from its top again at each of them."""

    async def task(self: Tasks, ctx: Context[Any], ev: Event) -> Event:
        self.env.enter(number)
        await _begin(ctx, ev)
        return await _work(self, ctx, shape, number, await _wait(ctx, shape, number))

    return task


def _whole(shape: Shape) -> Body:
    """All tasks in one step, with effects before the first wait: what the documentation warns of."""

    async def whole(self: Tasks, ctx: Context[Any], ev: Event) -> Event:
        await _begin(ctx, ev)
        for number in shape.workload.order:
            self.env.enter(number)
            event = await _work(self, ctx, shape, number, await _wait(ctx, shape, number))
        return event

    return whole


async def _begin(ctx: Context[Any], ev: Event) -> None:
    """The first step of an epoch. Safe to repeat, as what stands before a wait has to be."""
    if isinstance(ev, StartEvent):
        async with ctx.store.edit_state() as state:
            state.base, state.answers = len(state.marks), {}


async def _ask(ctx: Context[Any], question: Question) -> Event:
    async with ctx.store.edit_state() as state:
        state.asked = question.text
    request: Event = _Request(prefix=question.text)
    return request


async def _wait(ctx: Context[Any], shape: Shape, number: int) -> list[Any]:
    answers = []
    for question in shape.workload.questions(number):
        answer = await ctx.wait_for_event(
            HumanResponseEvent,
            waiter_event=_Request(prefix=question.text),
            waiter_id=question.text,
            requirements=None if shape.idiom == "wait-bare" else {"question": question.text},
            timeout=None,
        )
        answers.append(answer.response)
    return answers


async def _work(self: Tasks, ctx: Context[Any], shape: Shape, number: int, answers: list[Any]) -> Event:
    """The effect, the state update, and the event that comes next."""
    marks = (await ctx.store.get_state()).marks
    update = self.env.body(number, answers, reads=marks)
    async with ctx.store.edit_state() as state:
        state.marks, state.note, state.asked = [*state.marks, update.mark], update.note, ""
    self.written()
    after = shape.after(number)
    return StopEvent(result=state.marks) if after is StopEvent else after()
