"""LangGraph's durable store as seen without running anything: frontier, greatest id, damage.

The engine is not imported; only its serializer is, because checkpoints and writes are msgpack with extension types.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Mark
from fuzzresume.harness.env import Store, Unsupported
from fuzzresume.harness.target import StoreUnavailable

THREAD = "run"
"""The thread id of the one run in a store."""

MEMORY_KEY = "saver"
"""Where `Store.memory` keeps the containers of an in-memory saver, as `MemoryContents`."""

_SERDE = JsonPlusSerializer()

_INPUT, _END, _PREVIOUS, _RETURN = "__start__", "__end__", "__previous__", "__return__"
"""LangGraph's channels: a run's input, a functional run's result and saved value, one functional task's result."""


Values = Callable[[], Mapping[str, Any]]
Writes = Callable[[], tuple[tuple[str, Any], ...]]


class MemoryContents(NamedTuple):
    """What an `InMemorySaver` holds; the saver itself dies with its life."""

    storage: Any
    writes: Any
    blobs: Any


@lru_cache(maxsize=1024)
def loaded(type_: str, data: bytes) -> Any:
    """What stored bytes say. Nothing that is stored changes, so the same bytes are met again and again; do not modify it."""
    return _SERDE.loads_typed((type_, data))


class Record:
    """One checkpoint: its parent and the versions of its channels; the rest is read when it is asked for."""

    def __init__(self, parent: str | None, versions: Mapping[str, Any], values: Values, writes: Writes) -> None:
        self.parent, self.versions = parent, versions
        self._values, self._writes = values, writes

    @property
    def values(self) -> Mapping[str, Any]:
        """The channels."""
        return self._values()

    @property
    def writes(self) -> tuple[tuple[str, Any], ...]:
        """The (channel, value) writes pending on it, in store order."""
        return self._writes()


class Reader(Protocol):
    """A store opened for reading."""

    def newest(self) -> str | None:
        """The greatest checkpoint id, which is what LangGraph calls the latest."""
        ...

    def greatest(self) -> str | None:
        """The greatest id anywhere, also of a checkpoint of which only writes were stored."""
        ...

    def record(self, checkpoint: str) -> Record | None:
        """The checkpoint of that id, if it is stored. Raises whatever the serializer raises on damaged bytes."""
        ...

    def has_child(self, checkpoint: str) -> bool:
        """Whether a stored checkpoint continues from that one."""
        ...


class SqliteReader:
    """Reads a `SqliteSaver`'s tables through any connection. A store without tables is one that nothing was put into."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._exists = bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'writes'").fetchall())

    def newest(self) -> str | None:
        """See `Reader`."""
        return max(self._checkpoints, default=None)

    def greatest(self) -> str | None:
        """See `Reader`."""
        if not self._exists:
            return None
        query = "SELECT max(checkpoint_id) FROM checkpoints UNION ALL SELECT max(checkpoint_id) FROM writes"
        return max((found for (found,) in self._connection.execute(query) if found), default=None)

    def record(self, checkpoint: str) -> Record | None:
        """See `Reader`."""
        if checkpoint not in self._checkpoints:
            return None
        parent, type_, data = self._checkpoints[checkpoint]
        content = loaded(type_, data)
        values: Mapping[str, Any] = content["channel_values"]

        def writes() -> tuple[tuple[str, Any], ...]:
            # A rowid grows with every insert, so it is the order in which the writes became durable.
            query = "SELECT channel, type, value FROM writes WHERE checkpoint_id = ? ORDER BY rowid"
            return tuple((c, loaded(t, v)) for c, t, v in self._connection.execute(query, (checkpoint,)))

        return Record(parent, content["channel_versions"], lambda: values, writes)

    def has_child(self, checkpoint: str) -> bool:
        """See `Reader`."""
        return any(parent == checkpoint for parent, _, _ in self._checkpoints.values())

    @cached_property
    def _checkpoints(self) -> dict[str, tuple[str | None, str, bytes]]:
        """Parent, type and content by id: at once, for a store is small and every question costs a query."""
        query = "SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint FROM checkpoints"
        return {row[0]: row[1:] for row in self._connection.execute(query)} if self._exists else {}


class MemoryReader:
    """Reads the containers of an `InMemorySaver` without adding keys to them."""

    def __init__(self, contents: MemoryContents | None) -> None:
        self._checkpoints = contents.storage.get(THREAD, {}).get("", {}) if contents else {}
        self._contents = contents or MemoryContents({}, {}, {})

    def newest(self) -> str | None:
        """See `Reader`."""
        return max(self._checkpoints, default=None)

    def greatest(self) -> str | None:
        """See `Reader`."""
        return max([*self._checkpoints, *(checkpoint for _, _, checkpoint in self._contents.writes)], default=None)

    def record(self, checkpoint: str) -> Record | None:
        """See `Reader`."""
        if checkpoint not in self._checkpoints:
            return None
        content, _, parent = self._checkpoints[checkpoint]
        versions = loaded(*content)["channel_versions"]

        def values() -> Mapping[str, Any]:
            blobs = {c: self._contents.blobs.get((THREAD, "", c, v), ("empty", b"")) for c, v in versions.items()}
            return {channel: loaded(*blob) for channel, blob in blobs.items() if blob[0] != "empty"}

        def writes() -> tuple[tuple[str, Any], ...]:
            pending = self._contents.writes.get((THREAD, "", checkpoint), {}).values()
            return tuple((channel, loaded(*value)) for _, channel, value, _ in pending)

        return Record(parent, versions, values, writes)

    def has_child(self, checkpoint: str) -> bool:
        """See `Reader`."""
        return any(parent == checkpoint for _, _, parent in self._checkpoints.values())


