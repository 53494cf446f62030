"""One process's view of a CrewAI run: the flow's class and the contract's commands as its calls, for each plane."""

from __future__ import annotations

import contextlib
import contextvars
import io
from collections.abc import Callable
from typing import Any

from crewai.flow import HumanFeedbackPending
from crewai.state.checkpoint_config import CheckpointConfig
from crewai_cli.checkpoint_cli import info_checkpoint, list_checkpoints
from crewai_core.printer import set_suppress_console_output

from fuzzresume.adapters._crewai_persistence import HookedPersistence
from fuzzresume.adapters._crewai_programs import INPUT, marks_of, program
from fuzzresume.adapters._crewai_scope import SCOPE, Scope
from fuzzresume.adapters._crewai_store import RUN, checkpoints, find, flow_of, identifier, location
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Env, Unsupported

EVENTS = ["method_execution_finished", "flow_paused"]
"""When checkpoints are written: what the documentation names for flows, and the pause at a question."""


class CrewLife:
    """A life of either plane. Its calls share a context, as the calls of a program's main thread do."""

    def __init__(self, env: Env) -> None:
        self._scope = Scope(env)
        self._context = contextvars.copy_context()
        self._context.run(SCOPE.set, self._scope)
        self._context.run(set_suppress_console_output, True)
        self._calls = self._context.run(_calls, env)

    def start(self) -> Outcome:
        """Kick the flow off with its input."""
        return self._context.run(self._calls.start)

    def restart(self) -> Outcome:
        """The same call as `start`: CrewAI has no other way to send an input."""
        return self._context.run(self._calls.start)

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """Answer whatever is pending."""
        return self._context.run(self._calls.resume, answer, branch)

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """Answer anew at the question's checkpoint."""
        return self._context.run(self._calls.fork, answer, address)

    def recover(self, *, branch: str | None) -> Outcome:
        """Go on without news."""
        return self._context.run(self._calls.recover, branch)

    def inspect(self, *, branch: str | None) -> Outcome:
        """Look."""
        return self._context.run(self._calls.inspect, branch)

    def close(self) -> None:
        """End the threads of the event handlers."""
        self._scope.close()


class PersistCalls:
    """`@persist`: the state after each method is kept under the flow's id, and the question that is pending."""

    def __init__(self, env: Env) -> None:
        self._check = env.options["recover"] == "check"
        self._persistence = HookedPersistence()
        self._flow = program(env.workload, env.options["state"] == "structured", True)

    def start(self) -> Outcome:
        """`F(persistence=p).kickoff(inputs={"id": ID, …})`."""
        return _run(self._new(), inputs={"id": RUN, "input": INPUT})

    def resume(self, answer: str, branch: str | None) -> Outcome:
        """`F.from_pending(ID, p).resume(answer)`."""
        flow = self._flow.from_pending(RUN, self._persistence)
        return _told(flow, flow.resume(answer))

    def fork(self, answer: str, address: str) -> Outcome:
        """`restore_from_state_id` copies the newest state and runs every method again; no question can be answered anew."""
        raise Unsupported("a persisted flow cannot be forked at a question")

    def recover(self, branch: str | None) -> Outcome:
        """`F(persistence=p).kickoff(inputs={"id": ID})`; with `recover=check` only where no question is pending."""
        if self._check and self._persistence.load_pending_feedback(RUN) is not None:
            flow = self._flow.from_pending(RUN, self._persistence)
            return _parked(flow, flow.pending_feedback.message)
        return _run(self._new(), inputs={"id": RUN})

    def inspect(self, branch: str | None) -> Outcome:
        """`load_state` and `load_pending_feedback` of the persistence."""
        state = self._persistence.load_state(RUN)
        self._persistence.load_pending_feedback(RUN)
        marks = None if state is None else tuple(Mark.parse(mark) for mark in state.get("marks", []))
        return Outcome("inert", marks=marks)

    def _new(self) -> Any:
        return self._flow(persistence=self._persistence)


