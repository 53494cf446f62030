"""The controller's handle on a process that serves it over a socket, and that must not outlive it.

`Attendant` starts the process, exchanges messages with it and ends it; what the messages mean is its users' matter.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from fuzzresume.harness import launch
from fuzzresume.harness.worker import Wire, receive, send

FAREWELL = 10.0
"""Seconds that a process may take to end when it is hung up on; then it is killed, which ends its own workers too."""


class WorkerError(RuntimeError):
    """A process of ours broke by a fault of adapter or harness, which is never an outcome; carries its traceback."""


class Attendant:
    """One process. Safe to share between threads.

    A process that leaves a request unanswered for `patience` seconds is killed.
    """

    def __init__(self, python: str, module: str, environment: Mapping[str, str], patience: float) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(patience)
        self._patience = patience
        self._module = module.rpartition(".")[2]
        lifeline, self._lifeline = os.pipe()
        with theirs, os.fdopen(lifeline, "rb"):
            self._process = subprocess.Popen(
                [python, "-P", str(Path(launch.__file__)), module, str(theirs.fileno()), str(lifeline)],
                pass_fds=[theirs.fileno(), lifeline],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._control = ours
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._control.fileno() >= 0 and self._process.poll() is None

    def ask(self, wire: Wire, passed: socket.socket | None = None) -> Wire:
        """One message out, with a descriptor or without, and the answer. Raises WorkerError."""
        with self._lock:
            try:
                send(self._control, wire)
                if passed is not None:
                    socket.send_fds(self._control, [b"."], [passed.fileno()])
                reply = receive(self._control)
            except TimeoutError as error:
                self._process.kill()
                self._control.close()
                what = wire.get("do", "import")
                raise WorkerError(f"the {self._module} was killed: {what} took more than {self._patience:g} s") from error
            except OSError:
                reply = None
            except BaseException:
                # An interrupted exchange would leave its reply to the next one.
                self._control.close()
                raise
        if reply is None:
            self._control.close()
            raise WorkerError(f"the {self._module} is gone")
        if "broken" in reply:
            raise WorkerError(reply["broken"])
        return reply

    def close(self) -> None:
        """End it with everything it has, and wait for it. May be repeated."""
        self._control.close()
        try:
            self._process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)
