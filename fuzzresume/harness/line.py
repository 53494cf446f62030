"""The controller's end of a worker's pipe: what is said, and what comes back for it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import defaultdict, deque

from fuzzresume.harness.worker import Wire, receive, send


class Line:
    """One message out, one back. `limit` are the seconds that an exchange may take."""

    def __init__(self, pipe: socket.socket, limit: float) -> None:
        self._pipe, self._limit = pipe, limit

    def exchange(self, wire: Wire) -> Wire | None:
        """The answer, or None when the worker is gone. Raises TimeoutError."""
        self._pipe.settimeout(self._limit)
        started = time.monotonic()
        try:
            send(self._pipe, wire)
        except (BrokenPipeError, ConnectionResetError):
            return None
        self._pipe.settimeout(self._left(started))
        return receive(self._pipe)

    def hang_up(self) -> None:
        """Say that nothing will follow, and wait until the worker has closed its end. Raises TimeoutError."""
        with contextlib.suppress(OSError):
            self._pipe.shutdown(socket.SHUT_WR)
        self._pipe.settimeout(self._limit)
        while receive(self._pipe) is not None:
            pass

    def close(self) -> None:
        """Release it."""
        self._pipe.close()

    def _left(self, started: float) -> float:
        return max(self._limit - (time.monotonic() - started), 0.001)


class SharedLine(Line):
    """The line of several racers, safe to share between threads: every message says which racer's it is.

    One thread at a time listens, for all of them; what is another racer's is kept for it.
    """

    def __init__(self, pipe: socket.socket, limit: float) -> None:
        super().__init__(pipe, limit)
        self._kept: defaultdict[int, deque[Wire]] = defaultdict(deque)
        self._sending = threading.Lock()
        self._news = threading.Condition()
        self._listening = self._over = False

    def exchange(self, wire: Wire) -> Wire | None:
        """See `Line`."""
        started = time.monotonic()
        with self._news:
            if self._over:
                return None
        try:
            with self._sending:
                send(self._pipe, wire)
        except (BrokenPipeError, ConnectionResetError):
            return None
        kept = self._kept[wire["racer"]]
        while True:
            with self._news:
                self._news.wait_for(lambda: kept or self._over or not self._listening)
                if kept or self._over:
                    return kept.popleft() if kept else None
                self._listening = True
            reply = self._listen(started)
            if reply is None or "racer" not in reply:
                return reply

    def _listen(self, started: float) -> Wire | None:
        reply = None
        try:
            self._pipe.settimeout(self._left(started))
            reply = receive(self._pipe)
        finally:
            with self._news:
                self._listening = False
                if reply is not None and "racer" in reply:
                    self._kept[reply["racer"]].append(reply)
                else:
                    self._over = True
                self._news.notify_all()
        return reply
