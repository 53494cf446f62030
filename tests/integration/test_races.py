"""Races in real processes: deterministic, silent on the engine that keeps others out, loud on those that do not."""

import tempfile
from pathlib import Path

import pytest
from campaigns import campaign, without_one

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.replay import replay_trace
from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.trace import dumps, loads
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.target import parse_target

ONE_QUESTION = Reference(Workload.linear(3, {2: 1}))
Q = Question(2, 1)
A, B = Token(Q, 1), Token(Q, 2)
ANSWERS = (Command("resume", A), Command("resume", B))


@pytest.fixture
def executor(zygotes):
    with tempfile.TemporaryDirectory() as folder:
        yield Executor(ONE_QUESTION, Path(folder), zygotes)


def raced(executor, target, *turns):
    done = executor.execute(target, [Command("start"), Command("race", racers=ANSWERS, turns=turns), Command("recover")])
    return done.exchanges[1][1], done.violation


def test_langgraph_serves_both_when_the_second_reads_before_the_first_has_written(executor):
    target = parse_target("langgraph")
    after, violation = raced(executor, target, Turn(0, "effect.after:2"))
    assert violation is not None
    assert after.effects == (Mark(2, (A.text,)), Mark(2, (B.text,)), Mark(3), Mark(3))
    assert after.told == (A.text, B.text)
    assert [[mark.task for mark in racer.effects] for racer in after.racers] == [[2, 3], [2, 3]]
    assert raced(executor, target, Turn(0, "effect.after:2"))[0].racers == after.racers, "the same turns, the same race"
    alone, violation = raced(executor, target)
    assert violation is None and alone.effects == (Mark(2, (A.text,)), Mark(3))


def test_the_engine_lets_one_racer_in(executor):
    seen, violation = raced(executor, parse_target("reference"), Turn(0, "effect.after:2"))
    assert violation is None and seen.effects == (Mark(2, (A.text,)), Mark(3))
    assert [racer.outcome.kind for racer in seen.racers] == ["completed", "refused"]
    assert "another process" in seen.racers[1].outcome.message


def test_an_owner_that_died_keeps_nobody_out(executor):
    dying = Command("resume", A, crash=CrashPoint("effect.after:2"))
    race = Command("race", racers=(dying, Command("resume", A)), turns=(Turn(0),))
    done = executor.execute(parse_target("reference", {"redeliver_crashed": "recover"}), [Command("start"), race])
    assert done.violation is None
    assert [racer.outcome.kind for racer in done.exchanges[-1][1].racers] == ["crashed", "completed"]
    assert done.exchanges[-1][1].effects == (Mark(2, (A.text,)), Mark(2, (A.text,)), Mark(3)), "in doubt, and run again"


def test_racers_are_processes(executor):
    run = executor.open(parse_target("reference", {}), "in-process")
    try:
        run.send(Command("start"))
        with pytest.raises(Unsupported, match="forked"):
            run.send(Command("race", racers=ANSWERS))
    finally:
        executor.close(run)


@pytest.mark.parametrize("key, value", [("answer", "with-record"), ("park", "derived"), ("record", "journal")])
def test_no_legal_variant_alarms_in_a_race(key, value, zygotes):
    report, _ = campaign("reference", {key: value}, seed=0, runs=40, chosen=("race", "minimise"), zygotes=zygotes)
    assert [(f.words, f.expected_observed) for f in report.findings] == [] and report.troubles == []
    assert report.phases[0].runs == 40 and "no racer raced" not in report.vacuous


@pytest.mark.parametrize("fault", ["ConcurrentConsume", "RaceEffect"])
def test_a_planted_race_is_found_named_and_minimal(fault, zygotes):
    report, _ = campaign("mutant", {"fault": fault}, seed=0, runs=60, chosen=("race", "minimise"), zygotes=zygotes)
    (finding,) = report.findings
    assert finding.explained_by == ((fault,),) and finding.property_name == "CO"
    assert finding.minimal and without_one(finding) == []
    assert finding.commands[-1].op == "race" and len(finding.commands[-1].turns) == 1
    trace = loads(dumps(finding.to_trace()))
    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(finding.reference, Path(folder), zygotes)
        assert replay_trace(executor, trace).outcome == "reproduces"


def test_without_racers_the_report_says_so():
    report, _ = campaign("reference", {}, seed=0, runs=5, chosen=("enumerate", "race"))
    assert "no racer raced" in report.vacuous
