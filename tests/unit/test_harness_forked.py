"""Workers and zygotes: real SIGKILL, limits, and nothing left behind, on a small honest engine."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fuzzresume
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.forked import ForkedSession, WorkerError, Zygotes
from fuzzresume.harness.target import Target

sys.path.insert(0, str(Path(__file__).parent))
import harness_fake

HERE = Path(__file__).parent
A, B = Token(Question(2, 1), 1), Token(Question(2, 2), 2)
WORKLOAD = Workload.linear()


@pytest.fixture(scope="module")
def zygotes() -> Iterator[Zygotes]:
    with Zygotes() as pool:
        yield pool


def session(folder: Path, zygotes: Zygotes | None, limit: float = 30.0, **options: str) -> ForkedSession:
    return ForkedSession(Target(harness_fake.ADAPTER, options), WORKLOAD, folder / "run", zygotes=zygotes, limit=limit)


def handle(pid: int) -> int:
    """A descriptor that becomes readable when the process, nobody's child here, has ended."""
    return os.pidfd_open(pid)


def has_ended(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 20)[0])


def is_gone(pid: int) -> bool:
    """Neither running nor a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_kill_is_a_sigkill_and_the_run_goes_on(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes) as s:
        started = s.execute(Command("start"))
        assert started.outcome.kind == "parked" and started.after.done == (1,)
        worker = s.worker
        s.execute(Command("resume", A))
        assert worker is not None and s.worker == worker != os.getpid()
        crashed = s.execute(Command("resume", B, crash=CrashPoint("put.before", 2)))
        assert crashed.outcome.kind == "crashed" and not crashed.outcome.error
        assert s.deaths == ["SIGKILL"] and s.worker is None and is_gone(worker)
        assert crashed.effects == (Mark(2, (A.text, B.text)),) and crashed.after.done == (1,)
        assert crashed.hooks == ("put.before", "put.half", "put.after", "effect.before:2", "effect.after:2", "put.before")
        recovered = s.execute(Command("recover"))
        assert recovered.outcome.kind == "completed" and recovered.effects == (Mark(2, (A.text, B.text)), Mark(3))
    assert s.deaths == ["SIGKILL", "exit status 0"]


def test_a_task_s_exception_comes_through_the_pipe(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes) as s:
        failed = s.execute(Command("start", crash=CrashPoint("effect.before:1", by="exception")))
        assert (failed.outcome.kind, failed.outcome.task) == ("failed", 1)
        assert s.execute(Command("retry")).outcome.kind == "parked"


def test_twins_recover_under_different_hash_seeds(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes) as s:
        s.execute(Command("start", crash=CrashPoint("put.before")))
        seen = s.execute(Command("recover2"))
    assert seen.twin is not None and seen.twin.entries == seen.entries != () and seen.twin.outcome == seen.outcome
    seeds = {
        entry
        for seed in (0, 1)
        for entry in Path(f"/proc/{zygotes.get('harness_fake:ADAPTER', seed).pid}/environ").read_text().split("\0")
        if entry.startswith("PYTHONHASHSEED=")
    }
    assert seeds == {"PYTHONHASHSEED=0", "PYTHONHASHSEED=1"}


def test_a_worker_that_hangs_is_killed(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes, limit=0.5, trouble="block") as s:
        s.execute(Command("start"))
        s.execute(Command("resume", A))
        worker = s.worker
        hung = s.execute(Command("resume", B))
        assert hung.effects == (Mark(2, (A.text, B.text)),) and hung.after.done == (1, 2)
        assert hung.outcome.kind == "hung" and hung.outcome.seconds == 0.5
        assert s.deaths[-1] == "SIGKILL" and s.worker is None
        assert worker is not None and is_gone(worker)


def test_a_death_that_nobody_planted_is_named(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes, trouble="exit") as s:
        s.execute(Command("start"))
        died = s.execute(Command("recover"))
    assert (died.outcome.kind, died.outcome.error) == ("crashed", "exit status 3")


def test_a_worker_killed_from_outside_between_commands_is_a_crash(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes) as s:
        s.execute(Command("start"))
        assert s.worker is not None
        ended = handle(s.worker)
        os.kill(s.worker, signal.SIGKILL)
        assert has_ended(ended)
        os.close(ended)
        died = s.execute(Command("resume", A))
        assert (died.outcome.kind, died.outcome.error) == ("crashed", "SIGKILL")
        assert s.execute(Command("resume", A)).outcome.kind == "parked"


def test_unsupported_comes_through_the_pipe(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes, trouble="no-inspect") as s, pytest.raises(Unsupported, match="no inspection"):
        s.execute(Command("inspect"))


def test_an_adapter_that_cannot_be_imported_says_why() -> None:
    with Zygotes() as own, pytest.raises(WorkerError, match="no_such_module"):
        own.get("no_such_module:ADAPTER")


def test_an_adapter_that_leaves_threads_is_not_forked(tmp_path: Path) -> None:
    with session(tmp_path, None, trouble="thread") as s, pytest.raises(WorkerError, match="threads"):
        s.execute(Command("start"))


def test_close_leaves_no_process(tmp_path: Path) -> None:
    s = session(tmp_path, None)
    s.execute(Command("start"))
    zygote, worker = s._zygotes.get("harness_fake:ADAPTER").pid, s.worker
    assert worker is not None
    s.close()
    assert is_gone(zygote) and is_gone(worker)


CONTROLLER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import harness_fake
from fuzzresume.contract.commands import Command
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.forked import ForkedSession
from fuzzresume.harness.target import Target
session = ForkedSession(Target(harness_fake.ADAPTER, {"trouble": sys.argv[3]}), Workload.linear(), Path(sys.argv[2]))
session.execute(Command("start" if sys.argv[3] == "none" else "recover"))
print(session._zygotes.get("harness_fake:ADAPTER").pid, session.worker, flush=True)
session.execute(Command("restart"))
sys.stdin.read()
"""


@contextlib.contextmanager
def controller(folder: Path, trouble: str) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """Another controller with a worker, stuck if `trouble` is block-restart; yields it, its zygote's and worker's pids."""
    environment = {
        **os.environ,
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": str(Path(fuzzresume.__file__).parent.parent),
    }
    (folder / "tmp").mkdir()
    (folder / "run").mkdir()
    blocked = folder / "run" / "blocked"
    os.mkfifo(blocked)
    process = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(HERE), str(folder / "run"), trouble],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    try:
        zygote, worker = map(int, process.stdout.readline().split())
        if trouble == "block-restart":
            assert blocked.read_text() == "!"
        yield process, zygote, worker
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("trouble", ["none", "block-restart"])
def test_a_killed_controller_leaves_no_process_and_no_folder(tmp_path: Path, trouble: str) -> None:
    """Also while the worker is stuck inside the framework and sees no end of file."""
    with controller(tmp_path, trouble) as (process, zygote, worker):
        ends = [handle(zygote), handle(worker)]
        process.kill()
        assert all(has_ended(end) for end in ends)
        for end in ends:
            os.close(end)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_killed_zygote_takes_its_workers_along(tmp_path: Path) -> None:
    with controller(tmp_path, "block-restart") as (_, zygote, worker):
        end = handle(worker)
        os.kill(zygote, signal.SIGKILL)
        assert has_ended(end)
        os.close(end)
