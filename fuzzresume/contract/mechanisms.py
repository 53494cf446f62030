"""What the fault switches put in place of what the contract asks for: other plans, other answers, other branches.

The reference decides where a switch strikes, these functions what it does there (docs/CONTRACT.md, *switch* table).
"""

from __future__ import annotations

from collections.abc import Iterator

from fuzzresume.contract.life import Faults, Plan, Step
from fuzzresume.contract.state import Answers, Branch, State, with_answer
from fuzzresume.contract.workload import Token, Workload


def from_any(workload: Workload, branch: Branch, last: int) -> Iterator[Plan]:
    """DoubleConsume: the plans that begin again at some durable task, not later than task `last`."""
    durable = [t for t in workload.order if t in branch.done]
    todo = _todo(workload, branch)
    for i, first in enumerate(durable):
        if workload.order.index(first) <= workload.order.index(last):
            yield tuple(Step(t, again=True) for t in durable[i:]) + todo


def any_plan(workload: Workload, branch: Branch) -> Iterator[Plan]:
    """InspectActs and NondetRecovery: whatever a life that decides at random could do."""
    yield from from_any(workload, branch, workload.order[-1])
    todo = _todo(workload, branch)
    yield todo
    if todo:
        yield (Step(todo[0].task, skip=True), *todo[1:])
    for t in workload.order:
        if t in branch.done:
            yield (Step(t, again=True),)


def survivors(branch: Branch, answers: Answers, delivered: Token | None, faults: Faults) -> tuple[Answers, ...]:
    """The answers that a life finds in the store; AnswerLost: not those of tasks that are not durable, but the one that
    comes with the command."""
    if "AnswerLost" not in faults:
        return (answers,)
    kept = tuple((q, t) for q, t in answers if q.task in branch.done or t == delivered)
    return (answers, kept) if kept != answers else (answers,)


def ignored(state: State, earlier: Answers, token: Token) -> Iterator[Answers]:
    """ForkIgnore: an older answer in place of the fork's own, and the trunk's answers to later questions of the gate."""
    later = tuple((q, t) for q, t in state.trunk.answers if q > token.question and q.task == token.question.task)
    for served in (token, *(t for t in state.tokens if t.question == token.question and t != token)):
        answers = with_answer(earlier, token.question, served)
        for n in range(len(later) + 1):
            if n or served != token:
                yield (*answers, *later[:n])


def leaked(trunk: Branch, token: Token, fork: Branch) -> Iterator[Branch]:
    """ForkLeak: the trunk with the fork's answer, or the fork in place of the trunk."""
    question = token.question
    yield trunk._replace(answers=with_answer(trunk.answers, question, token))
    yield fork
    if question.task not in trunk.done:
        yield trunk._replace(answers=with_answer(trunk.answers, question, token), status="crashed")


def mixed(workload: Workload, fresh: Branch, old: Branch) -> Iterator[Branch]:
    """RestartMix: a new epoch with a part of the old state only, or with the old prefix or old answers."""
    for n in range(1, len(old.marks)):
        yield fresh._replace(marks=old.marks[:n], base=n)
    order = [t for t in workload.order if t in old.done]
    for kept in range(len(order) + 1):
        done = tuple(sorted(order[:kept]))
        for answers in (old.answers[:n] for n in range(len(old.answers) + 1)):
            for marks in ((), old.marks):
                if kept or answers:
                    yield fresh._replace(status="crashed", done=done, answers=answers, marks=marks, base=0)


def _todo(workload: Workload, branch: Branch) -> Plan:
    return tuple(Step(t) for t in workload.order if t not in branch.done)
