"""Random traces for the comparison with TLC: walks on the reference under random faults, a part of them corrupted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from fuzzresume.contract.commands import OPS, TAMPER_KINDS, Command, CrashPoint
from fuzzresume.contract.faults import SEQUENTIAL
from fuzzresume.contract.menu import Scope, Spent, command, menu, spend
from fuzzresume.contract.monitor import Seen, Sight
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import Expect, State, Transition
from fuzzresume.contract.workload import Mark, Token, Workload
from fuzzresume.formal.replay import Case

SHAPES = ((0, 2, 0), (0, 1, 0), (1, 0), (1, 1), (2,))
KINDS = ("parked", "completed", "refused", "crashed", "idle", "inert", "hung")


def random_cases(seed: int, number: int) -> list[Case]:
    """Reproducible cases of every shape, half of them from the fault-free reference, a third corrupted in one place."""
    rng = random.Random(seed)
    references = [Reference(Workload.linear(len(s), dict(enumerate(s, 1)))) for s in SHAPES]
    cases = []
    while len(cases) < number:
        reference = rng.choice(references)
        faults = frozenset(rng.sample(SEQUENTIAL, rng.choice((0, 0, 1, 1, 2))))
        trace = list(_walk(rng, reference, faults, rng.randint(2, 7)))
        if trace and rng.random() < 1 / 3:
            at = rng.randrange(len(trace))
            trace[at] = (trace[at][0], _corrupt(rng, reference.workload, trace[at][1]))
        if trace:
            cases.append(Case(reference.workload, tuple(trace)))
    return cases


def random_steps(seed: int, number: int) -> list[tuple[Workload, State, Command]]:
    """Reproducible states of every shape, reached under several faults at once, each with a command for it."""
    rng = random.Random(seed)
    references = [Reference(Workload.linear(len(s), dict(enumerate(s, 1)))) for s in SHAPES]
    steps: list[tuple[Workload, State, Command]] = []
    while len(steps) < number:
        reference = rng.choice(references)
        for state, sent, _ in _steps(rng, reference, frozenset(rng.sample(SEQUENTIAL, 4)), 8):
            if sent.op not in ("recover2", "inspect", "reload", "tamper") and rng.random() < 0.3:
                sent = replace(sent, poison=rng.choice(reference.workload.order))
            if sent.op == "recover" and rng.random() < 0.2:
                sent = replace(sent, op="retry")  # which the menu seldom offers
            steps.append((reference.workload, state, sent))
    return steps[:number]


def _walk(rng: random.Random, reference: Reference, faults: frozenset[str], length: int) -> Iterator[Sight]:
    for _, sent, chosen in _steps(rng, reference, faults, length):
        yield sent, _seen(rng, chosen.expect)


def _steps(
    rng: random.Random, reference: Reference, faults: frozenset[str], length: int
) -> Iterator[tuple[State, Command, Transition]]:
    state, spent = State(), Spent()
    for _ in range(length):
        sent = _anything(rng, reference, spent) if rng.random() < 0.1 else _sensible(rng, reference, state, spent)
        ways = reference.step(state, sent, faults) if sent is not None else ()
        if sent is None or not ways:
            return
        chosen = rng.choice(ways)
        yield state, sent, chosen
        spent = spend(state, spent, sent, chosen.expect.kind)
        state = chosen.state


def _sensible(rng: random.Random, reference: Reference, state: State, spent: Spent) -> Command | None:
    labels = menu(reference.workload, state, spent, Scope(tamper=TAMPER_KINDS, crashes=2, specials=3))
    if not labels:
        return None
    label = rng.choice(labels)
    token = None
    if label.question is not None:
        used = [t for t in state.tokens if t.question == label.question]
        token = rng.choice(used) if used and not label.fresh else Token(label.question, spent.tokens + 1)
    crash = CrashPoint("effect.before:1") if label.crash else None
    return command(label, token, crash, rng.choice(TAMPER_KINDS) if label.op == "tamper" else None)


def _anything(rng: random.Random, reference: Reference, spent: Spent) -> Command:
    op = rng.choice(OPS[:-1])  # no race: its commands are racers, and TLC does not judge it
    token = Token(rng.choice(reference.workload.questions()), rng.randint(1, spent.tokens + 1))
    delivers = op in ("resume", "redeliver", "stray", "fork")
    return Command(
        op,
        token if delivers else None,
        branch=rng.choice(("latest", "trunk")),
        crash=rng.choice((None, CrashPoint("effect.before:1"))),
        kind=rng.choice(TAMPER_KINDS) if op == "tamper" else None,
    )


def _seen(rng: random.Random, expect: Expect) -> Seen:
    """An observation that fits: what is not compared is absent, and now and then so is what could be compared."""
    plain = expect._replace(fresh=None, twin=None if expect.twin is None else expect.twin._replace(fresh=None))
    if rng.random() < 0.1:
        plain = plain._replace(frontier=None, reentered=None)
    return Seen(plain, frozenset())


def _corrupt(rng: random.Random, workload: Workload, seen: Seen) -> Seen:
    expect = seen.expect
    task = rng.choice(workload.order)
    token = Token(rng.choice(workload.questions()), rng.randint(1, 3)).text
    match rng.randrange(8):
        case 0:
            return seen._replace(expect=expect._replace(kind=rng.choice(KINDS)))
        case 1:
            return seen._replace(expect=expect._replace(effects=(*expect.effects, Mark(task))))
        case 2:
            return seen._replace(expect=expect._replace(effects=expect.effects[1:]))
        case 3:
            return seen._replace(expect=expect._replace(frontier=frozenset({task})))
        case 4:
            return seen._replace(expect=expect._replace(pending=(rng.choice(workload.questions()),)))
        case 5:
            return seen._replace(expect=expect._replace(marks=(Mark(task, (token,)),)))
        case 6:
            return seen._replace(expect=expect._replace(reentered=frozenset({task})))
        case _:
            return seen._replace(shown=frozenset({token, "not a token"}))
