"""The caller's store of a LlamaIndex run: its newest snapshot as a JSON file, written by the documentation's recipe.

The framework persists nothing itself: a caller writes `json.dumps(ctx.to_dict())` somewhere and gives it back to
`Context.from_dict`. Frontier and damage need no more than JSON, so the framework is not imported here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Mark
from fuzzresume.harness.adapter import WRONG_TYPE
from fuzzresume.harness.env import Env, Store, Unsupported

TAMPER_KINDS = ("truncated", "half-written", "empty", "dropped-field", "wrong-type", "extra-field")
"""The damage that can be done. Progress cannot be forged: marks are the program's own state, in which any list is valid."""

STARTS = frozenset({"Begin", "StartEvent"})
"""The class names of the start events."""

Snapshot = dict[str, Any]


class NothingSaved(LookupError):
    """The caller has no snapshot of this run, so there is nothing to give to `Context.from_dict`."""


def path_of(store: Store) -> Path:
    """The file of the newest snapshot."""
    return store.folder / "snapshot.json"


def save(env: Env, snapshot: Snapshot) -> None:
    """Put `snapshot` in place of the older one: a temporary file of this process's own, then a rename."""
    env.hook("save.before")
    text = json.dumps(snapshot)
    temporary = env.folder / f"snapshot.{os.getpid()}"
    with temporary.open("w") as file:
        file.write(text[: len(text) // 2])
        file.flush()
        env.hook("save.half")
        file.write(text[len(text) // 2 :])
    env.hook("save.written")
    temporary.replace(path_of(env))
    env.hook("save.after")


def load(env: Env) -> Snapshot | None:
    """The newest snapshot, None when there is none. Raises ValueError for a file that is no JSON."""
    env.hook("load.before")
    path = path_of(env)
    snapshot: Snapshot | None = json.loads(path.read_text()) if path.exists() else None
    env.hook("load.after")
    return snapshot


def frontier(store: Store) -> Frontier:
    """The tasks whose marks the newest snapshot holds, in the present epoch; none where its start event is still in work.

    Unreadable is unknown: any error while reading gives `done=None` and says why.
    """
    path = path_of(store)
    if not path.exists():
        return Frontier(())
    try:
        snapshot = json.loads(path.read_text())
        return Frontier(() if any(begins(event) for event in _in_work(snapshot)) else completed(snapshot["state"]))
    except Exception as error:
        return Frontier(None, f"{type(error).__name__}: {error}")


def begins(event: dict[str, Any]) -> bool:
    """Whether a serialized event is a run's input."""
    return event["qualified_name"].rpartition(".")[2] in STARTS


def completed(state: Snapshot) -> tuple[int, ...]:
    """The tasks of the present epoch whose marks a state's payload holds, in order."""
    value = _value(_data(state))
    return tuple(dict.fromkeys(Mark.parse(mark).task for mark in value["marks"][value["base"] :]))


def with_note(state: Snapshot, note: object) -> Snapshot:
    """A state's payload with another value for its declared field `note`."""
    data = _data(state)
    _value(data)["note"] = note
    return {**state, "state_data": json.dumps(data) if isinstance(state["state_data"], str) else data}


def waiting(snapshot: Snapshot) -> list[str]:
    """The ids of the waiters that nobody has answered."""
    workers = snapshot["workers"].values()
    return [w["waiter_id"] for worker in workers for w in worker["collected_waiters"] if w["resolved_event"] is None]


def _in_work(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    """The events that are queued or in progress."""
    for worker in snapshot.get("workers", {}).values():
        for attempt in (*worker["queue"], *worker["in_progress"]):
            yield json.loads(attempt["event"])


def _data(state: Snapshot) -> dict[str, Any]:
    data = state["state_data"]
    found: dict[str, Any] = json.loads(data) if isinstance(data, str) else data
    return found


def _value(data: dict[str, Any]) -> dict[str, Any]:
    """What the serializer's wrapper holds, if there is one."""
    value: dict[str, Any] = data.get("value") or data
    return value


def tamper(store: Store, kind: str) -> None:
    """Damage the newest snapshot: its bytes, or a field of it.

    `dropped-field` removes `workers`, which is where the run stands; `wrong-type` makes the declared string `note` of the
    state a number; `extra-field` adds a field that nobody declared. Raises Unsupported for any other kind, and when there
    is no snapshot.
    """
    path = path_of(store)
    if kind not in TAMPER_KINDS:
        raise Unsupported(f"the adapter cannot damage this store by {kind!r}")
    if not path.exists():
        raise Unsupported("nothing is saved yet")
    data = path.read_bytes()
    match kind:
        case "empty":
            path.write_bytes(b"")
        case "truncated":
            path.write_bytes(data[: len(data) // 2])
        case "half-written":
            path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
        case _:
            path.write_text(json.dumps(_damaged(json.loads(data), kind)))


def _damaged(snapshot: Snapshot, kind: str) -> Snapshot:
    if kind == "dropped-field":
        return {key: value for key, value in snapshot.items() if key != "workers"}
    if kind == "extra-field":
        return {**snapshot, "undeclared": True}
    return {**snapshot, "state": with_note(snapshot["state"], WRONG_TYPE)}
