"""Calls in this process have a limit too, and a campaign goes on after it."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from campaigns import REFERENCE

from fuzzresume.adapters.reference import DurableAdapter
from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.points import CrashPoints
from fuzzresume.contract.commands import Command
from fuzzresume.harness.deadline import TICKER, Overdue, within
from fuzzresume.harness.inprocess import InProcessSession
from fuzzresume.harness.target import Target


def wait_for_ever():
    os.read(os.pipe()[0], 1)


class Stubborn:
    """A reply that never comes; `swallows` so many interruptions."""

    def __init__(self, swallows):
        self.swallows = swallows

    def __call__(self):
        while True:
            try:
                wait_for_ever()
            except SystemExit:
                if not self.swallows:
                    raise
                self.swallows -= 1


@pytest.mark.parametrize("swallows", [0, 1])
def test_a_wait_is_broken_off(swallows):
    rung = []
    with pytest.raises(Overdue, match="no reply after"):
        within(0.05, lambda: rung.append(1), Stubborn(swallows))
    assert len(rung) == swallows + 1


def test_what_ends_in_time_is_not_touched_and_the_timer_stops_by_itself():
    TICKER.stop()
    before = signal.getsignal(signal.SIGALRM)
    assert within(5, lambda: pytest.fail("rung"), lambda: signal.getsignal(signal.SIGALRM)) is not before
    signal.raise_signal(signal.SIGALRM)  # a tick that finds no call
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_many_calls_share_one_timer(monkeypatch):
    TICKER.stop()
    set_timer, timers = signal.setitimer, []
    monkeypatch.setattr(signal, "setitimer", lambda *how: timers.append(how) or set_timer(*how))
    for _ in range(50):
        within(30, lambda: pytest.fail("rung"), lambda: None)
    assert len(timers) == 1
    with pytest.raises(Overdue):
        within(0.05, lambda: None, wait_for_ever)


def test_it_does_not_tick_beyond_the_interpreter_s_end():
    script = """
import atexit, os, signal
atexit.register(lambda: os._exit(3 if signal.getitimer(signal.ITIMER_REAL)[0] else 0))  # runs last
from fuzzresume.harness.deadline import within
assert within(30, lambda: None, lambda: signal.getitimer(signal.ITIMER_REAL)[0])
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


def test_somebody_else_s_timer_is_left_alone():
    TICKER.stop()
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        left = within(0.001, lambda: pytest.fail("rung"), lambda: signal.getitimer(signal.ITIMER_REAL)[0])
        assert left > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_outside_of_the_main_thread_there_is_none():
    seen = []

    def work():
        seen.append(within(0.001, lambda: seen.append("rung"), lambda: TICKER.call))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [None]


class Blocks(DurableAdapter):
    """Never answers a recovery."""

    name = "blocks"

    def life(self, env):
        life = super().life(env)
        life.recover = lambda *, branch: wait_for_ever()
        return life


def test_a_command_that_never_returns_has_hung():
    with (
        tempfile.TemporaryDirectory() as folder,
        InProcessSession(Target(Blocks()), REFERENCE.workload, Path(folder) / "run", limit=1) as session,
    ):
        assert session.execute(Command("start")).outcome.kind == "parked"
        hung = session.execute(Command("recover")).outcome
        assert (hung.kind, hung.seconds) == ("hung", 1)
        assert session.execute(Command("inspect")).outcome.kind == "inert", "a fresh life goes on"


def test_a_campaign_goes_on_after_a_hang(monkeypatch):
    monkeypatch.setattr(CrashPoints, "untried", lambda *_: [])  # the catalogue's own recoveries would have to time out too
    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(REFERENCE, Path(folder), limit=1)
        report = Campaign(Target(Blocks()), {}, executor, 0, Budget(None, 7), chosen=("enumerate",)).run()
    assert report.progress.runs == 7
    assert any("hung at recover" in trouble for trouble in report.troubles)
