"""Traces for the tests of sequence diagrams, from runs written by hand."""

from collections.abc import Sequence

from report_samples import REFERENCE

from fuzzresume.contract.commands import Command
from fuzzresume.contract.monitor import Exchange, reduce
from fuzzresume.contract.trace import Found, Trace

FOUND = Found("FD-2dc830", "FD", "a fork was not served its own answer", "completed", "refused")


def trace(*exchanges: Exchange, found: Found | None = FOUND) -> Trace:
    """A trace with what was seen of each command."""
    commands = tuple(command for command, _ in exchanges)
    seen = tuple(reduce(observation) for _, observation in exchanges)
    return Trace("example", {}, REFERENCE.workload, commands, found=found, seen=seen)


def unseen(commands: Sequence[Command]) -> Trace:
    """A trace of which nothing was recorded."""
    return Trace("example", {}, REFERENCE.workload, tuple(commands))
