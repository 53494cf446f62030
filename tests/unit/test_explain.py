"""Explanations leave out switches that cannot strike in the commands sent: that must not lose a set."""

from itertools import combinations

from random_traces import random_cases

from fuzzresume.contract.explain import candidates, explain
from fuzzresume.contract.faults import NONE, SEQUENTIAL
from fuzzresume.contract.monitor import replay
from fuzzresume.contract.reference import Reference

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
