"""Agents that call a tool: AutoGen's `AssistantAgent` over a model that follows a script. The effect is in the tool.

Questions and handovers are handoffs, which AutoGen offers to the model as tools too. The script decides from the messages it
is shown and from nothing else, as a model does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import FunctionalTermination
from autogen_agentchat.messages import ToolCallSummaryMessage
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from autogen_core.tools import FunctionTool

from fuzzresume.adapters._autogen_memory import Duty, Line
from fuzzresume.adapters._autogen_store import USER
from fuzzresume.contract.workload import Question
from fuzzresume.harness.env import Env

THE_END = "TERMINATE"
"""What the model says when nothing is left to do."""

_NO_USAGE = RequestUsage(prompt_tokens=0, completion_tokens=0)


def assistant(env: Env, duty: Duty) -> AssistantAgent:
    """The agent: a tool for each of its tasks, a handoff for each question, and one to who follows."""
    questions = [question for task in duty.tasks for question in env.workload.questions(task)]
    handoffs: list[Any] = [Handoff(target=USER, name=_ask(question), message=question.text) for question in questions]
    if duty.then is not None:
        handoffs.append(Handoff(target=duty.then, name=_hand_over(duty.then)))
    tools: list[Any] = [_tool(env, task) for task in duty.tasks]
    return AssistantAgent(duty.name, Script(env, duty), tools=tools, handoffs=handoffs)


def stopped_by_failure() -> FunctionalTermination:
    """Ends a run whose tool failed: AutoGen tells the model of a tool's exception, and nobody else."""
    return FunctionalTermination(lambda messages: any(map(failed, messages)))


def failed(message: object) -> TypeGuard[ToolCallSummaryMessage]:
    """Whether the message reports a tool's exception."""
    return isinstance(message, ToolCallSummaryMessage) and any(result.is_error for result in message.results)


class Script(ChatCompletionClient):
    """The model of one agent."""

    def __init__(self, env: Env, duty: Duty) -> None:
        self._env, self._duty = env, duty

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """One inference: ask, work, hand over, or say that this is the end."""
        lines = list(_lines(messages, self._duty.name))
        content = self._answer(lines)
        reason = "stop" if isinstance(content, str) else "function_calls"
        return CreateResult(finish_reason=reason, content=content, usage=_NO_USAGE, cached=False)  # type: ignore[arg-type]

    def _answer(self, lines: list[Line]) -> str | list[FunctionCall]:
        known = self._duty.recall(lines)
        own = [line.text for line in lines if line.source == self._duty.name]
        task = self._duty.next(known.done)
        if task is None or (known.done.issuperset(self._duty.tasks) and own[-1] in known.marks):
            return THE_END if self._duty.then is None else _call(_hand_over(self._duty.then), len(lines))
        self._env.enter(task)
        questions = self._env.workload.questions(task)
        open_question = known.unanswered(questions)
        if open_question is not None:
            return _call(_ask(open_question), len(lines))
        answers = [known.answers[question] for question in questions]
        return _call(_do(task), len(lines), answers=answers, reads=known.marks)

    def create_stream(self, *_: Any, **__: Any) -> Any:
        """Nobody streams. Raises NotImplementedError."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is held."""

    def actual_usage(self) -> RequestUsage:
        """None."""
        return _NO_USAGE

    def total_usage(self) -> RequestUsage:
        """None."""
        return _NO_USAGE

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        """None."""
        return 0

    def remaining_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        """None."""
        return 0

    @property
    def capabilities(self) -> Any:
        """The same as `model_info`, under its old name."""
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        """It calls functions."""
        return ModelInfo(
            vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False,
            multiple_system_messages=None,
        )  # fmt: skip


def _tool(env: Env, task: int) -> FunctionTool:
    async def perform(answers: list[str], reads: list[str]) -> str:
        return env.body(task, answers, reads=reads).mark

    return FunctionTool(perform, f"Does task {task}.", name=_do(task))


def _lines(messages: Iterable[LLMMessage], me: str) -> Iterable[Line]:
    """What was said, as a model sees it: to whom is not part of it."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield Line(message.source, str(message.content))
        elif isinstance(message, AssistantMessage) and isinstance(message.content, str):
            yield Line(me, message.content)
        elif isinstance(message, FunctionExecutionResultMessage):
            for result in message.content:
                yield Line(me, "it failed" if result.is_error else result.content)


def _call(name: str, number: int, **arguments: object) -> list[FunctionCall]:
    return [FunctionCall(id=f"call-{number}", name=name, arguments=json.dumps(arguments))]


def _do(task: int) -> str:
    return f"do_{task}"


def _ask(question: Question) -> str:
    return f"ask_{question.task}_{question.index}"


def _hand_over(agent: str) -> str:
    return f"hand_over_to_{agent}"
