"""Runs of the LlamaIndex adapter in process, for its tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fuzzresume.adapters.llamaindex import ADAPTER
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.sessions import AnySession, open_session
from fuzzresume.harness.target import Target

GATE = Workload.linear(3, {2: 1})
"""Three tasks, the second of which asks one question: nothing in it that LlamaIndex gets wrong by itself."""

WHOLE = ("1", "2:2.1#1=yes", "3")

START, RECOVER, RESTART, INSPECT, RELOAD = (Command(op) for op in ("start", "recover", "restart", "inspect", "reload"))


def resume(question: str, delivery: int, **more: object) -> Command:
    return Command("resume", Token(Question.parse(question), delivery), **more)  # type: ignore[arg-type]


def killed(command: Command, hook: str, nth: int = 1, by: str = "kill") -> Command:
    return Command(command.op, command.token, crash=CrashPoint(hook, nth, by))  # type: ignore[arg-type]


@contextmanager
def run(workload: Workload = GATE, **options: str) -> Iterator[AnySession]:
    with tempfile.TemporaryDirectory() as folder, open_session(Target(ADAPTER, options), workload, Path(folder)) as session:
        yield session


def texts(seen: Observation) -> tuple[str, ...]:
    assert seen.outcome.marks is not None, seen.outcome
    return tuple(mark.text for mark in seen.outcome.marks)


def asked(seen: Observation) -> list[str]:
    assert seen.outcome.kind == "parked", seen.outcome
    return [one.question.text for one in seen.outcome.asked]


def fired(seen: Observation) -> list[str]:
    return [mark.text for mark in seen.effects]
