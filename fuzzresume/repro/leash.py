"""A process between the verification and a script: what the script started ends when the verification does.

The verification holds the other end of a pipe, which is this program's input; the kernel closes it even if the verification
is killed. Standard library only, for it is run as a file.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading


def lead(command: list[str]) -> int:
    """Run a command in a session of its own, and end all of it with the input. Returns its exit code, 128 and the signal
    where one has ended it."""
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=_end_with_input, args=(running.pid,), daemon=True).start()
    code = running.wait()
    _kill(running.pid)
    return code if code >= 0 else 128 - code


def _end_with_input(group: int) -> None:
    os.read(0, 1)
    _kill(group)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(lead(sys.argv[1:]))
