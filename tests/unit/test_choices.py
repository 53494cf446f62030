"""What is learnt, run by run, of the choices that a target makes among what is legal."""

from types import SimpleNamespace

from contract_runs import Q2, REFERENCE, START, A, judge_run, seen

from fuzzresume.contract.commands import Command
from fuzzresume.contract.monitor import World
from fuzzresume.contract.state import State
from fuzzresume.contract.workload import Mark, Token
from fuzzresume.harness.choices import Choices
from fuzzresume.harness.run import Run

TRUNK, FORK, MOVED = (("latest", value) for value in ("trunk", "fork", "moved"))


def after(*runs):
    """The choices after runs that ended in these worlds, given by what each world rests on."""
    choices = Choices()
    for worlds in runs:
        choices.learn(SimpleNamespace(worlds=[World(State(), world) for world in worlds], notes={}, policy={}))
    return choices


def made(choices):
    return {value for name, value in (TRUNK, FORK, MOVED) if choices.makes(name, value)}


def test_before_anything_is_known_every_choice_is_expected():
    assert made(Choices()) == {"trunk", "fork", "moved"} and Choices().values == {}


def test_what_no_run_leaves_open_is_not_expected():
    choices = after([(FORK,), (MOVED,)])
    assert made(choices) == {"fork", "moved"} and choices.values == {"latest": {"fork", "moved"}}


def test_a_run_that_leaves_everything_open_says_nothing():
    assert made(after([(FORK,), (MOVED,)], [(FORK,), (MOVED,), (TRUNK,)])) == {"fork", "moved"}


def test_a_choice_that_a_run_may_not_have_made_is_not_learnt_from_it():
    assert after([(FORK,), ()]).values == {}


def test_a_target_that_chooses_now_this_now_that_may_do_either():
    assert made(after([(FORK,)], [(TRUNK,)])) == {"fork", "trunk"}


def test_a_choice_that_a_command_showed_counts():
    monitor, _ = judge_run(START, (Command("recover"), seen("refused", before=(1,), after=(1,))))
    choices = Choices()
    choices.learn(monitor)
    assert choices.makes("recover@parked", "refused") and not choices.makes("recover@parked", "asked")


def test_what_is_known_of_a_target_makes_a_state_certain():
    """After a fork nobody tells which branch `latest` is, unless other runs did."""
    answer = Token(Q2, 3)
    marks = (Mark(1), Mark(2, (A.text, answer.text)), Mark(3))
    forked = seen("completed", effects=marks[1:], before=(1,), after=(1, 2, 3), marks=marks)
    asked = (Command("resume", A), seen("parked", before=(1,), after=(1,), asked=(Q2,)))
    run = Run(None, REFERENCE, None)
    run.monitor, _ = judge_run(START, asked, (Command("fork", answer), forked))
    assert not run.certain
    run.choices = after([(FORK,), (MOVED,)])
    assert run.certain and run.state.latest == "fork"
