"""What a run that nobody disturbs must show: every engine that is worth fuzzing, right or wrong, shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.workload import Mark, Question, Workload


class Step(NamedTuple):
    """What one command of an undisturbed run leads to. `fired` are its own effects, `marks` those of the run so far."""

    pending: Question | None
    fired: tuple[Mark, ...]
    marks: tuple[Mark, ...]

    @property
    def done(self) -> tuple[int, ...]:
        """The frontier."""
        return tuple(mark.task for mark in self.marks)


def steps(workload: Workload, commands: Sequence[Command]) -> list[Step]:
    """The way of an undisturbed run through `commands`: the start, then an answer to each question in turn."""
    answers: dict[Question, str] = {}
    marks: list[Mark] = []
    found = []
    for command in commands:
        if command.token is not None:
            answers[command.token.question] = command.token.text
        first = len(marks)
        pending: Question | None = None
        for task in workload.order[first:]:
            pending = next((question for question in workload.questions(task) if question not in answers), None)
            if pending is not None:
                break
            marks.append(Mark(task, tuple(answers[question] for question in workload.questions(task))))
        found.append(Step(pending, tuple(marks[first:]), tuple(marks)))
    return found


def outcome_complaint(step: Step, observation: Observation) -> str:
    """What is wrong with an outcome, in words; "" when nothing is."""
    outcome = observation.outcome
    kind = "completed" if step.pending is None else "parked"
    if outcome.kind != kind:
        more = f" ({outcome.error}: {outcome.message})" if outcome.error else ""
        return f"{outcome.kind}{more} instead of {kind}"
    if (asked := [one.question for one in outcome.asked]) != ([] if step.pending is None else [step.pending]):
        return f"asks {_questions(asked)} instead of {_questions([step.pending] if step.pending else [])}"
    if kind == "completed" and outcome.marks != step.marks:
        return f"the final state is {_marks(outcome.marks or ())} instead of {_marks(step.marks)}"
    if odd := [mark for mark in outcome.marks or () if mark not in step.marks]:
        return f"the state shows {_marks(odd)}, which no task has added"
    return ""


def ledger_complaints(steps: Sequence[Step], observations: Sequence[Observation]) -> Iterator[tuple[int, str]]:
    """(index of the command, what is wrong with its ledger entries) of a whole undisturbed run."""
    entered: set[int] = set()
    marks: tuple[Mark, ...] = ()
    for index, (step, observation) in enumerate(zip(steps, observations, strict=True)):
        firing: int | None = None
        for entry in observation.entries:
            if entry.kind == "enter":
                entered.add(entry.task)
                continue
            if entry.kind == "exit":
                if entry.task != firing:
                    yield index, f"task {entry.task} exits without an effect before"
                firing = None
                continue
            if entry.task not in entered:
                yield index, f"the effect of task {entry.task} fires before the task is entered"
            if entry.reads != marks:
                yield index, f"the effect of task {entry.task} reads {_marks(entry.reads)} instead of {_marks(marks)}"
            marks += (Mark(entry.task, entry.tokens),)
            firing = entry.task
        if observation.effects != step.fired:
            yield index, f"the effects are {_marks(observation.effects)} instead of {_marks(step.fired)}"
        waiting = {step.pending.task} if step.pending is not None else set()
        if idle := entered - set(step.done) - waiting:
            yield index, f"task {min(idle)} was entered, fired no effect and waits for no answer"


def frontier_complaints(steps: Sequence[Step], observations: Sequence[Observation]) -> Iterator[tuple[int, str]]:
    """(index of the command, what is wrong with the frontiers before and after it) of a whole undisturbed run."""
    before: tuple[int, ...] = ()
    head = None
    for index, (step, observation) in enumerate(zip(steps, observations, strict=True)):
        for when, frontier, done in (("before", observation.before, before), ("after", observation.after, step.done)):
            if frontier.done is None:
                yield index, f"the frontier {when} it is unreadable: {frontier.why}"
            elif frontier.done != done:
                yield index, f"the frontier {when} it is {_tasks(frontier.done)}, while the ledger says {_tasks(done)}"
        if index and observation.before.head != head:
            yield index, f"the head is {observation.before.head!r} now and was {head!r} after the last command"
        before, head = step.done, observation.after.head


def _questions(questions: Sequence[Question]) -> str:
    return f"question {' and '.join(question.text for question in questions)}" if questions else "nothing"


def _marks(marks: Sequence[Mark]) -> str:
    return ", ".join(mark.text for mark in marks) or "nothing"


def _tasks(tasks: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, tasks)) + "}"
