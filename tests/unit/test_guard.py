"""The guard tells when its server is ready, and leaves neither server nor folder behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fuzzresume.harness.guard import READY, Plan

# A shell starts what it sends to the background with SIGINT and SIGQUIT ignored, and that is inherited.
SERVER = (
    "import os, signal, sys; signal.signal(signal.SIGQUIT, signal.SIG_DFL); "
    "open('pid', 'w').write(str(os.getpid())); print('is up', file=sys.stderr, flush=True); "
)
LIMIT = 30.0
"""Seconds after which a guard that does not end has hung."""

Guarded = Callable[[Plan], tuple[subprocess.Popen[str], int]]


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    """Starts guards: each with the end of its lifeline that its controller holds."""
    started: list[tuple[subprocess.Popen[str], int]] = []

    def start(plan: Plan) -> tuple[subprocess.Popen[str], int]:
        theirs, ours = os.pipe()
        command = [sys.executable, "-m", "fuzzresume.harness.guard", plan.argument(), str(theirs)]
        started.append((subprocess.Popen(command, pass_fds=[theirs], stdout=subprocess.PIPE, text=True), ours))
        os.close(theirs)
        return started[-1]

    yield start
    for guard, _ in started:
        guard.kill()
        guard.communicate()


def plan_of(folder: Path, serve: str, prepare: str = "") -> Plan:
    folder.mkdir()
    python = [sys.executable, "-c"]
    return Plan(str(folder), [*python, prepare], [*python, serve], "is up", signal.SIGQUIT)


def said(guard: subprocess.Popen[str]) -> str:
    assert guard.stdout is not None
    return guard.stdout.readline().strip()


def test_the_server_ends_and_its_folder_goes_with_the_lifeline(tmp_path: Path, guarded: Guarded) -> None:
    folder = tmp_path / "home"
    # It writes more than a pipe holds after it is ready: nobody may let it wait for a reader.
    plan = plan_of(folder, SERVER + "os.write(2, b'x' * 200_000); open('done', 'w').write('.'); signal.pause()")
    os.mkfifo(folder / "done")
    done = os.open(folder / "done", os.O_RDONLY | os.O_NONBLOCK)
    guard, lifeline = guarded(plan)
    assert said(guard) == READY
    assert select.select([done], [], [], LIMIT)[0]
    os.close(done)
    server = os.pidfd_open(int((folder / "pid").read_text()))
    os.close(lifeline)
    assert guard.wait(LIMIT) == 0
    assert select.select([server], [], [], 0)[0]
    os.close(server)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("prepare", "serve", "words"),
    [
        ("import sys; sys.exit('no room')", SERVER + "signal.pause()", "no room"),
        ("", "import sys; sys.exit('the port\\nis taken')", "the port is taken"),
        ("", "", "it ended without a word"),
    ],
)
def test_a_server_that_cannot_start_says_why(tmp_path: Path, guarded: Guarded, prepare: str, serve: str, words: str) -> None:
    guard, lifeline = guarded(plan_of(tmp_path / "home", serve, prepare))
    assert said(guard) == words
    assert guard.wait(LIMIT) == 0 and not (tmp_path / "home").exists()
    os.close(lifeline)


def test_a_program_that_is_not_there_says_so(tmp_path: Path, guarded: Guarded) -> None:
    (tmp_path / "home").mkdir()
    guard, lifeline = guarded(Plan(str(tmp_path / "home"), ["/no/such/program"], ["/no"], "is up", signal.SIGQUIT))
    assert "No such file or directory: '/no/such/program'" in said(guard)
    assert guard.wait(LIMIT) == 0 and not (tmp_path / "home").exists()
    os.close(lifeline)


def test_the_server_dies_with_a_killed_guard(tmp_path: Path, guarded: Guarded) -> None:
    guard, lifeline = guarded(plan_of(tmp_path / "home", SERVER + "signal.pause()"))
    assert said(guard) == READY
    server = os.pidfd_open(int((tmp_path / "home" / "pid").read_text()))
    guard.kill()
    assert select.select([server], [], [], LIMIT)[0]
    os.close(server)
    os.close(lifeline)
