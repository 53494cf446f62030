"""Crash points are found, not guessed: those passed by earlier commands, one tried for each durable state (docs/DESIGN.md).

Along one command what is durable only grows, so the states that deaths leave behind come in the order of the points: where
two points led to the same state, so does every point between them, and a bisection finds each state. Where something durable
comes and goes, every point is tried in the end, those farthest from the tried ones first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from fuzzresume.contract.commands import CrashPoint, Op
from fuzzresume.contract.menu import Abstract, Label
from fuzzresume.harness.session import crash_points

Catalogue = Mapping[Op, tuple[CrashPoint, ...]]


class CrashPoints:
    """The crash points of one option set: what is known for each (abstract state, command).

    `catalogue` gives the points of fault-free runs, and is asked once: for commands that never went through in their state.
    `monotone` is the target's capability.
    """

    def __init__(self, catalogue: Callable[[], Catalogue], *, monotone: bool = True) -> None:
        self._ask = catalogue
        self._monotone = monotone
        self._catalogue: Catalogue | None = None
        self._passed: dict[tuple[Abstract, Label], list[CrashPoint]] = {}

    def passed(self, state: Abstract, item: Label, hooks: tuple[str, ...]) -> None:
        """Remember the hooks that a command passed in a state without dying."""
        if not item.crash and hooks:
            self._passed[state, _plain(item)] = crash_points(hooks)

    def untried(self, state: Abstract, item: Label, came: Mapping[CrashPoint, object]) -> list[CrashPoint]:
        """The next points that can lead elsewhere than those tried, which `came` somewhere (None: to a violation).

        A kill comes first; then an exception, and one in each other task, since the task says what it can leave behind.
        """
        points = self._points(state, item)
        kill = self._next([point for point in points if point.by == "kill"], came)
        exceptions = [point for point in points if point.by == "exception"]
        found = [point for point in (kill, self._next(exceptions, came)) if point is not None]
        if found and found[-1].by == "exception":
            others = {_task(point): point for point in reversed(exceptions) if point not in came}
            found += [point for task, point in sorted(others.items()) if task != _task(found[-1])]
        return found

    def _next(self, points: Sequence[CrashPoint], came: Mapping[CrashPoint, object]) -> CrashPoint | None:
        found = _between(points, came)
        return found if found is not None or self._monotone else _farthest(points, came)

    def _points(self, state: Abstract, item: Label) -> Sequence[CrashPoint]:
        if (known := self._passed.get((state, _plain(item)))) is not None:
            return known
        if self._catalogue is None:
            self._catalogue = self._ask()
        return self._catalogue.get(item.op, ())


def _task(point: CrashPoint) -> str:
    return point.hook.rpartition(":")[2]


def _plain(item: Label) -> Label:
    return item._replace(crash=False, poison=None)


def _between(points: Sequence[CrashPoint], came: Mapping[CrashPoint, object]) -> CrashPoint | None:
    """The ends first, then the middle of the first stretch whose ends differ."""
    for end in (points[-1:], points[:1]):
        if end and end[0] not in came:
            return end[0]
    tried = [i for i, point in enumerate(points) if point in came]
    for low, high in pairwise(tried):
        if high - low > 1 and came[points[low]] != came[points[high]]:
            return points[(low + high) // 2]
    return None


def _farthest(points: Sequence[CrashPoint], came: Mapping[CrashPoint, object]) -> CrashPoint | None:
    """The middle of the longest stretch in which nothing was tried; the ends were."""
    tried = [i for i, point in enumerate(points) if point in came]
    low, high = max(pairwise(tried), key=lambda ends: ends[1] - ends[0], default=(0, 0))
    return points[(low + high) // 2] if high - low > 1 else None
