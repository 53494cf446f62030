"""A run's JSON files as seen without running anything: frontier, damage. Standard library only.

Each epoch may have a file of its own, `run-1.json` and so on; the present one is the last. A file is a list of snapshots in
the order in which they were appended: one of each node before it runs, whose status then goes `created`, `pending`,
`running`, `success` or `error`, and one of the end. A snapshot holds the state *before* its node.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Mark, Workload
from fuzzresume.harness.adapter import WRONG_TYPE
from fuzzresume.harness.env import Store, Unsupported

LOCK_SUFFIX = ".pydantic-graph-persistence-lock"
"""What pydantic-graph appends to the file's name to name its lock file."""

TAMPER: tuple[str, ...] = ("truncated", "half-written", "empty", "dropped-field", "wrong-type", "extra-field")
"""The kinds of damage that make sense: nothing in the file vouches for progress, so forging some is no damage to it."""

Snapshot = dict[str, Any]


def present_file(store: Store) -> Path:
    """The file of the present epoch, whether or not it was written yet."""
    return _numbered(store, max(_numbers(store, ".json"), default=1))


def next_file(store: Store) -> Path:
    """The file for another epoch: one of which nothing is there, not even a dead life's lock."""
    return _numbered(store, max(_numbers(store, ""), default=0) + 1)


def _numbered(store: Store, number: int) -> Path:
    return store.folder / f"run-{number}.json"


def _numbers(store: Store, ending: str) -> list[int]:
    names = (path.name for path in store.folder.glob(f"run-*{ending}"))
    return [int(name.partition(".")[0].removeprefix("run-")) for name in names]


def stored(store: Store) -> int:
    """How many snapshots there are in all files; of one that cannot be read pydantic-graph shall find out itself."""
    count = 0
    for number in _numbers(store, ".json"):
        with contextlib.suppress(ValueError):
            count += len(snapshots(_numbered(store, number)))
    return count


def snapshots(path: Path) -> list[Snapshot]:
    """What a file holds, oldest first; nothing where there is none. Raises ValueError for what is no JSON list."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    if not isinstance(found, list):
        raise ValueError(f"a {type(found).__name__} where a list of snapshots should be")
    return found


def frontier(store: Store) -> Frontier:
    """The tasks that the newest snapshot of the present epoch records as completed.

    Unreadable is unknown: an error while reading gives `done=None` and says why.
    """
    try:
        found = snapshots(present_file(store))
        return Frontier(_completed(found[-1], store.workload), head=found[-1]["id"]) if found else Frontier(())
    except (ValueError, LookupError, TypeError) as error:
        return Frontier(None, f"{type(error).__name__}: {error}")


def _completed(newest: Snapshot, workload: Workload) -> tuple[int, ...]:
    """The marks in its state, and its own task, once a node that had all its answers is recorded as run with success.

    The state that such a node left is stored only with the snapshot after it, but that it ran is stored before.
    """
    done = [Mark.parse(mark).task for mark in newest["state"]["marks"]]
    node = newest.get("node", {})
    if node.get("node_id") == "Work" and newest["status"] == "success":
        done += [node["task"]] if len(node["answers"]) == workload.task(node["task"]).questions else []
    return tuple(dict.fromkeys(done))


def tamper(store: Store, kind: str) -> None:
    """Damage the present file: bytes, or the declared field `note` of the newest snapshot's state.

    Raises Unsupported for a kind that is not in `TAMPER`, and when there is no file to damage.
    """
    path = present_file(store)
    if kind not in TAMPER:
        raise Unsupported(f"the adapter cannot damage a store by {kind!r}")
    if not path.exists():
        raise Unsupported("nothing is stored yet")
    content = path.read_bytes()
    half = len(content) // 2
    if kind in ("truncated", "half-written", "empty"):
        damaged = {"truncated": content[:half], "half-written": content[:half] + bytes(len(content) - half), "empty": b""}
        path.write_bytes(damaged[kind])
        return
    try:
        found = json.loads(content)
    except ValueError as error:
        raise Unsupported("a file that a death left unreadable has no fields to damage") from error
    state = found[-1]["state"]
    if kind == "dropped-field":
        del state["note"]
    elif kind == "wrong-type":
        state["note"] = WRONG_TYPE
    else:
        state["undeclared"] = True
    path.write_bytes(json.dumps(found, indent=2).encode())
