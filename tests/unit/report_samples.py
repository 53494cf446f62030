"""Reports of targets as a campaign would end with, written by hand: something of everything that an output must show.

`whole` has every verdict: FD, CO and LV violated (explained, in a race, unexplained with a hostile error text), EO
documented, IN violated by a known finding alone, RS seen but not every time, CV inapplicable, PC unexercised; the others
hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from contract_runs import seen

from fuzzresume.campaign.coverage import OPEN, Coverage, Unreached
from fuzzresume.campaign.events import PhaseCount, Progress, TargetReport
from fuzzresume.campaign.findings import Diagnosis, Finding
from fuzzresume.campaign.regress import Checked
from fuzzresume.campaign.verdicts import Tally, verdicts
from fuzzresume.contract.commands import Command, CrashPoint, Turn
from fuzzresume.contract.explain import Explanation
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.monitor import Exchange, judge
from fuzzresume.contract.observation import Entry, Frontier, Observation, Outcome
from fuzzresume.contract.properties import PROPERTIES, Anomaly
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Mark, Question, Token, Workload
from fuzzresume.harness.adapter import Capabilities, Documented
from fuzzresume.harness.target import Target

HOSTILE = "]]><script>alert(1)</script>&amp; | [x](y) {0} ```\x00\x1b[31m"
"""An error text that breaks out of XML, HTML, Markdown, SARIF's messages and terminals."""

RULE = Documented("LateRecord", "changes are written when a call ends", "its guide, persistence", "1.2")
GATE = Question(2, 1)
A, B = Token(GATE, 1), Token(GATE, 2)
REFERENCE = Reference(Workload.linear(3, {2: 1}))


class SampleAdapter:
    """Enough of an adapter to be reported on; it runs nothing."""

    name = "example"
    packages = ("example-framework", "example-store")
    options: Mapping[str, tuple[str, ...]] = {"saver": ("file", "memory"), "api": ("graph", "functional")}

    def capabilities(self, options: Mapping[str, str]) -> Capabilities:
        return Capabilities(fork="a checkpoint's name", documented=(RULE,))

    def valid(self, options: Mapping[str, str]) -> bool:
        return True

    def version_of(self, package: str) -> str:
        return {"example-framework": "1.2.9", "example-store": "4.1.1"}[package]


TARGET = Target(SampleAdapter())  # type: ignore[arg-type]

START: Exchange = (Command("start"), seen("parked", effects=(Mark(1),), after=(1,), asked=(GATE,)))
SERVED = (Mark(2, (A.text,)), Mark(3))
MARKS = (Mark(1), *SERVED)
ANSWERED: Exchange = (Command("resume", A), seen("completed", effects=SERVED, before=(1,), after=(1, 2, 3), marks=MARKS))
FORKED: Exchange = (Command("fork", B), seen("completed", effects=SERVED, before=(1,), after=(1, 2, 3), marks=MARKS))
REFUSED: Exchange = (
    Command("resume", A),
    seen("refused", before=(1,), after=(1,), error="ValueError", message=HOSTILE),
)
DOUBTFUL: Exchange = (
    Command("resume", A, crash=CrashPoint("effect.after:3")),
    seen("crashed", effects=SERVED, before=(1,), after=(1,)),
)
LOOKED: Exchange = (Command("inspect"), seen("inert", effects=(Mark(1),), before=(1,), after=(1,)))
RESTARTED: Exchange = (Command("restart"), seen("completed", effects=(Mark(3),), before=(1,), after=(1, 3), marks=MARKS))
RACED: Exchange = (
    Command("race", racers=(Command("resume", A), Command("resume", B)), turns=(Turn(0, "effect.after:2"), Turn(1))),
    Observation(
        Outcome("raced"),
        tuple(Entry("effect", *mark) for mark in (Mark(2, (A.text,)), Mark(2, (B.text,)), Mark(3), Mark(3))),
        Frontier((1,)),
        Frontier((1, 2, 3)),
        racers=(Observation(Outcome("completed")), Observation(Outcome("completed"))),
    ),
)


