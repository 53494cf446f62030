"""Damage for a store (docs/CONTRACT.md, `tamper`): what a disk, a careless tool or a forger does behind the engine's back.

Bytes are cut, zeroed or lost; a value is changed, dropped, added or forged in the newest row, without the digest that only
the engine computes.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fuzzresume.adapters.durable.log import DATABASE, FIELDS
from fuzzresume.adapters.durable.run import Run
from fuzzresume.harness.env import Unsupported

Body = dict[str, Any]


def tamper(folder: Path, run: Run, kind: str) -> None:
    """Damage the store in `folder`, which holds `run`. Raises Unsupported for an unknown kind and for a store with no run."""
    path = folder / DATABASE
    if run.latest is None:
        raise Unsupported("no run was started, so there is nothing to damage")
    if kind in _BYTES:
        path.write_bytes(_BYTES[kind](path.read_bytes()))
        return
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        if kind in _VALUES:
            _change_newest(connection, _VALUES[kind])
        elif kind == "forged-progress":
            _forge(connection, run)
        else:
            raise Unsupported(f"the store cannot be damaged by {kind!r}")


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _half_written(content: bytes) -> bytes:
    return _truncated(content).ljust(len(content), b"\0")


def _empty(content: bytes) -> bytes:
    return b""


def _drop_field(body: Body, name: str) -> Body:
    return {key: value for key, value in body.items() if key != name}


def _wrong_type(body: Body, name: str) -> Body:
    return {**body, name: 17}


def _extra_field(body: Body, name: str) -> Body:
    return {**body, "undeclared": "?"}


_BYTES: Mapping[str, Callable[[bytes], bytes]] = {
    "truncated": _truncated, "half-written": _half_written, "empty": _empty,
}  # fmt: skip
_VALUES: Mapping[str, Callable[[Body, str], Body]] = {
    "dropped-field": _drop_field, "wrong-type": _wrong_type, "extra-field": _extra_field,
}  # fmt: skip


def _change_newest(connection: sqlite3.Connection, change: Callable[[Body, str], Body]) -> None:
    """Change the last declared field of the newest record, or of the newest row while there is no record."""
    newest = "SELECT seq, kind, body FROM entry ORDER BY kind = 'record' DESC, seq DESC LIMIT 1"
    seq, kind, body = connection.execute(newest).fetchone()
    damaged = change(json.loads(body), FIELDS[kind][-1])
    connection.execute("UPDATE entry SET body = ? WHERE seq = ?", (json.dumps(damaged), seq))


def _forge(connection: sqlite3.Connection, run: Run) -> None:
    """Claim that everything that is left was done; of a complete run, that its last task was done once more."""
    branch = run.latest
    if branch is None:
        return
    (seq,) = connection.execute("SELECT MAX(seq) FROM entry").fetchone()
    for ahead, task in enumerate(branch.todo or branch.settled[-1:], 1):
        body = json.dumps({"task": task, "mark": str(task), "note": "ok"})
        connection.execute("INSERT INTO entry VALUES (?, 'record', ?, ?, '')", (seq + ahead, branch.name, body))
