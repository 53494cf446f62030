"""One process's view of a pydantic-graph run: the hooked file and the contract's commands as calls of `Graph`."""

from __future__ import annotations

import asyncio
import math
import warnings
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path, PosixPath
from typing import Any

from pydantic_graph import BaseNode, End
from pydantic_graph.graph import GraphRun
from pydantic_graph.persistence.file import FileStatePersistence

from fuzzresume.adapters._pydantic_graph_program import GRAPH, Ask, Deps, State, Work, beginning
from fuzzresume.adapters._pydantic_graph_scope import CallerExecutor, Clock, Scope, scoped
from fuzzresume.adapters._pydantic_graph_store import LOCK_SUFFIX, next_file, present_file, stored
from fuzzresume.contract.observation import Asked, Outcome
from fuzzresume.contract.workload import Mark, Question
from fuzzresume.harness.env import Env, Unsupported

Node = BaseNode[State, Deps, list[str]]

_SCHEMA: Any = None
"""The schema of every run's file, once a life has needed it."""


class TornFile(PosixPath):
    """A run's file. A write of it can end after the file was emptied, and when half of it is written."""

    env: Env

    def write_bytes(self, data: Any) -> int:
        """Write as any path does, with two stops on the way."""
        half = len(data) // 2
        with self.open("wb", buffering=0) as file:
            self.env.hook("save.truncated")
            written = file.write(data[:half])
            self.env.hook("save.half")
            return written + file.write(data[half:])


class HookedFile(FileStatePersistence[State, list[str]]):
    """A `FileStatePersistence` with a crash point around its lock and around and inside every write of the file."""

    def __init__(self, env: Env, path: Path) -> None:
        torn = TornFile(path)
        torn.env = env
        super().__init__(torn)
        self._env = env
        self._lock_file = path.with_name(path.name + LOCK_SUFFIX)

    def set_types(self, state_type: type[State], run_end_type: type[list[str]]) -> None:
        """Build the file's schema as pydantic-graph does, but once in a process: it depends on the program alone."""
        global _SCHEMA
        if _SCHEMA is None:
            super().set_types(state_type, run_end_type)
            _SCHEMA = self._snapshots_type_adapter
        self._snapshots_type_adapter = _SCHEMA

    def _save_sync(self, snapshots: Any) -> None:
        self._env.hook("save.before")
        super()._save_sync(snapshots)
        self._env.hook("save.after")

    @asynccontextmanager
    async def _lock(self, *, timeout: float = 1.0) -> AsyncGenerator[None]:
        self._env.hook("lock.before")
        async with super()._lock(timeout=self._patience(timeout)):
            self._env.hook("lock.after")
            yield
            self._env.hook("unlock.before")
        self._env.hook("unlock.after")

    def _patience(self, timeout: float) -> float:
        """Seconds to wait for the lock. Who else holds it is dead, or stands still until this life's turn is over, so
        waiting ends in the same TimeoutError; and a lock that is free needs no limit, on however slow a machine."""
        if self._env.options["lock"] == "stock":
            return timeout
        return 0 if self._lock_file.exists() else math.inf


class PydanticGraphLife:
    """A life: the calls, each run to its end on a loop of this life's own."""

    def __init__(self, env: Env) -> None:
        self._env = env
        executor = CallerExecutor(env)
        self._scope = Scope(Clock(env.seed, stored(env)), executor)
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(executor)
        self._recipe = env.options["recipe"]
        self._file = HookedFile(env, present_file(env))

    def start(self) -> Outcome:
        """Run the graph from its first node, in a file of its own; by the documentation's script, without an answer."""
        if self._env.options["restart"] == "new-file":
            self._file = HookedFile(self._env, next_file(self._env))
        return self._run(self._script(None) if self._recipe == "docs" else self._begin())

    def restart(self) -> Outcome:
        """The same call as `start`: pydantic-graph has no other way to send an input."""
        return self.start()

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """Give the answer to the question that is restored, by the recipe of the options."""
        if self._recipe == "docs":
            return self._run(self._script(answer))
        return self._run(self._continue(answer))

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """Unsupported: what is restored is the first node that has not run, and nothing says otherwise."""
        raise Unsupported("the API has no way to say fork")

    def recover(self, *, branch: str | None) -> Outcome:
        """`iter_from_persistence` and `run.next()` until the graph ends or asks."""
        return self._run(self._continue(None))

    def inspect(self, *, branch: str | None) -> Outcome:
        """`load_all`."""
        return self._run(self._look())

    def close(self) -> None:
        """Close the loop."""
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, Outcome]) -> Outcome:
        with scoped(self._scope), warnings.catch_warnings():
            # Of a state that does not fit its declaration pydantic says so on the way to the file, and writes it.
            warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
            return self._loop.run_until_complete(coroutine)

    async def _begin(self) -> Outcome:
        node, state = beginning(self._env.workload)
        return await self._iterate(node, state)

    async def _script(self, answer: str | None) -> Outcome:
        """The documentation's script, which is called with an answer or without: `load_next`, then `iter`.

        It takes whatever is restored for the question; a node that is none is run as it is.
        """
        self._file.set_graph_types(GRAPH)
        if snapshot := await self._file.load_next():
            assert answer is not None
            node: Node = snapshot.node.answered(answer) if isinstance(snapshot.node, Ask) else snapshot.node
            return await self._iterate(node, snapshot.state)
        return await self._begin()

    async def _iterate(self, node: Node, state: State) -> Outcome:
        async with GRAPH.iter(node, state=state, deps=Deps(self._env), persistence=self._file) as run:
            return await _drive(run)

    async def _continue(self, answer: str | None) -> Outcome:
        """Restore; an answer goes in as the node to run next, or with the dependencies."""
        injected = answer if self._recipe == "deps" else None
        async with GRAPH.iter_from_persistence(self._file, deps=Deps(self._env, injected)) as run:
            restored = run.next_node
            if answer is not None and injected is None and isinstance(restored, Ask):
                return await _drive(run, restored.answered(answer))
            return await _drive(run)

    async def _look(self) -> Outcome:
        self._file.set_graph_types(GRAPH)
        found = await self._file.load_all()
        return Outcome("inert", marks=_marks(found[-1].state.marks) if found else None)


async def _drive(run: GraphRun[State, Deps, list[str]], node: Work | None = None) -> Outcome:
    """Run nodes, `node` first, until the graph ends or the next one is a question."""
    following = await run.next(node)
    while not isinstance(following, End | Ask):
        following = await run.next()
    if isinstance(following, Ask):
        return Outcome("parked", (Asked(following.question),), _marks(run.state.marks))
    return Outcome("completed", marks=_marks(following.data))


def _marks(texts: list[str]) -> tuple[Mark, ...]:
    return tuple(Mark.parse(text) for text in texts)
