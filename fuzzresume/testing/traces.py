"""The workloads and the traces that the kit executes."""

from __future__ import annotations

from dataclasses import replace

from fuzzresume.contract.commands import Address, Command, CrashPoint
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.adapter import Capabilities

Trace = tuple[Command, ...]

DEFAULT = Workload.linear()
GATES = Workload.linear(4, {1: 1, 2: 1, 3: 1, 4: 1})
UNGATED = Workload.linear(2, {})
LONG = Workload.linear(11, {1: 2, 10: 1})
"""Its identifiers grow to two digits, so who sorts them as text takes the tenth for an early one."""

WORKLOADS = (DEFAULT, GATES, UNGATED, LONG)
"""Gates in the middle, everywhere (the first and the last task among them), nowhere; of one and of two questions."""

SECOND = 101
"""The delivery number of the first answer that is not the plain run's own."""


def plain(workload: Workload, first: int = 1, at: Address = "latest") -> Trace:
    """A run that nobody disturbs: the start, then an answer to each question, numbered from `first`."""
    answers = [
        Command("resume", Token(question, number), at=at) for number, question in enumerate(workload.questions(), first)
    ]
    return Command("start"), *answers


def dying(command: Command, point: CrashPoint) -> Command:
    """The command with a death planted."""
    return replace(command, crash=point)


def fork(question: Question, delivery: int = SECOND) -> Command:
    """A fork at a question, with an answer of its own."""
    return Command("fork", Token(question, delivery))


def disturbed(can: Capabilities, deaths: bool) -> list[Trace]:
    """Traces that an engine may answer as it likes, but must answer alike each time. `deaths`: lives can die here."""
    begin, *answers = plain(DEFAULT)
    question, recover, reload, inspect = DEFAULT.questions()[0], Command("recover"), Command("reload"), Command("inspect")
    found: list[Trace] = [
        (begin, *answers, Command("stray", Token(question, SECOND))),
        (begin, answers[0], replace(answers[0], op="redeliver"), *answers[1:]),
        (begin, reload, answers[0], reload, *answers[1:]),
        (begin, inspect, *answers, inspect),
        (begin, recover, *answers, recover),
        (begin, *answers, Command("restart"), *plain(DEFAULT, SECOND)[1:]),
    ]
    if can.fork is not None:
        found.append((begin, *answers, fork(question), recover))
    if can.schema:
        found.append((replace(begin, poison=1), recover))
    if can.tamper:
        found.append((begin, Command("tamper", kind=can.tamper[0]), recover))
    for moment in ("before", "after"):
        found.append((dying(begin, CrashPoint(f"effect.{moment}:1", by="exception")), recover, *answers))
        if deaths:
            found.append((dying(begin, CrashPoint(f"effect.{moment}:1")), recover, *answers))
    return found
