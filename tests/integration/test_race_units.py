"""Racers that share a process: threads over one life or one each, coroutines of one loop."""

import itertools
import tempfile
from pathlib import Path

import pytest
import wrong_adapters
from campaigns import campaign

from fuzzresume.campaign import race_phase
from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.forked import ForkedSession
from fuzzresume.harness.sessions import open_session
from fuzzresume.harness.target import AdapterSlip, Target, parse_target

WORKLOAD = Workload.linear(3, {2: 1})
Q = Question(2, 1)
A, B = Token(Q, 1), Token(Q, 2)
ANSWERS = (Command("resume", A), Command("resume", B))
BETWEEN = (Turn(0, "effect.after:2"),)

ONCE = "that switches once"


@pytest.fixture
def executor(zygotes):
    with tempfile.TemporaryDirectory() as folder:
        yield Executor(Reference(WORKLOAD), Path(folder), zygotes)


def raced(executor, target, unit, racers=ANSWERS, turns=BETWEEN):
    race = Command("race", racers=racers, turns=turns, unit=unit)
    done = executor.execute(target, [Command("start"), race])
    assert not done.stopped
    return done.exchanges[1][1], done.violation


def test_a_racer_s_slip_comes_out_of_its_thread(zygotes, tmp_path):
    fork = Command("fork", A)
    with open_session(Target(wrong_adapters.SlipsInForks), WORKLOAD, tmp_path / "run", "forked", zygotes=zygotes) as session:
        session.execute(Command("start"))
        with pytest.raises(AdapterSlip, match="the adapter slipped in fork: AttributeError"):
            session.execute(Command("race", racers=(fork, fork), unit="threads"))


def test_the_engine_lets_one_thread_in(executor):
    seen, violation = raced(executor, parse_target("reference"), "threads")
    assert violation is None and seen.effects == (Mark(2, (A.text,)), Mark(3))
    assert [racer.outcome.kind for racer in seen.racers] == ["completed", "refused"]
    assert "another process" in seen.racers[1].outcome.message


@pytest.mark.parametrize(
    ("unit", "options"),
    [
        ("processes", {}),
        ("threads", {}),
        ("threads", {"executor": "queue"}),
        ("coroutines", {"saver": "async-sqlite"}),
        ("coroutines", {"saver": "async-sqlite", "executor": "queue"}),
    ],
)
def test_langgraph_serves_both_racers_and_each_time_alike(executor, unit, options):
    target = parse_target("langgraph", options)
    seen, violation = raced(executor, target, unit)
    assert violation is not None and seen.told == (A.text, B.text)
    assert seen.effects == (Mark(2, (A.text,)), Mark(2, (B.text,)), Mark(3), Mark(3))
    assert seen.racers[0].hooks == seen.racers[1].hooks
    assert seen.racers[0].outcome.address != seen.racers[1].outcome.address, "no checkpoint of one is the other's"
    assert raced(executor, target, unit)[0] == seen, "the same turns, the same race"
    after, violation = raced(executor, target, unit, turns=())
    assert violation is None and after.effects == (Mark(2, (A.text,)), Mark(3))


@pytest.mark.parametrize(("unit", "options"), [("threads", {}), ("coroutines", {"saver": "async-sqlite"})])
def test_each_racer_knows_where_it_stands_itself(executor, unit, options):
    racers = (Command("resume", A), Command("fork", B))
    seen, _ = raced(executor, parse_target("langgraph", options), unit, racers, (Turn(0, "put.after", 2),))
    first, second = (racer.outcome for racer in seen.racers)
    assert (first.kind, second.kind) == ("completed", "completed") and first.address != second.address


HELD = (Turn(0, "effect.before:2"), Turn(1))


@pytest.mark.parametrize(
    ("name", "unit", "options", "turns"),
    [
        ("reference", "threads", {}, HELD[1:]),
        ("langgraph", "threads", {}, HELD),
        ("langgraph", "coroutines", {"saver": "async-sqlite"}, HELD),
    ],
)
def test_a_death_is_the_death_of_every_racer_of_the_process(name, unit, options, turns, zygotes, tmp_path):
    dying = Command("resume", A, crash=CrashPoint("effect.after:2"))
    race = Command("race", racers=(Command("resume", B), dying), turns=turns, unit=unit)
    with ForkedSession(parse_target(name, options), WORKLOAD, tmp_path / "run", zygotes=zygotes) as session:
        session.execute(Command("start"))
        seen = session.execute(race)
        assert [(racer.outcome.kind, racer.outcome.error) for racer in seen.racers] == [("crashed", ""), ("crashed", "")]
        assert session.deaths[-1] == "SIGKILL"
        assert seen.effects == (Mark(2, (A.text,)),), "the other one never came to its effect"
        assert session.execute(Command("recover")).outcome.kind in ("parked", "completed")


@pytest.mark.parametrize(("name", "unit"), [("reference", "coroutines"), ("langgraph", "coroutines")])
def test_what_an_adapter_does_not_say_is_not_raced(executor, name, unit):
    race = Command("race", racers=ANSWERS, unit=unit)
    done = executor.execute(parse_target(name), [Command("start"), race])
    assert done.sent == 1 and "does not say that its lives can be coroutines" in done.stopped


def test_a_planted_race_is_found_among_threads(zygotes, monkeypatch):
    every = race_phase.kinds
    monkeypatch.setattr(race_phase, "kinds", lambda workload, racers: itertools.islice(every(workload, racers), 4, 5))
    monkeypatch.setattr(race_phase, "STAGES", ((2, ONCE, "threads"), (2, ONCE, "coroutines")))
    report, _ = campaign("mutant", {"fault": "RaceEffect"}, seed=0, runs=80, chosen=("race",), zygotes=zygotes)
    (finding,) = report.findings
    assert finding.explained_by == (("RaceEffect",),) and finding.commands[-1].unit == "threads"
    assert report.phases[0].covered.endswith("races; every interleaving of 2 threads that switches once")
