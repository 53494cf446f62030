"""One process at a time: the engine's calls exclude each other (docs/CONTRACT.md, *race*).

A call holds a lock of the store's folder from its first read to its reply. The kernel releases the lock with the process, so
an owner that dies leaves nothing that would have to expire. Who comes meanwhile is refused, and may come again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from fuzzresume.adapters.durable.engine import Engine, Refused
from fuzzresume.contract.observation import Outcome
from fuzzresume.contract.workload import Question


class Alone:
    """The calls of `harness.adapter.Life` on an engine, one process at a time. `inspect` reads, and waits for nobody."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def start(self) -> Outcome:
        """Begin the run, or send the input again when it has begun."""
        return self._alone(self._engine.start)

    def restart(self) -> Outcome:
        """Send the input again."""
        return self._alone(self._engine.restart)

    def resume(self, question: Question, answer: str, *, address: str | None, branch: str | None) -> Outcome:
        """Deliver an answer."""
        crowded = self._engine.faults.crowded(question, answer)
        return self._alone(lambda: self._engine.resume(question, answer, address=address, branch=branch), crowded)

    def fork(self, question: Question, answer: str, *, address: str) -> Outcome:
        """Continue from a question's interrupt on a branch of its own."""
        return self._alone(lambda: self._engine.fork(question, answer, address=address))

    def recover(self, *, branch: str | None) -> Outcome:
        """Go on after a crash."""
        return self._alone(lambda: self._engine.recover(branch=branch))

    def inspect(self, *, branch: str | None) -> Outcome:
        """Look, and touch nothing."""
        return self._engine.inspect(branch=branch)

    def close(self) -> None:
        """Release the file."""
        self._engine.close()

    def _alone(self, call: Callable[[], Outcome], crowded: Outcome | None = None) -> Outcome:
        if not self._engine.faults.exclusive:
            return call()
        with _lock(self._engine.env.folder) as mine:
            if mine:
                return call()
        if crowded is None:
            raise Refused("another process works on this run")
        return crowded


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Whether the folder's lock could be had. Of the folder, because closing a database file would release SQLite's own."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
