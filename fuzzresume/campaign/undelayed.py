"""A finding that needs a slow disk, beside the same trace on a fast one (docs/DESIGN.md, *Hidden windows*)."""

from __future__ import annotations

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, diagnose, options_text
from fuzzresume.harness.target import BadOption, Target


def undelayed(executor: Executor, finding: Finding) -> str:
    """What the finding's trace shows when nothing is put off, in words; empty where nothing was put off."""
    slow = finding.target.capabilities.slow
    try:
        quick = Target(finding.target.adapter, {**finding.options, **slow})
    except BadOption:
        return ""
    if not slow or quick.options == finding.target.options:
        return ""
    put_off = options_text({name: finding.options[name] for name in slow})
    done = executor.execute(quick, finding.commands, profile=finding.profile)
    if done.violation is None:
        shows = f"the contract is kept{f' ({done.stopped})' if done.stopped else ''}"
    else:
        found = diagnose(executor.reference, done.violation, finding.profile, quick)
        same = found.same_as(finding.diagnosis)
        shows = "the same shows" if same else f"another violation shows: {found.anomaly.cls}"
    return f"{put_off} puts off what is not waited for; with {options_text(slow)}, {shows}"
