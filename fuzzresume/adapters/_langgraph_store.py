"""LangGraph's durable store as seen without running anything: frontier, greatest id, damage.

The engine is not imported; only its serializer is, because checkpoints and writes are msgpack with extension types.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from fuzzresume.contract.observation import Frontier
from fuzzresume.contract.workload import Mark
from fuzzresume.harness.adapter import WRONG_TYPE
from fuzzresume.harness.env import Store, Unsupported
from fuzzresume.harness.target import StoreUnavailable

THREAD = "run"
"""The thread id of the one run in a store."""

MEMORY_KEY = "saver"
"""Where `Store.memory` keeps the containers of an in-memory saver, as `MemoryContents`."""

_SERDE = JsonPlusSerializer()

_INPUT, _END, _PREVIOUS, _RETURN = "__start__", "__end__", "__previous__", "__return__"
"""LangGraph's channels: a run's input, a functional run's result and saved value, one functional task's result."""


Writes = tuple[tuple[str, Any], ...]
"""The (channel, value) writes pending on a checkpoint, in store order."""

Lineage = tuple[str | None, Mapping[str, Any]]
"""A checkpoint's parent and the versions of its channels."""


class MemoryContents(NamedTuple):
    """What an `InMemorySaver` holds; the saver itself dies with its life."""

    storage: Any
    writes: Any
    blobs: Any

    def __deepcopy__(self, memo: object) -> MemoryContents:
        """Containers of their own; records are tuples of text and bytes, which need no copy."""
        return MemoryContents(*map(_copied, self))


