"""Lives of the AutoGen adapter, see `lives`."""

from __future__ import annotations

import lives

from fuzzresume.adapters.autogen import ADAPTER

DEFAULTS = lives.defaults(ADAPTER)
COMBINATIONS = lives.combinations(ADAPTER)
PROGRAMS = [options for options in COMBINATIONS if options["restart"] == DEFAULTS["restart"]]


class Run(lives.Run):
    adapter = ADAPTER
