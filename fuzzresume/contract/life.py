"""What one life may do: from a branch and a plan to every run and every crash state (docs/CONTRACT.md, *Crash windows*).

A plan is the list of tasks that a life goes through. Without faults there is exactly one: the tasks that are not durable,
in order. Faults add plans (`plans`) or change single steps (`trajectories`); so two faults compose in one life without a
rule for the pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

from fuzzresume.contract.state import Answers, Branch, Expect, Status, add, answer_of, with_answer, without_answer
from fuzzresume.contract.workload import Mark, Question, Token, Workload

Faults = frozenset[str]

WITHIN: Faults = frozenset({"Replay", "PrefixReplay", "ReexecLast", "SkipTask", "Misroute", "InvalidPersist", "LateRecord"})
"""The switches that change what a life does. The others strike where a life begins, or in what is kept of it."""


class Step(NamedTuple):
    """One task of a plan. `again`: it was durable already. `silent`: entered, but its effect does not fire."""

    task: int
    again: bool = False
    silent: bool = False
    skip: bool = False


Plan = tuple[Step, ...]


class Event(NamedTuple):
    """One micro-step of a life: between any two of them it can die."""

    kind: Literal["enter", "effect", "record"]
    step: Step
    tokens: tuple[str, ...] = ()


class Trajectory(NamedTuple):
    """A whole life without a crash: its events, how it ends, and the answers that it then holds."""

    events: tuple[Event, ...]
    end: Literal["parked", "completed", "invalid"]
    question: Question | None
    answers: Answers


class Run(NamedTuple):
    """What one command may show, and how it then leaves the branch."""

    shows: Expect
    branch: Branch


def plans(workload: Workload, branch: Branch, faults: Faults, *, recovering: bool) -> Iterator[Plan]:
    """The plans that a continuing life may follow; the legal one first.

    `recovering` says that the life continues after a crash, where SkipTask can strike.
    """
    todo = tuple([Step(t.id) for t in workload.tasks if t.id not in branch.done])
    yield todo
    if not faults:
        return
    durable = tuple(t for t in workload.order if t in branch.done)
    if durable:
        if "Replay" in faults:
            yield tuple(Step(t, again=True) for t in durable) + todo
        if "PrefixReplay" in faults:
            yield tuple(Step(t, again=True, silent=bool(workload.task(t).questions)) for t in durable) + todo
        if "ReexecLast" in faults:
            yield (Step(durable[-1], again=True), *todo)
    if "SkipTask" in faults and recovering and todo:
        yield (Step(todo[0].task, skip=True), *todo[1:])


def trajectories(
    workload: Workload,
    plan: Plan,
    answers: Answers,
    *,
    faults: Faults,
    pool: Iterable[Token] = (),
    stray: Token | None = None,
    poison: int | None = None,
    ask_again: bool = False,
) -> Iterator[Trajectory]:
    """Every whole life that follows `plan` with `answers` held.

    `pool` and `stray` are tokens that a fault may serve to a question which nobody answered. `ask_again`: a gate that runs
    again may also ask its questions again.
    """
    pool = tuple(pool) if stray is None else (*pool, stray)

    def go(index: int, events: tuple[Event, ...], held: Answers) -> Iterator[Trajectory]:
        if index == len(plan):
            yield Trajectory(events, "completed", None, held)
            return
        step = plan[index]
        if step.skip:
            yield from go(index + 1, (*events, Event("record", step)), held)
            return
        entered = (*events, Event("enter", step))
        asked = workload.questions(step.task) if workload.task(step.task).questions else ()
        if step.again and ask_again and asked:
            yield Trajectory(entered, "parked", asked[0], held)
        yield from ask(index, entered, held, asked)

    def ask(index: int, events: tuple[Event, ...], held: Answers, open_: tuple[Question, ...]) -> Iterator[Trajectory]:
        while open_ and answer_of(held, open_[0]) is not None:
            open_ = open_[1:]
        if not open_:
            yield from fire(index, events, held)
            return
        yield Trajectory(events, "parked", open_[0], held)
        for token in pool:
            # Misroute serves an answer to another question; what StrayPoisons left behind goes to any.
            if token.question == open_[0] and token != stray:
                continue
            yield from ask(index, events, with_answer(held, open_[0], token), open_[1:])

    def fire(index: int, events: tuple[Event, ...], held: Answers) -> Iterator[Trajectory]:
        step = plan[index]
        tokens = tuple([t.text for q, t in held if q.task == step.task])
        if not step.silent:
            events = (*events, Event("effect", step, tokens))
        if poison == step.task and not step.silent:
            yield Trajectory(events, "invalid", None, held)
            if "InvalidPersist" in faults:
                yield Trajectory((*events, Event("record", step, tokens)), "invalid", None, held)
            elif not step.again:  # what a fault runs again it need not record again
                return
        yield from go(index + 1, (*events, Event("record", step, tokens)), held)

    yield from go(0, (), answers)


def finish(
    workload: Workload, branch: Branch, trajectory: Trajectory, delivered: Question | None, faults: Faults
) -> Iterator[Run]:
    """The command goes through: every way in which the branch may then stand.

    What refuses an invalid update may end the life before records that nobody waited for: with LateRecord, as in a death.
    """
    events, end, question, answers = trajectory
    visible = branch.visible
    effects = tuple([Mark(e.step.task, e.tokens) for e in events if e.kind == "effect"])
    reentered = frozenset([e.step.task for e in events if e.kind == "enter" and e.step.task in visible])
    records = [e for e in events if e.kind == "record"]
    again = any([e.step.again for e in events])
    for twice in (False, True) if again else (False,):
        if end == "invalid":
            for kept in _durable(records, faults):
                left = _recorded(branch, records[:kept], twice, status="crashed", poisoned=True, answers=answers)
                for refused in _in_doubt(left, delivered):
                    yield from _runs("refused", effects, reentered, refused)
            continue
        acked, asked = add(branch.acked, *[q for q, _ in answers]), branch.asked
        pending = marks = None
        if end == "parked" and question is not None:
            pending = (question,)
            acked, asked = tuple([q for q in acked if q != question]), add(asked, question)
        after = _recorded(branch, records, twice, status=end, answers=answers, acked=acked, inflight=(), asked=asked)
        if end == "completed":
            marks = after.marks
        yield from _runs(end, effects, reentered, after, pending, marks)


def cut(
    workload: Workload, branch: Branch, trajectory: Trajectory, delivered: Question | None, faults: Faults
) -> Iterator[Run]:
    """The command dies: every crash state of the trajectory, with the store's doubts (docs/CONTRACT.md, *store doubts*).

    The record of the last task whose effect fired may be durable, or durable but not shown by the frontier, or missing;
    the answer that the command delivered may be durable or not. With LateRecord any number of records is missing. A life
    that a fault made run durable tasks again may have dropped their records first.
    """
    events, answers = trajectory.events, trajectory.answers
    again = frozenset([e.step.task for e in events if e.step.again])
    stores = (branch, _forgetting(branch, again)) if again else (branch,)
    choices = tuple(product(stores, (False, True) if again else (False,)))
    visible = branch.visible
    effects: tuple[Mark, ...] = ()
    reentered: frozenset[int] = frozenset()
    records: list[Event] = []
    before: object = None
    for end, last in enumerate((None, *events)):
        fired = False
        if last is not None:
            task = last.step.task
            if last.kind == "enter":
                reentered = reentered | {task} if task in visible else reentered
            elif last.kind == "record":
                records.append(last)
            else:
                effects, fired = (*effects, Mark(task, last.tokens)), True
        status: Status = "parked" if last is None and branch.status == "parked" and delivered is None else "crashed"
        now = (status, effects, reentered, len(records))
        if now == before:
            continue  # a task was entered, which leaves nothing new behind
        before = now
        # An update that broke the schema is in no record.
        recordable = fired and not (trajectory.end == "invalid" and end == len(events))
        for kept in _durable(records, faults):
            for store, twice in choices:
                after = _recorded(store, records[:kept], twice, status=status, answers=answers)
                for doubtful in _in_doubt(after, delivered):
                    yield from _runs("crashed", effects, reentered, doubtful)
                    if recordable and last is not None and last.step.task not in doubtful.done:
                        known = _hide(doubtful, last, answers)  # a record holds what its task was told
                        yield Run(Expect("crashed", effects, None, None, reentered, frozenset(known.visible)), known)


def _runs(
    kind: str,
    effects: tuple[Mark, ...],
    reentered: frozenset[int],
    branch: Branch,
    pending: tuple[Question, ...] | None = None,
    marks: tuple[Mark, ...] | None = None,
) -> tuple[Run, ...]:
    """One way to leave the branch; what the frontier does not show it may show after any command."""
    shows = Expect(kind, effects, pending, marks, reentered, frozenset(branch.visible))
    run = Run(shows, branch)
    if not branch.hidden:
        return (run,)
    return run, Run(shows._replace(frontier=frozenset(branch.done)), branch._replace(hidden=()))


def _durable(records: Sequence[Event], faults: Faults) -> range:
    """How many of a life's records are durable when it ends before its time."""
    fewest = 0 if "LateRecord" in faults else len(records)
    return range(fewest, len(records) + 1)


