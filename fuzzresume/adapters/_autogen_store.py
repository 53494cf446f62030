"""The team's state as its caller keeps it: where it lies, what it says about progress, damage. Without the framework.

AutoGen hands its caller a dict and writes nothing; the documentation puts it into a JSON file. Its manager's
`message_thread` is the whole conversation, and a task's report in it is the record of the task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Mark
from fuzzresume.harness.adapter import WRONG_TYPE
from fuzzresume.harness.env import Store, Unsupported

USER = "user"
"""The source of what the program's user says, and the target of a question."""

ORDER = "go"
"""The input."""

MARK, NOTE = "mark", "note"
"""What a report of the plain agents declares in its metadata, which AutoGen types as `dict[str, str]`."""

MANAGERS: Mapping[str, str] = {
    "swarm": "SwarmGroupChatManager", "roundrobin": "RoundRobinGroupChatManager", "graphflow": "GraphManager",
}  # fmt: skip
"""The name under which each team saves its manager."""

TAMPER_KINDS = ("truncated", "half-written", "empty", "dropped-field", "wrong-type", "extra-field")

State = dict[str, Any]


def state_file(store: Store) -> Path:
    """The file that holds the team's state."""
    return store.folder / "team_state.json"


def thread_of(state: Mapping[str, Any], team: str) -> list[State]:
    """The conversation in a team's state. Raises LookupError or TypeError where there is none."""
    thread = state["agent_states"][MANAGERS[team]]["message_thread"]
    if not isinstance(thread, list):
        raise TypeError(f"the conversation is a {type(thread).__name__}")
    return thread


def marks_of(thread: list[State]) -> tuple[Mark, ...]:
    """Every mark in a conversation, of earlier epochs too."""
    return tuple(mark for message in thread if (mark := _mark(message)) is not None)


def frontier(store: Store) -> Frontier:
    """The tasks that the file records as completed in the present epoch. Unreadable is unknown, and says why."""
    try:
        content = state_file(store).read_bytes()
    except FileNotFoundError:
        return Frontier(())
    try:
        thread = thread_of(json.loads(content), store.options["team"])
        return Frontier(_completed(thread, store))
    except Exception as error:
        return Frontier(None, f"{type(error).__name__}: {error}")


def tamper(store: Store, kind: str) -> None:
    """Damage the file. Raises Unsupported for a kind that is not in `TAMPER_KINDS`, and while nothing is stored.

    `truncated` keeps the first half of the bytes, `half-written` has zeros in place of the second one. `dropped-field`
    takes the field `message_thread` from the manager's state, `wrong-type` makes a message's text a number, `extra-field`
    adds a field that the manager's state does not declare.
    """
    path = state_file(store)
    if not path.exists():
        raise Unsupported("nothing is stored yet")
    content = path.read_bytes()
    half = len(content) // 2
    match kind:
        case "truncated":
            path.write_bytes(content[:half])
        case "half-written":
            path.write_bytes(content[:half] + bytes(len(content) - half))
        case "empty":
            path.write_bytes(b"")
        case "dropped-field":
            _edit(store, lambda manager: manager.pop("message_thread"))
        case "wrong-type":
            _edit(store, lambda manager: manager["message_thread"][-1].update(content=WRONG_TYPE))
        case "extra-field":
            _edit(store, lambda manager: manager.update(undeclared=True))
        case _:
            raise Unsupported(f"the adapter cannot damage this store by {kind!r}")


def _completed(thread: list[State], store: Store) -> tuple[int, ...]:
    """An order begins a new epoch for a single agent, and for a graph that is done; a Swarm never goes back to its first."""
    team, done = store.options["team"], dict[int, None]()
    for message in thread:
        if message["source"] == USER and message["content"] == ORDER:
            if team == "roundrobin" or (team == "graphflow" and len(done) == len(store.workload.tasks)):
                done = {}
        elif (mark := _mark(message)) is not None:
            done[mark.task] = None
    return tuple(done)


def _mark(message: State) -> Mark | None:
    """The mark that a message reports: by its metadata, or as what an assistant's tool returned."""
    if MARK in message["metadata"]:
        return Mark.parse(message["metadata"][MARK])
    if message["type"] == "ToolCallSummaryMessage" and not any(result["is_error"] for result in message["results"]):
        return Mark.parse(message["content"])
    return None


def _edit(store: Store, change: Callable[[State], object]) -> None:
    path = state_file(store)
    state = json.loads(path.read_bytes())
    change(state["agent_states"][MANAGERS[store.options["team"]]])
    path.write_text(json.dumps(state))
