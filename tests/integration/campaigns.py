"""Campaigns in process for tests: no confirmation, no files, no output."""

import tempfile
from pathlib import Path

from fuzzresume.campaign.campaign import Budget, Campaign
from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.target import parse_target

REFERENCE = Reference(Workload.linear())


def campaign(name, pinned, seed, runs):
    """(executor's report, all events) of one campaign."""
    events = []

    class Listener:
        def handle(self, event):
            events.append(event)

    with tempfile.TemporaryDirectory() as folder:
        executor = Executor(REFERENCE, Path(folder))
        report = Campaign(parse_target(name, pinned), pinned, executor, seed, Budget(None, runs), [Listener()]).run()
    return report, events
