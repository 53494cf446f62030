"""Lives of the AutoGen adapter without a session around them, for the tests of the adapter."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzzresume.adapters.autogen import ADAPTER
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.observation import Entry, Frontier, Outcome
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.env import Crash, Env
from fuzzresume.harness.ledger import LedgerReader, LedgerWriter

WORKLOAD = Workload.linear()
DEFAULTS = {name: values[0] for name, values in ADAPTER.options.items()}
COMBINATIONS = [
    options
    for values in itertools.product(*ADAPTER.options.values())
    if ADAPTER.valid(options := dict(zip(ADAPTER.options, values, strict=True)))
]
PROGRAMS = [options for options in COMBINATIONS if options["restart"] == DEFAULTS["restart"]]

Call = Callable[[Any], Outcome]


def start(life: Any) -> Outcome:
    return life.start()


def recover(life: Any) -> Outcome:
    return life.recover(branch=None)


def restart(life: Any) -> Outcome:
    return life.restart()


def inspect(life: Any) -> Outcome:
    return life.inspect(branch=None)


def resume(question: str, delivery: int) -> Call:
    asked = Question.parse(question)
    return lambda life: life.resume(asked, Token(asked, delivery).text, address=None, branch=None)


TRACE = (start, resume("2.1", 1), resume("2.2", 2))
WHOLE = ("1", "2:2.1#1=yes,2.2#2=yes", "3")


class Run:
    """One run and its present life; `reload` drops the life, a crash does so too."""

    def __init__(self, folder: Path, workload: Workload = WORKLOAD, **options: str) -> None:
        folder.mkdir(parents=True)
        (folder / "store").mkdir()
        self.ledger = LedgerReader(folder / "ledger")
        self.entries: list[Entry] = []
        self.passed: list[str] = []
        self._folder, self._workload, self._options = folder, workload, DEFAULTS | options
        self._life: Any = None
        self.env = self._new_env()

    def _new_env(self) -> Env:
        return Env(self._folder / "store", self._options, self._workload, ledger=LedgerWriter(self._folder / "ledger"))

    def __call__(self, call: Call, crash: CrashPoint | None = None, poison: int | None = None) -> Outcome:
        self.env.arm(crash, poison)
        try:
            self._life = self._life or ADAPTER.life(self.env)
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
        life, self._life = self._life, None
        if life is not None:
            life.close()
        self.env.dead = True
        self.env.ledger.close()
        self.env = self._new_env()

    @property
    def frontier(self) -> Frontier:
        return ADAPTER.frontier(self.env, None)

    @property
    def fired(self) -> list[int]:
        return [entry.task for entry in self.entries if entry.kind == "effect"]


def texts(outcome: Outcome) -> tuple[str, ...]:
    assert outcome.marks is not None
    return tuple(mark.text for mark in outcome.marks)


def asked(outcome: Outcome) -> list[str]:
    assert outcome.kind == "parked" and outcome.announced
    return [one.question.text for one in outcome.asked]
