"""The crash points of a target, recorded by fault-free runs (docs/DESIGN.md: crash points are found, not guessed)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from fuzzresume.contract.commands import Command, CrashPoint, Op
from fuzzresume.contract.workload import Token, Workload
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.session import crash_points
from fuzzresume.harness.sessions import AnySession, Mode, open_session
from fuzzresume.harness.target import AdapterSlip, Target


def catalogue(
    target: Target, workload: Workload, mode: Mode = "in-process", place: Path | None = None
) -> Mapping[Op, tuple[CrashPoint, ...]]:
    """For each command that runs tasks, the points at which a life can die, in the order in which they are passed.

    The runs' files live in a folder of their own in `place` (None: the system's place for temporary files).
    """
    points: dict[Op, dict[CrashPoint, None]] = {}

    def send(session: AnySession, command: Command) -> None:
        try:
            hooks = session.execute(command).hooks
        except (Unsupported, AdapterSlip):
            return
        points.setdefault(command.op, {}).update(dict.fromkeys(crash_points(hooks)))

    def answers(session: AnySession, first: int) -> None:
        for delivery, question in enumerate(workload.questions(), first):
            send(session, Command("resume", Token(question, delivery)))

    with tempfile.TemporaryDirectory(prefix="fuzzresume-", dir=place) as folder:
        with open_session(target, workload, Path(folder) / "whole", mode) as session:
            send(session, Command("start"))
            answers(session, 1)
            for delivery, question in enumerate(workload.questions(), 101):
                send(session, Command("fork", Token(question, delivery)))
            send(session, Command("restart"))
        with open_session(target, workload, Path(folder) / "died", mode) as session:
            first = workload.order[0]
            send(session, Command("start", crash=CrashPoint(f"effect.after:{first}", 1)))
            send(session, Command("recover"))
            answers(session, 1)
            send(session, Command("recover"))
        with open_session(target, workload, Path(folder) / "failed", mode) as session:
            send(session, Command("start", crash=CrashPoint(f"effect.before:{first}", 1, "exception")))
            send(session, Command("retry"))
    return {op: tuple(found) for op, found in points.items()}
