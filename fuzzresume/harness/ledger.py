"""The effect ledger: an append-only file outside the framework that survives SIGKILL (docs/CONTRACT.md, *effect ledger*).

One `write(2)` on an O_APPEND descriptor per entry, so entries of racing processes never interleave and an entry is
either whole or absent. Only the controller reads it, after every command. Standard library only.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from fuzzresume.contract.observation import Entry
from fuzzresume.contract.workload import Mark


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
        data = json.dumps(row, separators=(",", ":")).encode() + b"\n"
        if os.write(self._fd, data) != len(data):
            raise OSError(f"short write to the effect ledger {self._path}")

    def close(self) -> None:
        """Release the descriptor. Appending again reopens it."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class LedgerReader:
    """The controller's end: `take()` returns the entries appended since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def take(self) -> tuple[Entry, ...]:
        """Entries since the last call, in the order in which they were appended."""
        if not self._path.exists():
            return ()
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        return tuple(_entry(line) for line in data.splitlines())


def _entry(line: bytes) -> Entry:
    kind, task, tokens, reads = json.loads(line)
    return Entry(kind, task, tuple(tokens), tuple(Mark.parse(text) for text in reads))
