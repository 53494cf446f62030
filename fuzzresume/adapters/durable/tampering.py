"""Damage to the engine's store, from outside the engine: what `tamper` does."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from fuzzresume.adapters.durable.log import DATABASE, DIGEST_SIZE
from fuzzresume.harness.adapter import WRONG_TYPE
from fuzzresume.harness.env import Store, Unsupported


def tamper(store: Store, kind: str) -> None:
    """Damage the store. Raises Unsupported for a kind that it does not know, or when there is no store yet."""
    path = store.folder / DATABASE
    if not path.exists():
        raise Unsupported("there is no store to damage yet")
    match kind:
        case "empty":
            path.write_bytes(b"")
        case "truncated":
            path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3 - 100])
        case "half-written":
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
        case "dropped-field":
            _edit(path, lambda body: {k: v for k, v in body.items() if k not in ("note", "input", "parent")})
        case "wrong-type":
            _edit(path, lambda body: {k: WRONG_TYPE if k in ("note", "input", "parent") else v for k, v in body.items()})
        case "extra-field":
            _edit(path, lambda body: {**body, "undeclared": True})
        case "forged-progress":
            _forge(path)
        case _:
            raise Unsupported(f"the adapter cannot damage a store by {kind!r}")


def _edit(path: Path, change: Any) -> None:
    """Change the body of the newest whole row that declares a note, an input or a parent."""
    with closing(sqlite3.connect(path)) as connection, connection:
        whole = "kind IN ('record', 'epoch', 'fork') AND length(digest) > ?"
        query = f"SELECT seq, body FROM entry WHERE {whole} ORDER BY seq DESC LIMIT 1"
        if (found := connection.execute(query, (DIGEST_SIZE,)).fetchone()) is None:
            raise Unsupported("there is no record to damage yet")
        seq, body = found
        connection.execute("UPDATE entry SET body = ? WHERE seq = ?", (json.dumps(change(json.loads(body))), seq))


def _forge(path: Path) -> None:
    """Append a record of the last task, by somebody who does not know how rows are chained."""
    with closing(sqlite3.connect(path)) as connection, connection:
        seq, branch = connection.execute("SELECT seq, branch FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        body = json.dumps({"task": 99, "mark": "99", "note": "ok"})
        connection.execute("INSERT INTO entry VALUES (?, 'record', ?, ?, 'forged')", (seq + 1, branch, body))
