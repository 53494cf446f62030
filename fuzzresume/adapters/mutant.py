"""The negative control: the in-tree durable engine with one planted fault (docs/CONTRACT.md, the table of switches)."""

from __future__ import annotations

from collections.abc import Mapping

from fuzzresume.adapters.durable.faults import FAULTS, Faults
from fuzzresume.adapters.reference import DurableAdapter


class MutantAdapter(DurableAdapter):
    """Every legal choice has its default; `fault` names the deviation. `none-fits` is one that no switch describes."""

    name = "mutant"
    options: Mapping[str, tuple[str, ...]] = {"fault": tuple(FAULTS)}

    def faults(self, options: Mapping[str, str]) -> Faults:
        """The planted deviation."""
        return FAULTS[options["fault"]]()


ADAPTER = MutantAdapter()
