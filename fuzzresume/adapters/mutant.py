"""The negative control: the engine of `reference` with one planted deviation, named like the switch that describes it.

A campaign against this target that finds nothing is a bug of the fuzzer. Everything but the fault is as `reference` has it
by default. The value `none-fits` deviates in a way that no switch describes.
"""

from __future__ import annotations

from collections.abc import Mapping

from fuzzresume.adapters.durable.adapter import DurableAdapter
from fuzzresume.adapters.durable.conduct import Conduct
from fuzzresume.adapters.durable.faults import FAULTS


class MutantEngine(DurableAdapter):
    """The engine with the fault that its only option names."""

    name = "mutant"
    options: Mapping[str, tuple[str, ...]] = {"fault": tuple(FAULTS)}

    def conduct(self, options: Mapping[str, str]) -> Conduct:
        """As the fault has it."""
        return FAULTS[options["fault"]]()


ADAPTER = MutantEngine()
