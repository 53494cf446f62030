"""What is found when a campaign's time is over stays as it is: nothing more is run for it than to see that it is steady."""

import pytest
from campaigns import REFERENCE

from fuzzresume.campaign.collector import Collector
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.steady import AGAIN
from fuzzresume.contract.commands import Command, CrashPoint
from fuzzresume.contract.workload import Question, Token
from fuzzresume.harness.target import parse_target

LAST = Command("resume", Token(Question(2, 2), 2), crash=CrashPoint("effect.after:2"))
COMMANDS = (Command("start"), Command("resume", Token(Question(2, 1), 1)), LAST, Command("recover"))
"""Dead while task 2 is in doubt, so what is run again may be the last task, what leads to it, or all: three mechanisms."""


class Counting(Executor):
    """Counts what it executes."""

    executions = 0

    def execute(self, *args, **more):
        Counting.executions += 1
        return super().execute(*args, **more)


@pytest.fixture
def take(tmp_path, monkeypatch):
    """Takes a run into a collector: its finding, and the executions that it took."""
    monkeypatch.setattr(Counting, "executions", 0)
    executor = Counting(REFERENCE, tmp_path)
    target = parse_target("mutant", {"fault": "Replay"})

    def taken(*, late):
        collector = Collector(executor, {}, late=lambda: late)
        done = executor.execute(target, COMMANDS)
        assert done.violation is not None
        Counting.executions = 0
        collector.take(target, done.exchanges)
        (finding,) = collector.findings
        return finding, Counting.executions

    return taken


def test_it_says_that_it_may_not_be_minimal(take):
    finding, executions = take(late=True)
    assert not finding.minimal and len(finding.commands) == len(COMMANDS) and len(finding.explained_by) == 3
    assert executions == AGAIN


def test_while_there_is_time_it_is_made_small_and_told_apart(take):
    finding, executions = take(late=False)
    assert finding.minimal and finding.explained_by == (("Replay",),) and executions > AGAIN
