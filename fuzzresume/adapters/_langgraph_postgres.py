"""The store of LangGraph's `PostgresSaver`: a schema of its own for every run, on the controller's server.

The run's folder holds a file that says where: that is how workers and readers find it. A copy is what another connection
sees, which is what was committed: exactly what SIGKILL of the client leaves.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import sql
from psycopg.rows import dict_row, tuple_row

from fuzzresume.adapters._langgraph_store import Lineage, Writes, loaded
from fuzzresume.adapters._postgres import connect, reaching, started
from fuzzresume.harness.adapter import WRONG_TYPE
from fuzzresume.harness.env import Store, Unsupported
from fuzzresume.harness.snapshot import Snapshot

_FILE = "postgres.json"
"""The file in the run's folder."""

_BLANK = "blank"
"""The schema whose tables LangGraph's own `setup` made, and which every run's are made like."""

_FIXED = "checkpoint_migrations"
"""The table that only `setup` writes."""

_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
"""The tables that a run writes."""

Connection = psycopg.Connection[Any]


class Place(NamedTuple):
    """Where a store is: the folder of the server's socket, and the schema."""

    host: str
    schema: str


def place(folder: Path) -> Place:
    """Where the store in `folder` is. Raises FileNotFoundError when nobody made it."""
    return Place(**json.loads((folder / _FILE).read_text()))


class SchemaKeeper:
    """Makes a schema for each store, or empties one whose store is gone: to make tables takes longer than most runs."""

    def __init__(self) -> None:
        self._made: dict[Path, Place] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def ready(self) -> None:
        """See `Keeper`. Raises StoreUnavailable."""
        started()

    def make(self, folder: Path, beside: Path | None = None) -> None:
        """See `Keeper`. Raises StoreUnavailable."""
        folder.mkdir(parents=True)
        host = started().host if beside is None else place(beside).host
        with self._lock, reaching(host) as connection:
            at = self._emptied(connection, host) or self._new(connection, host)
            self._made[folder] = at
        (folder / _FILE).write_text(json.dumps(at._asdict()))

    def take(self, folder: Path) -> Snapshot:
        """See `Keeper`: the rows, in the order in which they lie."""
        at = place(folder)
        found: list[tuple[str, bytes | None]] = []
        with connect(at.host) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with connection.transaction(), connection.cursor() as cursor:
                for table in _TABLES:
                    query = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(at.schema, table))
                    with cursor.copy(query) as rows:
                        found.append((table, b"".join(bytes(row) for row in rows)))
        return Snapshot(tuple(found))

    def fill(self, folder: Path, content: Snapshot) -> None:
        """See `Keeper`."""
        at = place(folder)
        with reaching(at.host) as connection, connection.cursor() as cursor:
            for table, data in content.files:
                with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(at.schema, table))) as rows:
                    rows.write(data or b"")

    def _emptied(self, connection: Connection, host: str) -> Place | None:
        """A place whose folder is gone, with nothing in it any more."""
        for folder, at in self._made.items():
            if at.host == host and not folder.exists():
                _do(connection, "TRUNCATE {}.{}, {}.{}, {}.{}", *(name for table in _TABLES for name in (at.schema, table)))
                del self._made[folder]
                return at
        return None

    def _new(self, connection: Connection, host: str) -> Place:
        if connection.execute("SELECT to_regnamespace(%s)", (_BLANK,)).fetchone() == (None,):
            _set_up(connection, host)
        at = Place(host, f"run_{os.getpid()}_{next(self._numbers)}")
        _do(connection, "CREATE SCHEMA {}", at.schema)
        for table in (_FIXED, *_TABLES):
            _do(connection, "CREATE TABLE {}.{} (LIKE {}.{} INCLUDING ALL)", at.schema, table, _BLANK, table)
        _do(connection, "INSERT INTO {}.{} SELECT * FROM {}.{}", at.schema, _FIXED, _BLANK, _FIXED)
        return at


KEEPER = SchemaKeeper()


def _set_up(connection: Connection, host: str) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver

    _do(connection, "CREATE SCHEMA {}", _BLANK)
    with connect(host, options=f"-c search_path={_BLANK}", prepare_threshold=0, row_factory=dict_row) as own:
        PostgresSaver(own).setup()


def _do(connection: Connection, text: Any, *names: str) -> None:
    connection.execute(sql.SQL(text).format(*(sql.Identifier(name) for name in names)))


