"""Expectations and observations in words, for reports, traces and error messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fuzzresume.contract.commands import Command, letters, say
from fuzzresume.contract.menu import Abstract
from fuzzresume.contract.monitor import Exchange, Violation, reduce
from fuzzresume.contract.observation import Observation
from fuzzresume.contract.state import Expect
from fuzzresume.contract.workload import Mark, Workload


def say_commands(workload: Workload, commands: Sequence[Command]) -> list[str]:
    """A trace's commands in words, answers named a, b, c … in order of delivery."""
    names = letters(tuple(commands))
    return [say(c, names, lambda question: workload.task(question.task).questions) for c in commands]


def say_expect(expect: Expect, names: dict[str, str]) -> str:
    """One expectation: outcome, effects, frontier."""
    words = expect.kind
    if expect.pending:
        words += f" at {', '.join(f'question {q.text}' for q in expect.pending)}"
    words += f"; effects: {_marks(expect.effects, names) or 'none'}"
    if expect.marks is not None:
        words += f"; final state: {_marks(expect.marks, names) or 'empty'}"
    if expect.frontier is not None:
        words += f"; frontier: {_tasks(expect.frontier)}"
    if expect.reentered:
        words += f"; durable tasks entered again: {_tasks(expect.reentered)}"
    if expect.twin is not None and expect.twin != expect._replace(twin=None):
        words += f"; the other recovery: {say_expect(expect.twin, names)}"
    return words


def say_observation(observation: Observation, names: dict[str, str]) -> str:
    """One observation, in the same words as an expectation, with the framework's own error."""
    words = say_expect(reduce(observation).expect, names)
    outcome = observation.outcome
    if outcome.error:
        words += f"; {outcome.error}: {outcome.message}".rstrip(": ")
    if observation.after.done is None:
        words += f"; frontier unreadable: {observation.after.why}"
    return words


def say_violation(violation: Violation) -> tuple[str, str]:
    """(expected, observed) in words. Only the expectations nearest to what was seen are listed, three at most."""
    names = wire_names(violation.exchanges)
    seen = reduce(violation.observation).expect
    crash = violation.command.crash is not None
    possible = [e for e in violation.expected if crash or e.kind != "crashed"] or list(violation.expected)
    nearest = sorted(dict.fromkeys(possible), key=lambda e: (-_alike(e, seen), len(str(e))))
    expected = " — or — ".join(dict.fromkeys(say_expect(e, names) for e in nearest[:3]))
    return expected or "nothing: the run was over", say_observation(violation.observation, names)


def say_explanation(sets: Iterable[Sequence[str]]) -> str:
    """The sets of switches that explain a trace: `Replay or ForkIgnore+Misroute`; for none of them `nothing known`."""
    return " or ".join("+".join(names) for names in sets) or "nothing known (unexplained)"


def say_state(state: Abstract) -> str:
    """A state of the coverage count: `crashed after {1}, asked 2.1; fork parked after {1}`."""
    trunk, fork, latest, tampered, over = state
    words = _branch(trunk)
    if fork is not None:
        words += f"; fork {_branch(fork)}" + (" (latest)" if latest == "fork" else "")
    return words + ("; store damaged" if tampered else "") + ("; over" if over else "")


def _branch(branch: Any) -> str:
    status, visible, acked, inflight, asked, inherited, poisoned = branch
    words = f"{status} after {_tasks(visible)}"
    for name, questions in (("answered", acked), ("delivered to", inflight), ("asked", asked)):
        if questions:
            words += f", {name} {' '.join(q.text for q in questions)}"
    return words + (", on inherited state" if inherited else "") + (", poisoned" if poisoned else "")


def wire_names(exchanges: Iterable[Exchange]) -> dict[str, str]:
    """Wire text of each answer → its short name."""
    commands = tuple(command for command, _ in exchanges)
    return {token.text: name for token, name in letters(commands).items()}


def _alike(expect: Expect, seen: Expect) -> int:
    return sum(a == b for a, b in zip(expect, seen, strict=True) if a is not None)


def _marks(marks: Iterable[Mark], names: dict[str, str]) -> str:
    return ", ".join(f"{m.task}({', '.join(names.get(t, t) for t in m.tokens)})" if m.tokens else str(m.task) for m in marks)


def _tasks(tasks: Iterable[int]) -> str:
    return "{" + ", ".join(str(t) for t in sorted(tasks)) + "}"


__all__ = ["say_commands", "say_expect", "say_explanation", "say_observation", "say_state", "say_violation", "wire_names"]
