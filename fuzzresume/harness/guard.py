"""A process between the controller and a server that must not outlive it.

It prepares and starts the server, tells the controller when that is ready, and waits. When the controller ends, in whatever
way, the kernel closes its end of a pipe, the lifeline; then the guard ends the server and removes its folder. Standard
library only.
"""

from __future__ import annotations

import json
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from fuzzresume.harness.worker import die_with_parent

READY = "ready"
"""The line that the controller reads once the server can be used; any other says why it cannot."""

TAIL = 2000
"""How many characters of a failed server's last words are told."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: `prepare` to its end, then `serve`, which is ready when it writes `sign` to its standard error.

    `folder` is their working directory, removed at the end; `stop` the signal that ends the server at once; `user` whom they
    run as (None: the guard's own). `copies` are trees to be copied into the folder first, by their new names.
    """

    folder: str
    prepare: list[str]
    serve: list[str]
    sign: str
    stop: int
    user: str | None = None
    copies: dict[str, str] = field(default_factory=dict)

    def argument(self) -> str:
        """As one argument of the guard's command line."""
        return json.dumps(asdict(self))


def guard(plan: Plan, lifeline: int) -> None:
    """Serve until the lifeline breaks or the server ends."""
    how: dict[str, Any] = {
        "cwd": plan.folder, "env": {"LC_ALL": "C", "PATH": os.defpath}, "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE,
    }  # fmt: skip
    if plan.user is not None:
        account = pwd.getpwnam(plan.user)
        os.chown(plan.folder, account.pw_uid, account.pw_gid)
        how |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    for name, tree in plan.copies.items():
        shutil.copytree(tree, os.path.join(plan.folder, name))
    prepared = subprocess.run(plan.prepare, **how)
    if prepared.returncode:
        _say(prepared.stderr)
        return
    parent = os.getpid()
    # Nothing but this thread runs here, so code between fork and exec is safe.
    with subprocess.Popen(plan.serve, preexec_fn=lambda: die_with_parent(parent), **how) as server:
        assert server.stderr is not None
        _watch(server.stderr.fileno(), lifeline, plan.sign.encode())
        server.send_signal(plan.stop)


def _watch(words: int, lifeline: int, sign: bytes) -> None:
    """Read what the server writes, which would else wait for a reader, until there is no more or the lifeline breaks."""
    poll = select.poll()
    for descriptor in (words, lifeline):
        poll.register(descriptor, select.POLLIN)
    said, ready = b"", False
    while all(descriptor != lifeline for descriptor, _ in poll.poll()):
        chunk = os.read(words, 1 << 16)
        if not chunk:
            if not ready:
                _say(said)
            return
        if not ready:
            said += chunk
            if ready := sign in said:
                print(READY, flush=True)


def _say(words: bytes) -> None:
    print(" ".join(words.decode(errors="replace").split())[-TAIL:] or "it ended without a word", flush=True)


def main(argument: str, lifeline: int) -> None:
    """Run the plan. An interrupt from the keyboard is the controller's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    plan = Plan(**json.loads(argument))
    try:
        guard(plan, lifeline)
    except (OSError, LookupError) as error:
        _say(str(error).encode())
    finally:
        shutil.rmtree(plan.folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
