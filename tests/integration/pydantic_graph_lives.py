"""Runs of the pydantic-graph adapter, for its tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fuzzresume.adapters._pydantic_graph_store import LOCK_SUFFIX, present_file
from fuzzresume.adapters.pydantic_graph import ADAPTER
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.sessions import Mode, open_session
from fuzzresume.harness.target import Target

RECIPES = ADAPTER.options["recipe"]
DEFAULTS = {name: values[0] for name, values in ADAPTER.options.items()}
WORKLOAD = Workload.linear()

START, RECOVER, RESTART, RELOAD, INSPECT = (Command(op) for op in ("start", "recover", "restart", "reload", "inspect"))


def resume(question: str, delivery: int, crash: CrashPoint | None = None) -> Command:
    return Command("resume", Token(Question.parse(question), delivery), crash=crash)


WHOLE = (START, resume("2.1", 1), resume("2.2", 2))
MARKS = ("1", "2:2.1#1=yes,2.2#2=yes", "3")


class Run:
    """A session with what it showed; every command is sent to the present life."""

    def __init__(
        self,
        folder: Path,
        workload: Workload = WORKLOAD,
        mode: Mode = "images",
        zygotes: Zygotes | None = None,
        **options: str,
    ) -> None:
        self.session: Any = open_session(Target(ADAPTER, options), workload, folder, mode, zygotes=zygotes)
        self.seen: list[Observation] = []

    def __call__(self, *commands: Command) -> Observation:
        self.seen += [self.session.execute(command) for command in commands]
        return self.seen[-1]

    @property
    def fired(self) -> list[str]:
        return [mark.text for observation in self.seen for mark in observation.effects]

    @property
    def done(self) -> tuple[int, ...] | None:
        return ADAPTER.frontier(self.session.store, None).done

    @property
    def bytes(self) -> bytes:
        return present_file(self.session.store).read_bytes()

    @property
    def stored(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.bytes)
        return found

    @property
    def locked(self) -> bool:
        path = present_file(self.session.store)
        return path.with_name(path.name + LOCK_SUFFIX).exists()


def asked(seen: Observation) -> list[str]:
    assert seen.outcome.kind == "parked" and seen.outcome.announced
    return [one.question.text for one in seen.outcome.asked]


def texts(seen: Observation) -> tuple[str, ...]:
    assert seen.outcome.marks is not None
    return tuple(mark.text for mark in seen.outcome.marks)
