"""The lives that a command may begin in a branch, remembered: the same branch stands in many states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fuzzresume.contract.commands import Command
from fuzzresume.contract.life import WITHIN, Faults, Plan, Run, Trajectory, cut, finish, plans, trajectories
from fuzzresume.contract.mechanisms import survivors
from fuzzresume.contract.state import Answers, Branch, Expect, Note, State, complete, distinct, next_question
from fuzzresume.contract.workload import Token, Workload

Recovery = tuple[Expect, Branch | None, Note | None]
"""What a recovery may show, how it leaves the branch (None: as it was), and by which legal choice."""


class _Known(NamedTuple):
    """The lives that may begin in one branch: each way with its runs to the end, and all of those runs."""

    ways: tuple[tuple[Trajectory, tuple[Run, ...]], ...]
    finished: tuple[Run, ...]


class Lives:
    """The lives of one workload."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._known: dict[object, _Known] = {}
        self._died: dict[object, tuple[Run, ...]] = {}
        self._recoveries: dict[object, tuple[Recovery, ...]] = {}
        self._trajectories: dict[object, tuple[Trajectory, ...]] = {}

    def runs(
        self, state: State, command: Command, faults: Faults, branch: Branch, answers: Answers, delivered: Token | None
    ) -> tuple[Run, ...]:
        """How the command may leave the branch, by every plan."""
        if faults:
            faults = faults & WITHIN
        pool = state.tokens if "Misroute" in faults else ()
        held = None if answers is branch.answers else answers
        key = (branch, held, delivered, faults, pool, state.stray, command.poison)
        known = self._known.get(key)
        question = delivered.question if delivered is not None else None
        if known is None:
            ways: list[tuple[Trajectory, tuple[Run, ...]]] = []
            for plan in plans(self.workload, branch, faults, recovering=branch.status in ("crashed", "parked")):
                for way in self._ways(state, command, faults, plan, answers):
                    ways.append((way, tuple(finish(self.workload, branch, way, question, faults))))
            known = self._known[key] = _Known(tuple(ways), _once([run for _, runs in ways for run in runs], faults))
        if command.crash is None:
            return known.finished
        died = self._died.get(key)
        if died is None:
            runs: list[Run] = []
            for way, finished in known.ways:
                runs += finished
                runs += cut(self.workload, branch, way, question, faults)
            died = self._died[key] = _once(runs, faults)
        return died

    def recoveries(self, state: State, command: Command, faults: Faults, branch: Branch) -> tuple[Recovery, ...]:
        """How a recovery may leave a branch that is neither lost nor stuck: it goes on, or is refused where it may be."""
        pool = state.tokens if "Misroute" in faults else ()
        key = (branch, faults, pool, state.stray, command.crash is None, command.poison)
        found = self._recoveries.get(key)
        if found is None:
            found = self._recoveries[key] = tuple(self._recover(state, command, faults, branch))
        return found

    def _recover(self, state: State, command: Command, faults: Faults, branch: Branch) -> Iterator[Recovery]:
        over = complete(self.workload, branch)
        note = Note("recover@completed", "completed") if over else None
        for held in survivors(branch, branch.answers, None, faults):
            for shows, left in self.runs(state, command, faults, branch, held, None):
                yield shows, left, note
        refused = Expect("refused", frontier=frozenset(branch.visible))
        if over:
            yield refused, None, Note("recover@completed", "refused")
        elif next_question(self.workload, branch) is not None:
            yield refused, None, Note("recover@parked", "refused")
        elif not branch.done:
            yield refused, None, Note("recover@nothing-durable", "refused")
        elif branch.poisoned:
            yield refused, None, Note("recover@poisoned", "refused")
        elif "RefuseRecovery" in faults:
            yield refused, None, None

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


def _once(runs: Iterable[Run], faults: Faults) -> tuple[Run, ...]:
    """Several faults come to the same by many plans; without any there is one plan, and nothing comes twice."""
    return distinct(runs) if faults else tuple(runs)
