"""Campaigns in process for tests: no confirmation, no files, no output."""

import tempfile
from pathlib import Path

from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.execute import Executor
from fuzzresume.campaign.findings import diagnose
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.target import parse_target

REFERENCE = Reference(Workload.linear())

SMALL = Reference(Workload.linear(2, {2: 1}))
"""For what a campaign says whatever the workload is: a tenth of the states and pairs."""


def campaign(target, pinned, seed, runs, seconds=None, zygotes=None, reference=REFERENCE, **more):
    """(executor's report, all events) of one campaign of a target, named or given. Without `zygotes` nothing races."""
    events = []

    class Listener:
        def handle(self, event):
            events.append(event)

    target = parse_target(target, pinned) if isinstance(target, str) else target
    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(reference, Path(folder), zygotes)
        report = Campaign(target, pinned, executor, seed, Budget(seconds, runs), [Listener()], **more).run()
    return report, events


def without_one(finding):
    """The commands of a finding without which it still shows: none, if its trace is 1-minimal."""
    spare = []
    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(finding.reference, Path(folder))
        assert executor.execute(finding.target, finding.commands, profile=finding.profile).violation is not None
        for gone in range(len(finding.commands)):
            shorter = [command for i, command in enumerate(finding.commands) if i != gone]
            done = executor.execute(finding.target, shorter, profile=finding.profile, steered=True)
            if done.violation is not None:
                found = diagnose(finding.reference, done.violation, finding.profile, finding.target)
                spare += [finding.words[gone]] if found.same_as(finding.diagnosis) else []
    return spare
