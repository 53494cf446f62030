"""What the reference foresees: where a command leads, and whether what it shows leaves the state in doubt."""

import pytest

from fuzzresume.campaign.graph import Graph, assumed, loosened
from fuzzresume.contract.menu import Scope
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload


@pytest.fixture(scope="module")
def loose():
    return Graph.of(Reference(Workload.linear()), Scope(crashes=1, specials=1, tamper=("truncated",))).loose()


def sent(graph, node, text):
    item = next(item for item in graph.out(node) if item.text == text)
    return graph.leads(node, item)


def test_a_death_in_a_fork_leaves_in_doubt_whether_it_was_made(loose):
    (parked,) = sent(loose, loose.first, "start")
    assert parked.certain and {after.certain for after in sent(loose, parked, "fork 2.1 crash")} == {True, False}


def test_an_answer_that_asks_the_next_question_leaves_no_doubt(loose):
    (parked,) = sent(loose, loose.first, "start")
    assert [after.certain for after in sent(loose, parked, "resume 2.1")] == [True]


def test_a_doubtful_node_offers_what_its_state_offers(loose):
    (parked,) = sent(loose, loose.first, "start")
    doubtful = next(after for after in sent(loose, parked, "fork 2.1 crash") if not after.certain)
    assert loose.out(doubtful) == loose.edges[assumed(doubtful)] != {}
    assert doubtful not in loose.edges and loosened(doubtful) in loose.edges


def test_a_binding_choice_counts_as_told(loose):
    (parked,) = sent(loose, loose.first, "start")
    assert all(after.certain for after in sent(loose, parked, "restart"))