class CheckpointCalls:
    """Checkpoints: one after each method and at each pause, from which a flow is restored or forked.

    A question's address is the id of the newest checkpoint when it was asked, a branch the id of a checkpoint.
    """

    def __init__(self, env: Env) -> None:
        self._env = env
        self._provided = env.options["answer"] == "provider"
        self._flow = program(env.workload, env.options["state"] == "structured", False)

    def start(self) -> Outcome:
        """`F(checkpoint=cfg).kickoff(inputs={"id": ID, …})`."""
        return self._at(_run(self._flow(checkpoint=self._config()), inputs={"id": RUN, "input": INPUT}))

    def resume(self, answer: str, branch: str | None) -> Outcome:
        """`F.from_pending(ID, checkpoint=cfg).resume(answer)`; or a recovery whose feedback provider has the answer."""
        if self._provided:
            return self._answering(answer, lambda: self.recover(branch))
        return self._answer(flow_of(self._env, branch), answer)

    def fork(self, answer: str, address: str) -> Outcome:
        """`F.fork(cfg, branch=…).kickoff()`, which asks again, and the answer to that as in `resume`."""
        label = f"fork-{len({path.parent for path in checkpoints(self._env)})}"
        flow = self._flow.fork(self._config(self._found(address)), branch=label)
        flow.checkpoint = self._config()
        if self._provided:
            return self._answering(answer, lambda: self._at(_run(flow)))
        asked = self._at(_run(flow))
        return self._answer(flow.flow_id, answer) if asked.kind == "parked" else asked

    def recover(self, branch: str | None) -> Outcome:
        """`F.from_checkpoint(cfg).kickoff()`, with checkpoints switched on again. Raises LookupError where there is none."""
        flow = self._flow.from_checkpoint(self._config(self._found(branch)))
        flow.checkpoint = self._config()
        return self._at(_run(flow))

    def inspect(self, branch: str | None) -> Outcome:
        """What `crewai checkpoint list` and `crewai checkpoint info` do."""
        with contextlib.redirect_stdout(io.StringIO()):
            list_checkpoints(str(location(self._env)))
            info_checkpoint(self._found(branch))
        return Outcome("inert")

    def _answer(self, flow_id: str, answer: str) -> Outcome:
        flow = self._flow.from_pending(flow_id, checkpoint=self._config())
        return self._at(_told(flow, flow.resume(answer)))

    def _answering(self, answer: str, call: Callable[[], Outcome]) -> Outcome:
        scope = SCOPE.get()
        scope.answer = answer
        try:
            return call()
        finally:
            scope.answer = None

    def _found(self, checkpoint: str | None) -> str:
        return str(find(self._env, checkpoint))

    def _config(self, restore_from: str | None = None) -> CheckpointConfig:
        return CheckpointConfig(location=str(location(self._env)), on_events=EVENTS, restore_from=restore_from)

    def _at(self, outcome: Outcome) -> Outcome:
        """The outcome with the position that the run now has."""
        newest = checkpoints(self._env)
        position = identifier(newest[-1]) if newest else None
        asked = tuple(Asked(one.question, position) for one in outcome.asked)
        return Outcome(outcome.kind, asked, outcome.marks, address=position)


def _calls(env: Env) -> PersistCalls | CheckpointCalls:
    return PersistCalls(env) if env.options["plane"] == "persist" else CheckpointCalls(env)


def _run(flow: Any, **inputs: Any) -> Outcome:
    return _told(flow, flow.kickoff(**inputs))


def _told(flow: Any, reply: Any) -> Outcome:
    """What a call that ran the flow told: a question is pending, or the flow has ended."""
    if isinstance(reply, HumanFeedbackPending):
        return _parked(flow, reply.context.message)
    return Outcome("completed", marks=_marks(flow))


def _parked(flow: Any, message: str) -> Outcome:
    return Outcome("parked", (Asked(Question.parse(message)),), _marks(flow))


def _marks(flow: Any) -> tuple[Mark, ...]:
    return tuple(Mark.parse(mark) for mark in marks_of(flow))
