"""The workload as AutoGen teams, over agents that are either plain or call a tool through a scripted model.

- `swarm`: an agent a task, each of which hands off to the next one.
- `roundrobin`: one agent for all tasks, a task a turn, as in the documentation's example of a team that asks its user.
- `graphflow`: an agent a task, in a chain. A gate has an edge back to itself, taken while it asks, and a last node without a
  task closes the graph, for a graph needs a node that nothing follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import ChatAgent, Response, TerminationCondition
from autogen_agentchat.conditions import HandoffTermination, StopMessageTermination, TextMentionTermination
from autogen_agentchat.messages import BaseChatMessage, HandoffMessage, StopMessage, TextMessage
from autogen_agentchat.state import BaseState
from autogen_agentchat.teams import BaseGroupChat, DiGraphBuilder, GraphFlow, RoundRobinGroupChat, Swarm
from autogen_core import CancellationToken
from pydantic import Field

from fuzzresume.adapters._autogen_memory import Duty, Line
from fuzzresume.adapters._autogen_store import MARK, NOTE, USER
from fuzzresume.adapters._autogen_tools import THE_END, assistant, stopped_by_failure
from fuzzresume.harness.env import Env

Build = Callable[[Duty], ChatAgent]

SOLO = "worker"
"""The agent of a `roundrobin` team."""


def agent_name(task: int) -> str:
    """The agent of a task, in the teams that have one each."""
    return f"t{task}"


def team_of(env: Env) -> BaseGroupChat:
    """The team of `env`'s options. Agents are this life's own."""
    ends: TerminationCondition = HandoffTermination(USER)
    if env.options["agent"] == "tool":
        build: Build = partial(assistant, env)
        ends = ends | TextMentionTermination(THE_END) | stopped_by_failure()
    else:
        build = partial(Worker, env)
        ends = ends | StopMessageTermination()
    turns = 1 if env.options["policy"] == "step" else None
    order = env.workload.order
    if env.options["team"] == "swarm":
        return Swarm(_chain(order, build), termination_condition=ends, max_turns=turns)
    if env.options["team"] == "roundrobin":
        solo = build(Duty(SOLO, order, closes=True, solo=True))
        return RoundRobinGroupChat([solo], termination_condition=ends, max_turns=turns)
    return _graph(env, build, ends, turns)


def _chain(order: Sequence[int], build: Build) -> list[ChatAgent]:
    following = [agent_name(task) for task in order[1:]]
    agents = []
    for task, then in zip(order, [*following, None], strict=True):
        agents.append(build(Duty(agent_name(task), (task,), then=then, closes=then is None)))
    return agents


def _graph(env: Env, build: Build, ends: TerminationCondition, turns: int | None) -> BaseGroupChat:
    order = env.workload.order
    agents = [build(Duty(agent_name(task), (task,))) for task in order]
    nodes: list[ChatAgent] = [*agents, Closer("closing", "closes the graph")]
    builder = DiGraphBuilder()
    for node in nodes:
        builder.add_node(node)
    for task, agent, following in zip(order, agents, nodes[1:], strict=True):
        if env.workload.questions(task):
            builder.add_edge(agent, agent, condition=_asks, activation_group=f"{agent.name} asks")
            builder.add_edge(agent, following, condition=_reports)
        else:
            builder.add_edge(agent, following)
    builder.set_entry_point(agents[0])
    return GraphFlow(builder.get_participants(), builder.build(), termination_condition=ends, max_turns=turns)


def _asks(message: BaseChatMessage) -> bool:
    return isinstance(message, HandoffMessage) and message.target == USER


def _reports(message: BaseChatMessage) -> bool:
    return not _asks(message)


class WorkerState(BaseState):
    """What a plain agent remembers."""

    lines: list[Line] = Field(default_factory=list)
    type: str = Field(default="WorkerState")


class Worker(BaseChatAgent):
    """A plain agent: in its turn it asks, or fires its task's effect and reports."""

    def __init__(self, env: Env, duty: Duty) -> None:
        super().__init__(duty.name, "does its tasks in order")
        self._env, self._duty = env, duty
        self._lines: list[Line] = []

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Questions and handovers, reports, and the end."""
        return (HandoffMessage, TextMessage, StopMessage)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """One turn."""
        self._lines += [Line(m.source, m.to_model_text(), getattr(m, "target", None)) for m in messages]
        said = self._turn()
        self._lines.append(Line(self.name, said.to_model_text()))
        return Response(chat_message=said)

    def _turn(self) -> BaseChatMessage:
        known = self._duty.recall(self._lines)
        task = self._duty.next(known.done)
        if task is None:
            return StopMessage(source=self.name, content="nothing is left to do")
        self._env.enter(task)
        questions = self._env.workload.questions(task)
        open_question = known.unanswered(questions)
        if open_question is not None:
            return HandoffMessage(source=self.name, target=USER, content=open_question.text)
        update = self._env.body(task, [known.answers[question] for question in questions], reads=known.marks)
        report: dict[str, Any] = {
            "source": self.name, "content": update.mark, "metadata": {MARK: update.mark, NOTE: update.note},
        }  # fmt: skip
        if self._duty.then is not None:
            return HandoffMessage(target=self._duty.then, **report)
        last = self._duty.closes and task == self._duty.tasks[-1]
        return StopMessage(**report) if last else TextMessage(**report)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forget everything."""
        self._lines = []

    async def save_state(self) -> Mapping[str, Any]:
        """What it remembers."""
        return WorkerState(lines=self._lines).model_dump()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Remember. Raises pydantic's ValidationError on anything else than what `save_state` gave."""
        self._lines = WorkerState.model_validate(state).lines


class Closer(BaseChatAgent):
    """The last node of a graph: it has no task."""

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """The end."""
        return (StopMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """End the run."""
        return Response(chat_message=StopMessage(source=self.name, content="all is done"))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """It remembers nothing."""