def finding(anomaly: Anomaly, explanation: Explanation, *exchanges: Exchange) -> Finding:
    """A finding whose trace is these exchanges, 1-minimal and confirmed; change what you like."""
    violation = judge(REFERENCE, exchanges, NONE)
    assert violation is not None and violation.index == len(exchanges) - 1, "the sample must break the contract at its end"
    return Finding(
        TARGET,
        dict(TARGET.options),
        tuple(command for command, _ in exchanges),
        Diagnosis(anomaly, explanation, violation),
        explanation,
        REFERENCE,
        confirmed="3/3",
        tlc="confirmed",
        minimal=True,
        executions=7,
        seen=12,
    )


def forked() -> Finding:
    """A finding that one mechanism explains."""
    return finding(Anomaly("FD", "a fork was not served its own answer"), (("ForkIgnore",),), START, ANSWERED, FORKED)


def raced() -> Finding:
    """A finding that shows in a race, and that two mechanisms explain."""
    cls = "racers answered one question more than once, and its effect fired each time (CO-e)"
    return finding(Anomaly("CO", cls), (("RaceEffect",), ("ConcurrentConsume", "Replay")), START, RACED)


def refused() -> Finding:
    """A finding that nothing known explains, not minimal, with a hostile error text."""
    found = finding(Anomaly("LV", "the run does not go on"), (), START, REFUSED)
    found.confirmed, found.tlc, found.minimal, found.executions = "2/3", "not run", False, 0
    return found


def late() -> Finding:
    """A finding that the target's documentation excuses."""
    found = finding(Anomaly("EO", "several tasks in doubt after one crash"), (("LateRecord",),), START, DOUBTFUL)
    found.verdict = "documented"
    return found


def looked() -> Finding:
    """A finding that was known before: nothing of it is minimised, confirmed or saved."""
    found = finding(Anomaly("IN", "inspection was not inert"), (("InspectActs",),), START, LOOKED)
    found.confirmed, found.tlc, found.minimal, found.executions = "not run", "not run", False, 0
    found.known = "IN-0000ab"
    return found


def shaky() -> Finding:
    """A finding that does not show every time."""
    found = finding(Anomaly("RS", "restart is none of its legal things"), (("RestartMix",),), START, RESTARTED)
    found.flaky = "flaky (3 of 5): command 2 (restart) showed refused; effects: none instead of completed; effects: 3"
    return found


def whole(traces: Path | None = None) -> TargetReport:
    """Something of everything. `traces`: the folder in which the findings' traces lie; nothing is written."""
    new, known = [forked(), raced(), refused(), late(), shaky()], [looked()]
    for one in new:
        one.trace = None if traces is None else traces / TARGET.label / f"{one.id}.json"
    return TargetReport(
        TARGET,
        verdicts(tally("EO", "FD", "CO", "RD", "FI", "LV", "IN", "RS"), TARGET.capabilities, [*new, *known]),
        {"restart": "new epoch", "stray": "ignored | refused"},
        sorted(new, key=lambda f: (f.verdict, f.id)),
        Progress("race", 812, 4000, (100, 147), (190, 203), len(new), 59.5),
        [f"harness error in run 3 at start: OSError: {HOSTILE}", "run 17 hung at resume"],
        False,
        Coverage((100, 147), (190, 203), (Unreached("parked after {1}", "resume", OPEN),), 171),
        depths=(4, 3),
        phases=[PhaseCount("enumerate", 500, 2600, 120, 3, "depth 4"), PhaseCount("race", 312, 1400, 70, 2)],
        vacuous=["no run went on after a death that left something durable"],
        known=known,
        checked=[Checked("IN-0000ab", "still shows", True), Checked("trace", "no longer shows", False)],
    )


def interrupted() -> TargetReport:
    """Ended early, with a finding."""
    found = [forked()]
    exercised = verdicts(tally("FI"), TARGET.capabilities, found)
    return replace(
        whole(), verdicts=exercised, findings=found, interrupted=True, troubles=[], known=[], checked=[], depths=None
    )


def conforming() -> TargetReport:
    """Nothing found and nothing left open: every property that applies holds."""
    exercised = verdicts(tally(*PROPERTIES), TARGET.capabilities, [])
    return replace(
        whole(),
        verdicts=exercised,
        findings=[],
        troubles=[],
        vacuous=[],
        known=[],
        checked=[],
        coverage=Coverage((147, 147), (203, 203), (), 203),
        depths=(None, None),
    )


def tally(*exercised: str) -> Tally:
    """Each of these properties was put to the test seven times."""
    counted = Tally()
    counted.exercised.update({name: 7 for name in exercised})
    return counted
