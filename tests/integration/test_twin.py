"""The Python reference and the one in `tla/` are one relation: the same graphs, the same words, the same judgements."""

import gc
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from random_traces import random_cases

from fuzzresume.contract.explain import explain
from fuzzresume.contract.faults import NONE, SEQUENTIAL
from fuzzresume.contract.monitor import replay
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.formal import twin, words
from fuzzresume.formal.replay import Case, Judgement, judge
from fuzzresume.formal.toolchain import Toolchain

GRAPHS = {
    "gate-first": (864, 4_726, 4_727),
    "one-question": (890, 4_395, 4_396),
    "default": (1_570, 8_365, 8_366),
    "two-gates": (241, 1_521, 1_522),
    "single-faults": (14_584, 85_831, 85_850),
}
"""Nodes, edges and states generated, one of which is each fault set's first."""

FAULT_SETS = twin.NONE_OR_ONE
HALF = len(FAULT_SETS) // 2 + 1
WORDS = (
    pytest.param((1, 0), True, (NONE,), 6, 63, 3_839, 88_269_183, id="one-question-every-choice"),
    pytest.param((2, 0), False, FAULT_SETS, 6, 17, 6_750, 799_744, id="two-questions-every-fault"),
    # In two parts, which two workers can share.
    pytest.param((1, 0), False, FAULT_SETS[:HALF], 5, 23, 3_556, 69_266, id="one-question-some-faults"),
    pytest.param((1, 0), False, FAULT_SETS[HALF:], 5, 23, 4_050, 64_484, id="one-question-other-faults"),
)
"""Shape, whether the alphabet has every legal choice, fault sets, the longest word; then events, nodes of the automaton and
words admitted."""


@pytest.fixture(autouse=True)
def no_garbage_collection():
    """Values have no cycles and live until a test ends: looking for cycles among them takes half of the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def toolchain():
    return Toolchain.find()


@cache
def reference_of(workload):
    return Reference(workload)


def test_every_bound_has_its_figures():
    assert [bounds.name for bounds in twin.COMPARED] == list(GRAPHS)


@pytest.mark.parametrize("bounds", twin.COMPARED, ids=lambda bounds: bounds.name)
def test_the_graphs_are_one(bounds, toolchain):
    ours = twin.python_graph(bounds)
    theirs, result = twin.tlc_graph(bounds, toolchain)
    assert twin.compare(ours, theirs) == ()
    assert result.distinct == len(ours.nodes)
    assert (len(ours.nodes), ours.edges, ours.generated) == GRAPHS[bounds.name]


@pytest.mark.parametrize("shape, choices, fault_sets, length, events, nodes, admitted", WORDS)
def test_the_same_words_are_admitted(shape, choices, fault_sets, length, events, nodes, admitted, toolchain):
    reference = reference_of(Workload.linear(len(shape), dict(enumerate(shape, 1))))
    automaton = words.automaton(reference, words.alphabet(reference, choices=choices), fault_sets, length=length)
    assert (len(automaton.events), automaton.nodes, sum(automaton.words)) == (events, nodes, admitted)
    assert words.parting(automaton, toolchain) == ""


def admitted_event_removed(children, event, child):
    del children[child - 1][min(children[child - 1])]
    return [1, child, 0]


def refused_event_admitted(children, event, child):
    refused = next(e for e in range(1, 24) if e not in children[child - 1])
    children[child - 1][refused] = child
    return [1, child, 0]


def wrong_child(children, event, child):
    children[0][event] = 1
    return [1, 1, 0]


@pytest.mark.parametrize("plant", [admitted_event_removed, refused_event_admitted, wrong_child])
def test_a_planted_parting_is_found_on_a_shortest_word(plant, toolchain):
    reference = reference_of(Workload.linear(2, {1: 1}))
    automaton = words.automaton(reference, words.alphabet(reference, choices=False), (NONE,), length=4)
    assert len(automaton.events) == 23
    children = [dict(onward) for onward in automaton.children]
    event, child = max(children[0].items())
    assert child != 1
    path = plant(children, event, child)
    said = words.parting(replace(automaton, children=tuple(children)), toolchain)
    assert "NeverPart is violated" in said
    assert [int(node) for node in re.findall(r"^/\\ node = (\d+)", said, re.MULTILINE)] == path


def test_a_node_that_one_side_lacks_is_found(toolchain):
    reference = reference_of(Workload.linear(2, {1: 1}))
    automaton = words.automaton(reference, words.alphabet(reference, choices=False), (NONE,), length=1)
    counted = f"{automaton.nodes + 1} nodes in Python, {automaton.nodes} in TLC"
    assert words.parting(replace(automaton, nodes=automaton.nodes + 1), toolchain) == counted


def judgement(case: Case) -> Judgement:
    """Python's: the first refused index, and every smallest explanation."""
    reference = reference_of(case.workload)
    prefixes = (case.trace[:n] for n in range(1, len(case.trace) + 1))
    refused = next((i for i, prefix in enumerate(prefixes) if not replay(reference, prefix, case.profile)), None)
    if refused is None:
        return Judgement(None)
    return Judgement(refused, tuple(sorted(explain(reference, case.trace, case.profile, largest=case.largest))))


def verdict(judged: Judgement) -> str:
    """In a word."""
    if judged.refused is None:
        return "admitted"
    return f"explained by {len(judged.explained_by[0])}" if judged.explained_by else "unexplained"


def with_profiles(cases: list[Case], judged: list[Judgement]) -> Iterator[Case]:
    """Fifty cases beyond known deviations: mostly one that explains the case, or half of a pair that does; else any two."""
    explained = [(case, its) for case, its in zip(cases, judged, strict=True) if its.explained_by]
    explained.sort(key=lambda pair: -len(pair[1].explained_by[0]))  # pairs first: they are rare
    for case, its in explained[:35]:
        yield replace(case, profile=frozenset(its.explained_by[0][:1]))
    rng = random.Random(0)
    for case in rng.sample([case for case, its in zip(cases, judged, strict=True) if its.refused is not None], 15):
        yield replace(case, profile=frozenset(rng.sample(SEQUENTIAL, 2)))


def test_traces_are_judged_alike(toolchain):
    cases = random_cases(1, 1_000)
    plain = [judgement(case) for case in cases]
    profiled = list(with_profiles(cases, plain))
    singly = [replace(c, largest=1) for c, its in zip(cases, plain, strict=True) if verdict(its) == "explained by 2"]
    batch = [*cases, *profiled, *singly]
    ours = plain + [judgement(case) for case in batch[len(cases) :]]
    theirs = judge(batch, toolchain)
    assert [parted for parted in zip(batch, ours, theirs, strict=True) if parted[1] != parted[2]] == []
    # The batch has everything that could have gone wrong.
    every = {"admitted", "explained by 1", "explained by 2", "unexplained"}
    assert set(map(verdict, plain)) == every
    assert {its.refused for its in plain} >= {None, *range(6)}
    assert len(profiled) == 50 and all(case.profile for case in profiled)
    assert set(map(verdict, ours[1_000:1_050])) == every - {"explained by 2"}
    assert set(map(verdict, ours[1_050:])) == {"unexplained"}
