"""Workers and zygotes: real SIGKILL, limits, and nothing left behind, on a small honest engine."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import fuzzresume
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.forked import ForkedHost, ForkedSession, WorkerError, Zygotes
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


def test_after_a_hung_command_the_next_one_works(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes, limit=1.0, trouble="block-restart") as s:
        s.execute(Command("start"))
        assert s.execute(Command("restart")).outcome.kind == "hung"
        assert s.execute(Command("resume", A)).outcome.kind == "parked"


@contextlib.contextmanager
def listening_to_the_keyboard() -> Iterator[None]:
    """A shell starts what runs in its background deaf to the keyboard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupted_command_takes_its_worker_along(
    tmp_path: Path, zygotes: Zygotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: a courteous close would wait for the stuck worker until the limit."""
    gone_when_closed: list[bool] = []
    close = ForkedHost.close

    def watched(host: ForkedHost) -> None:
        gone_when_closed.append(is_gone(host.pid))
        close(host)

    monkeypatch.setattr(ForkedHost, "close", watched)
    with listening_to_the_keyboard(), session(tmp_path, zygotes, trouble="block-restart") as s:
        s.execute(Command("start"))
        worker = s.worker
        blocked = s.folder / "blocked"
        os.mkfifo(blocked)

        def interrupt() -> None:
            blocked.read_text()
            os.kill(os.getpid(), signal.SIGINT)

        keyboard = threading.Thread(target=interrupt)
        keyboard.start()
        with pytest.raises(KeyboardInterrupt):
            s.execute(Command("restart"))
        keyboard.join()
        assert gone_when_closed == [True]
        assert worker is not None and is_gone(worker) and s.worker is None and s.deaths == ["SIGKILL"]
        assert s.execute(Command("resume", A)).outcome.kind == "parked"


def test_the_keyboard_interrupts_neither_zygote_nor_worker(tmp_path: Path, zygotes: Zygotes) -> None:
    with session(tmp_path, zygotes) as s:
        s.execute(Command("start"))
        worker, zygote = s.worker, zygotes.get("harness_fake:ADAPTER").pid
        assert worker is not None
        assert os.getpgid(worker) == os.getsid(worker) == zygote
        os.killpg(zygote, signal.SIGINT)
        assert s.execute(Command("resume", A)).outcome.kind == "parked"
        assert s.worker == worker and zygotes.get("harness_fake:ADAPTER").pid == zygote
    assert s.deaths == ["exit status 0"]


def descriptors(pid: int | str) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


def test_fifty_sessions_leave_no_descriptor_no_process_and_no_folder(tmp_path: Path) -> None:
    def scenario(folder: Path, pool: Zygotes) -> None:
        with session(folder, pool) as s:
            s.execute(Command("start", crash=CrashPoint("put.before")))
            s.execute(Command("recover"))
        assert sorted(path.name for path in s.folder.iterdir()) == ["hooks", "ledger", "store"]

    unopened = descriptors("self")
    with Zygotes() as pool:
        scenario(tmp_path / "first", pool)
        zygote = pool.get("harness_fake:ADAPTER").pid
        before = descriptors("self"), descriptors(zygote), children(zygote)
        for number in range(50):
            scenario(tmp_path / str(number), pool)
        assert (descriptors("self"), descriptors(zygote), children(zygote)) == before
        assert before[2] == ""
    assert descriptors("self") == unopened


def test_a_warming_scenario_that_hangs_is_given_up(tmp_path: Path) -> None:
    before = descriptors("self")
    with Zygotes(patience=1.0) as pool, session(tmp_path, pool, trouble="block-warm") as s:
        zygote = pool.get("harness_fake:ADAPTER").pid
        with pytest.raises(WorkerError, match="took more than 1 s"):
            s.execute(Command("start"))
        assert pool.get("harness_fake:ADAPTER").pid != zygote and is_gone(zygote)
    assert descriptors("self") == before


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
trouble = sys.argv[3]
session = ForkedSession(Target(harness_fake.ADAPTER, {"trouble": trouble}), Workload.linear(), Path(sys.argv[2]))
if trouble != "block-warm":
    session.execute(Command("start" if trouble == "none" else "recover"))
print(session._zygotes.get("harness_fake:ADAPTER").pid, session.worker or "", flush=True)
session.execute(Command("start" if trouble == "block-warm" else "restart"))
sys.stdin.read()
"""


@contextlib.contextmanager
def controller(folder: Path, trouble: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Another controller, with its zygote or worker stuck where `trouble` says. Yields it and handles of these two.

    Whatever the test finds, none of the processes outlives it.
    """
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
    ends: list[int] = []
    try:
        ends += [handle(int(pid)) for pid in process.stdout.readline().split()]
        if trouble != "none":
            assert blocked.read_text() == "!"
        yield process, ends
    finally:
        process.kill()
        process.communicate()
        for end in ends:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(end, signal.SIGKILL)
            os.close(end)


@pytest.mark.parametrize("trouble", ["none", "block-restart", "block-warm"])
def test_a_killed_controller_leaves_no_process_and_no_folder(tmp_path: Path, trouble: str) -> None:
    """Also while worker or zygote is stuck inside the framework and sees no end of file."""
    with controller(tmp_path, trouble) as (process, ends):
        assert len(ends) == (1 if trouble == "block-warm" else 2)
        process.kill()
        assert all(has_ended(end) for end in ends)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_killed_zygote_takes_its_workers_along(tmp_path: Path) -> None:
    with controller(tmp_path, "block-restart") as (_, (zygote, worker)):
        signal.pidfd_send_signal(zygote, signal.SIGKILL)
        assert has_ended(worker)
