"""Verdicts over nights: what a page shows of earlier campaigns. The caller gives the nights, from wherever they are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fuzzresume.contract.properties import PROPERTIES, VerdictName

NOTHING = "not fuzzed"
"""What a night says of a target that was not its."""

MOST = 60
"""Nights that a line of verdicts shows, the newest ones."""


@dataclass(frozen=True, slots=True)
class Night:
    """One night: its name and date, a verdict for each target and property, and which findings were new, or were gone.

    `new` and `gone` are a line each, such as a finding's id and title.
    """

    name: str
    date: str
    verdicts: Mapping[str, Mapping[str, VerdictName]]
    new: Sequence[str] = ()
    gone: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """One property of one target over the nights, the oldest first; `changed` is the date since which it says the same, and
    `before` what it said until then. Both are empty where it always said that."""

    name: str
    verdicts: list[str]
    changed: str = ""
    before: str = ""

    @property
    def words(self) -> str:
        """The line in words: each verdict, and how many nights in a row."""
        runs: list[tuple[str, int]] = []
        for verdict in self.verdicts:
            runs = [*runs[:-1], (verdict, runs[-1][1] + 1)] if runs and runs[-1][0] == verdict else [*runs, (verdict, 1)]
        return ", ".join(f"{verdict} for {count} night{'s' if count > 1 else ''}" for verdict, count in runs)


@dataclass(frozen=True, slots=True)
class History:
    """One target's lines."""

    target: str
    lines: list[Line]


def histories(nights: Sequence[Night]) -> list[History]:
    """What the nights, the oldest first, say of each target that is in one of them."""
    targets = dict.fromkeys(target for night in nights for target in night.verdicts)
    return [History(target, [_line(target, name, nights) for name in PROPERTIES]) for target in targets]


def _line(target: str, name: str, nights: Sequence[Night]) -> Line:
    verdicts: list[str] = [night.verdicts.get(target, {}).get(name, NOTHING) for night in nights]
    judged = [(night.date, verdict) for night, verdict in zip(nights, verdicts, strict=True) if verdict != NOTHING]
    changed = before = ""
    for (_, earlier), (date, later) in pairwise(judged):
        if earlier != later:
            changed, before = date, earlier
    return Line(name, verdicts[-MOST:], changed, before)
