"""The determinism gate: a failing trace is run again before anything is made of it (docs/DESIGN.md, *Determinism*)."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, diagnose
from fuzzresume.contract.commands import letters
from fuzzresume.contract.monitor import Sight, sights
from fuzzresume.contract.words import say_expect

AGAIN = 2
"""Runs that must all be alike."""

MORE = 3
"""Further runs when they are not, so that the rate means something."""


def steady(executor: Executor, finding: Finding) -> str:
    """Run a finding's trace again. Empty when every run is the same; else its rate, with the first observation that differs,
    in words: `flaky (3 of 5): …`."""
    first = finding.diagnosis.violation.sights
    shown, different = 0, ""
    runs = AGAIN
    done = 0
    while done < runs:
        done += 1
        again = executor.execute(finding.target, finding.commands, profile=finding.profile)
        if again.violation is not None:
            found = diagnose(executor.reference, again.violation, finding.profile, finding.target)
            shown += found.same_as(finding.diagnosis)
        different = different or difference(first, sights(again.exchanges))
        if different and runs == AGAIN:
            runs += MORE
    return f"flaky ({shown} of {runs}): {different}" if different and shown < runs else ""


def difference(first: Sequence[Sight], second: Sequence[Sight]) -> str:
    """The first observation in which two runs of the same commands differ, in words; empty when there is none."""
    names = {token.text: name for token, name in letters(tuple(command for command, _ in first)).items()}
    for i, ((command, seen), (_, again)) in enumerate(zip(first, second, strict=False), 1):
        if seen != again:
            now, before = say_expect(again.expect, names), say_expect(seen.expect, names)
            return f"command {i} ({command.op}) showed {now} instead of {before}"
    if len(second) < len(first):
        return f"the run ended after command {len(second)}"
    return ""
