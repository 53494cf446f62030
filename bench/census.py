"""What a process and those it started hold: processes, descriptors, files, memory. Read from /proc, so on Linux only."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

SHARED = Path("/dev/shm")
"""Where shared memory with a name appears as files."""

ALLOWED_SHARE, ALLOWED_MB = 0.05, 2.0
"""By how much memory that is flat may differ between two thirds of a series: the larger of the two."""

KB = 1024
"""kB of /proc in an MB."""


@dataclass(frozen=True, slots=True)
class Census:
    """What is held at one moment. `shared` names the shared memory: files in its place, and what is mapped from there."""

    processes: int
    descriptors: int
    files: int
    shared: frozenset[str]

    def left_since(self, before: Census) -> dict[str, int]:
        """How many more of each there are than before; 0 where there are fewer."""
        return {
            "processes": max(self.processes - before.processes, 0),
            "descriptors": max(self.descriptors - before.descriptors, 0),
            "files": max(self.files - before.files, 0),
            "shared memory": len(self.shared - before.shared),
        }


def census(folder: Path, helpers: Collection[int] = (), shared: Path = SHARED) -> Census:
    """Count what this process has, together with its `helpers`, which lead sessions of their own and may have ended.

    Processes are all the descendants, and whoever is left of a helper's session; descriptors those of this process and the
    helpers. Files are those inside `folder`, which itself is no shared memory left in `shared`; neither is what other
    processes have in use there.
    """
    family = _descendants(os.getpid()) | {pid for pid in _everybody() if _session(pid) in helpers}
    watched = {os.getpid(), *helpers}
    new = {path.name for path in shared.iterdir() if path != folder} if shared.exists() else set()
    return Census(
        len(family),
        sum(len(_held(pid)) for pid in watched),
        sum(1 for _ in folder.rglob("*")),
        frozenset(new - _in_use(shared, watched | family) | {path for pid in watched for path in _mapped(pid)}),
    )


def resident(pid: int) -> float:
    """Resident memory of a process in MB, VmRSS."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / KB


@dataclass(frozen=True, slots=True)
class Growth:
    """How much the last third of a series of memory sizes lies above its second third, in MB."""

    earlier: float
    later: float

    @classmethod
    def of(cls, samples: list[float]) -> Growth:
        """Compare the thirds by their means. Raises ValueError for fewer than three samples."""
        if len(samples) < 3:
            raise ValueError(f"{len(samples)} samples of memory have no thirds")
        third = len(samples) // 3
        return cls(mean(samples[-2 * third : -third]), mean(samples[-third:]))

    @property
    def grown(self) -> float:
        """Negative where memory was given back."""
        return self.later - self.earlier

    @property
    def allowed(self) -> float:
        """What may be called flat."""
        return max(ALLOWED_SHARE * self.earlier, ALLOWED_MB)


def _everybody() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _descendants(pid: int) -> set[int]:
    """The processes below this one, also those that are dead and not yet waited for."""
    found: set[int] = set()
    with contextlib.suppress(OSError):  # it ended meanwhile
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                found |= {int(child)} | _descendants(int(child))
    return found


def _session(pid: int) -> int | None:
    """The leader of the session that a process belongs to."""
    with contextlib.suppress(OSError):
        return os.getsid(pid)
    return None


def _held(pid: int) -> list[str]:
    """What each descriptor of a process stands for; nothing when it has ended."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
            except FileNotFoundError:  # the descriptor that lists the others
                continue
    return found


def _in_use(shared: Path, family: set[int]) -> set[str]:
    """The entries of `shared` that a process outside the family has open or mapped, or something inside them."""
    strangers = (path for pid in _everybody() if pid not in family for path in (*_held(pid), *_mapped(pid)))
    return {path.removeprefix(f"{shared}/").split("/")[0] for path in strangers if path.startswith(f"{shared}/")}


def _mapped(pid: int) -> set[str]:
    """Shared memory that the process has mapped, also such that has no name any more."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return set()
    paths = (fields[5] for line in lines if len(fields := line.split(maxsplit=5)) == 6)
    return {path for path in paths if path.startswith((f"{SHARED}/", "/SYSV"))}
