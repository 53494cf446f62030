"""What a race may show, how it is written down, and which interleavings are tried."""

from dataclasses import replace

import pytest
from contract_runs import FIRST, Q1, Q2, REFERENCE, START, WORKLOAD, judge_run

from fuzzresume.campaign.race_phase import behind, kinds, switches
from fuzzresume.contract.commands import RACES, Command, CrashPoint, Turn, letters, say
from fuzzresume.contract.explain import explain
from fuzzresume.contract.menu import label
from fuzzresume.contract.observation import Entry, Frontier, Observation, Outcome
from fuzzresume.contract.properties import attribute
from fuzzresume.contract.trace import Trace, TraceError, dumps, loads
from fuzzresume.contract.workload import Mark, Token

C, D = Token(Q2, 3), Token(Q2, 4)
TURNS = (Turn(0, "effect.after:2"),)
ANSWERS = Command("race", racers=(Command("resume", C), Command("resume", D)), turns=TURNS)
DEATH = Command("resume", C, crash=CrashPoint("effect.after:2"))
RECOVERIES = Command("race", racers=(Command("recover"), Command("recover")), turns=TURNS)
BOTH = {token: Mark(2, (FIRST[0].token.text, token.text)) for token in (C, D)}


def raced(command, effects, before, after, told=()):
    racers = tuple(Observation(Outcome("refused")) for _ in command.racers)
    entries = tuple(Entry("effect", mark.task, mark.tokens) for mark in effects)
    texts = tuple(token.text for token in told)
    return command, Observation(Outcome("raced"), entries, Frontier(before), Frontier(after), racers=racers, told=texts)


def dead():
    return DEATH, Observation(Outcome("crashed"), (Entry("effect", *BOTH[C]),), Frontier((1,)), Frontier((1,)))


@pytest.mark.parametrize(
    "race",
    [
        raced(ANSWERS, (BOTH[C], Mark(3)), (1,), (1, 2, 3), [C]),
        raced(ANSWERS, (BOTH[D], Mark(3)), (1,), (1, 2, 3), [D]),
        raced(ANSWERS, (BOTH[D], Mark(3)), (1,), (1, 2, 3)),
        raced(ANSWERS, (), (1,), (1,)),
    ],
    ids=["the first is served", "the second is served", "nobody is told", "all are refused"],
)
def test_some_order_of_the_racers_explains_a_legal_race(race):
    assert judge_run(START, FIRST, race)[1] is None


@pytest.mark.parametrize(
    ("race", "switches", "cls"),
    [
        (raced(ANSWERS, (BOTH[D], BOTH[C], Mark(3), Mark(3)), (1,), (1, 2, 3)), "RaceEffect", "(CO-e)"),
        (raced(ANSWERS, (BOTH[C], Mark(3)), (1,), (1, 2, 3), [C, D]), "ConcurrentConsume", "(CO-c)"),
        (raced(ANSWERS, (BOTH[C], Mark(3)), (1,), (1, 2, 3), [D]), "ConcurrentConsume", "order"),
    ],
    ids=["both effects", "both told", "the wrong one told"],
)
def test_an_illegal_race_is_named(race, switches, cls):
    violation = judge_run(START, FIRST, race)[1]
    found = explain(REFERENCE, violation.sights)
    assert (switches,) in found and ("DoubleConsume",) not in found
    named = attribute(WORKLOAD, violation, found)
    assert named.property == "CO" and cls in named.cls


def test_racers_that_take_no_turns_race_nobody():
    command = replace(ANSWERS, turns=())
    race = raced(command, (BOTH[D], BOTH[C], Mark(3), Mark(3)), (1,), (1, 2, 3))
    assert explain(REFERENCE, judge_run(START, FIRST, race)[1].sights) == (("DoubleConsume",),)


