"""Executing a fixed list of commands, in process or for real: what replay, minimiser and confirmation share."""

from __future__ import annotations

import copy
import itertools
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fuzzresume.contract.commands import Command, CrashPoint, Op
from fuzzresume.contract.life import Faults
from fuzzresume.contract.menu import Scope, label, menu
from fuzzresume.contract.monitor import Exchange, Violation
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.catalogue import catalogue
from fuzzresume.harness.deadline import DEFAULT_LIMIT
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.run import Run, profile_of, scope_of
from fuzzresume.harness.sessions import Mode, open_session
from fuzzresume.harness.target import AdapterSlip, Target

UNBOUNDED = 99
"""Crashes and specials that a fixed trace may hold: its length bounds it, not a budget."""


@dataclass(frozen=True, slots=True)
class Executed:
    """What came of a list of commands: the violation if there was one, the number sent, why it stopped early, and what
    each command sent showed."""

    violation: Violation | None
    sent: int
    stopped: str = ""
    exchanges: tuple[Exchange, ...] = ()


class Executor:
    """Runs traces of one workload, each in a private folder that is removed afterwards. `limit`: seconds a command."""

    def __init__(
        self, reference: Reference, folder: Path, zygotes: Zygotes | None = None, limit: float = DEFAULT_LIMIT
    ) -> None:
        self.reference = reference
        self.folder = folder
        self.zygotes = zygotes
        self.limit = limit
        self._count = itertools.count(1)
        self._crash_points: dict[object, Mapping[Op, tuple[CrashPoint, ...]]] = {}

    @property
    def workload(self) -> Workload:
        """The workload of every trace."""
        return self.reference.workload

    def search_mode(self, target: Target) -> Mode:
        """The cheapest faithful way to die: in process, else images, else real."""
        can = target.capabilities
        if can.in_process or not can.durable:
            return "in-process"
        return "images" if can.images else "forked"

    def crash_points(self, target: Target) -> Mapping[Op, tuple[CrashPoint, ...]]:
        """The target's catalogue of crash points for the workload, recorded once."""
        key = (target.label, tuple(sorted(target.options.items())), self.workload)
        if key not in self._crash_points:
            self._crash_points[key] = catalogue(target, self.workload, self.search_mode(target), self.folder)
        return self._crash_points[key]

    def on(self, reference: Reference) -> Executor:
        """The same executor for another workload; folders are numbered together."""
        other = copy.copy(self)
        other.reference = reference
        return other

    def open(
        self, target: Target, mode: Mode | None = None, scope: Scope | None = None, profile: Faults | None = None
    ) -> Run:
        """A new run. Close its session and remove its folder with `close`. Raises Unsupported for a mode it cannot have."""
        folder = self.folder / f"run-{next(self._count)}"
        mode = mode or self.search_mode(target)
        session = open_session(target, self.workload, folder, mode, zygotes=self.zygotes, limit=self.limit)
        can = target.capabilities
        return Run(
            session,
            self.reference,
            scope or scope_of(can, crashes=UNBOUNDED, specials=UNBOUNDED),
            profile_of(can) if profile is None else profile,
        )

    def close(self, run: Run) -> None:
        """End a run and remove what it wrote."""
        run.session.close()
        shutil.rmtree(run.session.folder, ignore_errors=True)

    def execute(
        self,
        target: Target,
        commands: Sequence[Command],
        mode: Mode | None = None,
        *,
        profile: Faults | None = None,
        steered: bool = False,
    ) -> Executed:
        """Send `commands` until one violates. `steered`: stop at a command that no generator would have sent there.

        Without a `mode`, the cheapest in which the commands can be sent: racers are processes.
        """
        races = any(command.op == "race" for command in commands)
        run = self.open(target, mode or ("forked" if races else None), profile=profile)
        try:
            return replace(self._send(run, commands, steered), exchanges=tuple(run.monitor.exchanges))
        finally:
            self.close(run)

    def _send(self, run: Run, commands: Sequence[Command], steered: bool) -> Executed:
        for index, command in enumerate(commands):
            if run.over:
                return Executed(run.violation, index, "" if run.violation else "the run was over")
            offered = command.op == "race" or label(command) in menu(self.workload, run.state, run.spent, run.scope)
            if steered and not offered:
                return Executed(None, index, f"command {index + 1} makes no sense here")
            try:
                run.send(command)
            except Unsupported as reason:
                return Executed(None, index, f"command {index + 1} cannot be expressed: {reason}")
            except AdapterSlip as slip:
                return Executed(None, index, f"at command {index + 1} {slip}")
        return Executed(run.violation, len(commands), "a command hung" if run.hung else "")
