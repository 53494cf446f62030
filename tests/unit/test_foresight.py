"""What the reference foresees of commands that nobody has executed."""

from pathlib import Path

import pytest

from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.foresight import can_violate
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import load
from fuzzresume.contract.workload import Question, Token, Workload

REFERENCE = Reference(Workload.linear(3, {2: 1}))
GATE = Question(2, 1)
TRUNK, FORK = Token(GATE, 1), Token(GATE, 2)
GALLERY = sorted((Path(__file__).parents[2] / "shrinks").rglob("*.json"))


def possible(commands, *names):
    return can_violate(REFERENCE, commands, NONE, [frozenset(names)])


def test_a_fork_of_an_answered_question_can_be_ignored():
    trace = [Command("start"), Command("resume", TRUNK), Command("fork", FORK)]
    assert possible(trace, "ForkIgnore")
    assert not possible(trace[:2], "ForkIgnore")
    assert not possible(trace, "RefuseRecovery")


def test_nothing_can_be_replayed_before_anything_is_durable():
    assert not possible([Command("start"), Command("recover")], "NondetRecovery")
    died = Command("start", crash=CrashPoint("effect.after:1"))
    assert possible([died, Command("recover")], "Replay")


def test_the_profile_is_no_violation():
    trace = [Command("start"), Command("resume", TRUNK), Command("fork", FORK)]
    assert not can_violate(REFERENCE, trace, frozenset({"ForkIgnore"}), [frozenset({"ForkIgnore"})])


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.parent.name)
def test_never_wrongly_false(path):
    """Every recorded violation was foreseen: a filter that refuses one would lose findings."""
    trace = load(path)
    reference, beyond = Reference(trace.workload), frozenset(trace.found.beyond)
    for names in trace.found.explained_by:
        assert can_violate(reference, trace.commands, beyond, [frozenset(names)])
