"""What the reference remembers is what it would find anew: its memo leaves out what a command's rule does not look at."""

import random
from dataclasses import replace

import pytest
from random_traces import random_steps

from fuzzresume.contract.commands import OPS, CrashPoint
from fuzzresume.contract.faults import FAULTS, NONE, SEQUENTIAL
from fuzzresume.contract.heeded import HEEDED
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import distinct

STEPS = random_steps(seed=11, number=2500)


def anew(workload, state, command, faults):
    """The relation itself, with nothing remembered and every switch told."""
    return distinct(Reference(workload)._step(state, command, frozenset(faults)))


def assert_the_same(reference, state, command, faults):
    """What is remembered, whole and of what was seen, is what is found anew."""
    ways = anew(reference.workload, state, command, faults)
    assert reference.step(state, command, faults) == ways
    for seen in random.Random(1).sample(ways, min(3, len(ways))):
        shown = tuple(way for way in ways if way.expect[:2] == seen.expect[:2])
        assert reference.step(state, command, faults, seen.expect) in (shown, ways)


def test_every_command_is_among_the_steps_and_has_a_row():
    assert {command.op for _, _, command in STEPS} == set(HEEDED) - {"race"} and set(HEEDED) == set(OPS)


def test_what_is_remembered_is_what_is_found_anew():
    rng, shared = random.Random(3), {}
    for workload, state, command in STEPS[:600]:
        reference = shared.setdefault(workload, Reference(workload))
        for faults in (NONE, frozenset(rng.sample(SEQUENTIAL, 3)), frozenset(rng.sample(SEQUENTIAL, 9))):
            assert_the_same(reference, state, command, faults)


def test_forks_of_one_trunk_are_one_only_where_all_that_they_look_at_is():
    faults = frozenset({"ForkIgnore", "ForkLeak", "Misroute", "LateRecord", "InvalidPersist"})
    crash = CrashPoint("effect.before:1")
    forks = [step for step in STEPS if step[2].op == "fork" and step[2].token.question in step[1].trunk.asked]
    for workload, state, command in forks[:12]:
        reference, gate = Reference(workload), command.token.question.task
        states = [state, state._replace(tokens=()), state._replace(stray=command.token), state._replace(fork=state.trunk)]
        for one in states:
            for sent in (command, *(replace(command, crash=c, poison=p) for c in (None, crash) for p in (None, gate))):
                for some in (faults, faults - {"ForkLeak"}):
                    assert_the_same(reference, one, sent, some)


RARE = {"RefuseRecovery", "InvalidPersist", "LateRecord"}
"""What random steps seldom leave room for in a command that is seldom drawn."""


@pytest.mark.parametrize("op", [op for op in HEEDED if op != "race"])
def test_without_a_switch_in_its_row_a_command_would_be_another(op):
    mine = [step for step in STEPS if step[2].op == op]
    beside = {"InspectActs"} if op == "inspect" else NONE  # without it nobody lives in an inspection
    heeded = {n for n in FAULTS if any(anew(*step, beside | {n}) != anew(*step, beside - {n}) for step in mine)}
    assert HEEDED[op] - RARE <= heeded <= HEEDED[op] | {"TamperAccept"}
