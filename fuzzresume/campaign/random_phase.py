"""The random phase: Hypothesis generates, the campaign executes, counts and goes on past violations.

Hypothesis only draws here (no shrinking, no database): a violation is recorded and minimised on the list of commands, which
takes a tenth of the executions.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.configuration import set_hypothesis_home_dir, storage_directory
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import get_state_machine_test

from fuzzresume.campaign.findings import options_text
from fuzzresume.campaign.phases import BATCH
from fuzzresume.contract.commands import CrashPoint, Op
from fuzzresume.contract.menu import Label, abstract
from fuzzresume.contract.monitor import Violation
from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.choices import Choices
from fuzzresume.harness.run import Run
from fuzzresume.harness.target import Target
from fuzzresume.machines.linear import LinearMachine

if TYPE_CHECKING:
    from fuzzresume.campaign.campaign import Campaign

REWARD = 2
"""How much likelier a command is that was never sent in its state: as if it stood there so many times more."""

STEPS = 12
"""Commands a run at most."""


def random_phase(campaign: Campaign) -> None:
    """One batch of random runs. A KeyboardInterrupt passes through, with the interrupted run counted.

    What was reached and learnt before the batch is what steers it: Hypothesis wants the same choices to mean the same.
    """
    reached, choices = frozenset(campaign.reached), copy.deepcopy(campaign.choices_by)

    class Machine(LinearMachine):
        options = campaign.pinned
        workload = campaign.executor.workload
        mode = campaign.executor.search_mode(campaign.target)

        def subject(self) -> Adapter:
            return campaign.target.adapter

        def crash_points(self, target: Target) -> Mapping[Op, tuple[CrashPoint, ...]]:
            return campaign.executor.crash_points(target)

        def begin(self, target: Target) -> Run | None:
            if campaign.spent:
                return None
            run = campaign.open(target, crashes=2, specials=2)
            run.choices = choices.get(options_text(target.options), Choices())
            return run

        def prefer(self, run: Run, offered: list[Label]) -> list[Label]:
            state = abstract(run.state)
            return offered + [item for item in offered if (state, item) not in reached] * REWARD

        def send(self, run: Run, chosen: Label, crash: CrashPoint | None, kind: str | None) -> None:
            campaign.send(run, chosen, crash, kind)

        def report(self, violation: Violation) -> None:
            """The campaign records it when the run is closed."""

        def end(self, run: Run) -> None:
            campaign.close(run)

    test = get_state_machine_test(
        Machine,
        settings=settings(
            max_examples=BATCH,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        ),
    )
    try:
        with storage_in(campaign.executor.folder / "hypothesis"):
            seed(campaign.rng.getrandbits(64))(test)()
    except FlakyStrategyDefinition:
        if campaign.spent:
            return  # the budget ended in the middle of the batch, which Hypothesis takes for whim
        campaign.troubles.append("random phase: the target is not deterministic, one batch was cut short")


@contextlib.contextmanager
def storage_in(folder: Path) -> Iterator[None]:
    """What Hypothesis keeps for itself, such as the constants of modules, goes to this folder and not to the working one."""
    place: Any = storage_directory(intent_to_write=False)
    before: Path = getattr(place, "path", place)  # earlier versions give the path itself
    set_hypothesis_home_dir(folder)
    try:
        yield
    finally:
        # Under pytest this process may run somebody's own Hypothesis tests too.
        set_hypothesis_home_dir(before)
