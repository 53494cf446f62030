"""Explanations leave out switches that cannot strike in the commands sent: that must not lose a set."""

from itertools import combinations

from random_traces import random_cases

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.explain import candidates, explain
from fuzzresume.contract.faults import NONE, SEQUENTIAL
from fuzzresume.contract.monitor import NOTHING, Seen, replay
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import Expect, State
from fuzzresume.contract.workload import Mark, Question, Token, Workload

CASES = [case for case in random_cases(seed=5, number=150) if not replay(Reference(case.workload), case.trace, NONE)]


def all_smallest(reference, trace):
    """What `explain` says, from every pair of every switch."""
    for size in (1, 2):
        sets = (names for names in combinations(SEQUENTIAL, size) if replay(reference, trace, frozenset(names)))
        if found := tuple(sets):
            return found
    return ()


def test_no_smallest_set_has_a_switch_that_was_left_out():
    sizes = set()
    for case in CASES[:30]:
        reference = Reference(case.workload)
        found = explain(reference, case.trace)
        assert found == all_smallest(reference, case.trace)
        sizes |= {len(names) for names in found} or {0}
    assert sizes == {0, 1, 2}


def test_switches_are_left_out():
    left = [set(SEQUENTIAL) - set(candidates(case.trace)) for case in CASES]
    assert all(left) and set().union(*left) >= {"ForkIgnore", "TamperAccept", "Misroute", "InvalidPersist", "LateRecord"}
    assert "Replay" not in set().union(*left)


def test_what_the_profile_has_is_no_candidate():
    assert "Replay" not in candidates(CASES[0].trace, frozenset({"Replay"}))


def test_many_forks_beyond_a_large_profile_stay_small():
    """Under nine switches a fork has thousands of transitions, in each of the many states that forks lead to."""
    reference, first, second = Reference(Workload.linear()), Question(2, 1), Question(2, 2)
    dies, kinds = CrashPoint("effect.after:2"), ("parked", "parked", "completed", "crashed", "crashed")
    sent = [Command("start"), Command("resume", Token(first, 1)), Command("resume", Token(second, 2))]
    sent += [Command("fork", Token(second, number), crash=dies) for number in (3, 4)]
    trace, state = [], State()
    for command, kind in zip(sent, kinds, strict=True):
        ways = [way for way in reference.step(state, command) if way.expect.kind == kind]
        expect, state, _ = max(ways, key=lambda way: len(way.expect.effects))
        trace.append((command, Seen(expect, NOTHING)))
    odd = Expect("completed", (Mark(3), Mark(2, ("odd",))))
    profile = frozenset({"ForkIgnore", "ForkLeak", "Misroute", "StrayPoisons", "DoubleConsume", "LateRecord", "RestartMix"})
    assert explain(reference, [*trace, (Command("fork", Token(second, 5)), Seen(odd, NOTHING))], profile) == ()
    kept = sum(len(found) for known in reference._memo.values() for found in known.values())
    assert kept < 10_000
