"""The kit: its checks in order, and the two ways to call it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path

from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.attendant import WorkerError
from fuzzresume.harness.forked import Zygotes
from fuzzresume.harness.target import Target
from fuzzresume.testing.check_branches import check_fork, check_identifiers, check_trunk
from fuzzresume.testing.check_commands import (
    check_addresses,
    check_inspect,
    check_reload,
    check_retry,
    check_schema,
    check_tamper,
)
from fuzzresume.testing.check_deaths import check_modes, check_points
from fuzzresume.testing.check_options import check_options, shape_complaint
from fuzzresume.testing.check_plain import (
    check_deterministic,
    check_epochs,
    check_frontier,
    check_ledger,
    check_outcomes,
    check_run,
)
from fuzzresume.testing.check_racers import check_racers
from fuzzresume.testing.check_runs import check_close, check_cold, check_interleaved, check_order
from fuzzresume.testing.lab import Lab
from fuzzresume.testing.result import Fails, Inapplicable, NotConforming, Report, Result, Undetermined

Check = Callable[[Lab], str]
"""Says what was seen. Raises Fails, Inapplicable or Undetermined."""

GROUND: Mapping[str, Check] = {
    "outcomes": check_outcomes,
    "run": check_run,
    "ledger": check_ledger,
    "frontier": check_frontier,
    "deterministic": check_deterministic,
}
"""What must hold before the other checks mean anything."""

CHECKS: Mapping[str, Check] = {
    "options": check_options,
    **GROUND,
    "epochs": check_epochs,
    "inspect": check_inspect,
    "reload": check_reload,
    "addresses": check_addresses,
    "fork": check_fork,
    "trunk": check_trunk,
    "identifiers": check_identifiers,
    "retry": check_retry,
    "schema": check_schema,
    "tamper": check_tamper,
    "points": check_points,
    "interleaved": check_interleaved,
    "order": check_order,
    "close": check_close,
    "cold": check_cold,
    "modes": check_modes,
    "racers": check_racers,
}
"""Every check by its name, in the order in which they are made."""


def check_adapter(
    adapter: Adapter,
    options: Mapping[str, str] | None = None,
    *,
    only: Collection[str] = CHECKS.keys(),
    zygotes: Zygotes | None = None,
    place: Path | None = None,
    heard: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Check how an adapter translates, under its defaults with `options` in their place.

    `only`: names of checks. `zygotes`: a pool of worker processes to use; without one it has its own. `place`: where the
    runs' files go (None: in memory where the machine offers that, else where temporary files do). `heard` is told each
    result as it comes. Raises TargetError for options that the adapter does not have, ValueError for a check that there is
    not.
    """
    if unknown := set(only) - CHECKS.keys():
        raise ValueError(f"there is no check {min(unknown)!r}; they are {', '.join(CHECKS)}")
    chosen = [name for name in CHECKS if name in only]
    if complaint := shape_complaint(adapter):
        results = [Result("options", "fails", complaint), *(_not_tried(name, "options") for name in chosen[1:])]
        for result in results:
            heard(result)
        return Report(adapter.name, dict(options or {}), tuple(results))
    target = Target(adapter, options or {})
    target.capabilities.keeper.ready()
    results = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fuzzresume-", dir=place or _place()))
        lab = Lab(target, Path(folder), zygotes or stack.enter_context(Zygotes()))
        broken = ""
        for name in chosen:
            results.append(_not_tried(name, broken) if broken and name not in GROUND else _made(name, lab))
            heard(results[-1])
            if name in GROUND and results[-1].status in ("fails", "undetermined"):
                broken = broken or name
    return Report(target.label, target.options, tuple(results))


def assert_conforms(adapter: Adapter, options: Mapping[str, str] | None = None) -> None:
    """For a test-suite: raises NotConforming, an AssertionError, with the whole report unless the adapter conforms."""
    report = check_adapter(adapter, options)
    if not report.conforms:
        raise NotConforming(f"\n{report}")


def _made(name: str, lab: Lab) -> Result:
    try:
        return Result(name, "ok", CHECKS[name](lab))
    except Fails as found:
        return Result(name, "fails", found.why, found.trace)
    except Inapplicable as reason:
        return Result(name, "inapplicable", str(reason))
    except WorkerError as error:
        return Result(name, "fails", f"a worker broke: {str(error).strip().splitlines()[-1]}")
    except (Undetermined, OSError) as reason:
        return Result(name, "undetermined", str(reason))


def _not_tried(name: str, broken: str) -> Result:
    return Result(name, "undetermined", f"not tried, for it rests on `{broken}`")


def _place() -> Path | None:
    """Memory survives a killed process as a disk does, and is quicker."""
    ram = Path("/dev/shm")
    return ram if os.access(ram, os.W_OK) else None
