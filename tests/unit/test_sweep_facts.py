"""What a crash state is in words: windows, classes of refires, what is lost."""

import pytest

from fuzzresume.campaign.sweep_facts import Effects, hidden_doubt, lost, window
from fuzzresume.contract.commands import Command
from fuzzresume.contract.observation import Entry, Frontier, Observation, Outcome
from fuzzresume.contract.workload import Mark, Question, Token, Workload

WORKLOAD = Workload.linear()
START, RECOVER, RESTART = Command("start"), Command("recover"), Command("restart")
FORK = Command("fork", Token(Question(2, 1), 1))


def seen(*entries, before=(), after=(), kind="crashed", marks=None):
    told = tuple(Entry(*entry) for entry in entries)
    done = None if after is None else Frontier(after)
    return Observation(Outcome(kind, marks=marks), told, Frontier(before), done or Frontier(None, "unreadable"))


def fired(*tasks, **more):
    return seen(*(("effect", task) for task in tasks), **more)


@pytest.mark.parametrize(
    ("died", "in_doubt", "name"),
    [
        (seen(), (), "W1"),
        (seen(("enter", 1)), (), "W1"),
        (seen(("enter", 1), ("effect", 1)), (1,), "W2"),
        (seen(("enter", 1), ("effect", 1), ("exit", 1), after=(1,)), (), "W3"),
        (seen(("enter", 1), ("effect", 1), ("exit", 1), ("enter", 2), after=(1,)), (), "W1"),
        (fired(2, 3, after=(1,)), (2, 3), "several"),
        (fired(1, after=None), (), "unknown"),
    ],
)
def test_windows(died, in_doubt, name):
    assert window(died, in_doubt) == name


@pytest.mark.parametrize(
    ("exchanges", "again"),
    [
        ([(START, fired(1)), (RECOVER, fired(1, after=(1,)))], {"EO-b": [1]}),
        ([(START, fired(1, after=(1,))), (RECOVER, fired(1, before=(1,), after=(1,)))], {"EO-a": [1]}),
        ([(START, fired(1)), (RECOVER, fired(1, 1, after=(1,)))], {"EO-b": [1], "EO-a": [1]}),
        ([(START, fired(1, 2)), (RECOVER, fired(1, 2, after=(1, 2)))], {"EO-c": [1, 2]}),
        ([(START, fired(1, after=(1,))), (RESTART, fired(1, before=(), after=(1,)))], {}),
        ([(START, fired(1)), (FORK, fired(1, after=(1,)))], {}),
        ([(START, fired(1, after=None)), (RECOVER, fired(1, after=(1,)))], {}),
    ],
)
def test_an_effect_that_fires_again_has_a_class(exchanges, again):
    assert {name: tasks for name, tasks in Effects.of(exchanges).again.items() if tasks} == again


def test_only_what_fires_again_from_here_on_is_counted():
    effects = Effects.of([(START, fired(1)), (RECOVER, fired(1))]).from_here()
    assert effects.fired == effects.in_doubt == {1} and not any(effects.again.values())
    effects.take(RECOVER, fired(1, after=(1,)))
    assert effects.again["EO-b"] == [1] and effects.in_doubt == set()


def test_a_fork_that_the_store_does_not_show_hides_its_doubt():
    died = fired(2, before=(1,), after=(1, 2, 3))
    assert hidden_doubt(FORK, died, forked=False) == (2,)
    assert hidden_doubt(FORK, died, forked=True) is hidden_doubt(RECOVER, died, forked=False) is None


def test_lost_is_an_effect_or_a_mark_that_is_not_there():
    whole = seen(kind="completed", marks=(Mark(1), Mark(2), Mark(3)))
    assert lost(WORKLOAD, {1, 2, 3}, whole) == ()
    assert lost(WORKLOAD, {1, 3}, whole) == (2,)
    assert lost(WORKLOAD, {1, 2, 3}, seen(kind="completed", marks=(Mark(1), Mark(2)))) == (3,)
    assert lost(WORKLOAD, {1, 2, 3}, seen(kind="refused", after=(1, 2, 3))) == ()
