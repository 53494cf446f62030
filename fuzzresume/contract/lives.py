"""The lives that a command may begin in a branch, remembered: the same branch stands in many states."""

from __future__ import annotations

from collections.abc import Iterator

from fuzzresume.contract.commands import Command
from fuzzresume.contract.life import WITHIN, Faults, Plan, Run, Trajectory, cut, finish, plans, trajectories
from fuzzresume.contract.state import Answers, Branch, Expect, State
from fuzzresume.contract.workload import Token, Workload

Shown = tuple[tuple[Run, Expect], ...]
"""The ways in which a life may go, and what each shows."""


class Lives:
    """The lives of one workload."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._runs: dict[object, Shown] = {}
        self._trajectories: dict[object, tuple[Trajectory, ...]] = {}

    def runs(
        self, state: State, command: Command, faults: Faults, branch: Branch, answers: Answers, delivered: Token | None
    ) -> Shown:
        """How the command may leave the branch, by every plan."""
        faults = faults & WITHIN
        pool = state.tokens if "Misroute" in faults else ()
        held = None if answers is branch.answers else answers
        key = (branch, held, delivered, faults, pool, state.stray, command.crash is None, command.poison)
        found = self._runs.get(key)
        if found is None:
            runs: list[Run] = []
            for plan in plans(self.workload, branch, faults, recovering=branch.status in ("crashed", "parked")):
                runs += self.follow(state, command, faults, branch, plan, answers, delivered)
            found = self._runs[key] = tuple([(run, run.expect) for run in runs])
        return found

    def follow(
        self,
        state: State,
        command: Command,
        faults: Faults,
        branch: Branch,
        plan: Plan,
        answers: Answers,
        delivered: Token | None = None,
    ) -> Iterator[Run]:
        """How the command may leave the branch, by one plan."""
        question = delivered.question if delivered is not None else None
        for way in self._ways(state, command, faults, plan, answers):
            yield from finish(self.workload, branch, way, question, faults)
            if command.crash is not None:
                yield from cut(self.workload, branch, way, question, faults)

    def _ways(self, state: State, command: Command, faults: Faults, plan: Plan, answers: Answers) -> tuple[Trajectory, ...]:
        """A command that dies and one that does not follow the same ways."""
        pool = state.tokens if "Misroute" in faults else ()
        key = (plan, answers, faults, pool, state.stray, command.poison)
        found = self._trajectories.get(key)
        if found is None:
            found = self._trajectories[key] = tuple(
                trajectories(
                    self.workload,
                    plan,
                    answers,
                    faults=faults,
                    pool=pool,
                    stray=state.stray,
                    poison=command.poison,
                    ask_again="Replay" in faults,
                )
            )
        return found
