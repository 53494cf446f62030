"""What a crash state is in words: windows, classes of refires, what is lost."""

import pytest

from fuzzresume.campaign.sweep.facts import Effects, begins_epoch, hidden_doubt, lost, present_epoch, say_before, window
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.observation import Entry, Frontier, Observation, Outcome
from fuzzresume.contract.workload import Mark, Question, Token, Workload

WORKLOAD = Workload.linear()
START, RECOVER, RESTART = Command("start"), Command("recover"), Command("restart")
FORK = Command("fork", Token(Question(2, 1), 1))


def seen(*entries, before=(), after=(), kind="crashed", marks=None, heads=(None, None)):
    told = tuple(Entry(*entry) for entry in entries)
    done = Frontier(None, "unreadable") if after is None else Frontier(after, head=heads[1])
    return Observation(Outcome(kind, marks=marks), told, Frontier(before, head=heads[0]), done)


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
        ([(START, fired(1)), (RESTART, seen()), (RECOVER, fired(1, after=(1,)))], {"EO-b": [1]}),
        ([(START, fired(1)), (RESTART, seen(heads="ab")), (RECOVER, fired(1, after=(1,)))], {}),
        ([(RESTART, fired(1, before=(1, 2))), (RECOVER, fired(1, after=(1,)))], {"EO-a": [1], "EO-b": [1]}),
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


@pytest.mark.parametrize(
    ("restarted", "begun", "hidden"),
    [
        (seen(before=(1,), after=(1,), heads="aa"), False, None),  # nothing was done
        (seen(before=(1,), after=(), heads="ab"), True, None),
        (fired(1, before=(1,), after=(1,), heads="ab"), True, None),  # as far as the old epoch was
        (fired(1, before=(1,), after=(1,), heads="aa"), False, (1,)),
        (fired(1, before=(1,), after=(1,)), False, (1,)),  # a store without a head
        (fired(2, before=(1,), after=(1,), heads="aa"), False, None),  # the old epoch goes on
        (fired(2, before=(1,), after=(1, 2), heads="ab"), False, None),
        (fired(1, before=(), after=(), heads="ab"), True, None),
        (fired(1, before=(1,), after=None), False, None),
    ],
)
def test_a_restart_begins_an_epoch_once_the_store_shows_it(restarted, begun, hidden):
    assert begins_epoch(RESTART, restarted) is begun and begins_epoch(RECOVER, restarted) is False
    assert hidden_doubt(RESTART, restarted, forked=False) == hidden
    told = [(START, seen()), (RESTART, restarted), (RECOVER, seen())]
    assert present_epoch(told) == (told[1:] if begun else told)


def test_a_new_epoch_owes_each_effect_once_more():
    effects = Effects.of([(START, fired(1, 2, after=(1, 2))), (RESTART, fired(1, before=(1, 2), after=()))])
    assert effects.fired == effects.in_doubt == {1}


def test_what_led_to_a_command_besides_the_plain_run():
    resume, later = (Command("resume", Token(Question(2, n), n)) for n in (1, 2))
    killed = Command("restart", crash=CrashPoint("put.after"))

    def before(command, *sent):
        return say_before(WORKLOAD, [(one, seen()) for one in sent], command)

    assert before(resume, START) == before(FORK, START, resume) == ""
    assert before(later, START, resume, FORK) == "fork(a, gate 2 question 1)"
    assert before(RESTART, START, resume) == "resume(a, gate 2 question 1)"
    assert before(RECOVER, START, killed) == "start, then restart, killed at put.after"
    died = Command("start", crash=CrashPoint("put.after"))
    assert before(RESTART, died) == "start, killed at put.after"


def test_lost_is_an_effect_or_a_mark_that_is_not_there():
    whole = seen(kind="completed", marks=(Mark(1), Mark(2), Mark(3)))
    assert lost(WORKLOAD, {1, 2, 3}, whole) == ()
    assert lost(WORKLOAD, {1, 3}, whole) == (2,)
    assert lost(WORKLOAD, {1, 2, 3}, seen(kind="completed", marks=(Mark(1), Mark(2)))) == (3,)
    assert lost(WORKLOAD, {1, 2, 3}, seen(kind="refused", after=(1, 2, 3))) == ()
