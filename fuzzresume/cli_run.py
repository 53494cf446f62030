"""What the commands that run a target share: its options, and a place to run it in."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.target import NoEnvironment, Target, TargetError, parse_target
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.usage import fail

PREFIX = "fuzzresume-"
"""How the folder of a controller begins."""

LOCK = "controller.lock"
"""The file in it that the controller has locked as long as it lives."""


def options_of(pairs: list[str]) -> dict[str, str]:
    """Read `key=value` pairs. Ends the program on anything else."""
    options = {}
    for pair in pairs:
        key, sep, value = pair.partition("=")
        if not sep or not key:
            fail(f"-o {pair}: write -o key=value")
        options[key] = value
    return options


def target_of(text: str, options: list[str]) -> Target:
    """The one target of a command. Ends the program where it cannot be used, or has nothing to resume."""
    try:
        target = parse_target(text, options_of(options))
    except NoEnvironment as error:
        fail(str(error), Exit.UNDETERMINED)
    except TargetError as error:
        fail(str(error))
    if target.capabilities.absent:
        fail(f"{target.label}: {target.capabilities.absent}")
    return target


@contextlib.contextmanager
def workspace(workload: Workload | None = None, place: Path | None = None) -> Iterator[Executor]:
    """An executor with a private folder and its own worker processes, all gone afterwards.

    The folder is made in `place` (None: in memory where the machine offers that, else where temporary files go). What
    controllers that were killed left there is removed first.
    """
    if place is None:
        # Memory survives a killed process as a disk does, and nothing here is about power cuts.
        ram = Path("/dev/shm")
        place = ram if os.access(ram, os.W_OK) else Path(tempfile.gettempdir())
    remove_stale(place)
    # The lock is given back last: no other controller may remove the folder while this one does.
    with (
        contextlib.ExitStack() as lock,
        tempfile.TemporaryDirectory(prefix=PREFIX, dir=place) as folder,
        Zygotes() as zygotes,
    ):
        lock.callback(os.close, _lock(Path(folder)))
        yield Executor(Reference(workload or Workload.linear()), Path(folder), zygotes)


def remove_stale(place: Path) -> None:
    """Remove the folders of this user's controllers that are dead: a controller's lock goes with it, however it ends."""
    for folder in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)
            finally:
                os.close(descriptor)


def _lock(folder: Path) -> int:
    """Lock the folder; returns the descriptor that holds the lock. No worker inherits it."""
    # Nobody may meet the file before it is locked, so it gets its name afterwards.
    descriptor = os.open(folder / f"{LOCK}.new", os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.rename(folder / f"{LOCK}.new", folder / LOCK)
    return descriptor


def _remove(folder: Path) -> None:
    """Remove a dead controller's folder, the lock last: what a dying worker may still write leaves it to the next one."""
    for inner in folder.iterdir():
        if inner.is_dir() and not inner.is_symlink():
            shutil.rmtree(inner, ignore_errors=True)
        elif inner.name != LOCK:
            inner.unlink()
    if [inner.name for inner in folder.iterdir()] == [LOCK]:
        (folder / LOCK).unlink()
        folder.rmdir()
