"""A campaign leaves no process, file or shared memory, however it ends; what a killed one cannot remove, the next does."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fuzzresume import cli_run
from fuzzresume.cli_run import LOCK, PREFIX, remove_stale, workspace

LIMIT = 60.0
"""Seconds after which what does not happen is hung."""

WITNESS = """
import os, sys

log, forked = os.environ["WITNESS_LOG"], []
place = os.path.dirname(log)  # of the test's own files, which may be in memory too


def tell(*words):
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, (" ".join(map(str, words)) + "\\n").encode())
    os.close(descriptor)


def shared(path):
    return path.startswith("/dev/shm/") and not path.startswith(place)


def watch(event, arguments):
    if event in ("tempfile.mkdtemp", "tempfile.mkstemp"):
        tell("made", arguments[0])
    elif event == "open" and shared(str(arguments[0])) and arguments[2] & os.O_CREAT:
        tell("made", arguments[0])
    if event == "open" and forked and str(arguments[0]).endswith("/hooks"):
        tell("worker", os.getpid())
        if "WITNESS_HOLD" in os.environ:
            with open(os.environ["WITNESS_HOLD"], "w") as held:
                held.write("!")
            os.open(os.environ["WITNESS_HOLD"] + "-for-ever", os.O_RDONLY)


os.register_at_fork(after_in_child=lambda: forked.append(True))
sys.addaudithook(watch)
tell("process", os.getpid())
"""
"""Every Python process of a campaign imports it first. It tells what is made and which worker lives; a held worker stops for
ever when it is about to serve its first call, and says so."""


class Witnessed:
    """A campaign of which everything is known: its processes bear a mark, and what they make is logged."""

    def __init__(self, place: Path) -> None:
        self._place, self._log, self._hold = place, place / "log", place / "hold"
        (place / "site").mkdir()
        (place / "tmp").mkdir()
        (place / "site" / "sitecustomize.py").write_text(WITNESS)
        os.mkfifo(self._hold)
        os.mkfifo(f"{self._hold}-for-ever")
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(place / "site"),
            "TMPDIR": str(place / "tmp"),
            "WITNESS_LOG": str(self._log),
        }

    @contextmanager
    def fuzzing(self, *arguments: str, hold: bool = False) -> Iterator[subprocess.Popen[str]]:
        """`fuzzresume fuzz` with these arguments; none of its processes outlives the body."""
        command = [sys.executable, "-m", "fuzzresume", "fuzz", *arguments]
        environment = self.environment | ({"WITNESS_HOLD": str(self._hold)} if hold else {})
        process = subprocess.Popen(
            command,
            cwd=self._place,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            for pid in self.alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def wait_for_a_held_worker(self) -> None:
        """Return when a worker has stopped where it stays until it is killed."""
        told = os.open(self._hold, os.O_RDONLY | os.O_NONBLOCK)
        assert select.select([told], [], [], LIMIT)[0], "no worker was started"
        os.close(told)

    def wait_for_the_end(self) -> None:
        """Return when every process of the campaign has ended."""
        while pids := self.alive():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    process = os.pidfd_open(pid)
                    assert select.select([process], [], [], LIMIT)[0], f"process {pid} goes on"
                    os.close(process)

    def alive(self) -> list[int]:
        """Every process of the campaign that still runs."""
        mark, found = f"WITNESS_LOG={self._log}".encode(), []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except (OSError, ProcessLookupError):
                continue
        return found

    def logged(self, kind: str) -> list[str]:
        """What was told of one kind."""
        lines = (line.partition(" ") for line in self._log.read_text().splitlines())
        return [rest for word, _, rest in lines if word == kind]

    def left(self) -> list[str]:
        """Everything made that is still there."""
        return [path for path in self.logged("made") if os.path.lexists(path)] + os.listdir(self._place / "tmp")


@pytest.fixture
def campaign(tmp_path: Path) -> Witnessed:
    return Witnessed(tmp_path)


FUZZ = ("reference", "--max-runs", "30")


def test_a_campaign_leaves_nothing(campaign: Witnessed) -> None:
    with campaign.fuzzing(*FUZZ) as process:
        shown, _ = process.communicate(timeout=LIMIT)
        assert process.returncode in (0, 3), shown
        assert campaign.alive() == []
    # The controller, a zygote, and workers of it.
    assert len(campaign.logged("process")) >= 2 and campaign.logged("worker")
    assert len(campaign.logged("made")) > 2 and campaign.left() == []


def test_an_interrupted_campaign_leaves_nothing(campaign: Witnessed) -> None:
    with campaign.fuzzing(*FUZZ, hold=True) as process:
        campaign.wait_for_a_held_worker()
        os.killpg(process.pid, signal.SIGINT)
        shown, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == 130, shown
        assert campaign.alive() == []
    assert campaign.left() == []


def test_a_killed_campaign_leaves_no_process_and_the_next_one_removes_its_files(campaign: Witnessed) -> None:
    with campaign.fuzzing(*FUZZ, hold=True) as process:
        campaign.wait_for_a_held_worker()
        assert process.pid in campaign.alive() and len(campaign.alive()) >= 3
        process.kill()
        process.wait()
        campaign.wait_for_the_end()
    with campaign.fuzzing("reference", "--max-runs", "1") as process:
        shown, _ = process.communicate(timeout=LIMIT)
        assert process.returncode in (0, 3), shown
    assert len([path for path in campaign.logged("made") if Path(path).name == f"{LOCK}.new"]) == 2
    assert campaign.left() == []


def dead(place: Path, name: str = "dead") -> Path:
    """The folder of a controller that was killed."""
    folder = place / f"{PREFIX}{name}"
    (folder / "run-1" / "store").mkdir(parents=True)
    (folder / "run-1" / "ledger").write_text("effect\n")
    (folder / "figures").touch()
    (folder / LOCK).touch()
    return folder


def test_the_folders_of_dead_controllers_are_removed_and_those_of_living_ones_kept(tmp_path: Path) -> None:
    with workspace(place=tmp_path) as one:
        (one.folder / "run-1").mkdir()
        killed = dead(tmp_path)
        with workspace(place=tmp_path) as two:
            assert not killed.exists()
            assert {one.folder, two.folder} == set(tmp_path.iterdir())
        assert (one.folder / "run-1").exists() and not two.folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_controller_s_lock_is_nobody_s_to_remove(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    place.mkdir()
    elsewhere.mkdir()
    unlocked, linked, foreign = (dead(place, name) for name in ("unlocked", "linked", "foreign"))
    (unlocked / LOCK).unlink()
    (linked / LOCK).unlink()
    (linked / LOCK).symlink_to(unlocked / "figures")
    link = place / f"{PREFIX}link"
    link.symlink_to(dead(elsewhere))
    foreign.rename(place / "other-foreign")
    kept = sorted(tmp_path.rglob("*"))
    remove_stale(place)
    assert sorted(tmp_path.rglob("*")) == kept


def test_another_user_s_folder_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = dead(tmp_path)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    remove_stale(tmp_path)
    assert (folder / "run-1" / "ledger").exists()


def test_what_a_dying_worker_still_writes_is_removed_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = dead(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(cli_run.shutil, "rmtree", lambda *_, **__: None)
        remove_stale(tmp_path)
    assert (folder / "run-1").exists() and (folder / LOCK).exists()
    remove_stale(tmp_path)
    assert not folder.exists()
