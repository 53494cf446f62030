"""Inspection from another process: expressible, inert, and caught where it acts."""

import tempfile
from pathlib import Path

import pytest
from campaigns import REFERENCE, campaign

from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.commands import ELSEWHERE, Command, CrashPoint
from fuzzresume.contract.trace import Trace, dumps, loads
from fuzzresume.contract.words import say_commands
from fuzzresume.contract.workload import Question, Token
from fuzzresume.harness.run import Run
from fuzzresume.harness.target import parse_target

LOOK = Command("inspect", kind=ELSEWHERE)
A, B = Token(Question(2, 1), 1), Token(Question(2, 2), 2)
RUN = (Command("start"), LOOK, Command("resume", A), LOOK, Command("resume", B), LOOK, Command("recover"))


def executed(commands, zygotes, mode, target="langgraph", **options):
    with tempfile.TemporaryDirectory() as folder:
        return Executor(REFERENCE, Path(folder), zygotes).execute(parse_target(target, options), commands, mode)


@pytest.mark.parametrize("mode", ["in-process", "images", "forked"])
@pytest.mark.parametrize("target", ["langgraph", "reference"])
def test_a_look_from_another_process_changes_nothing(target, mode, zygotes):
    done = executed(RUN, zygotes, mode, target)
    assert done.violation is None and done.sent == len(RUN)
    assert [seen.outcome.kind for command, seen in done.exchanges if command == LOOK] == ["inert"] * 3


def test_the_present_life_goes_on_as_it_was(zygotes):
    """The process that saw the exception may try again without a reload; a look from elsewhere must not end it."""
    failed = Command("resume", B, crash=CrashPoint("effect.before:2", 1, "exception"))
    commands = (Command("start"), Command("resume", A), failed, LOOK, Command("retry"))
    done = executed(commands, zygotes, "forked")
    assert done.exchanges[-1][0].op == "retry" and done.sent == len(commands)


def test_no_process_sees_the_memory_of_another(zygotes):
    assert "kept in memory" in executed([Command("start"), LOOK], zygotes, "in-process", saver="memory").stopped


def test_an_inspection_that_acts_is_caught_from_elsewhere(zygotes):
    died = Command("resume", B, crash=CrashPoint("effect.before:3"))
    commands = (Command("start"), Command("resume", A), died, LOOK)
    done = executed(commands, zygotes, "in-process", "mutant", fault="InspectActs")
    assert done.violation is not None and done.violation.command == LOOK


def test_campaigns_look_from_elsewhere(monkeypatch):
    sent, send = [], Run.send
    monkeypatch.setattr(Run, "send", lambda run, command: sent.append(command) or send(run, command))
    for phase in ("enumerate", "tour", "random"):
        sent.clear()
        campaign("reference", {}, seed=0, runs=40, chosen=(phase,))
        assert LOOK in sent and Command("inspect") in sent, phase


def test_it_is_written_read_and_said():
    trace = Trace("reference", {}, REFERENCE.workload, RUN)
    assert loads(dumps(trace)).commands == RUN
    assert say_commands(REFERENCE.workload, RUN)[1] == "inspect from another process"
    with pytest.raises(ValueError, match="kind"):
        Command("inspect", kind="truncated")
    with pytest.raises(ValueError, match="kind"):
        Command("start", kind=ELSEWHERE)
