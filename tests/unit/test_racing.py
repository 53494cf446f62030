"""Racers take their turns, hook by hook, and each has its own ledger entries."""

import pytest

from fuzzresume.contract.commands import Command, Turn
from fuzzresume.contract.observation import Entry, Frontier, Outcome
from fuzzresume.contract.workload import Mark, Question, Token
from fuzzresume.harness.calls import Call
from fuzzresume.harness.racing import Dose, Racer, observed, race

A, B = Token(Question(2, 1), 1), Token(Question(2, 1), 2)


class Scripted:
    """A life that passes the hooks read, effect, write; the effect is in the shared log once it is behind it."""

    hooks = ("read", "effect", "write")

    def __init__(self, log, name, outcome):
        self.log, self.name, self.outcome, self.at = log, name, outcome, 0

    def converse(self, wire, call):
        assert call.op == "resume" and ("go" in wire) == bool(self.at)
        if self.at == 2:
            self.log.append(Entry("effect", 2, (self.name,)))
        stops = wire.get("go", True)
        while self.at < len(self.hooks):
            self.at += 1
            if stops:
                return self.hooks[self.at - 1]
            if self.at == 2:
                self.log.append(Entry("effect", 2, (self.name,)))
        return self.outcome

    def close(self):
        pass


@pytest.fixture
def racers():
    log = []

    def take():
        found = tuple(log)
        log.clear()
        return found

    outcomes = (Outcome("completed", marks=(Mark(2, (A.text,)),)), Outcome("refused"))
    made = [Racer(Scripted(log, f"r{i}", outcome), Call("resume")) for i, outcome in enumerate(outcomes)]
    return made, take


def names(entries):
    return [entry.tokens[0] for entry in entries]


@pytest.mark.parametrize(
    ("turns", "order"),
    [
        ((), ["r0", "r1"]),
        ((Turn(0, "read"),), ["r1", "r0"]),
        ((Turn(1, "write"),), ["r1", "r0"]),
        ((Turn(0, "effect"), Turn(1, "write"), Turn(0)), ["r1", "r0"]),
        ((Turn(0, "never"),), ["r0", "r1"]),
        ((Turn(0, "read", 2),), ["r0", "r1"]),
    ],
)
def test_turns_decide_who_is_first(racers, turns, order):
    made, take = racers
    entries = race(made, turns, take)
    assert names(entries) == order
    assert [names(racer.entries) for racer in made] == [["r0"], ["r1"]]
    assert all(racer.hooks == ["read", "effect", "write"] for racer in made)


def test_released_racers_all_end(racers):
    made, take = racers
    assert sorted(names(Dose("effect", 0, (0, 0))(made, (), take))) == ["r0", "r1"]
    assert [racer.outcome.kind for racer in made] == ["completed", "refused"]


def test_a_race_says_what_each_showed_and_who_was_told(racers):
    made, take = racers
    command = Command("race", racers=(Command("resume", A), Command("resume", B)))
    seen = observed(command, Frontier((1,)), Frontier((1, 2)), made, race(made, (), take))
    assert seen.outcome.kind == "raced" and seen.told == (A.text,)
    assert [shown.outcome.kind for shown in seen.racers] == ["completed", "refused"]
    assert [len(shown.entries) for shown in seen.racers] == [1, 1]


def test_a_racer_that_hangs_makes_the_race_hang(racers):
    made, take = racers
    made[1].host.outcome = Outcome("hung", seconds=1.0)
    command = Command("race", racers=(Command("resume", A), Command("resume", B)))
    assert observed(command, Frontier(()), Frontier(()), made, race(made, (), take)).outcome.kind == "hung"
