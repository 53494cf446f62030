"""Runs of CrewAI in its own environment, for the tests of its adapter."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.sessions import AnySession, Mode, open_session
from fuzzresume.harness.target import NoEnvironment, Target, parse_target

VERSION = "crewai@1.15.2"
WORKLOAD = Workload.linear()
WHOLE = ("1", "2:2.1#1=yes,2.2#2=yes", "3")
_NUMBERS = itertools.count(1)


@cache
def target(**options: str) -> Target:
    """The target under these options; the test is skipped where its environment is not there and cannot be built."""
    try:
        return parse_target(VERSION, options)
    except NoEnvironment as reason:
        pytest.skip(str(reason))


@contextmanager
def run(tmp_path: Path, workload: Workload = WORKLOAD, mode: Mode = "in-process", **options: str) -> Iterator[AnySession]:
    """A session in a folder of its own."""
    with open_session(target(**options), workload, tmp_path / f"run-{next(_NUMBERS)}", mode) as session:
        yield session


def answer(question: str, delivery: int, op: str = "resume", **more: str) -> Command:
    """A delivery."""
    return Command(op, Token(Question.parse(question), delivery), **more)  # type: ignore[arg-type]


START, RECOVER, RESTART = Command("start"), Command("recover"), Command("restart")
TRACE = (START, answer("2.1", 1), answer("2.2", 2))


def send(session: AnySession, commands: Sequence[Command]) -> Observation:
    """Send all of them; returns what the last one showed."""
    for command in commands[:-1]:
        session.execute(command)
    return session.execute(commands[-1])


def asked(seen: Observation) -> list[str]:
    """The questions that the run is parked at."""
    assert seen.outcome.kind == "parked" and seen.outcome.announced, seen.outcome
    return [one.question.text for one in seen.outcome.asked]


def fired(seen: Observation) -> list[str]:
    """The effects of one command."""
    return [mark.text for mark in seen.effects]


def marks(seen: Observation) -> tuple[str, ...]:
    """The marks in the reply's own state."""
    return tuple(mark.text for mark in seen.outcome.marks or ())


def killed(command: Command, hook: str, nth: int = 1) -> Command:
    """The command, killed at a hook."""
    return Command(command.op, command.token, crash=CrashPoint(hook, nth))
