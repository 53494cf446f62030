"""The effect ledger: outside the framework, and append-only (docs/CONTRACT.md, *effect ledger*).

Where lives are processes of their own it is a file, which survives SIGKILL: one `write(2)` on an O_APPEND descriptor per
entry, so entries of racing processes never interleave and an entry is either whole or absent. Only the controller reads it,
after every command. Standard library only.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path

from fuzzresume.contract.observation import Entry
from fuzzresume.contract.workload import Mark

_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


class LedgerWriter:
    """The worker's end. Opens the file lazily, so that a forked child never shares a descriptor with its parent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def append(self, entry: Entry) -> None:
        """Record one entry. Raises OSError when the disk refuses it: an effect that cannot be seen must not be judged."""
        if self._fd is None:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        row = [entry.kind, entry.task, list(entry.tokens), [mark.text for mark in entry.reads]]
        data = _ENCODE(row).encode() + b"\n"
        if os.write(self._fd, data) != len(data):
            raise OSError(f"short write to the effect ledger {self._path}")

    def close(self) -> None:
        """Release the descriptor. Appending again reopens it."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class MemoryLedger:
    """Both ends of a ledger for lives in the controller's own process, whose deaths it survives without a file."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def append(self, entry: Entry) -> None:
        """Record one entry."""
        self._entries.append(entry)

    def take(self) -> tuple[Entry, ...]:
        """Entries since the last call, in the order in which they were appended."""
        entries, self._entries = tuple(self._entries), []
        return entries

    def close(self) -> None:
        """Nothing is held."""


class LedgerReader:
    """The controller's end: `take()` returns the entries appended since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def take(self) -> tuple[Entry, ...]:
        """Entries since the last call, in the order in which they were appended."""
        try:
            fd = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return ()
        try:
            data = os.pread(fd, os.fstat(fd).st_size - self._offset, self._offset)
        finally:
            os.close(fd)
        self._offset += len(data)
        return tuple(map(_entry, data.splitlines()))


@lru_cache(maxsize=1024)
def _entry(line: bytes) -> Entry:
    kind, task, tokens, reads = json.loads(line)
    return Entry(kind, task, tuple(tokens), tuple(Mark.parse(text) for text in reads))
