"""Helpers of the contract's tests: runs as an honest or a broken engine would show them, written by hand."""

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.monitor import Monitor
from fuzzresume.contract.observation import Asked, Entry, Frontier, Observation, Outcome
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Mark, Question, Token, Workload

WORKLOAD = Workload.linear()
Q1, Q2 = Question(2, 1), Question(2, 2)
A, B, C = Token(Q1, 1), Token(Q2, 2), Token(Q1, 3)
MARKS = (Mark(1), Mark(2, (A.text, B.text)), Mark(3))
KILLED = CrashPoint("effect.after:1")


def seen(kind, *, effects=(), enters=None, before=(), after=(), asked=(), marks=None, twin=None, **outcome):
    """An observation; effects are marks, and every effect was entered unless `enters` says otherwise."""
    enters = [m.task for m in effects] if enters is None else enters
    entries = [Entry("enter", t) for t in enters] + [Entry("effect", m.task, m.tokens) for m in effects]
    return Observation(
        Outcome(kind, tuple(Asked(q) for q in asked), marks, **outcome),
        tuple(entries),
        Frontier(before),
        Frontier(after),
        twin,
    )


START = (Command("start"), seen("parked", effects=(Mark(1),), after=(1,), asked=(Q1,)))
FIRST = (Command("resume", A), seen("parked", enters=[2], before=(1,), after=(1,), asked=(Q2,)))
SECOND = (Command("resume", B), seen("completed", effects=MARKS[1:], before=(1,), after=(1, 2, 3), marks=MARKS))
WHOLE = [START, FIRST, SECOND]
REFERENCE = Reference(WORKLOAD)


def judge_run(*exchanges, profile=frozenset()):
    """(monitor, violation) after a run."""
    monitor = Monitor(REFERENCE, profile)
    for command, observation in exchanges:
        violation = monitor.observe(command, observation)
        if violation is not None:
            return monitor, violation
    return monitor, None
