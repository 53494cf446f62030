"""The store: an append-only log in one SQLite file, `run.db`, each row chained to the one before by a digest.

Whoever changes, drops or adds a row outside the engine breaks the chain, so a damaged value is seen before it is used.
An append is two writes: the rows with half of their digests, then the other half. What a death between them leaves at the
end of the log is no record: it is passed over, and the next append writes in its place.
A file cut to nothing looks like a run that was never started; therefore the first commit also leaves the empty file
`run.started` beside it. The digest covers the declared fields alone, so that a field that nobody declared can be ignored.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FIELDS: Mapping[str, tuple[str, ...]] = {
    "epoch": ("input", "marks", "answers"),
    "fork": ("parent", "at", "done", "marks", "base", "answers"),
    "answer": ("question", "token"),
    "park": ("question",),
    "journal": ("task", "mark", "note"),
    "record": ("task", "mark", "note"),
    "refusal": ("task",),
    "stray": ("token",),
    "reversal": (),
}
"""The declared fields of each kind of row. `stray` and `reversal` are written by planted faults only."""

DATABASE, MARKER = "run.db", "run.started"

DIGEST_SIZE = 16
"""Bytes of a digest, which is written as twice as many characters; a half-written row has half of them."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, branch TEXT NOT NULL, body TEXT NOT NULL, digest TEXT NOT NULL
)
"""


class Damaged(Exception):
    """The store is not what the engine wrote; nothing is continued from it."""


class Row(NamedTuple):
    """One row: what happened on which branch. `body` holds the fields that `FIELDS` declares for `kind`."""

    kind: str
    branch: str
    body: dict[str, Any]


class Stored(NamedTuple):
    """A row with its place in the log."""

    seq: int
    row: Row


class Log:
    """The log in `folder`. Opens the file at the first use; `close` releases it, a later use opens it again.

    `verify=False` believes whatever rows it finds: only a planted fault asks for that. `unknown_fields=False` refuses
    rows with fields that nobody declared. `exclusive=False` appends behind whatever others have written: a fault again.
    """

    def __init__(self, folder: Path, *, verify: bool = True, unknown_fields: bool = True, exclusive: bool = True) -> None:
        self._path = folder / DATABASE
        self._marker = folder / MARKER
        self._verify = verify
        self._unknown_fields = unknown_fields
        self._exclusive = exclusive
        self._connection: sqlite3.Connection | None = None
        self._tail = (0, "")

    def read(self) -> tuple[Stored, ...]:
        """Every row, oldest first; none when no run was ever started. Raises Damaged; writes nothing."""
        if not self._path.exists() or self._path.stat().st_size == 0:
            if self._marker.exists():
                raise Damaged("a run was started here, but its database is gone")
            return ()
        try:
            return self._read(self._open())
        except (sqlite3.DatabaseError, ValueError) as error:
            raise Damaged(f"the database cannot be read: {error}") from error

    def append(self, rows: Iterable[Row], half_way: Callable[[], object] = lambda: None) -> tuple[Stored, ...]:
        """Commit `rows` together, after what `read` last saw; `half_way` is called when they are only half written.

        Raises sqlite3.IntegrityError when another process has written since: its rows have taken these places.
        """
        connection = self._open()
        stored, digests = [], []
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_SCHEMA)
            seq, digest = self._tail if self._exclusive else self._newest(connection)
            connection.execute("DELETE FROM entry WHERE seq > ? AND length(digest) = ?", (seq, DIGEST_SIZE))
            for row in rows:
                seq += 1
                digest = chained(digest, seq, row)
                values = (seq, row.kind, row.branch, json.dumps(row.body), _half(digest))
                connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", values)
                stored.append(Stored(seq, row))
                digests.append((digest, seq, _half(digest)))
        if not self._marker.exists():
            self._marker.touch()
        half_way()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            sealed = connection.executemany("UPDATE entry SET digest = ? WHERE seq = ? AND digest = ?", digests).rowcount
            if sealed != len(digests):
                raise sqlite3.IntegrityError("another process has written in the place of rows that were half written")
        self._tail = (seq, digest)
        return tuple(stored)

    @staticmethod
    def _newest(connection: sqlite3.Connection) -> tuple[int, str]:
        """The place and digest of the last whole row."""
        whole = "SELECT seq, digest FROM entry WHERE length(digest) > ? ORDER BY seq DESC LIMIT 1"
        row: tuple[int, str] | None = connection.execute(whole, (DIGEST_SIZE,)).fetchone()
        return row or (0, "")

    def close(self) -> None:
        """Release the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            # The engine survives the death of its process, not of the machine, so nothing waits for the disk.
            self._connection = sqlite3.connect(self._path, timeout=30, isolation_level=None)
            self._connection.execute("PRAGMA synchronous = OFF")
        return self._connection

    def _read(self, connection: sqlite3.Connection) -> tuple[Stored, ...]:
        health = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if health != "ok":
            raise Damaged(f"the database is malformed: {health}")
        seq, digest, tail, torn = 0, "", "", 0
        found = []
        for number, kind, branch, text, chain in connection.execute("SELECT * FROM entry ORDER BY seq"):
            row = Row(kind, branch, json.loads(text))
            whole = chained(digest, number, row)
            half_written = chain == _half(whole)
            if self._verify and (number != seq + torn + 1 or not (half_written or (chain == whole and not torn))):
                raise Damaged(f"row {number} is not the one that was written after row {seq + torn}")
            if not self._unknown_fields and (unknown := row.body.keys() - FIELDS[kind]):
                raise Damaged(f"row {number} has fields that nobody declared: {', '.join(sorted(unknown))}")
            digest = whole if half_written else chain
            if half_written:
                torn += 1
                continue
            found.append(Stored(number, row))
            seq, tail = number, chain
        self._tail = (seq, tail)
        return tuple(found)


def chained(before: str, seq: int, row: Row) -> str:
    """The digest of a row whose predecessor's digest is `before`."""
    declared = {name: row.body[name] for name in FIELDS.get(row.kind, ()) if name in row.body}
    text = json.dumps([before, seq, row.kind, row.branch, declared], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_SIZE).hexdigest()


def _half(digest: str) -> str:
    return digest[:DIGEST_SIZE]
