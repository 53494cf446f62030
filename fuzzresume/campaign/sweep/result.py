"""What a sweep found: sections of crash states, in the contract's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from fuzzresume.campaign.sweep.facts import Window
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.words import say_explanation
from fuzzresume.harness.sessions import Mode
from fuzzresume.harness.target import Target


@dataclass(frozen=True, slots=True)
class Broken:
    """A violation that a continuation showed: property, class, explaining switches; `documented` ones are excused."""

    property_name: str
    cls: str
    explained_by: tuple[tuple[str, ...], ...]
    documented: bool

    @property
    def words(self) -> str:
        """In a line."""
        known = "documented: " if self.documented else ""
        return f"{known}RR-{self.property_name} {self.cls} ({say_explanation(self.explained_by)})"


@dataclass(frozen=True, slots=True)
class CrashState:
    """One state that a death leaves, and what became of it.

    `points` all leave it. `again` are the effects that fired again until the run was complete, by class; `lost` the tasks
    without effect or mark at the end. `ended` says how recovering ended, `restarted` what a restart turned out to be (""
    where none was sent).
    """

    points: tuple[CrashPoint, ...]
    window: Window
    frontier: tuple[int, ...] | None
    in_doubt: tuple[int, ...]
    again: dict[str, tuple[int, ...]]
    lost: tuple[int, ...]
    ended: str
    restarted: str
    broken: tuple[Broken, ...]

    COMPARED: ClassVar = ("window", "frontier", "in_doubt", "again", "lost", "ended", "restarted", "broken")

    @property
    def facts(self) -> tuple[object, ...]:
        """Everything but the points: what the ways to die must agree on."""
        return tuple(getattr(self, name) for name in self.COMPARED)

    @property
    def stuck(self) -> bool:
        """Recovering did not complete it."""
        return self.ended.startswith("stuck")


@dataclass(frozen=True, slots=True)
class Section:
    """One command and its crash states; `after` says what led to it besides the plain run: a fork, a death, or, of a
    restart, where the run stood. `broken` is what the command violates without a death of its own."""

    command: str
    after: str
    states: tuple[CrashState, ...]
    broken: tuple[Broken, ...] = ()

    @property
    def points(self) -> int:
        """How many deaths it stands for."""
        return sum(len(state.points) for state in self.states)


@dataclass
class Swept:
    """A sweep by one way to die. `second` are the sections of second deaths, `notes` what the target cannot do, `troubles`
    what keeps the sweep from being whole, in words."""

    target: Target
    mode: Mode
    sections: list[Section] = field(default_factory=list)
    second: list[Section] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    executions: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def points(self) -> int:
        """How many deaths were swept."""
        return sum(section.points for section in (*self.sections, *self.second))

    @property
    def violated(self) -> bool:
        """Whether anything broke that no documentation excuses, or a run was stuck: the liveness that is owed at its end."""
        sections = (*self.sections, *self.second)
        states = [state for section in sections for state in section.states]
        found = [*(b for section in sections for b in section.broken), *(b for state in states for b in state.broken)]
        return any(not broken.documented for broken in found) or any(state.stuck for state in states)


def merged(states: Sequence[CrashState]) -> list[CrashState]:
    """Neighbours that no observation tells apart, as one: a store in memory has no bytes to compare."""
    found: list[CrashState] = []
    for state in states:
        last = found[-1] if found else None
        if last is not None and last.facts == state.facts and last.points[0].by == state.points[0].by:
            found[-1] = replace(state, points=(*last.points, *state.points))
        else:
            found.append(state)
    return found