def _copied(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    copy = content.copy()
    copy.update([(key, _copied(value)) for key, value in content.items()])
    return copy


@lru_cache(maxsize=1024)
def loaded(type_: str, data: bytes) -> Any:
    """What stored bytes say. Nothing that is stored changes, so the same bytes are met again and again; do not modify it."""
    return _SERDE.loads_typed((type_, data))


class Reader(Protocol):
    """A store opened for reading."""

    def newest(self) -> str | None:
        """The greatest checkpoint id, which is what LangGraph calls the latest."""
        ...

    def greatest(self) -> str | None:
        """The greatest id anywhere, also of a checkpoint of which only writes were stored."""
        ...

    def lineage(self, checkpoint: str) -> Lineage | None:
        """Of the checkpoint of that id, if it is stored. Raises whatever the serializer raises on damaged bytes."""
        ...

    def values(self, checkpoint: str, channels: Sequence[str]) -> Mapping[str, Any]:
        """Those of these channels that hold something at a stored checkpoint. Raises as `lineage` does."""
        ...

    def writes(self, checkpoint: str) -> Writes:
        """What is pending on a stored checkpoint. Raises as `lineage` does."""
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

    def lineage(self, checkpoint: str) -> Lineage | None:
        """See `Reader`."""
        if checkpoint not in self._checkpoints:
            return None
        parent, type_, data = self._checkpoints[checkpoint]
        return parent, loaded(type_, data)["channel_versions"]

    def values(self, checkpoint: str, channels: Sequence[str]) -> Mapping[str, Any]:
        """See `Reader`."""
        _, type_, data = self._checkpoints[checkpoint]
        values = loaded(type_, data)["channel_values"]
        return {channel: values[channel] for channel in channels if channel in values}

    def writes(self, checkpoint: str) -> Writes:
        """See `Reader`."""
        # A rowid grows with every insert, so it is the order in which the writes became durable.
        query = "SELECT channel, type, value FROM writes WHERE checkpoint_id = ? ORDER BY rowid"
        return tuple((c, loaded(t, v)) for c, t, v in self._connection.execute(query, (checkpoint,)))

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
        storage, self._writes, self._blobs = contents or MemoryContents({}, {}, {})
        self._checkpoints = storage.get(THREAD, {}).get("", {})

    def newest(self) -> str | None:
        """See `Reader`."""
        return max(self._checkpoints, default=None)

    def greatest(self) -> str | None:
        """See `Reader`."""
        return max([*self._checkpoints, *[checkpoint for _, _, checkpoint in self._writes]], default=None)

    def lineage(self, checkpoint: str) -> Lineage | None:
        """See `Reader`."""
        found = self._checkpoints.get(checkpoint)
        if found is None:
            return None
        content, _, parent = found
        return parent, loaded(*content)["channel_versions"]

    def values(self, checkpoint: str, channels: Sequence[str]) -> Mapping[str, Any]:
        """See `Reader`."""
        versions = loaded(*self._checkpoints[checkpoint][0])["channel_versions"]
        found = {}
        for channel in channels:
            blob = self._blobs.get((THREAD, "", channel, versions.get(channel)))
            if blob is not None and blob[0] != "empty":
                found[channel] = loaded(*blob)
        return found

    def writes(self, checkpoint: str) -> Writes:
        """See `Reader`."""
        pending = self._writes.get((THREAD, "", checkpoint))
        return tuple([(channel, loaded(*value)) for _, channel, value, _ in pending.values()]) if pending else ()

    def has_child(self, checkpoint: str) -> bool:
        """See `Reader`."""
        return checkpoint in [parent for _, _, parent in self._checkpoints.values()]


def database(store: Store) -> Path:
    """The file of a run's `SqliteSaver`."""
    return store.folder / "store.sqlite"


def reading(store: Store) -> AbstractContextManager[Reader]:
    """Open the dead store. Raises sqlite3.DatabaseError (it is no database) or StoreUnavailable (its server is gone)."""
    if store.options["saver"] == "postgres":
        from fuzzresume.adapters import _langgraph_postgres

        return _langgraph_postgres.reading(store)
    if store.options["saver"] == "memory" or not database(store).exists():
        return contextlib.nullcontext(MemoryReader(store.memory.get(MEMORY_KEY)))
    return _reading_file(database(store))


@contextlib.contextmanager
def _reading_file(path: Path) -> Iterator[SqliteReader]:
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection:
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
    lineage = reader.lineage(checkpoint)
    if lineage is None:
        raise LookupError(f"checkpoint {checkpoint} is not stored")
    # Writes are folded into the checkpoint that follows; once there is one, they say nothing about this position.
    pending = () if reader.has_child(checkpoint) else reader.writes(checkpoint)
    if api != "functional":
        earlier = _before_epoch(reader, lineage, "marks")
        whole = reader.values(checkpoint, ("marks",)).get("marks", ())
        single = [mark for channel, value in pending if channel == "marks" for mark in value]
    else:
        earlier = _before_epoch(reader, lineage, _PREVIOUS)
        single = [mark for channel, value in pending if channel == _RETURN for mark in value["marks"]]
        # A run in flight still holds its input; what its checkpoint holds as a result is the previous epoch's.
        values = reader.values(checkpoint, (_INPUT, _END))
        ends = [value for channel, value in pending if channel == _END]
        whole = values.get(_END, ()) if _INPUT not in values else [m for end in ends for m in end]
    return tuple(dict.fromkeys([Mark.parse(mark).task for mark in [*whole[earlier:], *single]]))


def _before_epoch(reader: Reader, lineage: Lineage, accumulator: str) -> int:
    """How many marks earlier epochs left in the accumulated state.

    Every input gives the input channel a new version, which all checkpoints of the epoch share, whatever the durability
    (except the input's own, which has accumulated nothing yet): the first ancestor with another version is the base.
    """
    ancestor, versions = lineage
    version = versions.get(_INPUT)
    while ancestor is not None and (earlier := reader.lineage(ancestor)) is not None:
        parent, versions = earlier
        if versions.get(_INPUT) != version:
            return len(reader.values(ancestor, (accumulator,)).get(accumulator) or ())
        ancestor = parent
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
        checkpoint["channel_values"]["note"] = WRONG_TYPE
    return _SERDE.dumps_typed(checkpoint)
