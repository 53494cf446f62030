"""The reference gives every command a meaning in every state, not only where the menu offers it.

So what is drawn here heeds nothing: answers to questions that nobody asked, forks of anything, deaths and invalid updates in
any command. A legal engine stays silent, and a planted fault is explained by its own switch.
"""

import random
from dataclasses import replace

import pytest
from campaigns import REFERENCE

from fuzzresume.adapters.durable.policy import OPTIONS
from fuzzresume.adapters.reference import ADAPTER
from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.commands import Command
from fuzzresume.contract.faults import NONE, SEQUENTIAL
from fuzzresume.contract.workload import Token
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.run import scope_of
from fuzzresume.harness.target import Target, parse_target

TOLD = ("resume", "stray", "fork")
QUIET = ("inspect", "reload", "recover2")
OPS = ("start", "recover", "recover", "restart", "redeliver", "resume", "resume", *TOLD, *QUIET)
QUESTIONS = REFERENCE.workload.questions()


def drawn(rng, run, sent, points):
    """Any command, or now and then one that the menu offers, so that a run gets somewhere."""
    offered = [item for item in run.offer() if item.op != "tamper"]
    op = rng.choice(OPS)
    if offered and rng.random() < 0.45:
        command = run.fill(rng.choice(offered))
    elif op == "redeliver":
        command = Command(op, rng.choice(sent)) if sent else None
    else:
        command = Command(op, Token(rng.choice(QUESTIONS), run.spent.tokens + 1) if op in TOLD else None)
    if command is None or command.op in QUIET:
        return command
    if run.state.fork is not None and command.op in ("resume", "stray", "redeliver", "recover") and rng.random() < 0.3:
        command = replace(command, at="latest", branch="trunk")
    crash = rng.choice(points) if rng.random() < 0.35 else None
    return replace(command, crash=crash, poison=rng.choice((1, 2, 3)) if rng.random() < 0.12 else None)


def violation_of(target, rng, executor, profile=NONE):
    """The trace of one run, if it is violated."""
    points = [point for points in executor.crash_points(target).values() for point in points]
    run = executor.open(target, scope=scope_of(target.capabilities, crashes=9, specials=9), profile=profile)
    sent = []
    try:
        for _ in range(rng.choice((5, 7, 9))):
            if run.over:
                break
            if (command := drawn(rng, run, sent, points)) is None:
                continue
            try:
                run.send(command)
            except Unsupported:
                continue
            sent += [command.token] if command.token is not None and command.op != "fork" else []
    finally:
        executor.close(run)
    return [] if run.violation is None else [(target.options, run.violation.exchanges)]


@pytest.mark.parametrize("seed", range(2))
def test_nothing_that_is_sent_makes_a_legal_engine_alarm(seed, tmp_path):
    rng, executor, found = random.Random(seed), Executor(REFERENCE, tmp_path), []
    for _ in range(150):
        options = {key: rng.choice((values[0], *values)) for key, values in OPTIONS.items()}
        if ADAPTER.valid(options):
            found += violation_of(Target(ADAPTER, options), rng, executor)
    assert found == []


@pytest.mark.parametrize("fault", SEQUENTIAL)
def test_nothing_that_is_sent_takes_a_planted_fault_beyond_its_switch(fault, tmp_path):
    rng, executor, target = random.Random(fault), Executor(REFERENCE, tmp_path), parse_target("mutant", {"fault": fault})
    assert [trace for _ in range(12) for trace in violation_of(target, rng, executor, frozenset({fault}))] == []


def test_without_its_switch_it_is_caught(tmp_path):
    rng, executor, target = random.Random(0), Executor(REFERENCE, tmp_path), parse_target("mutant", {"fault": "Replay"})
    assert any(violation_of(target, rng, executor) for _ in range(12))