def database(store: Store) -> Path:
    """The file of a run's `SqliteSaver`."""
    return store.folder / "store.sqlite"


@contextlib.contextmanager
def reading(store: Store) -> Iterator[Reader]:
    """Open the dead store. Raises sqlite3.DatabaseError (it is no database) or StoreUnavailable (its server is gone)."""
    if store.options["saver"] == "postgres":
        from fuzzresume.adapters import _langgraph_postgres

        with _langgraph_postgres.reading(store) as reader:
            yield reader
        return
    if store.options["saver"] == "memory" or not database(store).exists():
        yield MemoryReader(store.memory.get(MEMORY_KEY))
        return
    with contextlib.closing(sqlite3.connect(database(store), timeout=30)) as connection:
        # The last connection to close tidies up the journal, and need not wait for the disk (as in the savers).
        connection.execute("PRAGMA synchronous=OFF")
        yield SqliteReader(connection)


def frontier(store: Store, branch: str | None) -> Frontier:
    """The tasks that the store records as completed at checkpoint `branch` (None: the newest), in the present epoch.

    Unreadable is unknown: any error while reading gives `done=None` and says why. Raises StoreUnavailable when its
    server is gone, which says nothing about the store.
    """
    head: str | None = None
    try:
        with reading(store) as reader:
            head = reader.newest()
            at = branch or head
            return Frontier(() if at is None else _completed(reader, at, store.options["api"]), head=head)
    except StoreUnavailable:
        raise
    except Exception as error:
        return Frontier(None, f"{type(error).__name__}: {error}", head)


def _completed(reader: Reader, checkpoint: str, api: str) -> tuple[int, ...]:
    record = reader.record(checkpoint)
    if record is None:
        raise LookupError(f"checkpoint {checkpoint} is not stored")
    # Writes are folded into the checkpoint that follows; once there is one, they say nothing about this position.
    pending = () if reader.has_child(checkpoint) else record.writes
    values = record.values
    if api != "functional":
        earlier = _before_epoch(reader, record, "marks")
        whole = list(values.get("marks", ()))
        single = [mark for channel, value in pending if channel == "marks" for mark in value]
    else:
        earlier = _before_epoch(reader, record, _PREVIOUS)
        single = [mark for channel, value in pending if channel == _RETURN for mark in value["marks"]]
        # A run in flight still holds its input; what its checkpoint holds as a result is the previous epoch's.
        ends = [value for channel, value in pending if channel == _END]
        whole = list(values.get(_END, ())) if _INPUT not in values else [m for end in ends for m in end]
    return tuple(dict.fromkeys(Mark.parse(mark).task for mark in whole[earlier:] + single))


def _before_epoch(reader: Reader, record: Record, accumulator: str) -> int:
    """How many marks earlier epochs left in the accumulated state.

    Every input gives the input channel a new version, which all checkpoints of the epoch share, whatever the durability
    (except the input's own, which has accumulated nothing yet): the first ancestor with another version is the base.
    """
    version, parent = record.versions.get(_INPUT), record.parent
    while parent is not None and (ancestor := reader.record(parent)) is not None:
        if ancestor.versions.get(_INPUT) != version:
            return len(ancestor.values.get(accumulator) or ())
        parent = ancestor.parent
    return 0


def tamper_kinds(options: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of damage that make sense: none without a file, none of a declared field where nothing is declared."""
    if options["saver"] == "memory":
        return ()
    if options["saver"] == "postgres":
        from fuzzresume.adapters import _langgraph_postgres

        return _langgraph_postgres.tamper_kinds(options)
    return ("truncated", "empty", *(("dropped-field", "wrong-type") if options["api"] != "functional" else ()))


def tamper(store: Store, kind: str) -> None:
    """Damage the store: `empty` leaves a file of no bytes, the other kinds rewrite the newest checkpoint's bytes.

    `truncated` keeps their first half; `dropped-field` removes the declared field `note`; `wrong-type` makes it a number.
    Raises Unsupported for any other kind, and when there is no checkpoint to damage.
    """
    if kind not in tamper_kinds(store.options):
        raise Unsupported(f"the adapter cannot damage this store by {kind!r}")
    if store.options["saver"] == "postgres":
        from fuzzresume.adapters import _langgraph_postgres

        _langgraph_postgres.tamper(store, kind)
        return
    path = database(store)
    if kind == "empty":
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.write_bytes(b"")
        return
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection:
        newest = SqliteReader(connection).newest()
        if newest is None:
            raise Unsupported("nothing is stored yet")
        query = "SELECT type, checkpoint FROM checkpoints WHERE checkpoint_id = ?"
        type_, content = connection.execute(query, (newest,)).fetchone()
        type_, content = _damaged(type_, content, kind)
        update = "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE checkpoint_id = ?"
        connection.execute(update, (type_, content, newest))
        connection.commit()


def _damaged(type_: str, content: bytes, kind: str) -> tuple[str, bytes]:
    if kind == "truncated":
        return type_, content[: len(content) // 2]
    checkpoint = _SERDE.loads_typed((type_, content))
    if kind == "dropped-field":
        del checkpoint["channel_values"]["note"]
    else:
        checkpoint["channel_values"]["note"] = 17
    return _SERDE.dumps_typed(checkpoint)
