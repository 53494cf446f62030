"""Lives in this process: a crash is a SystemExit at a hook, after which every hook and effect of that life raises.

Not faithful where unwinding itself writes (lock files, on-disk `finally`): such a target says `in_process=False`.
"""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import TypeVar

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Outcome
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.calls import Call, Resident
from fuzzresume.harness.deadline import DEFAULT_LIMIT, Overdue, within
from fuzzresume.harness.env import Env, Store, Unsupported
from fuzzresume.harness.ledger import LedgerWriter, MemoryLedger
from fuzzresume.harness.session import Performed, Session
from fuzzresume.harness.target import Target

S = TypeVar("S", bound="InProcessSession")


class InProcessHost:
    """A life in this process."""

    def __init__(self, resident: Resident, limit: float = DEFAULT_LIMIT) -> None:
        self.env = resident.env
        self._resident = resident
        self._limit = limit
        self._overdue = False

    def perform(self, call: Call) -> tuple[Outcome, tuple[str, ...]]:
        """Make one call; the hooks are those passed until it returned, or until it was overdue, and the life is dead."""
        try:
            outcome = within(self._limit, self._ring, partial(self._resident.perform, call))
        except Overdue:
            self._ring()
        if self._overdue:
            outcome = Outcome("hung", seconds=self._limit)
        return outcome, tuple(self.env.passed)

    def _ring(self) -> None:
        self._overdue = self.env.dead = True

    def close(self) -> None:
        """End the life: nothing that is left over of it passes another hook."""
        self._resident.close()


class InProcessSession(Session):
    """A run whose lives are objects of this process; after a death the next life gets a copy of the store, not the store."""

    def __init__(
        self, target: Target, workload: Workload, folder: Path, seed: int = 0, *, limit: float = DEFAULT_LIMIT
    ) -> None:
        super().__init__(target, workload, folder, seed)
        self.limit = limit
        self._ledger = MemoryLedger()

    def _host_for(self, store: Store) -> InProcessHost:
        env = Env(
            store.folder,
            store.options,
            store.workload,
            store.memory,
            ledger=self._writer(),
            seed=self._seed,
        )
        return InProcessHost(Resident(self.target.adapter, env), self.limit)

    def _writer(self) -> LedgerWriter | MemoryLedger:
        assert isinstance(self._ledger, MemoryLedger)
        return self._ledger

    def _sibling(self: S, folder: Path, seed: int) -> S:
        return type(self)(self.target, self.workload, folder, seed, limit=self.limit)

    def _check(self, command: Command) -> None:
        super()._check(command)
        self._check_death(command)

    def _check_death(self, command: Command) -> None:
        if command.crash is not None and command.crash.by == "kill" and not self.target.capabilities.in_process:
            raise Unsupported("an exception is no faithful death of this target; run it from images or forked")

    def _bury(self, performed: Performed) -> None:
        content = performed.store or self._snapshot()
        memory = copy.deepcopy(self.store.memory)
        super()._bury(performed)
        self._replace_store(content, memory)
