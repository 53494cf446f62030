"""The bare script of benchmark (d): the framework calls that the LangGraph adapter makes for some commands, and no more.

The same graph, state, saver and `invoke`, and fresh objects for every life; no ledger, hooks, crash images, frontier or
monitor. What LangGraph submits runs in the calling thread, as under the adapter's default options, or in LangGraph's own
thread pool.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command as Wire
from langgraph.types import interrupt

from fuzzresume.adapters._langgraph_scope import Clock, Scope, scoped
from fuzzresume.contract.commands import Command
from fuzzresume.contract.workload import Workload

CONFIG: Any = {"configurable": {"thread_id": "run"}}


class BareRun:
    """One run. `marks` is what the last reply showed of the state."""

    def __init__(self, workload: Workload, *, threads: bool) -> None:
        self._workload = workload
        self._scope = None if threads else Scope(Clock(0), "inline")
        self._contents = InMemorySaver()
        self._life: tuple[Any, InMemorySaver] | None = None
        self._dies_after: int | None = None
        self._asked_at: dict[str, str] = {}
        self.marks: list[str] | None = None

    def play(self, commands: Iterable[Command]) -> None:
        """Send the commands; a refusal or a death is the end of its command."""
        with scoped(self._scope) if self._scope else contextlib.nullcontext():
            for command in commands:
                try:
                    self._send(command)
                except SystemExit:
                    self._life = None
                except Exception:
                    continue

    def _send(self, command: Command) -> None:
        self._dies_after = int(command.crash.hook.partition(":")[2]) if command.crash else None
        if command.op in ("recover", "reload"):
            self._life = None
        if command.op == "reload":
            return
        if self._life is None:
            self._life = self._build()
        app, saver = self._life
        match command.op:
            case "start":
                self._invoke(app, saver, {"marks": [], "note": "go"}, CONFIG)
            case "recover":
                self._invoke(app, saver, None, CONFIG)
            case "inspect":
                app.get_state(CONFIG)
                list(app.get_state_history(CONFIG))
                list(saver.list(CONFIG))
            case "fork" if command.token:
                at = {"thread_id": "run", "checkpoint_id": self._asked_at[command.token.question.text]}
                self._invoke(app, saver, Wire(resume=command.token.text), {"configurable": at})
            case _ if command.token:
                self._invoke(app, saver, Wire(resume=command.token.text), CONFIG)

    def _invoke(self, app: Any, saver: InMemorySaver, payload: Any, config: Any) -> None:
        reply = app.invoke(payload, config, durability="sync")
        self.marks = reply["marks"]
        if "__interrupt__" in reply:
            self._asked_at[reply["__interrupt__"][0].value] = max(saver.storage["run"][""])
        else:
            app.get_state(CONFIG)

    def _build(self) -> tuple[Any, InMemorySaver]:
        """A life's own saver and graph over what earlier lives left."""
        saver, old = InMemorySaver(), self._contents
        saver.storage, saver.writes, saver.blobs = old.storage, old.writes, old.blobs

        class State(TypedDict):
            marks: Annotated[list[str], operator.add]
            note: str

        graph: Any = StateGraph(State)
        before = START
        for number in self._workload.order:
            graph.add_node(f"t{number}", partial(self._node, number))
            graph.add_edge(before, f"t{number}")
            before = f"t{number}"
        graph.add_edge(before, END)
        return graph.compile(checkpointer=saver), saver

    def _node(self, number: int, state: Any) -> dict[str, Any]:
        answers = [interrupt(question.text) for question in self._workload.questions(number)]
        if self._dies_after == number:
            raise SystemExit("killed")
        return {"marks": [f"{number}:{','.join(answers)}" if answers else str(number)], "note": "ok"}
