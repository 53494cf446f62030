"""The two gates of the oracle: no legal engine alarms, no planted fault escapes (docs/CONTRACT.md)."""

import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from campaigns import REFERENCE, campaign, without_one
from tla_table import minimal

from fuzzresume.adapters.durable.faults import FAULTS as PLANTED
from fuzzresume.adapters.durable.policy import OPTIONS
from fuzzresume.adapters.reference import DurableAdapter
from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.events import FindingFound
from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.faults import FAULTS, NONE
from fuzzresume.contract.properties import PROPERTIES
from fuzzresume.contract.workload import Question, Token
from fuzzresume.harness.target import Target, parse_target

DEFAULTS = {key: values[0] for key, values in OPTIONS.items()}
VARIANTS = [(key, value) for key, values in OPTIONS.items() for value in values[1:]]


@pytest.mark.parametrize("key, value", VARIANTS, ids="=".join)
def test_no_legal_variant_alarms(key, value):
    report, _ = campaign("reference", {**DEFAULTS, key: value}, seed=11, runs=120)
    assert [(f.words, f.expected_observed) for f in report.findings] == []
    assert report.troubles == []


@pytest.mark.parametrize("seed", [0, 1])
def test_the_reference_holds_everything(seed):
    report, _ = campaign("reference", {}, seed=seed, runs=400)
    assert {name: v.verdict for name, v in report.verdicts.items()} == dict.fromkeys(PROPERTIES, "holds")
    assert report.findings == [] and report.troubles == []


@pytest.mark.parametrize("fault", [fault for fault in PLANTED if fault not in FAULTS or not FAULTS[fault].concurrent])
def test_every_planted_fault_is_caught_and_named(fault):
    # What nothing explains is tried with every switch and pair, run after run: the dearest campaign of all.
    report, events = campaign("mutant", {"fault": fault}, seed=len(fault) % 2, runs=100 if fault in FAULTS else 30)
    assert report.findings, "not found"
    if fault == "none-fits":
        assert all(finding.explained_by == () for finding in report.findings)
        return
    (finding,) = report.findings
    assert finding.minimal and finding.executions <= 60
    assert without_one(finding) == []
    assert finding.explained_by == ((fault,),)
    assert finding.property_name == FAULTS[fault].properties[0]
    assert report.verdicts[finding.property_name].verdict == "violated"
    (found,) = [event for event in events if isinstance(event, FindingFound)]
    assert found.progress.runs < 100
    length, asks = minimal(fault)
    assert (len(finding.commands), finding.reference.workload.task(2).questions) == (length, asks)


Q1, Q2 = Question(2, 1), Question(2, 2)
START, RECOVER = Command("start"), Command("recover")


WENT_ON = [
    START,
    Command("resume", Token(Q1, 1), crash=CrashPoint("commit.after", 2)),
    Command("resume", Token(Q2, 2), crash=CrashPoint("effect.before:2")),
    Command("resume", Token(Q1, 3)),
]
"""The gate asked its second question and nobody was told. Its answer comes all the same, and then another to the first."""


def executed(target, options, commands, profile=NONE):
    with tempfile.TemporaryDirectory() as folder:
        return Executor(REFERENCE, Path(folder)).execute(parse_target(target, options), commands, profile=profile)


@pytest.mark.parametrize("settled", OPTIONS["settled"])
def test_a_question_may_be_settled_once_a_later_one_is_answered(settled):
    done = executed("reference", {"settled": settled}, WENT_ON)
    assert done.violation is None and done.sent == len(WENT_ON)
    assert done.exchanges[-1][1].outcome.kind == {"ignore": "idle", "refuse": "refused"}[settled]


@pytest.mark.parametrize("latest, forks", [("trunk", 0), ("fork", 1)])
def test_a_fork_that_refuses_an_update_leaves_the_trunk_in_sight(latest, forks):
    answers = [Command("resume", Token(Q1, 1)), Command("resume", Token(Q2, 2))]
    earlier = [Command("fork", Token(Q2, 3))] * forks
    commands = [START, *answers, *earlier, Command("fork", Token(Q2, 4), poison=3)]
    done = executed("reference", {"latest": latest}, commands)
    assert done.violation is None and done.exchanges[-1][1].after.done == (1, 2, 3)


