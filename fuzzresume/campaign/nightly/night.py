"""A night: one campaign for each target, in order, within one time for all of them; recorded as it goes.

Every trace that the corpus database has of a target is tried before anything is searched for, so that what was found once
is found again, or is known to be gone, whatever the night's seed draws.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.corpus.file import CorpusError
from fuzzresume.campaign.events import Handler, TargetReport
from fuzzresume.campaign.nightly.facts import open_before
from fuzzresume.campaign.nightly.store import Night, NightRecorder, Nights
from fuzzresume.contract.trace import Trace
from fuzzresume.harness.target import BadOption, Target, TargetError, UnknownTarget, parse_target

OVER = "the time of the night was over before its turn"

ENDING = 20.0
"""Seconds that campaigns may need for what they have begun when their time is over: confirming findings, asking TLC."""


class NightRunning(Exception):
    """Another program works on this night's database; the message is one line."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A target of a night as its configuration has it: `label` names it, `seconds` and `runs` are bounds of its own."""

    label: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    runs: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a night is to do. `seconds` bound all of it (None: its runs do), `runs` each target, `phases` are those to go
    through; `seed` None: the number of the night. `known` are the traces of the baseline."""

    targets: Sequence[Planned]
    seconds: float | None
    runs: int | None
    seed: int | None
    phases: Sequence[str]
    known: Sequence[Trace] = ()

    @property
    def digest(self) -> str:
        """Short for all of it but the baseline: a night is gone on with by the same plan only."""
        targets = [[t.label, t.seconds, t.runs] for t in self.targets]
        parts = [targets, self.seconds, self.runs, self.seed, list(self.phases)]
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


@contextlib.contextmanager
def alone(database: Path) -> Iterator[None]:
    """While no other night works on the database. Raises NightRunning, or CorpusError where there can be no lock file.

    The lock is the kernel's, so it goes with the process, however that ends. It is a file of its own: closing the database a
    second time would take away the locks that SQLite holds on it.
    """
    lock = database.with_name(f"{database.name}.nightly")
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise CorpusError(f"{lock}: the lock of a night cannot be made: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            words = f"{database}: another nightly run works on this database; wait for it, or name another database"
            raise NightRunning(words) from error
        yield
    finally:
        os.close(descriptor)


def given(seconds: float) -> float:
    """The seconds of a night that its campaigns may share out: a twentieth is kept for how they end, and of a short night as
    much as that needs, but never more than a quarter."""
    return seconds - max(seconds / 20, min(ENDING, seconds / 4))


def share(left: float | None, ahead: Sequence[Planned]) -> float | None:
    """The seconds that the first of the targets ahead gets of what is left: its own, or an equal part of what those that
    have a time of their own do not need. None where nothing bounds it."""
    mine = ahead[0].seconds
    if left is None:
        return mine
    if mine is not None:
        return min(mine, left)
    reserved = sum(planned.seconds for planned in ahead if planned.seconds is not None)
    equal = sum(planned.seconds is None for planned in ahead)
    return max(left - reserved, 0.0) / equal


def shares(left: float | None, ahead: Sequence[Planned]) -> list[float | None]:
    """The seconds that each of the targets ahead gets of what is left, if none takes longer than its share."""
    found: list[float | None] = []
    for i in range(len(ahead)):
        mine = share(left, ahead[i:])
        found.append(mine)
        left = None if left is None or mine is None else left - mine
    return found


Make = Callable[[Target, Planned, Budget, Sequence[Trace], Handler], Campaign]
"""Makes the campaign of a target, given its traces to try first and who records it."""


@dataclass
class NightRun:
    """One call's work on a night, which began at `began` of the clock.

    `reports` are of the targets that it fuzzed, `interrupted` whether it was cut short.
    """

    nights: Nights
    night: Night
    plan: Plan
    make: Make
    exit_code: Callable[[Sequence[TargetReport]], int]
    began: float
    clock: Callable[[], float] = time.monotonic
    reports: list[TargetReport] = field(default_factory=list)
    interrupted: bool = False

    def __post_init__(self) -> None:
        self._spent = self.nights.spent(self.night)
        names = set(self.nights.unfinished(self.night))
        self._ahead = [planned for planned in self.plan.targets if planned.label in names]

    @property
    def left(self) -> float | None:
        """The seconds that campaigns may still take; what a killed one took is not counted. None: the night has no end."""
        if self.plan.seconds is None:
            return None
        return given(self.plan.seconds) - self._spent - (self.clock() - self.began)

    def run(self) -> None:
        """Fuzz what has not been fuzzed yet. Raises CorpusError, and UnknownTarget or BadOption for a slip of the plan."""
        try:
            # All environments first: a slip of the plan is told before hours are spent.
            usable = [(planned, target) for planned in self._ahead if (target := self._find(planned)) is not None]
            ahead = [planned for planned, _ in usable]
            promised = shares(self.left, ahead)
            for i, (planned, target) in enumerate(usable):
                # What one does not need is shared among those after it, but one that takes too long is not their loss.
                mine, least = share(self.left, ahead[i:]), promised[i]
                seconds = None if mine is None or least is None else max(mine, least)
                if seconds is not None and seconds <= 0:
                    self.nights.unusable(self.night, planned.label, OVER)
                elif not self._fuzz(planned, target, seconds):
                    return
        except KeyboardInterrupt:
            self.interrupted = True

    def _find(self, planned: Planned) -> Target | None:
        try:
            target = parse_target(planned.name, planned.options)
        except (UnknownTarget, BadOption):
            raise
        except TargetError as error:
            why = str(error)
        except (ImportError, AttributeError) as error:
            why = f"{type(error).__name__}: {error}"  # an adapter that is broken costs its own target
        else:
            self.nights.unusable(self.night, planned.label, "")
            return target
        self.nights.unusable(self.night, planned.label, why)
        return None

    def _fuzz(self, planned: Planned, target: Target, seconds: float | None) -> bool:
        """One target's campaign; False when it was interrupted."""
        corpus, pinned = self.nights.corpus, dict(planned.options)
        budget = Budget(seconds, planned.runs or self.plan.runs)
        opened = open_before(corpus, self.night, planned.label)
        traces = self.nights.traces(target, pinned, self.plan.known, opened)
        recorder = corpus.recorder(
            self.night.name, pinned=pinned, phases=self.plan.phases, budget=budget, exit_code=self.exit_code
        )
        campaign = self.make(target, planned, budget, traces, NightRecorder(recorder, corpus, self.night, planned.label))
        try:
            self.reports.append(campaign.run())
        except TargetError as error:
            self.nights.unusable(self.night, planned.label, str(error))
            return True
        self.interrupted = self.reports[-1].interrupted
        if not self.interrupted and planned.label in self.nights.unfinished(self.night):
            # What could not be recorded is in the reports of this call, and the night is not over.
            troubles = [words for words in self.reports[-1].troubles if words.startswith(NightRecorder.__name__)]
            raise CorpusError("; ".join(troubles) or f"{corpus.path}: the campaign of {planned.label} was not recorded")
        return not self.interrupted
