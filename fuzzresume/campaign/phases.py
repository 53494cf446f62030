"""The phases of a campaign and whose turn it is (docs/DESIGN.md, *Searching*).

Regress comes first, whole. Then the others take turns by their shares of the runs, so that none waits for another to end: a
shallow violation is met by the enumeration, a deep one by tour or chance, whichever comes first.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from fuzzresume.campaign.atlas import Atlas
from fuzzresume.campaign.walks import STEPS, Enumeration, Tour

if TYPE_CHECKING:
    from fuzzresume.campaign.campaign import Campaign

PHASES = ("regress", "enumerate", "tour", "random", "race", "minimise")
"""Every phase by name, in order."""

CRASHES, SPECIALS = 4, 12
"""What a run of a tour may spend: enough to go on after each pair, and few enough for the judge to follow all the worlds."""

BATCH = 10
"""Runs of a batch of the random phase: between batches the budget is looked at and a new seed drawn."""

SLICE = 10
"""Runs of another option value's tour before the next one's turn."""


class Phase(Protocol):
    """One way to search. `share` is its part of the runs, in proportion to the others'; `slice` the runs of one step."""

    name: str
    share: int
    slice: int

    def step(self) -> bool:
        """Make a run, or a small batch of them; False when nothing is left to do."""
        ...

    def covered(self) -> str:
        """What the phase has covered so far, in words."""
        ...


class EnumeratePhase:
    """Shortest first under the default options, and one command behind under every other option value."""

    name = "enumerate"
    share = 4
    slice = 1

    def __init__(self, campaign: Campaign, atlases: Sequence[Atlas]) -> None:
        self._campaign = campaign
        self._walks = [Enumeration(atlas) for atlas in atlases]
        self._depths: list[int | None] = [0] * len(self._walks)
        self._over: set[int] = set()

    @property
    def depths(self) -> tuple[int | None, int | None]:
        """The depth reached under the default options, and the least under the other option values. None: all there is."""
        others = [depth for depth in self._depths[1:] if depth is not None]
        return self._depths[0], min(others, default=None)

    def step(self) -> bool:
        """One run towards the shallowest open goal."""
        depths = [(depth + (i > 0), i) for i, depth in enumerate(self._depths) if depth is not None]
        waiting = [(depth, i) for depth, i in depths if i not in self._over]
        if not waiting:
            return False
        i = min(waiting)[1]
        if not walk(self._campaign, self._walks[i]) and not self._walks[i].atlas.more_patience():
            self._over.add(i)  # what is still open there, no run gets to
        self._depths[i] = self._walks[i].depth
        return True

    def covered(self) -> str:
        """Such as `up to depth 4 with the default options, up to depth 2 with each other option value`."""
        first, others = self.depths
        words = f"{_depth(first)} with the default options"
        return words + (f", {_depth(others)} with each other option value" if len(self._walks) > 1 else "")


def _depth(depth: int | None) -> str:
    return "every sequence within the bounds" if depth is None else f"every sequence up to depth {depth}"


class TourPhase:
    """The tour of the default options until it is over; then tours of the other option values, in turn."""

    name = "tour"
    share = 8
    slice = 1

    def __init__(self, campaign: Campaign, atlases: Sequence[Atlas], rng: random.Random) -> None:
        self._campaign = campaign
        self._first = atlases[0]
        self._left = [Tour(atlas, rng) for atlas in atlases]
        self._runs = 0
        self._over = 0

    def step(self) -> bool:
        """One run."""
        if not self._left:
            return False
        tour = self._left[0]
        self._runs += 1
        if not walk(self._campaign, tour):
            if not tour.atlas.more_patience():
                self._left.pop(0)
                self._over += 1
        elif tour.atlas is not self._first and self._runs % SLICE == 0:
            self._left.append(self._left.pop(0))
        return True

    def covered(self) -> str:
        """Such as `3 of 9 option sets toured until nothing new was left`."""
        return f"{self._over} of {self._over + len(self._left)} option sets toured until nothing new was left"


class RandomPhase:
    """The Hypothesis machines; never over."""

    name = "random"
    share = 4
    slice = BATCH

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign

    def step(self) -> bool:
        """One batch."""
        # Only who runs it waits for Hypothesis.
        from fuzzresume.campaign.random_phase import random_phase

        random_phase(self._campaign)
        return True

    def covered(self) -> str:
        """What kind of runs these were."""
        return "runs of up to 2 crashes and 2 specials, half of them over a part of the commands, all options drawn"


def walk(campaign: Campaign, way: Enumeration | Tour) -> bool:
    """One run, where `way` leads; False when it leads nowhere any more."""
    atlas = way.atlas
    run = campaign.open(atlas.target, crashes=CRASHES, specials=SPECIALS) if atlas.loose else campaign.open(atlas.target)
    way.begin()
    first, met = None, set()
    try:
        for _ in range(STEPS):
            if run.over or campaign.late:
                break
            node = atlas.node(run)
            offered = run.offer()
            atlas.visit(node, offered)
            if (found := way.next(node, offered)) is None:
                break
            goal, step = found
            first = first or goal
            observation = campaign.send(run, *step)
            if observation is None:
                atlas.refuse(node, step.label, run.unsupported.get(step.label, "nothing was sent"))
                continue
            lost = run.violation is not None or run.hung
            atlas.took(node, step, None if lost else atlas.node(run), observation.hooks)
            met.add((node, step.label))
            way.reached(node, step.label)
    finally:
        campaign.close(run)
        atlas.learn(run)
    if first is not None and first not in met:
        atlas.missed(first)
    return first is not None
