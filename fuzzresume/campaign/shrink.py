"""Shrinking a trace from anywhere: a campaign's, a bug report's, one written by hand."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzresume.campaign.confirm import Confirmer
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, diagnose, excused
from fuzzresume.campaign.minimise import Minimiser
from fuzzresume.campaign.steady import steady
from fuzzresume.contract.faults import NONE
from fuzzresume.contract.trace import Trace
from fuzzresume.harness.env import Unsupported
from fuzzresume.harness.target import TargetError, recorded_target


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What came of it: the finding, made as small as it gets, or None and why there is none."""

    finding: Finding | None
    why: str = ""


def shrink(executor: Executor, trace: Trace, *, exact: bool = False) -> Shrunk:
    """Execute a trace, minimise what it shows, and confirm it in real processes. `executor` is for the trace's workload.

    `exact`: on the versions that the trace recorded, in an environment of their own where others are installed.
    """
    try:
        target = recorded_target(trace.target, trace.packages, trace.options, exact=exact)
        profile = NONE if trace.found is None else frozenset(trace.found.beyond)
        done = executor.execute(target, trace.commands, profile=profile)
    except (TargetError, Unsupported) as error:
        return Shrunk(None, f"cannot run: {error}")
    if done.violation is None:
        return Shrunk(None, f"cannot run: {done.stopped}" if done.stopped else "the contract admits it: nothing to shrink")
    diagnosis = diagnose(executor.reference, done.violation, profile, target)
    verdict = "documented" if excused(diagnosis, target) else "violated"
    finding = Finding(
        target,
        dict(target.options),
        trace.commands,
        diagnosis,
        diagnosis.explanation,
        executor.reference,
        verdict=verdict,
        profile=profile,
    )
    finding.flaky = steady(executor, finding)
    if finding.flaky:
        return Shrunk(None, finding.flaky)
    small = Minimiser(executor, finding)
    small.run()
    small.put_into(finding)
    finding.confirmed = Confirmer(executor).confirm(finding)
    return Shrunk(finding)
