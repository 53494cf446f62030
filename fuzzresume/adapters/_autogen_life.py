"""One process's view of an AutoGen run: the team, the contract's commands as its calls, and the caller's file."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import BaseChatMessage, HandoffMessage
from autogen_agentchat.teams import BaseGroupChat

from fuzzresume.adapters._autogen_programs import agent_name, team_of
from fuzzresume.adapters._autogen_scope import Clock, scoped
from fuzzresume.adapters._autogen_store import ORDER, USER, marks_of, state_file, thread_of
from fuzzresume.adapters._autogen_tools import THE_END, failed
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Question
from fuzzresume.harness.env import Env, Unsupported

T = TypeVar("T")

_PARKED = f"Handoff to {USER}"
_COMPLETED = ("Stop message received", "Digraph execution is complete", f"Text '{THE_END}' mentioned")
_OUT_OF_TURNS = "Maximum number of turns"
"""What AutoGen gives as the reason why a run stopped, or how that begins."""


class AutoGenLife:
    """The team is built, and its state loaded, at the first call; it then lives as long as the life, like its loop.

    A team whose run raised is run again by a retry alone. Who has something new to say to it begins with what is stored, as
    AutoGen's samples of web applications do for every message.
    """

    def __init__(self, env: Env) -> None:
        self._env = env
        self._name = env.options["team"]
        self._clock = Clock()
        self._team: BaseGroupChat | None = None
        self._raised = False
        self._loop = asyncio.new_event_loop()
        # What a dead life leaves behind has nothing to report.
        self._loop.set_exception_handler(lambda *_: None)

    def start(self) -> Outcome:
        """`run(task=input)`."""
        return self._do(self._run(ORDER, stored=False))

    def restart(self) -> Outcome:
        """`run(task=input)` on the same team, after `reset()` where the option says so."""
        return self._do(self._run(ORDER, stored=False, reset=self._env.options["restart"] == "reset"))

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """`run(task=answer)`; a Swarm demands a message that hands off to the agent that is to go on."""
        return self._do(self._deliver(question, answer))

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """AutoGen has no word for it."""
        raise Unsupported("the API has no way to say fork")

    def recover(self, *, branch: str | None) -> Outcome:
        """`load_state(…)`, then `run()`."""
        return self._do(self._run(None))

    def inspect(self, *, branch: str | None) -> Outcome:
        """`save_state()`, which nobody writes down."""
        return self._do(self._inspect())

    def close(self) -> None:
        """Unwind what is under way, and close the loop; the thread in which a tool ran has ended then."""
        while tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            with contextlib.suppress(SystemExit):
                self._loop.run_until_complete(asyncio.wait(tasks))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _do(self, call: Coroutine[Any, Any, T]) -> T:
        with scoped(self._clock):
            return self._loop.run_until_complete(call)

    async def _inspect(self) -> Outcome:
        team = self._team or await self._load(stored=False)
        return Outcome("inert", marks=marks_of(thread_of(await team.save_state(), self._name)))

    async def _deliver(self, question: Question, answer: str) -> Outcome:
        if self._name != "swarm":
            return await self._run(answer)
        return await self._run(HandoffMessage(source=USER, target=agent_name(question.task), content=answer))

    async def _run(self, task: str | BaseChatMessage | None, *, stored: bool = True, reset: bool = False) -> Outcome:
        """Run the team until it stops, and keep its state whenever a run has ended: with `step` that is every turn."""
        if self._team is None or (self._raised and task is not None):
            self._team = await self._load(stored=stored)
        team = self._team
        if reset:
            await team.reset()
        while True:
            self._raised = True
            result = await team.run(task=task)
            self._raised = False
            state = await team.save_state()
            self._keep(state)
            if not (result.stop_reason or "").startswith(_OUT_OF_TURNS):
                return self._outcome(result, state)
            task = None

    async def _load(self, *, stored: bool) -> BaseGroupChat:
        """A new team with the stored state. `stored`: without one there is nothing to go on from (FileNotFoundError)."""
        path = state_file(self._env)
        team = team_of(self._env)
        if stored or path.exists():
            self._env.hook("load.before")
            content = path.read_bytes()
            await team.load_state(json.loads(content))
            self._env.hook("load.after")
            # The file grows with every message, so no identifier in it is drawn again.
            self._clock.catch_up(len(content))
        return team

    def _keep(self, state: Mapping[str, Any]) -> None:
        """Write the state: beside the file, whose place the new one then takes, or into the file, as the documentation does.

        Processes that race write beside it under names of their own.
        """
        self._env.hook("save.before")
        content = json.dumps(state).encode()
        path = state_file(self._env)
        in_place = self._env.options["write"] == "in-place"
        written = path if in_place else path.with_name(f"{path.name}.{os.getpid()}")
        with written.open("wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            self._env.hook("save.half")
            file.write(content[len(content) // 2 :])
        if not in_place:
            self._env.hook("save.rename")
            written.replace(path)
        self._env.hook("save.after")

    def _outcome(self, result: TaskResult, state: Mapping[str, Any]) -> Outcome:
        marks = marks_of(thread_of(state, self._name))
        reason, last = result.stop_reason or "", result.messages[-1] if result.messages else None
        if failed(last):
            raise RuntimeError(last.content)
        if reason.startswith(_PARKED) and isinstance(last, HandoffMessage):
            return Outcome("parked", (Asked(Question.parse(last.content)),), marks)
        return Outcome("completed" if reason in _COMPLETED else "idle", marks=marks)
