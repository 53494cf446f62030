"""Crash points are found, not guessed: remembered from what earlier commands passed (docs/DESIGN.md).

A point is worth trying once per command, state and option set; then the points that led to different states are kept.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from fuzzresume.contract.commands import CrashPoint, Op
from fuzzresume.contract.menu import Abstract, Label
from fuzzresume.harness.session import crash_points

Place = tuple[str, Abstract, Label]


def _plain(item: Label) -> Label:
    return item._replace(crash=False, poison=None)


@dataclass
class CrashPoints:
    """The crash points known for each (option set, abstract state, command), and what came of those tried."""

    _known: dict[Place, list[CrashPoint]] = field(default_factory=dict)
    _by_command: dict[tuple[str, str], list[CrashPoint]] = field(default_factory=dict)
    _taught: set[str] = field(default_factory=set)
    _tried: dict[Place, dict[CrashPoint, Abstract]] = field(default_factory=dict)

    def taught(self, options: str) -> bool:
        """Whether `teach` was called for this option set."""
        return options in self._taught

    def teach(self, options: str, catalogue: Mapping[Op, tuple[CrashPoint, ...]]) -> None:
        """Take the points of fault-free runs: what a command falls back on in a state where it never went through."""
        self._taught.add(options)
        for op, points in catalogue.items():
            self._by_command[(options, op)] = list(points)

    def passed(self, options: str, state: Abstract, item: Label, hooks: tuple[str, ...]) -> None:
        """Remember the hooks that a command passed in a state without dying."""
        if not item.crash and hooks:
            points = crash_points(hooks)
            self._known.setdefault((options, state, _plain(item)), points)

    def came_to(self, options: str, state: Abstract, item: Label, point: CrashPoint, after: Abstract) -> None:
        """Remember the state that a death at `point` led to."""
        self._tried.setdefault((options, state, item), {})[point] = after

    def choose(
        self, options: str, state: Abstract, item: Label, rng: random.Random, wanted: Abstract | None = None
    ) -> CrashPoint | None:
        """A point to die at: one that is known to lead to `wanted`, else one not tried yet, else any; None: none known."""
        points = self._known.get((options, state, _plain(item))) or self._by_command.get((options, item.op)) or []
        if not points:
            return None
        tried = self._tried.get((options, state, item), {})
        known = [p for p, after in tried.items() if after == wanted]
        if known:
            return rng.choice(known)
        return rng.choice([p for p in points if p not in tried] or points)
