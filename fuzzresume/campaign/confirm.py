"""Confirmation: a finding counts once it shows in real processes, with real SIGKILL, on a file store, 3 times of 3."""

from __future__ import annotations

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, diagnose
from fuzzresume.harness.target import BadOption, Target

TIMES = 3


def file_twin(target: Target) -> Target | None:
    """The target with its store in a file: itself, or with the first option value that makes it so; None: there is none."""
    if target.capabilities.durable:
        return target
    for option, values in target.adapter.options.items():
        for value in values:
            try:
                twin = Target(target.adapter, {**target.options, option: value})
            except BadOption:
                continue
            if twin.capabilities.durable:
                return twin
    return None


class Confirmer:
    """Replays findings in the forked session."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def confirm(self, finding: Finding) -> str:
        """Such as `3/3`; or, where no file store exists, `in process only`."""
        target = file_twin(finding.target)
        if target is None:
            return "in process only"
        if target.options != finding.options:
            finding.target, finding.options = target, dict(target.options)
        shown = 0
        profile = finding.profile
        for _ in range(TIMES):
            done = self._executor.execute(target, finding.commands, "forked", profile=profile)
            if done.violation is not None:
                found = diagnose(self._executor.reference, done.violation, profile, target)
                shown += found.same_as(finding.diagnosis)
        if shown < TIMES:
            finding.flaky = f"flaky: {shown} of {TIMES} replays in real processes"
        return f"{shown}/{TIMES}"
