"""The positive control: an engine that keeps docs/CONTRACT.md under every one of its options.

Every option value is a legal choice. An alarm on this target is a bug of the fuzzer, whatever the options.
"""

from __future__ import annotations

from collections.abc import Mapping

from fuzzresume.adapters.durable.adapter import DurableAdapter
from fuzzresume.adapters.durable.conduct import Conduct
from fuzzresume.adapters.durable.policy import OPTIONS


class ReferenceEngine(DurableAdapter):
    """The legal engine; its options are the legal choices."""

    name = "reference"
    options = OPTIONS

    def conduct(self, options: Mapping[str, str]) -> Conduct:
        """As the contract says."""
        return Conduct()


ADAPTER = ReferenceEngine()