def _recorded(branch: Branch, records: Sequence[Event], twice: bool, **others: Any) -> Branch:
    """The branch with these records, and with the other changes."""
    if not records:
        return branch._replace(**others)
    done, marks = list(branch.done), list(branch.marks)
    for event in records:
        if event.step.task not in done:
            done.append(event.step.task)
            if not event.step.skip:
                marks.append(Mark(event.step.task, event.tokens))
        elif twice and not event.step.silent:
            marks.append(Mark(event.step.task, event.tokens))
    hidden = () if len(done) > len(branch.done) else branch.hidden
    return branch._replace(done=tuple(sorted(done)), marks=tuple(marks), hidden=hidden, **others)


def _forgetting(branch: Branch, tasks: frozenset[int]) -> Branch:
    inherited, own = branch.marks[: branch.base], branch.marks[branch.base :]
    return branch._replace(
        done=tuple(t for t in branch.done if t not in tasks),
        hidden=tuple(t for t in branch.hidden if t not in tasks),
        marks=(*inherited, *(mark for mark in own if mark.task not in tasks)),
    )


def _hide(branch: Branch, event: Event, answers: Answers) -> Branch:
    task = event.step.task
    marks = (*branch.marks, Mark(task, event.tokens))
    return branch._replace(done=add(branch.done, task), hidden=(task,), marks=marks, answers=answers)


def _in_doubt(branch: Branch, delivered: Question | None) -> tuple[Branch, ...]:
    """Answers of durable tasks are acknowledged; the delivered one, if its task is not, may or may not be durable."""
    acked = add(branch.acked, *[q for q, _ in branch.answers if q.task in branch.done])
    inflight = tuple([q for q in branch.inflight if q not in acked])
    if delivered is None or delivered.task in branch.done:
        return (branch._replace(acked=acked, inflight=inflight),)
    waiting = branch._replace(acked=acked, inflight=add(inflight, delivered))
    return waiting, waiting._replace(answers=without_answer(branch.answers, delivered))
