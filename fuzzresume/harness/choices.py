"""What a target was seen to choose among what is legal, run by run (docs/CONTRACT.md, *Three kinds of branching*)."""

from __future__ import annotations

from collections.abc import Mapping

from fuzzresume.contract.monitor import Monitor


class Choices:
    """The choices of one target under one option set.

    `told` are those that a command showed, or that every world which explained a run rested on. `left` are, for each binding
    choice, the values that explain every run which had to make it: two that nothing observable tells apart both stay.
    """

    def __init__(self) -> None:
        self.told: dict[str, set[str]] = {}
        self.left: dict[str, frozenset[str]] = {}

    def learn(self, monitor: Monitor) -> None:
        """A run is over. A target that chooses now this, now that may do either from then on."""
        for choice, noted in monitor.notes.items():
            self.told.setdefault(choice, set()).update(noted)
        for choice, value in monitor.policy.items():
            self.told.setdefault(choice, set()).add(value)
        policies = [dict(world.policy) for world in monitor.worlds]
        for choice in set(policies[0]).intersection(*policies[1:]) if policies else ():
            values = frozenset(policy[choice] for policy in policies)
            before = self.left.get(choice, values)
            self.left[choice] = before & values or before | values

    @property
    def values(self) -> Mapping[str, frozenset[str]]:
        """By choice, the values that may be expected of the target; nothing is known of a choice that is not there."""
        return {**{choice: frozenset(values) for choice, values in self.told.items()}, **self.left}

    def makes(self, choice: str, value: str) -> bool:
        """Whether the target may be expected to choose so."""
        known = self.left.get(choice) or self.told.get(choice)
        return known is None or value in known
