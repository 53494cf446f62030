"""Lives in fresh interpreters: the plain way to a real SIGKILL, and the alternative to the zygotes' forked workers.

Each life is a new Python that imports the framework and serves one pipe. `FreshInterpreters` takes the place of the pool of
zygotes in a forked session, so all else is the same.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.target import resolve
from fuzzresume.harness.worker import Birth, serve


class FreshInterpreter:
    """Starts and reaps lives, as `Zygote` does."""

    alive = True

    def __init__(self, adapter: str, hash_seed: int) -> None:
        self._adapter = adapter
        self._environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
        self._lives: dict[int, subprocess.Popen[bytes]] = {}

    def fork(self, birth: Birth) -> tuple[int, socket.socket]:
        """A new life: its process id and our end of its pipe."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "bench.fresh", str(theirs.fileno()), self._adapter, json.dumps(birth.to_wire())]
            life = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=self._environment)
        self._lives[life.pid] = life
        return life.pid, ours

    def reap(self, pid: int) -> int:
        """Wait for the end of a life; returns its exit code, -9 for SIGKILL."""
        return self._lives.pop(pid).wait()


class FreshInterpreters(Zygotes):
    """A pool without zygotes."""

    def get(self, adapter: str, hash_seed: int = 0) -> FreshInterpreter:  # type: ignore[override]
        """What starts the lives of that adapter."""
        return FreshInterpreter(adapter, hash_seed)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as pipe:
        serve(pipe, resolve(sys.argv[2]), Birth.from_wire(json.loads(sys.argv[3])))
