"""The alternative of benchmarks (a) and (b): a plain Hypothesis machine, as it comes without a campaign around it.

The rules, draws and sessions are those of `LinearMachine`, and Hypothesis has its own default settings; only the draw that
does without some of the commands (`swarm`) is left out.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import get_state_machine_test, initialize

from fuzzresume.campaign.execute import Executor
from fuzzresume.harness.run import Run, profile_of, scope_of
from fuzzresume.harness.target import Target
from fuzzresume.machines.linear import LinearMachine


class Enough(KeyboardInterrupt):
    """The runs are used up. Hypothesis lets no other kind of exception through at once."""


class PlainMachine(LinearMachine):  # type: ignore[misc,unused-ignore]
    """`executor` opens the runs, in a folder of its own. `runs` counts them, examples that Hypothesis discards among them;
    no more than `most` are made before one has failed."""

    executor: ClassVar[Executor]
    runs: ClassVar[int] = 0
    most: ClassVar[int]
    failed_in: ClassVar[int | None] = None

    @initialize(data=st.data())
    def open(self, data: st.DataObject) -> None:
        """Draw what is not pinned, and never do without a command."""
        super().open(data, False)

    def begin(self, target: Target) -> Run:
        """Open a run within the machine's bounds. Raises Enough."""
        cls = type(self)
        if cls.failed_in is None and cls.runs == cls.most:
            raise Enough
        cls.runs += 1
        can = target.capabilities
        scope = scope_of(can, crashes=self.crashes if can.deterministic else 0, specials=self.specials)
        return self.executor.open(target, scope=scope, profile=profile_of(can))

    def end(self, run: Run) -> None:
        """Close the run and remove its files."""
        self.executor.close(run)


def play(machine: type[PlainMachine], seed_: int, *, shrink: bool) -> None:
    """Let Hypothesis drive the machine until its runs are used up or one fails; raises what that one raises."""
    chosen = settings(
        max_examples=machine.most,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    test: Any = get_state_machine_test(machine, settings=chosen)
    with suppress(Enough):
        seed(seed_)(test)()
