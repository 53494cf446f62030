"""Confirmation: a finding counts once it shows in real processes, with real SIGKILL, on a file store, 3 times of 3."""

from __future__ import annotations

from collections.abc import Iterator

from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import Finding, diagnose
from fuzzresume.harness.sessions import Mode
from fuzzresume.harness.target import BadOption, Target

TIMES = 3


def file_twins(target: Target) -> Iterator[Target]:
    """The target with its store in a file: itself, or with one other option value."""
    if target.capabilities.durable:
        yield target
        return
    for option, values in target.adapter.options.items():
        for value in values:
            try:
                twin = Target(target.adapter, {**target.options, option: value})
            except BadOption:
                continue
            if twin.capabilities.durable:
                yield twin


class Confirmer:
    """Replays findings in the forked session."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def confirm(self, finding: Finding) -> str:
        """Such as `3/3`; for a finding that only a store in memory shows: `in process only, 3/3`."""
        for target in file_twins(finding.target):
            shown = self._shown(finding, target, "forked")
            if shown or target is finding.target:
                finding.target, finding.options = target, dict(target.options)
                break
        else:
            target = finding.target
            shown = self._shown(finding, target, self._executor.search_mode(target))
        if shown < TIMES:
            finding.flaky = f"flaky: {shown} of {TIMES} replays"
        return f"{shown}/{TIMES}" if target.capabilities.durable else f"in process only, {shown}/{TIMES}"

    def _shown(self, finding: Finding, target: Target, mode: Mode) -> int:
        executor = self._executor.on(finding.reference)
        shown = 0
        for _ in range(TIMES):
            done = executor.execute(target, finding.commands, mode, profile=finding.profile)
            if done.violation is not None:
                found = diagnose(finding.reference, done.violation, finding.profile, target)
                shown += found.same_as(finding.diagnosis)
        return shown
