"""What the command line's exit code says. Stable: scripts and CI rest on it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from fuzzresume.campaign.events import TargetReport
from fuzzresume.campaign.regress import GONE


class Exit(IntEnum):
    """Exit codes of every `fuzzresume` command."""

    OK = 0  # nothing violated; for replay: no longer reproduces; for tla: all as stated
    VIOLATED = 1  # something that was not known violates a property; for replay: reproduces; for tla: something differs
    USAGE = 2  # the command line, a target, an option or a file is wrong
    UNDETERMINED = 3  # not violated, but unexercised, flaky, hung or broken; or TLC contradicts; for replay: cannot run
    INTERRUPTED = 130  # Ctrl-C: what was found is kept and printed


def exit_code(reports: Iterable[TargetReport], *, fixed: bool = False) -> Exit:
    """The exit code of a campaign: an interrupt first, then a finding that TLC contradicts, for then nothing of what is
    said can be trusted; then the worst of its targets. Findings that were known before are not counted, unless `fixed`
    asks for those that no longer show to count as a violation."""
    reports = list(reports)
    verdicts = {v.verdict for report in reports for v in report.verdicts.values()}
    if any(report.interrupted for report in reports):
        return Exit.INTERRUPTED
    if any(finding.tlc == "contradicted" for report in reports for finding in report.findings):
        return Exit.UNDETERMINED
    if any(f.verdict == "violated" and not f.flaky for report in reports for f in report.findings):
        return Exit.VIOLATED
    if fixed and any(c.known and c.outcome == GONE for report in reports for c in report.checked):
        return Exit.VIOLATED
    if "unexercised" in verdicts or any(report.troubles for report in reports):
        return Exit.UNDETERMINED
    return Exit.OK
