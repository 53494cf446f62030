"""The workload as a pydantic-graph program: a node that works, a node that asks, and the state they share.

As in the documentation's human-in-the-loop example a node's successor is a question node, before which the caller stops, and
what takes the answer is a node of its own, so that the answer is stored with it before it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic_graph import BaseNode, End, GraphRunContext
from pydantic_graph.graph import Graph

from fuzzresume.contract.workload import Question, Workload
from fuzzresume.harness.env import Env


@dataclass
class State:
    """The run's state: the marks of the tasks that are done, and the note of the last of them."""

    marks: list[str]
    note: str


@dataclass
class Deps:
    """What nodes get beside the state, by dependency injection: the life, and an answer that comes this way."""

    env: Env
    answer: str | None = None


@dataclass
class Work(BaseNode[State, Deps, list[str]]):
    """A task with the answers that it has so far: asks for the next one, or fires the effect and goes on."""

    task: int
    answers: list[str] = field(default_factory=list)

    async def run(self, ctx: GraphRunContext[State, Deps]) -> Work | Ask | End[list[str]]:
        """Run the task."""
        env, state = ctx.deps.env, ctx.state
        env.enter(self.task)
        if len(self.answers) < env.workload.task(self.task).questions:
            return Ask(self.task, self.answers)
        update = env.body(self.task, self.answers, reads=state.marks)
        state.marks.append(update.mark)
        state.note = update.note
        following = env.workload.order[env.workload.order.index(self.task) + 1 :]
        return Work(following[0]) if following else End(list(state.marks))


@dataclass
class Ask(BaseNode[State, Deps, list[str]]):
    """A task's next question. Run without an answer, it asks once more."""

    task: int
    answers: list[str]

    @property
    def question(self) -> Question:
        """The question that it asks."""
        return Question(self.task, len(self.answers) + 1)

    def answered(self, answer: str) -> Work:
        """The node that takes the answer."""
        return Work(self.task, [*self.answers, answer])

    async def run(self, ctx: GraphRunContext[State, Deps]) -> Work | Ask:
        """Take the answer that was injected, if one was."""
        ctx.deps.env.enter(self.task)
        # Not itself: a node that returns itself would be stored a second time under the same identifier.
        return Ask(self.task, self.answers) if ctx.deps.answer is None else self.answered(ctx.deps.answer)


GRAPH: Graph[State, Deps, list[str]] = Graph(nodes=(Work, Ask), name="workload", auto_instrument=False)
"""The program of every workload; without spans, which belong to tracing."""


def beginning(workload: Workload) -> tuple[Work, State]:
    """The input of a run: its first node and its first state."""
    return Work(workload.order[0]), State([], "go")
