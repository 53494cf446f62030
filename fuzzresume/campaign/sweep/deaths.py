"""Every state in which a death can leave one command, by each way to die (docs/DESIGN.md, *Three ways to die*).

A run that is swept answers each question in a process of its own, so every death starts from a store at rest and needs none
of the commands before it again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Observation
from fuzzresume.harness.images import Image, ImageSession
from fuzzresume.harness.session import Standing, crash_points
from fuzzresume.harness.sessions import AnySession


@dataclass(frozen=True, slots=True)
class Death:
    """One crash state of a command: `points` all leave exactly this one, `observation` is what the first of them showed.

    `forked` says that the store shows a fork. Where two deaths have one `store`, a fresh life cannot tell them apart; the
    ledger, which no life reads, can. `at` opens a session that goes on from here in a new folder.
    """

    points: tuple[CrashPoint, ...]
    observation: Observation
    forked: bool
    store: Hashable
    at: Callable[[Path], AnySession]


class Deaths:
    """Finds the crash states of commands, in folders inside `place`. `executions` counts the commands it sent.

    `troubles` says in words what did not die although it should have: then the target does not do the same thing twice.
    """

    def __init__(self, place: Path) -> None:
        self.executions = 0
        self.troubles: list[str] = []
        self._place = place
        self._count = itertools.count(1)

    def new_folder(self) -> Path:
        """A folder that nobody has used."""
        return self._place / f"run-{next(self._count)}"

    def of(self, session: AnySession, command: Command) -> tuple[Observation, list[Death]]:
        """What `command` shows without a death, which leaves `session` after it, and every crash state on the way.

        Kills come first, in the order in which they are passed. Raises Unsupported for what cannot be expressed.
        """
        session.close()
        before = session.copied(self.new_folder())
        self.executions += 1
        if isinstance(session, ImageSession):
            swept = session.sweep(command)
            found = [self._photograph(session, image) for image in swept.images]
            points = [point for point in crash_points(swept.observation.hooks) if point.by == "exception"]
            return swept.observation, found + list(self._die(before, command, points))
        observation = session.execute(command)
        points = sorted(crash_points(observation.hooks), key=lambda point: point.by == "exception")
        return observation, list(self._die(before, command, points))

    def _photograph(self, session: ImageSession, image: Image) -> Death:
        branches = image.branches
        digest = session.target.capabilities.keeper.take(image.folder).digest
        store = Standing(digest, branches.forked, branches.trunk_head)
        return Death(
            image.points, image.observation, branches.forked, store, lambda folder: session.session_at(image, folder)
        )

    def _die(self, before: AnySession, command: Command, points: list[CrashPoint]) -> Iterator[Death]:
        """Die at each point in a copy of its own. Deaths that left the same store and ledger are one."""
        alike: dict[Hashable, Death] = {}
        for point in points:
            dying = before.copied(self.new_folder())
            self.executions += 1
            observation = dying.execute(replace(command, crash=point))
            dying.close()
            if observation.outcome.kind not in ("crashed", "failed"):
                what = f"{command.op} did not die by {point.by} at {point.hook} (passing {point.nth})"
                self.troubles.append(f"{what}: {observation.outcome.kind}")
                continue
            standing = dying.standing()
            store: Hashable = (id(before), point) if standing.store is None else standing
            compared = sum(entry.kind != "exit" for entry in observation.entries)
            key = store, compared, point.by
            if (known := alike.get(key)) is None:
                alike[key] = Death((point,), observation, standing.forked, store, dying.copied)
            else:
                alike[key] = replace(known, points=(*known.points, point))
        yield from alike.values()
