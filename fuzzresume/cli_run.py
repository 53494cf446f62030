"""What the commands that run a target share: its options, and a place to run it in."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzzresume.campaign.execute import Executor
from fuzzresume.contract.reference import Reference
from fuzzresume.contract.workload import Workload
from fuzzresume.harness.forked import Zygotes
from fuzzresume.report.usage import fail


def options_of(pairs: list[str]) -> dict[str, str]:
    """Read `key=value` pairs. Ends the program on anything else."""
    options = {}
    for pair in pairs:
        key, sep, value = pair.partition("=")
        if not sep or not key:
            fail(f"-o {pair}: write -o key=value")
        options[key] = value
    return options


@contextlib.contextmanager
def workspace(workload: Workload | None = None) -> Iterator[Executor]:
    """An executor with a private folder and its own worker processes, all gone afterwards."""
    # Memory survives a killed process as a disk does, and nothing here is about power cuts.
    ram = Path("/dev/shm")
    place = ram if os.access(ram, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzzresume-", dir=place) as folder, Zygotes() as zygotes:
        yield Executor(Reference(workload or Workload.linear()), Path(folder), zygotes)
