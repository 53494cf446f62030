"""Lives of an adapter without a session around them, for the tests of adapters whose life is under test itself."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.observation import Entry, Frontier, Outcome
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.env import Crash, Env
from fuzzresume.harness.ledger import LedgerReader, LedgerWriter
from fuzzresume.harness.session import crash_points

WORKLOAD = Workload.linear()

Call = Callable[[Any], Outcome]


def defaults(adapter: Adapter) -> dict[str, str]:
    return {name: values[0] for name, values in adapter.options.items()}


def combinations(adapter: Adapter) -> list[dict[str, str]]:
    drawn = (dict(zip(adapter.options, values, strict=True)) for values in itertools.product(*adapter.options.values()))
    return [options for options in drawn if adapter.valid(options)]


def token(question: str, delivery: int) -> str:
    return Token(Question.parse(question), delivery).text


def start(life: Any) -> Outcome:
    return life.start()


def recover(life: Any) -> Outcome:
    return life.recover(branch=None)


def restart(life: Any) -> Outcome:
    return life.restart()


def inspect(life: Any) -> Outcome:
    return life.inspect(branch=None)


def resume(question: str, delivery: int, address: str | None = None) -> Call:
    answer = token(question, delivery)
    return lambda life: life.resume(Question.parse(question), answer, address=address, branch=None)


def fork(question: str, delivery: int, address: str) -> Call:
    return lambda life: life.fork(Question.parse(question), token(question, delivery), address=address)


TRACE = (start, resume("2.1", 1), resume("2.2", 2))
WHOLE = ("1", "2:2.1#1=yes,2.2#2=yes", "3")


class Run:
    """One run and its present life; `reload` drops the life, a crash does so too."""

    adapter: ClassVar[Adapter]

    def __init__(self, folder: Path, workload: Workload = WORKLOAD, **options: str) -> None:
        folder.mkdir(parents=True)
        (folder / "store").mkdir()
        self.ledger = LedgerReader(folder / "ledger")
        self.entries: list[Entry] = []
        self.passed: list[str] = []
        self._folder, self._workload = folder, workload
        self._options = defaults(self.adapter) | options
        self._memory: dict[str, Any] = {}
        self._life: Any = None
        self.env = self._new_env()

    def _new_env(self) -> Env:
        writer = LedgerWriter(self._folder / "ledger")
        return Env(self._folder / "store", self._options, self._workload, self._memory, ledger=writer)

    def __call__(self, call: Call, crash: CrashPoint | None = None, poison: int | None = None) -> Outcome:
        self.env.arm(crash, poison)
        try:
            self._life = self._life or self.adapter.life(self.env)
            return call(self._life)
        finally:
            self.passed = list(self.env.passed)
            self.entries += self.ledger.take()

    def dies(self, call: Call, crash: CrashPoint) -> None:
        with pytest.raises(Crash):
            self(call, crash)
        assert self.env.dead
        self.reload()

    def reload(self) -> None:
        self._memory = copy.deepcopy(self._memory)
        life, self._life = self._life, None
        if life is not None:
            life.close()
        self.env.dead = True
        self.env.ledger.close()
        self.env = self._new_env()

    @property
    def frontier(self) -> Frontier:
        return self.adapter.frontier(self.env, None)

    @property
    def fired(self) -> list[int]:
        return [entry.task for entry in self.entries if entry.kind == "effect"]


def texts(outcome: Outcome) -> tuple[str, ...]:
    assert outcome.marks is not None
    return tuple(mark.text for mark in outcome.marks)


def asked(outcome: Outcome) -> list[str]:
    assert outcome.kind == "parked" and outcome.announced
    return [one.question.text for one in outcome.asked]


def points(passed: list[str]) -> list[CrashPoint]:
    """A kill at each hook."""
    return [point for point in crash_points(passed) if point.by == "kill"]
