"""From findings to verdicts: which documented rules a verdict names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from fuzzresume.campaign.findings import Finding
from fuzzresume.campaign.verdicts import Tally, verdicts
from fuzzresume.harness.adapter import Capabilities, Documented

LATE = Documented("LateRecord", "records come late", "its guide", "1.0")
RACY = Documented("RaceEffect", "racers are all served", "its reference", "1.0")


def finding(*names: str) -> Finding:
    target = SimpleNamespace(capabilities=Capabilities(documented=(LATE, RACY)))
    shown: Any = SimpleNamespace(
        property_name="EO", verdict="documented", flaky="", id="EO-1", explanation=(names,), target=target
    )
    return cast(Finding, shown)


def test_a_documented_verdict_names_the_rule_that_is_kept_and_no_other() -> None:
    why = verdicts(Tally(), Capabilities(), [finding("LateRecord")])["EO"].why
    assert why.startswith("records come late (its guide, 1.0)") and "racers" not in why
    both = verdicts(Tally(), Capabilities(), [finding("LateRecord"), finding("RaceEffect", "LateRecord")])["EO"].why
    assert both.startswith("records come late (its guide, 1.0); racers are all served (its reference, 1.0)")
