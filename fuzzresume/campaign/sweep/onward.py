"""How a swept run goes on after a death: the same commands whatever is observed, until it is complete or gets no further."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from fuzzresume.contract.commands import DELIVERIES, Command, Op
from fuzzresume.contract.monitor import Exchange
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Question, Token, Workload
from fuzzresume.harness.sessions import AnySession

ATTEMPTS = 3
"""Commands in a row that lead nowhere, after which a run is stuck."""

FIRST_DELIVERY = 101
"""The number of the first answer after a death: the same after every death, and not one of those before it."""


@dataclass(frozen=True, slots=True)
class Onward:
    """The commands sent after a death and what they showed.

    `ended` is `completed`, `stuck: …`, `hung`, `crashed`, or `undetermined: …` where the run may be parked, unheard.
    """

    exchanges: tuple[Exchange, ...]
    ended: str

    @property
    def last(self) -> Observation:
        """What the last command showed."""
        return self.exchanges[-1][1]


def recover(session: AnySession, answered: bool) -> Onward:
    """Recover, then answer what is asked, until the run is complete; `answered`: an answer was sent before the death.

    A run that refuses to recover with nothing durable is started again if nobody has answered anything. Where the wire names
    the question, or the gate asks but one, a run that refuses is answered too, for it may be parked. All else is tried
    `ATTEMPTS` times in a row.
    """
    exchanges: list[Exchange] = []
    deliveries = itertools.count(FIRST_DELIVERY)
    asked: set[Question] = set()
    command, fruitless = Command("recover"), 0
    while True:
        seen = session.execute(command)
        exchanges.append((command, seen))
        kind, order = seen.outcome.kind, session.workload.order
        if kind == "completed" or (kind == "refused" and seen.after.done is not None and set(order) <= set(seen.after.done)):
            return Onward(tuple(exchanges), "completed")
        if kind in ("hung", "crashed"):
            return Onward(tuple(exchanges), kind)
        if kind == "parked":
            question = seen.outcome.asked[0].question
            fruitless = fruitless + 1 if question in asked else 0
            asked.add(question)
            command = Command("resume", Token(question, next(deliveries)))
        else:
            fruitless += 1
            retries = _retries(session, seen, answered or any(c.op in DELIVERIES for c, _ in exchanges))
            again = next(itertools.islice(itertools.cycle(retries), fruitless - 1, None))
            command = Command("resume", Token(again, next(deliveries))) if isinstance(again, Question) else Command(again)
        if fruitless > ATTEMPTS:
            unheard = kind == "refused" and len(_next_questions(session.workload, seen)) > 1
            how = "undetermined" if unheard and not session.target.capabilities.names_question else "stuck"
            return Onward(tuple(exchanges), f"{how}: {said(seen)}")


def restart(session: AnySession) -> Onward:
    """Send the input again, then answer what is asked: that shows what the restart was."""
    exchanges: list[Exchange] = []
    command = Command("restart")
    for delivery in range(FIRST_DELIVERY, FIRST_DELIVERY + ATTEMPTS + len(session.workload.questions())):
        seen = session.execute(command)
        exchanges.append((command, seen))
        if seen.outcome.kind != "parked":
            break
        command = Command("resume", Token(seen.outcome.asked[0].question, delivery))
    return Onward(tuple(exchanges), said(seen))


def said(seen: Observation) -> str:
    """How a command ended, in a word or two."""
    outcome = seen.outcome
    if outcome.kind == "parked":
        return f"parked at question {', '.join(one.question.text for one in outcome.asked)}"
    return f"{outcome.kind} ({outcome.error})" if outcome.error else outcome.kind


def _retries(session: AnySession, seen: Observation, answered: bool) -> tuple[Question | Op, ...]:
    """What to try after a refusal, in turn."""
    if seen.after.done == () and not answered:
        return ("start", "recover")
    questions = _next_questions(session.workload, seen)
    if len(questions) > 1 and not session.target.capabilities.names_question:
        return ("recover",)
    return (*questions, "recover")


def _next_questions(workload: Workload, seen: Observation) -> tuple[Question, ...]:
    """The questions of the first task that the frontier does not show; none for a frontier that cannot be read."""
    done = seen.after.done
    left = [] if done is None else [task for task in workload.order if task not in done]
    return workload.questions(left[0]) if left else ()
