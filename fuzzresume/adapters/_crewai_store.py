"""CrewAI's durable stores as seen without running anything: frontier, newest checkpoint, damage. Standard library only.

A run has one id, `RUN`. `@persist` keeps a row of state for each finished method, and one for the question that is pending;
checkpoints are JSON files, in a folder for each branch, whose names begin with the time and say which one they continue.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Mark
from fuzzresume.harness.adapter import WRONG_TYPE
from fuzzresume.harness.env import Store, Unsupported

RUN = "run"
"""The flow id of the one run in a store; a fork gets another."""


def database(store: Store) -> Path:
    """The file of the run's `SQLiteFlowPersistence`: states under `@persist`, pending questions always."""
    return store.folder / "flows.db"


def location(store: Store) -> Path:
    """The folder of the run's checkpoints."""
    return store.folder / "checkpoints"


def checkpoints(store: Store) -> list[Path]:
    """Every checkpoint of every branch, the oldest first."""
    return sorted(location(store).glob("**/*.json"), key=lambda path: path.name)


def identifier(checkpoint: Path) -> str:
    """The checkpoint's id: its name without the name of the one before it."""
    return checkpoint.stem.partition("_p-")[0]


def find(store: Store, wanted: str | None) -> Path:
    """The checkpoint with that id (None: the newest). Raises LookupError when there is none."""
    for path in reversed(checkpoints(store)):
        if wanted in (None, identifier(path)):
            return path
    raise LookupError(f"no checkpoint {wanted or ''} is stored")


def flow_of(store: Store, wanted: str | None) -> str:
    """The id of the flow that wrote a checkpoint (None: the newest that can be read); the run's own where none did."""
    for path in reversed(checkpoints(store)):
        if wanted in (None, identifier(path)):
            with contextlib.suppress(ValueError, LookupError):
                return str(_state_in(path)["id"])
    return RUN


def frontier(store: Store, branch: str | None) -> Frontier:
    """The tasks that the store records as completed, in the present epoch. `branch` is the id of a checkpoint.

    Unreadable is unknown: any error while reading gives `done=None` and says why.
    """
    head: str | None = None
    try:
        if store.options["plane"] == "persist":
            with _reading(store) as connection:
                newest = _newest_row(connection)
            if newest is None:
                return Frontier(())
            head = str(newest[0])
            return Frontier(_completed(json.loads(newest[1])), head=head)
        found = checkpoints(store)
        head = identifier(found[-1]) if found else None
        return Frontier(_completed(_state_in(find(store, branch))) if found else (), head=head)
    except Exception as error:
        return Frontier(None, f"{type(error).__name__}: {error}", head)


def tamper_kinds(options: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of damage that make sense. A field's type can only be wrong where one is declared; none can be missing,
    because CrewAI wants a default for each. A database of no bytes is a valid one that nothing was written to.
    """
    empty = ("empty",) if options["plane"] == "checkpoint" else ()
    return ("truncated", *empty, *(("wrong-type",) if options["state"] == "structured" else ()))


def tamper(store: Store, kind: str) -> None:
    """Damage what recovery reads: the newest row of state and the pending question's, or the newest checkpoint.

    `truncated` keeps the first half of its bytes, `empty` none, `wrong-type` makes the declared string `note` a number.
    Raises Unsupported for any other kind, and when there is nothing to damage.
    """
    if kind not in tamper_kinds(store.options):
        raise Unsupported(f"the adapter cannot damage this store by {kind!r}")
    if store.options["plane"] == "persist":
        _tamper_rows(store, kind)
        return
    found = checkpoints(store)
    if not found:
        raise Unsupported("nothing is stored yet")
    found[-1].write_text(_damaged(found[-1].read_text(), kind, _checkpointed))


def _tamper_rows(store: Store, kind: str) -> None:
    with _reading(store) as connection:
        newest = _newest_row(connection)
        if newest is None:
            raise Unsupported("nothing is stored yet")
        pending = connection.execute("SELECT id, state_json FROM pending_feedback").fetchall()
        for table, number, content in (("flow_states", *newest), *(("pending_feedback", *row) for row in pending)):
            damaged = _damaged(content, kind, lambda state: [state])
            connection.execute(f"UPDATE {table} SET state_json = ? WHERE id = ?", (damaged, number))
        connection.commit()


def _damaged(content: str, kind: str, states: Callable[[Any], list[dict[str, Any]]]) -> str:
    if kind != "wrong-type":
        return content[: len(content) // 2] if kind == "truncated" else ""
    parsed = json.loads(content)
    for state in states(parsed):
        state["note"] = WRONG_TYPE
    return json.dumps(parsed)


def _checkpointed(checkpoint: Any) -> list[dict[str, Any]]:
    """The states of the flows in a checkpoint, those that have one, in the order in which their process built them."""
    flows = [entity for entity in checkpoint["entities"] if entity["entity_type"] == "flow"]
    return [flow["checkpoint_state"] for flow in flows if flow["checkpoint_state"]]


def _state_in(checkpoint: Path) -> dict[str, Any]:
    """The state of the flow that wrote the checkpoint: of the flows of a process the newest is the one that runs."""
    return _checkpointed(json.loads(checkpoint.read_text()))[-1]


def _completed(state: dict[str, Any]) -> tuple[int, ...]:
    """The tasks whose marks the state holds; the first `base` are of earlier epochs."""
    marks = state.get("marks", [])[state.get("base", 0) :]
    return tuple(dict.fromkeys(Mark.parse(mark).task for mark in marks))


def _newest_row(connection: sqlite3.Connection) -> tuple[int, str] | None:
    """Number and content of the newest row of state. A file without tables is one that nothing was written to."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'flow_states'").fetchall():
        return None
    found: tuple[int, str] | None = connection.execute(
        "SELECT id, state_json FROM flow_states ORDER BY id DESC LIMIT 1"
    ).fetchone()
    return found


@contextlib.contextmanager
def _reading(store: Store) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(database(store), timeout=30)) as connection:
        # The last connection to close tidies up the journal, and need not wait for the disk: only a power cut would matter.
        connection.execute("PRAGMA synchronous=OFF")
        yield connection
