"""What a tour may expect of a command that nobody has sent yet (docs/DESIGN.md, *Searching*).

The reference says every legal way. A target goes one of them at each choice, only an exception fails, and a death at an
effect leaves the effect's task in doubt: what that rules out is not worth setting out for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fuzzresume.campaign.graph import Choice, Node
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.harness.choices import Choices


class Outlook:
    """One target's. `records`: it promises a record per task, so a death at an effect leaves all the tasks before."""

    def __init__(self, *, records: bool) -> None:
        self._records = records
        self._choices: Mapping[str, frozenset[str]] = {}

    def learn(self, choices: Choices) -> bool:
        """What the target was seen to choose so far. Whether anything is new."""
        new, self._choices = choices.values != self._choices, choices.values
        return new

    def chooses(self, choices: Collection[Choice]) -> bool:
        """Whether the target can be expected to make one of these choices."""
        return any(self._makes(choice) for choice in choices)

    def leaves(self, crash: CrashPoint | None, after: Node) -> bool:
        """Whether a death there can leave that; so can a command that does not die."""
        if crash is None:
            return True
        if after.failed != (crash.by == "exception"):
            return False
        effect, _, task = crash.hook.rpartition(":")
        if not effect.startswith("effect."):
            return True
        branches: Any = [branch for branch in after.state[:2] if branch is not None]
        return any(branch[0] == "crashed" and self._in_doubt(int(task), branch[1]) for branch in branches)

    def _makes(self, choice: Choice) -> bool:
        if choice is None:
            return True
        name, value = choice
        return value in self._choices.get(name, (value,))

    def _in_doubt(self, task: int, done: tuple[int, ...]) -> bool:
        return done == tuple(range(1, task)) if self._records else task not in done
