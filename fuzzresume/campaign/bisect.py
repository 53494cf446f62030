"""Bisecting the versions of a package: where does a finding begin to show, where does it end to?

Pure search: what a version shows is asked of a function. Nothing says that a history changes only once, so the search
starts from both ends and from versions of which something is known, and then halves every stretch whose two ends differ.
Versions that cannot be tried are passed over, as far as the others allow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

Answer = Literal["bad", "good", "skip"]
"""The finding shows, it does not, or nobody can tell."""

FEW = 8
"""Histories of so many versions are tried whole; so many skips in a row, and no answer yet, end a search."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What was seen of one version, and why, in words; `beside` are the exact versions of the packages that came with it.

    `another`: it is good as far as this finding goes, but another one shows in its place.
    """

    answer: Answer
    why: str
    beside: Mapping[str, str] = field(default_factory=dict)
    another: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """Two versions that answered differently, and those `between` of which none answered."""

    before: str
    after: str
    introduced: bool
    between: tuple[str, ...] = ()


class Bisection:
    """One search over `versions`, the oldest first. `tried` holds every answer as it comes: an interrupt loses none."""

    def __init__(self, versions: Sequence[str], probe: Callable[[str], Probed]) -> None:
        self.versions = tuple(versions)
        self.tried: dict[str, Probed] = {}
        self._probe = probe

    def ask(self, version: str) -> Answer:
        """What the version shows; it is tried once."""
        if version not in self.tried:
            self.tried[version] = self._probe(version)
        return self.tried[version].answer

    def search(self, known: Collection[str] = (), *, everything: bool = False) -> None:
        """Try what is needed: both ends, the `known` versions, and what tells the changes between them.

        Few versions are all tried, and with `everything` so are many.
        """
        if everything or len(self.versions) <= FEW:
            known = self.versions
        for version in [*self.versions[:1], *self.versions[-1:], *known]:
            self.ask(version)
        while (middle := self._next()) is not None:
            self.ask(middle)

    @property
    def answered(self) -> list[str]:
        """The versions that showed it, or showed that they do not, the oldest first."""
        return [version for version in self.versions if self._of(version) in ("bad", "good")]

    @property
    def untried(self) -> list[str]:
        """The versions that nobody looked at."""
        return [version for version in self.versions if self._of(version) is None]

    @property
    def changes(self) -> list[Change]:
        """Where neighbours among the answers differ, the oldest first."""
        place = self.versions.index
        return [
            Change(before, after, self._of(after) == "bad", self.versions[place(before) + 1 : place(after)])
            for before, after in pairwise(self.answered)
            if self._of(before) != self._of(after)
        ]

    def _of(self, version: str) -> Answer | None:
        return self.tried[version].answer if version in self.tried else None

    def _next(self) -> str | None:
        """What to try next: the middle of what is untried between two versions that differ; None: all is told."""
        answers = [self._of(version) for version in self.versions]
        told = [i for i, answer in enumerate(answers) if answer in ("bad", "good")]
        if not told:
            return None if len(self.tried) >= FEW else self._middle(-1, len(answers))
        skips = [i for i, answer in enumerate(answers) if answer == "skip"]
        # At either end lie versions that cannot be tried, the oldest ones for instance: where do they begin?
        old_end = max((i for i in skips if i < told[0]), default=told[0])
        new_end = min((i for i in skips if i > told[-1]), default=told[-1])
        gaps = [pair for pair in pairwise(told) if answers[pair[0]] != answers[pair[1]]]
        for low, high in ((old_end, told[0]), *gaps, (told[-1], new_end)):
            if (middle := self._middle(low, high)) is not None:
                return middle
        return None

    def _middle(self, low: int, high: int) -> str | None:
        """The middle of the longest stretch between two places of which nothing was tried, so skips are gone around."""
        runs: list[list[int]] = [[]]
        for i in range(low + 1, high):
            if self.versions[i] in self.tried:
                runs.append([])
            else:
                runs[-1].append(i)
        longest = max(runs, key=len)
        return self.versions[longest[len(longest) // 2]] if longest else None


def say_bisection(search: Bisection) -> list[str]:
    """What came of a search, in lines: the first bad and the first fixed versions, or that there are none, and how sure."""
    answers = {search.tried[version].answer for version in search.answered}
    if not answers:
        return ["undetermined: no version could be tried"]
    changes = search.changes
    lines = [say_change(change, search) for change in changes]
    if len(changes) > 1:
        lines.insert(0, f"it changes {len(changes)} times:")
    if not changes:
        shown = answers == {"bad"}
        first, last = search.versions[0], search.versions[-1]
        if len(search.answered) == len(search.versions):
            count = len(search.versions)
            which = f"{'each' if shown else 'none'} of the {count} versions tried, from {first} to {last}"
            alone = f"{'' if shown else 'not '}in {first}, the only version tried"
            lines.append(f"it shows in {which}" if count > 1 else f"it shows {alone}")
        else:
            which = ", ".join(search.answered)
            lines.append(f"it shows in {'each' if shown else 'none'} of the versions that answered: {which}")
    if untried := len(search.untried):
        one = "1 version was" if untried == 1 else f"{untried} versions were"
        lines.append(f"{one} not tried, and taken to be like those around; --all tries every one")
    return lines


def say_change(change: Change, search: Bisection) -> str:
    """Such as `first bad 1.2.3, last good 1.2.2`, with what keeps it from being exact."""
    first, last = ("bad", "good") if change.introduced else ("fixed", "bad")
    words = f"first {first} {change.after}"
    if skipped := [version for version in change.between if version in search.tried]:
        words += f", or one of those skipped: {', '.join(skipped)}"
    if untried := len(change.between) - len(skipped):
        words += f", or one of {untried} not tried"
    words += f"; last {last} {change.before}"
    without = change.before if change.introduced else change.after
    if search.tried[without].another:
        words += f" (another finding shows in {without})"
    return words + _moved(change, search)


def _moved(change: Change, search: Bisection) -> str:
    """Packages that moved along with the one that is bisected: the change may be theirs."""
    before, after = search.tried[change.before].beside, search.tried[change.after].beside
    moved = [f"{name} {before[name]} → {now}" for name, now in after.items() if before.get(name, now) != now]
    return f" (moved along: {', '.join(moved)})" if moved else ""
