"""Which orders of racers are one interleaving."""

from itertools import pairwise, permutations

import pytest

from fuzzresume.campaign.interleavings import interleavings, parts
from fuzzresume.contract.commands import Turn

HOOKS = (
    "get.before",
    "get.after",
    "put.before",
    "put.after",
    "effect.before:2",
    "effect.after:2",
    "put.before",
    "put.after",
)
WHOLE = ["read", "consume", "record"]


def test_a_racer_reads_consumes_and_records():
    kinds, turns = parts(1, HOOKS)
    assert kinds == WHOLE
    assert turns == [Turn(1, "get.after"), Turn(1, "effect.after:2"), Turn(1)]


@pytest.mark.parametrize(
    ("hooks", "kinds"),
    [
        ((), ["record"]),
        (("get.before", "get.after"), ["read", "record"]),
        (("effect.before:2", "effect.after:2"), ["consume", "record"]),
    ],
)
def test_a_racer_may_lack_parts(hooks, kinds):
    assert parts(0, hooks)[0] == kinds


def equivalent(one, other, kinds):
    """Whether swaps of neighbouring reads turn one order into the other."""
    seen, todo = {one}, [one]
    while todo:
        order = todo.pop()
        places = [(racer, order[:i].count(racer)) for i, racer in enumerate(order)]
        for i, (a, b) in enumerate(pairwise(places)):
            if a[0] != b[0] and kinds[a[0]][a[1]] == kinds[b[0]][b[1]] == "read":
                swapped = (*order[:i], order[i + 1], order[i], *order[i + 2 :])
                if swapped not in seen:
                    seen.add(swapped)
                    todo.append(swapped)
    return other in seen


@pytest.mark.parametrize("kinds", [[WHOLE, WHOLE], [WHOLE, ["read", "record"]], [["read", "record"]] * 3])
def test_each_class_of_orders_is_there_once(kinds):
    found = list(interleavings(kinds))
    for i, one in enumerate(found):
        assert not any(equivalent(one, other, kinds) for other in found[:i])
    every = set(permutations([racer for racer, mine in enumerate(kinds) for _ in mine]))
    assert all(any(equivalent(one, other, kinds) for other in found) for one in every)


def test_how_many_there_are():
    assert len(list(interleavings([WHOLE, WHOLE]))) == 14
    assert len(list(interleavings([WHOLE] * 3))) == 762
