"""Shorter traces than any deletion leads to: the shortest in which the reference knows that the finding can show.

Deleting commands ends where each is needed as it stands. A shorter trace of the same finding may ask another question, or
die elsewhere. The candidates are all sequences in which the mechanisms that explain the finding could break the contract,
those most like the trace first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from fuzzresume.contract.commands import Command, CrashPoint, Op
from fuzzresume.contract.foresight import can_violate
from fuzzresume.contract.life import Faults
from fuzzresume.contract.menu import Label, Scope, Spent, command, menu, spend, token_for
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State

LONGEST = 3
"""Commands of a candidate at most: there are too many longer ones, and deletion finds them."""

DEATHS = 3
"""Crash points tried for one command at most."""

FAMILY: Mapping[str, str] = {"redeliver": "resume", "stray": "resume", "retry": "recover", "recover2": "recover"}
"""Commands that are one another's neighbours: deliveries, and recoveries."""


def shorter(
    reference: Reference,
    trace: Sequence[Command],
    scope: Scope,
    profile: Faults,
    mechanisms: Sequence[frozenset[str]],
    points: Mapping[Op, Sequence[CrashPoint]],
) -> Iterator[tuple[Command, ...]]:
    """Traces of `reference`'s workload with fewer commands than this one that may show the same, the shortest first."""
    for length, sequences in enumerate(_sequences(reference, trace, scope), 1):
        if length >= len(trace) or length > LONGEST:
            return
        for plain in _ranked(sequences, trace):
            if can_violate(reference, plain, profile, mechanisms):
                yield from _with_deaths(plain, trace, points)


def candidates(
    reference: Reference, trace: Sequence[Command], scope: Scope, points: Mapping[Op, Sequence[CrashPoint]]
) -> Iterator[tuple[Command, ...]]:
    """All short sequences of what the trace is made of, the shortest first, whatever can come of them."""
    for length, sequences in enumerate(_sequences(reference, trace, scope), 1):
        if length > LONGEST:
            return
        for plain in _ranked(sequences, trace):
            yield from _with_deaths(plain, trace, points)


def distinct(points: Sequence[CrashPoint]) -> list[CrashPoint]:
    """The kills that can leave different stores behind, the last first: nothing is written between two calls."""
    kills = [point for point in points if point.by == "kill"]
    return [point for point in reversed(kills) if point.hook.partition(":")[0].endswith(".after") or point is kills[0]]


def _sequences(reference: Reference, trace: Sequence[Command], scope: Scope) -> Iterator[list[tuple[Command, ...]]]:
    """For each length, the sequences that make sense in some way that the reference knows."""
    todo: dict[tuple[Command, ...], dict[tuple[State, Spent], None]] = {(): {(State(), Spent()): None}}
    while True:
        onward: dict[tuple[Command, ...], dict[tuple[State, Spent], None]] = {}
        for sent, stands in todo.items():
            for state, spent in stands:
                for item in menu(reference.workload, state, spent, scope):
                    if item.at == "latest":
                        chosen = _command(item, state, spent, trace)
                        after = onward.setdefault((*sent, chosen), {})
                        for step in reference.step(state, chosen):
                            after[step.state, spend(state, spent, chosen, step.expect.kind)] = None
        todo = onward
        yield list(todo)


def _command(item: Label, state: State, spent: Spent, trace: Sequence[Command]) -> Command:
    kind = next((sent.kind for sent in trace if sent.op == "tamper"), "empty") if item.op == "tamper" else None
    death = CrashPoint("effect.after:1") if item.crash else None
    return command(item, token_for(state, spent, item), death, kind)


def _ranked(sequences: Sequence[tuple[Command, ...]], trace: Sequence[Command]) -> list[tuple[Command, ...]]:
    """Those that fit, the likeliest first: with a plain last command, and then the most like the trace."""
    fitting = [sent for sent in sequences if _fits(sent, trace)]
    return sorted(fitting, key=lambda sent: (_modified(sent[-1]), -_alike(sent, trace)))


def _modified(sent: Command) -> bool:
    return sent.crash is not None or sent.poison is not None


def _fits(sent: Sequence[Command], trace: Sequence[Command]) -> bool:
    """No death and no poison that the trace does not have, and none in the last command unless it has it there."""
    return (
        sum(one.crash is not None for one in sent) <= sum(one.crash is not None for one in trace)
        and (any(one.poison is not None for one in trace) or all(one.poison is None for one in sent))
        and (_modified(trace[-1]) or not _modified(sent[-1]))
    )


def _alike(sent: Sequence[Command], trace: Sequence[Command]) -> int:
    """How much of a candidate is made of what the trace is made of; a recovery fits wherever something died."""
    return (_parts(sent) & (_parts(trace) + Counter({"recover": 1}))).total()


def _parts(sent: Sequence[Command]) -> Counter[str]:
    parts = Counter(FAMILY.get(one.op, one.op) for one in sent)
    parts["death"] = sum(one.crash is not None for one in sent)
    parts["poison"] = sum(one.poison is not None for one in sent)
    return parts


def _with_deaths(
    plain: tuple[Command, ...], trace: Sequence[Command], points: Mapping[Op, Sequence[CrashPoint]]
) -> Iterator[tuple[Command, ...]]:
    """The same commands with real crash points: the trace's own for that kind of command, else the last of those known."""
    choices: list[list[Command]] = []
    for sent in plain:
        if sent.crash is None:
            choices.append([sent])
            continue
        own = [other.crash for other in trace if other.op == sent.op and other.crash is not None]
        found = list(dict.fromkeys([*own, *distinct(points.get(sent.op, ()))]))[:DEATHS]
        choices.append([replace(sent, crash=point) for point in found])
    yield from product(*choices)
