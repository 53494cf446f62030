"""The corpus database as a file: opened or made, its transactions, and what its errors mean to a person.

Writers queue: each transaction takes the write lock at once, so two that read first and then both write cannot end in a
deadlock, and nothing has to be tried again. The journal is a write-ahead log, because readers then neither wait nor make
writers wait; where a file system cannot have one, or somebody is in the way when the file is made, SQLite's rollback journal
does as well. Every commit is on the disk when it returns (`synchronous = FULL`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fuzzresume.campaign.corpus.schema import APPLICATION, migrate, newest, version_of

if TYPE_CHECKING:
    from sqlite_utils import Database

PATIENCE = 30.0
"""Seconds that a transaction waits for the other writers."""

MEANINGS = {
    "SQLITE_BUSY": "another program has kept it locked for {patience:g} s; end that program, or try again later",
    "SQLITE_READONLY": "it cannot be written to; make the file and its folder writable, or copy it to where it can be",
    "SQLITE_FULL": "there is no room left; nothing of this step was written, so make room and try again",
    "SQLITE_NOTADB": "that is no SQLite database; name another file, or move this one away",
    "SQLITE_CORRUPT": "the database is damaged ({error}); `sqlite3 FILE .recover` saves what can still be read",
    "SQLITE_CANTOPEN": "it cannot be opened; name a file, in a folder that can be written to",
    "SQLITE_IOERR": "the disk refused it ({error}); nothing of this step was written",
}
"""What to do about an error of SQLite, by the beginning of its name."""


class CorpusError(OSError):
    """The corpus database cannot be used; the message is one line and says what to do. What was recorded is still there."""


class CorpusFile:
    """An open corpus database. As a context manager, closed at the end.

    `create`: make the file, and its folder, where there is none. `patience`: seconds to wait for other writers. A file of
    an earlier schema is brought up to date. Where the folder cannot be written to, the file can still be read.
    """

    def __init__(self, path: Path, *, create: bool = True, patience: float = PATIENCE) -> None:
        self.path = Path(path)
        self._patience = patience
        try:
            there = self.path.exists()
            if create and not there:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self.uri = _uri(self.path, create)
        except OSError as error:
            raise CorpusError(f"{self.path}: its folder cannot be used: {error.strerror or error}") from error
        if not create and not there:
            raise CorpusError(f"{self.path}: there is no corpus; `fuzzresume fuzz` and `fuzzresume corpus import` make one")
        with self.errors():
            self.connection = sqlite3.connect(self.uri, timeout=patience, isolation_level=None, uri=True)
        try:
            with self.errors():
                self._prepare()
        except BaseException:
            self.connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    @cached_property
    def tables(self) -> Database:
        """The connection as sqlite-utils sees it."""
        # Imported where something is written: listing a corpus is quicker without.
        from sqlite_utils import Database

        return Database(self.connection, recursive_triggers=False, execute_plugins=False)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Database]:
        """A transaction: when the block is left all of it is durable, or nothing of it was written. Raises CorpusError."""
        with self.errors():
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                yield self.tables
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query, read at one moment. Raises CorpusError."""
        with self.errors():
            return self.connection.execute(sql, values).fetchall()

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turns an error of SQLite into a CorpusError."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            meaning = next((MEANINGS[known] for known in MEANINGS if name.startswith(known)), "{error}")
            raise CorpusError(f"{self.path}: {meaning.format(error=error, patience=self._patience)}") from error

    def _prepare(self) -> None:
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.connection.execute("PRAGMA synchronous = FULL")
        # Kibibytes, taken as they are needed: a long list in the order of an index comes back to a page many times.
        self.connection.execute("PRAGMA cache_size = -65536")
        if self._current():
            return
        if not version_of(self.connection):
            with contextlib.suppress(sqlite3.OperationalError):
                self.connection.execute("PRAGMA journal_mode = WAL")
        with self.writing() as db:
            # Somebody else may have made it in the meantime.
            if not self._current():
                migrate(db)

    def _current(self) -> bool:
        """Whether it has this version's schema. Raises CorpusError for a newer one, and for what is no corpus."""
        version = version_of(self.connection)
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION:
            if version or self.connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                raise CorpusError(f"{self.path}: that is another program's database; name another file")
        elif version > newest():
            raise CorpusError(
                f"{self.path}: its schema is {version} and this fuzzresume knows {newest()}; update fuzzresume to use it"
            )
        return version == newest()


def _uri(path: Path, create: bool) -> str:
    """How SQLite is told to open it.

    A log needs files beside the database. Where none can be made and none is there, nobody writes, so the file may be
    read as one that does not change.
    """
    uri = path.absolute().as_uri()
    if os.access(path.parent, os.W_OK):
        return f"{uri}?mode={'rwc' if create else 'rw'}"
    log = path.with_name(f"{path.name}-wal")
    left = log.exists() and log.stat().st_size > 0
    return f"{uri}?mode=ro" if left else f"{uri}?mode=ro&immutable=1"