class PostgresReader:
    """Reads a run's tables through any connection."""

    def __init__(self, connection: Connection, schema: str) -> None:
        self._connection, self._schema = connection, schema

    def newest(self) -> str | None:
        """See `Reader`."""
        return max(self._checkpoints, default=None)

    def greatest(self) -> str | None:
        """See `Reader`."""
        query = (
            "SELECT max(checkpoint_id) FROM {schema}.checkpoints UNION ALL"
            " SELECT max(checkpoint_id) FROM {schema}.checkpoint_writes"
        )
        return max((found for (found,) in self._rows(query) if found), default=None)

    def lineage(self, checkpoint: str) -> Lineage | None:
        """See `Reader`."""
        if checkpoint not in self._checkpoints:
            return None
        parent, content = self._checkpoints[checkpoint]
        return parent, content["channel_versions"]

    def values(self, checkpoint: str, channels: Sequence[str]) -> Mapping[str, Any]:
        """See `Reader`."""
        # Plain values lie in the checkpoint, which says True in place of some that lie among the blobs.
        _, content = self._checkpoints[checkpoint]
        blobs = "SELECT channel, version, type, blob FROM {schema}.checkpoint_blobs"
        stored = {(c, v): (t, data) for c, v, t, data in self._rows(blobs) if t != "empty"}
        apart = {c: loaded(*stored[c, v]) for c, v in content["channel_versions"].items() if (c, v) in stored}
        values = {**content["channel_values"], **apart}
        return {channel: values[channel] for channel in channels if channel in values}

    def writes(self, checkpoint: str) -> Writes:
        """See `Reader`."""
        # Rows lie in the order in which they became durable; what was written again lies at the end.
        query = "SELECT channel, type, blob FROM {schema}.checkpoint_writes WHERE checkpoint_id = %s ORDER BY ctid"
        return tuple((c, loaded(t, data)) for c, t, data in self._rows(query, checkpoint))

    def has_child(self, checkpoint: str) -> bool:
        """See `Reader`."""
        return any(parent == checkpoint for parent, _ in self._checkpoints.values())

    @cached_property
    def _checkpoints(self) -> dict[str, tuple[str | None, Mapping[str, Any]]]:
        """Parent and content by id: at once, for a store is small and every question costs a query."""
        query = "SELECT checkpoint_id, parent_checkpoint_id, checkpoint FROM {schema}.checkpoints"
        return {row[0]: (row[1], row[2]) for row in self._rows(query)}

    def _rows(self, query: Any, *values: str) -> list[tuple[Any, ...]]:
        text = sql.SQL(query).format(schema=sql.Identifier(self._schema))
        with self._connection.cursor(row_factory=tuple_row) as cursor:
            return cursor.execute(text, values or None).fetchall()


@contextlib.contextmanager
def reading(store: Store) -> Iterator[PostgresReader]:
    """Open the dead store. Raises StoreUnavailable when the server does not answer."""
    at = place(store.folder)
    with reaching(at.host) as connection:
        yield PostgresReader(connection, at.schema)


def tamper_kinds(options: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of damage; a field is declared only where a schema is."""
    return ("truncated", *(("dropped-field", "wrong-type") if options["api"] != "functional" else ()))


_DAMAGE: Mapping[str, str] = {
    "truncated": (
        "WITH newest AS (SELECT * FROM {schema}.checkpoints WHERE checkpoint_id = %s), writes AS ("
        "UPDATE {schema}.checkpoint_writes w SET blob = substring(w.blob for length(w.blob) / 2) FROM newest c"
        " WHERE w.checkpoint_id = c.checkpoint_id AND length(w.blob) > 1 RETURNING 1), blobs AS ("
        "UPDATE {schema}.checkpoint_blobs b SET blob = substring(b.blob for length(b.blob) / 2) FROM newest c"
        " WHERE c.checkpoint -> 'channel_versions' ->> b.channel = b.version AND length(b.blob) > 1 RETURNING 1)"
        " SELECT FROM writes UNION ALL SELECT FROM blobs"
    ),
    "dropped-field": (
        "UPDATE {schema}.checkpoints SET checkpoint = checkpoint #- array['channel_values', 'note']"
        " WHERE checkpoint_id = %s AND jsonb_exists(checkpoint -> 'channel_values', 'note')"
    ),
    "wrong-type": (
        "UPDATE {schema}.checkpoints SET checkpoint"
        f" = jsonb_set(checkpoint, array['channel_values', 'note'], '{WRONG_TYPE}')"
        " WHERE checkpoint_id = %s AND jsonb_exists(checkpoint -> 'channel_values', 'note')"
    ),
}


def tamper(store: Store, kind: str) -> None:
    """Damage the newest checkpoint: `truncated` halves all that it holds as bytes, channels and pending writes;
    `dropped-field` removes the declared field `note`; `wrong-type` makes it a number.

    Raises Unsupported for any other kind, and when there is nothing of that sort to damage.
    """
    if kind not in tamper_kinds(store.options):
        raise Unsupported(f"the adapter cannot damage this store by {kind!r}")
    at = place(store.folder)
    with reaching(at.host) as connection:
        query: Any = _DAMAGE[kind]
        text = sql.SQL(query).format(schema=sql.Identifier(at.schema))
        newest = PostgresReader(connection, at.schema).newest()
        if newest is None or connection.execute(text, (newest,)).rowcount == 0:
            raise Unsupported("nothing that could be damaged so is stored yet")