def test_one_recovery_of_two_runs_the_task_in_doubt():
    once = raced(RECOVERIES, (BOTH[C], Mark(3)), (1,), (1, 2, 3))
    assert judge_run(START, FIRST, dead(), once)[1] is None
    twice = raced(RECOVERIES, (BOTH[C], Mark(3), Mark(3)), (1,), (1, 2, 3))
    violation = judge_run(START, FIRST, dead(), twice)[1]
    found = explain(REFERENCE, violation.sights)
    assert found == (("RaceEffect",),)
    assert "fired more than once in a race" in attribute(WORKLOAD, violation, found).cls


def test_racers_of_one_process_die_together():
    dying = (Command("resume", C, crash=CrashPoint("effect.after:2")), Command("resume", D))
    for unit, legal in (("threads", True), ("processes", False)):
        command = Command("race", racers=dying, turns=(Turn(1, "commit.before"),), unit=unit)
        both = raced(command, (BOTH[D],), (1,), (1,))
        assert (judge_run(START, FIRST, both)[1] is None) == legal, unit


def test_forks_that_race_each_get_their_own_branch():
    forks = Command("race", racers=(Command("fork", Token(Q1, 5)), Command("fork", Token(Q1, 6))))
    assert judge_run(START, FIRST, raced(forks, (), (1,), (1,)))[1] is None


def test_a_race_is_written_and_read_back():
    race = Command("race", racers=ANSWERS.racers, turns=(Turn(1, "put.after", 2), Turn(0)))
    trace = Trace("reference", {}, WORKLOAD, (START[0], race))
    again = loads(dumps(trace))
    assert again.commands == trace.commands
    with pytest.raises(TraceError, match=r"commands\[1\].*turns: racer 7"):
        loads(dumps(trace).replace(b'"racer": 1', b'"racer": 7'))


def test_a_race_in_words():
    race = Command("race", racers=ANSWERS.racers, turns=(Turn(1, "put.after", 2), Turn(0)))
    words = say(race, letters((race,)))
    assert words == "race of processes [resume(a, gate 2) | resume(b, gate 2)]: 2 to put.after (passing 2), 1 to its end"
    assert label(race).text == "race [resume 2.2 | resume 2.2]"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"racers": ANSWERS.racers[:1]}, "racers: a race has 2 to 8"),
        ({"racers": ANSWERS.racers * 5}, "racers: a race has 2 to 8"),
        ({"racers": (Command("inspect"), Command("recover"))}, "racers: inspect cannot race"),
        ({"racers": ANSWERS.racers, "turns": (Turn(2),)}, "turns: racer 2"),
        ({"racers": ANSWERS.racers, "unit": "fibres"}, "unit: 'fibres'"),
    ],
)
def test_an_impossible_race_is_refused(fields, says):
    with pytest.raises(ValueError, match=says):
        Command("race", **fields)
    with pytest.raises(ValueError, match="racers: start is no race"):
        Command("start", racers=ANSWERS.racers)


def test_a_racer_is_interrupted_behind_its_calls_into_the_store():
    hooks = "get.before get.after effect.before:2 effect.after:2 put.before put.after put.before put.after"
    found = [(turn.hook, turn.nth) for turn in behind(1, hooks.split())]
    assert found == [("effect.after:2", 1), ("get.before", 1), ("get.after", 1), ("put.after", 1), ("put.after", 2)]
    assert {turn.racer for turn in behind(1, hooks.split())} == {1}


def test_the_racer_interrupted_first_ends_last():
    cuts = [behind(i, ("a.after", "b.after")) for i in range(2)]
    assert list(switches(cuts, 2, 1)) == [(Turn(0, "a.after"),), (Turn(0, "b.after"),)]
    twice = list(switches(cuts, 3, 2))
    assert len(twice) == 4
    assert twice[0] == (Turn(0, "a.after"), Turn(1, "a.after"), Turn(2), Turn(1), Turn(0))


def test_every_kind_of_command_that_can_race_does():
    found = list(kinds(WORKLOAD, 3))
    raced_ops = {racer.op for kind in found for racer in kind.racers}
    assert raced_ops == RACES - {"redeliver"}, "the same answer twice is the redelivery"
    assert any(len(set(kind.racers)) == 1 and kind.racers[0].op == "resume" for kind in found)
    assert all(len(kind.racers) == 3 for kind in found)
