"""What a tour may expect: the target's choices, what a death can leave, and what was seen in the same state."""

import random
from types import SimpleNamespace

import pytest

from fuzzresume.campaign.atlas import Atlas, Step
from fuzzresume.campaign.graph import Graph, doubted
from fuzzresume.campaign.outlook import Outlook
from fuzzresume.campaign.points import CrashPoints
from fuzzresume.campaign.walks import Tour, search
from fuzzresume.contract.commands import CrashPoint
from fuzzresume.contract.menu import Scope
from fuzzresume.contract.monitor import World
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.state import State
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.choices import Choices

TRUNK, FORK, MOVED = (("latest", value) for value in ("trunk", "fork", "moved"))
BEFORE_2, AFTER_3 = CrashPoint("effect.before:2", 1), CrashPoint("effect.after:3", 1)


@pytest.fixture(scope="module")
def loose():
    return Graph.of(Reference(Workload.linear()), Scope(crashes=1, specials=1, tamper=("truncated",))).loose()


@pytest.fixture
def atlas(loose):
    target = SimpleNamespace(capabilities=SimpleNamespace(records=True, durable=True, tamper=("truncated",)))
    return Atlas(target, lambda: loose, CrashPoints(dict), random.Random(0), loose=True)


def ran(*worlds):
    """A run that ended in these worlds, given by the choices that each rests on."""
    choices = Choices()
    choices.learn(SimpleNamespace(worlds=[World(State(), world) for world in worlds], notes={}, policy={}))
    return SimpleNamespace(choices=choices)


def sent(graph, node, text):
    item = next(item for item in graph.out(node) if item.text == text)
    return item, graph.leads(node, item)


def forks(graph):
    """Where a fork may lead from the first question: the label, and the node for each `latest` branch."""
    (parked,) = sent(graph, graph.first, "start")[1]
    item, leads = sent(graph, parked, "fork 2.1")
    made = [node for node in leads if node.state[1] is not None]
    return parked, item, {node.state[2]: node for node in made}


def test_what_a_target_does_not_choose_is_not_expected():
    outlook = Outlook(records=True)
    assert outlook.chooses([TRUNK])
    known = ran((FORK,), (MOVED,)).choices
    assert outlook.learn(known) and not outlook.learn(known)
    assert outlook.chooses([FORK]) and outlook.chooses([MOVED]) and not outlook.chooses([TRUNK])
    assert outlook.chooses([TRUNK, None]), "what rests on no choice is always possible"


def deaths(graph):
    """The nodes that a death while the second question is answered may lead to: (visible, failed)."""
    (parked,) = sent(graph, graph.first, "start")[1]
    asked = next(after for after in sent(graph, parked, "resume 2.1")[1] if after.state[0][0] == "parked")
    leads = sent(graph, asked, "resume 2.2 crash")[1]
    return {(node.state[0][1], node.failed): node for node in leads if node.state[0][0] == "crashed"}


def test_only_an_exception_fails(loose):
    killed, failed = deaths(loose)[(1,), False], deaths(loose)[(1,), True]
    outlook = Outlook(records=True)
    assert outlook.leaves(BEFORE_2, killed) and not outlook.leaves(BEFORE_2, failed)
    exception = CrashPoint("effect.before:2", 1, "exception")
    assert outlook.leaves(exception, failed) and not outlook.leaves(exception, killed)


def test_a_death_at_an_effect_leaves_its_task_in_doubt(loose):
    first, second, all_ = (deaths(loose)[done, False] for done in ((1,), (1, 2), (1, 2, 3)))
    outlook = Outlook(records=True)
    assert [outlook.leaves(BEFORE_2, node) for node in (first, second, all_)] == [True, False, False]
    assert [outlook.leaves(AFTER_3, node) for node in (first, second, all_)] == [False, True, False]
    late = Outlook(records=False)
    assert [late.leaves(AFTER_3, node) for node in (first, second, all_)] == [True, True, False]
    elsewhere = CrashPoint("write.after", 1)
    assert all(outlook.leaves(elsewhere, node) for node in (first, second, all_))


def test_no_way_leads_by_a_choice_that_the_target_does_not_make(loose, atlas):
    parked, item, made = forks(loose)
    assert made.keys() == {"trunk", "fork"}
    assert {after for _, after, _ in atlas.ways(parked, item, foresee=True)} >= set(made.values())
    atlas.learn(ran((FORK,)))
    ways = {after for _, after, _ in atlas.ways(parked, item, foresee=True)}
    assert made["fork"] in ways and made["trunk"] not in ways


def test_a_wrong_guess_is_no_way_once_the_choice_is_known(loose, atlas):
    parked, item, made = forks(loose)
    atlas.took(parked, Step(item), doubted(made["trunk"]), ())
    assert atlas.ways(parked, item, foresee=True) == ((Step(item), doubted(made["trunk"]), 0),)
    atlas.learn(ran((FORK,)))
    assert (Step(item), made["fork"], 1) in atlas.ways(parked, item, foresee=True)
    assert doubted(made["trunk"]) not in {after for _, after, _ in atlas.ways(parked, item, foresee=True)}


def test_what_was_seen_for_certain_is_expected_in_doubt(loose, atlas):
    (parked,) = sent(loose, loose.first, "start")[1]
    item, (after,) = sent(loose, parked, "resume 2.1")
    atlas.took(parked, Step(item), after, ())
    assert atlas.next_step(doubted(parked), item) is None
    assert (Step(item), doubted(after), 0) in atlas.ways(doubted(parked), item, foresee=True)


def test_what_was_seen_in_doubt_is_sent_again_for_certain(loose, atlas):
    (parked,) = sent(loose, loose.first, "start")[1]
    item, (after,) = sent(loose, parked, "resume 2.1")
    atlas.took(doubted(parked), Step(item), doubted(after), ())
    assert atlas.next_step(doubted(parked), item) is None and atlas.next_step(parked, item) == Step(item)


def test_where_nobody_stood_a_node_is_given_up_with_all_its_labels(loose, atlas):
    (parked,) = sent(loose, loose.first, "start")[1]
    recover, inspect = sent(loose, parked, "recover")[0], sent(loose, parked, "inspect")[0]
    atlas.missed((parked, recover))
    assert atlas.given_up((parked, inspect))
    assert atlas.more_patience() and not atlas.given_up((parked, inspect))
    atlas.visit(parked, (recover, inspect))
    atlas.missed((parked, recover))
    atlas.missed((parked, recover))
    assert atlas.given_up((parked, recover)) and not atlas.given_up((parked, inspect))


def test_of_the_shortest_ways_one_with_new_commands_is_taken(loose, atlas):
    (parked,) = sent(loose, loose.first, "start")[1]
    plain, (asked,) = sent(loose, parked, "resume 2.1")
    other, _ = sent(loose, parked, "resume 2.1 addressed")
    wanted = sent(loose, asked, "inspect")[0]
    for item in (plain, other):
        atlas.took(parked, Step(item), asked, ())
    tour = Tour(atlas, random.Random(0))
    tour.reached(parked, plain)
    steps = list(loose.out(parked))
    found = next(
        search(atlas, parked, steps, lambda *goal: goal == (asked, wanted), lambda at, item: item == other, foresee=True)
    )
    assert found[0][1].label == other
    found = next(
        search(atlas, parked, steps, lambda *goal: goal == (asked, wanted), lambda at, item: item == plain, foresee=True)
    )
    assert found[0][1].label == plain