KILL = CrashPoint("effect.before:2")
CONFINED = {
    "an answer misrouted to the second question settles the first": (
        "Misroute",
        [*WENT_ON[:2], Command("resume", Token(Q1, 2), crash=KILL), WENT_ON[3]],
    ),
    "a loss after two dead forks": (
        "AnswerLost",
        [
            START,
            Command("resume", Token(Q1, 1)),
            Command("fork", Token(Q1, 2), crash=CrashPoint("commit.after", 2)),
            Command("fork", Token(Q2, 3), crash=CrashPoint("effect.after:2")),
            Command("resume", Token(Q2, 4)),
            Command("resume", Token(Q1, 5)),
        ],
    ),
    "a loss and a delivery before anybody asked again": (
        "AnswerLost",
        [
            START,
            Command("fork", Token(Q1, 1)),
            replace(RECOVER, branch="trunk"),
            Command("resume", Token(Q1, 2)),
            Command("resume", Token(Q2, 3)),
            replace(RECOVER, branch="trunk"),
        ],
    ),
    "a loss, asked again and answered": (
        "AnswerLost",
        [START, Command("resume", Token(Q1, 1)), RECOVER, Command("resume", Token(Q1, 2)), Command("resume", Token(Q2, 3))],
    ),
    "a fork inherits the marks of the tasks before it, whatever the trunk skipped": (
        "SkipTask",
        [
            START,
            Command("resume", Token(Q1, 1)),
            Command("resume", Token(Q2, 2), crash=KILL),
            RECOVER,
            Command("fork", Token(Q1, 3)),
            Command("resume", Token(Q2, 4)),
        ],
    ),
    "a trunk that got a fork's answer returns an invalid update": (
        "ForkLeak",
        [
            START,
            Command("resume", Token(Q1, 1)),
            Command("fork", Token(Q2, 2)),
            Command("resume", Token(Q2, 3), branch="trunk", poison=3),
        ],
    ),
    "an answer that a gate found stray, because it had asked on before it died": (
        "StrayPoisons",
        [*WENT_ON[:2], Command("resume", Token(Q1, 2)), Command("fork", Token(Q1, 3))],
    ),
    "an update of what a fault runs again is recorded by nobody": (
        "Replay",
        [
            START,
            Command("resume", Token(Q1, 1)),
            Command("resume", Token(Q2, 2), crash=CrashPoint("commit.before", 2)),
            replace(RECOVER, poison=1),
        ],
    ),
    "a store that holds an invalid update is damaged all the same": (
        "InvalidPersist",
        [Command("start", poison=1), Command("tamper", kind="wrong-type"), RECOVER],
    ),
    "what a death left half-written is no record to damage": (
        "TamperAccept",
        [
            START,
            Command("restart", crash=CrashPoint("commit.half")),
            Command("tamper", kind="dropped-field"),
            RECOVER,
        ],
    ),
}
"""What each switch of the reference must account for alone."""


@pytest.mark.parametrize("name", CONFINED)
def test_a_planted_fault_does_what_its_switch_says_and_no_more(name):
    fault, commands = CONFINED[name]
    done = executed("mutant", {"fault": fault}, commands, frozenset({fault}))
    assert done.violation is None and done.sent == len(commands)


def test_the_same_seed_finds_the_same():
    def facts(report):
        return [(f.id, f.words, f.expected_observed, f.seen) for f in report.findings], report.policy, report.progress.pairs

    first, second = (campaign("mutant", {"fault": "Misroute"}, seed=5, runs=30)[0] for _ in range(2))
    assert facts(first) == facts(second)
    assert facts(campaign("mutant", {"fault": "Misroute"}, seed=6, runs=30)[0]) != facts(first)


def test_nothing_unexercised_is_shown_as_holding():
    report, _ = campaign("reference", {"fork": "refuse"}, seed=0, runs=60)
    assert report.verdicts["FD"].verdict == report.verdicts["FI"].verdict == "unexercised"
    one, _ = campaign("reference", {}, seed=0, runs=1)
    assert {"unexercised"} <= {v.verdict for v in one.verdicts.values()}


def test_a_full_disk_is_no_finding():
    class Full(DurableAdapter):
        def life(self, env):
            raise sqlite3.OperationalError("database or disk is full")

    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(REFERENCE, Path(folder))
        report = Campaign(Target(Full()), {}, executor, 0, Budget(None, 2)).run()
    assert report.findings == []
    assert "No space left" in report.troubles[0] or "no room" in report.troubles[0]
