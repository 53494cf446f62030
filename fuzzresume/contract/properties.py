"""The ten properties, with stable codes, and how a violation gets its property (docs/CONTRACT.md, *Properties*)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from fuzzresume.contract.commands import Command
from fuzzresume.contract.explain import Explanation
from fuzzresume.contract.faults import FAULTS
from fuzzresume.contract.monitor import Violation, reduce
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.state import next_question
from fuzzresume.contract.workload import Mark, Token, Workload

VerdictName = Literal["holds", "violated", "documented", "inapplicable", "unexercised"]


class Property(NamedTuple):
    """One property: its short name, what it is called, when it is violated, and what must happen for it to be judged."""

    name: str
    title: str
    violated: str
    exercise: str
    source: str

    @property
    def code(self) -> str:
        """The stable code, such as `RR-FD`."""
        return f"RR-{self.name}"


PROPERTIES: dict[str, Property] = {
    p.name: p
    for p in (
        Property(
            "PC",
            "prefix continuation",
            "a durable task is entered again on its branch and epoch, or a task that never ran is skipped",
            "a run with at least one durable task that goes on after a crash",
            "Khan, Resume Means Resume (arXiv 2608.03836), property 1",
        ),
        Property(
            "EO",
            "effect exactly-once",
            "the effect of a task whose completion was durable fires again (EO-a), or several tasks are in doubt after"
            " one crash although a record per task is promised (EO-c). The one task in doubt may run again (EO-b)",
            "a recovery after a crash with a durable task, and one with a task in doubt",
            "Khan, Resume Means Resume (arXiv 2608.03836), property 2",
        ),
        Property(
            "FD",
            "fork determinism",
            "a fork is served, or ends in, anything but its own answer's outcome, or leaks into the trunk",
            "a fork at a question that was already answered, served",
            "Khan, Resume Means Resume (arXiv 2608.03836), property 3",
        ),
        Property(
            "CV",
            "checkpoint validity",
            "an invalid state becomes durable without a loud refusal, or a damaged store is continued from",
            "a task that returns an update its declared schema forbids",
            "Khan, Resume Means Resume (arXiv 2608.03836), property 4",
        ),
        Property(
            "CO",
            "consume-once",
            "one question is answered more than once, an answer is served to another question than its own, or a"
            " delivery that must be inert is not",
            "a delivery that must be inert: a redelivery, a stray, or a second answer",
            "Khan, Resume Means Resume (arXiv 2608.03836), property 5",
        ),
        Property(
            "RD",
            "recovery determinism",
            "two recoveries from byte-identical copies of the store decide differently",
            "two recoveries from copies of one store of a crashed run",
            "Khan, Resume Means Resume (arXiv 2608.03836), property 6",
        ),
        Property(
            "FI",
            "fork intent expressible",
            "the public API cannot tell a fork from a retry, so FD and CO cannot both hold",
            "the API's discriminator, used by a fork that was served",
            "Khan, Resume Means Resume (arXiv 2608.03836), obligation FI and proposition 1",
        ),
        Property(
            "LV",
            "liveness",
            "after a crash or a refusal the run cannot be completed, or it is told complete while tasks are missing",
            "a run that crashed, was recovered and completed",
            "Khan, Resume Means Resume (arXiv 2608.03836), liveness obligation",
        ),
        Property(
            "IN",
            "inspection is inert",
            "reading the state changes effects, frontier or what later commands do",
            "an inspection between two commands of a run",
            "docs/CONTRACT.md",
        ),
        Property(
            "RS",
            "restart is one thing",
            "sending the input again is neither refused, nor inert, nor a continuation, nor a new epoch, or mixes them",
            "a restart of a run that had been started",
            "docs/CONTRACT.md",
        ),
    )
}


class Anomaly(NamedTuple):
    """What is wrong with an observation: a property and a class in words.

    `limit` is `FI` where the API cannot express what the command meant, so that no engine behind it could do right.
    """

    property: str
    cls: str
    limit: str = ""


def attribute(workload: Workload, violation: Violation, explanation: Explanation) -> Anomaly:
    """The property that a violation belongs to, from the trace *and* from what explains it.

    Naming from the trace alone misnames a part of the violations; so the explaining switches decide where they agree,
    and the trace decides among their properties where they do not.
    """
    seen = anomaly(workload, violation)
    named = {FAULTS[names[0]].properties[0] for names in explanation}
    if len(named) == 1 and all(len(names) == 1 for names in explanation):
        return seen._replace(property=next(iter(named)))
    possible = {p for names in explanation for name in names for p in FAULTS[name].properties}
    if not possible or seen.property in possible:
        return seen
    return seen._replace(property=min(named, key=list(PROPERTIES).index))


def anomaly(workload: Workload, violation: Violation) -> Anomaly:
    """Read the anomaly from the last command of the trace."""
    command, observation = violation.command, violation.observation
    seen = reduce(observation).expect
    state = violation.before[0].state
    branch = state.branch(command.branch)
    effects = [mark.task for mark in observation.effects]
    if state.tampered is not None:
        return Anomaly("CV", "continued from a damaged store")
    if seen.kind == "hung":
        return Anomaly("LV", "the call did not come back")
    struck = command.poison is not None and command.poison in effects
    if struck and (seen.kind != "refused" or command.poison in (observation.after.done or ())):
        return Anomaly("CV", "an invalid update became durable")
    if command.op == "recover2" and seen.twin is not None and seen._replace(twin=None) != seen.twin:
        return Anomaly("RD", "two recoveries from one store differ")
    if command.op == "race":
        return _raced(command, effects, observation.told)
    if command.op == "inspect":
        return Anomaly("IN", "inspection was not inert")
    if command.op == "restart":
        return Anomaly("RS", "restart is none of its legal things")
    before = set(observation.before.done or ())
    refired = [t for t in effects if t in before or effects.count(t) > 1]
    in_doubt = [t for t in effects if t not in (effects if observation.after.done is None else observation.after.done)]
    if seen.kind == "crashed" and len(in_doubt) > 1 and not refired:
        return Anomaly("EO", "several tasks in doubt after one crash")
    if command.op == "fork":
        if refired and not _answered_by_another(command, observation):
            return Anomaly("EO", "a durable effect fired again on a fork")
        return Anomaly("FD", "a fork was not served its own answer")
    if state.fork is not None and command.branch == "trunk":
        return Anomaly("FD", "the trunk changed after a fork")
    inert = command.op in ("redeliver", "stray") or (command.op == "resume" and command.question in branch.acked)
    if inert:
        return Anomaly("CO", "a delivery that must be inert was not")
    if _misrouted(observation.effects):
        return Anomaly("CO", "an answer was served to another question")
    if refired:
        return Anomaly("EO", "a durable effect fired again")
    if seen.reentered:
        return Anomaly("PC", "a durable task was entered again")
    if seen.pending and any(q in branch.acked for q in seen.pending):
        return Anomaly("CO", "an acknowledged answer was asked for again")
    if seen.kind in ("refused", "idle"):
        return Anomaly("LV", "the run does not go on")
    if seen.kind == "completed":
        missing = [t for t in workload.order if t not in before and t not in effects]
        if missing and missing != list(workload.order):
            return Anomaly("LV", "told complete while tasks are missing")
        if any(e.effects == seen.effects and e.kind == "completed" for e in violation.expected):
            return Anomaly("EO", "the final state does not count each task once")
    if seen.kind == "parked" and next_question(workload, branch) != (seen.pending or (None,))[0]:
        return Anomaly("PC", "the run stands elsewhere than it should")
    return Anomaly("PC", "the run does not continue its prefix")


def _raced(command: Command, effects: Sequence[int], told: Sequence[str]) -> Anomaly:
    """CO-e counts effects, CO-c deliveries told that theirs was consumed."""
    asked = {racer.question.task for racer in command.racers if racer.question is not None and racer.op != "fork"}
    twice = sorted({task for task in effects if effects.count(task) > 1})
    if any(task in asked for task in twice):
        return Anomaly("CO", "racers answered one question more than once, and its effect fired each time (CO-e)")
    if twice and all(racer.op != "fork" for racer in command.racers):
        return Anomaly("EO", "an effect fired more than once in a race")
    if len(told) > 1 and all(racer.op != "fork" for racer in command.racers):
        return Anomaly("CO", "several racers were told that their answer was consumed (CO-c)")
    if any(racer.op == "fork" for racer in command.racers):
        return Anomaly("FD", "a fork in a race was not served its own answer")
    return Anomaly("PC", "a race led where no order of its racers leads")


def _answered_by_another(command: Command, observation: Observation) -> bool:
    """The forked question's effect fired with another answer than the fork's own in its place."""
    token = command.token
    if token is None:
        return False
    fired = [m.tokens for m in observation.effects if m.task == token.question.task]
    return any(token.text != tokens[token.question.index - 1] for tokens in fired if len(tokens) >= token.question.index)


def _misrouted(effects: tuple[Mark, ...]) -> bool:
    for task, tokens in effects:
        for i, text in enumerate(tokens, 1):
            try:
                question = Token.parse(text).question
            except ValueError:
                return True
            if (question.task, question.index) != (task, i):
                return True
    return False
