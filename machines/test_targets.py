"""The linear machine against every installed target; `pytest machines/` runs just this.

`reference` must hold. A real framework is expected to break the contract, so its machine only has to drive it and to say
what it found: the findings themselves are the campaign's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from fuzzresume.harness.target import available
from fuzzresume.machines import LinearMachine, Violated

QUICK = settings(
    max_examples=40,
    stateful_step_count=12,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)

REAL = [row.name for row in available() if row.version is not None and row.name not in ("reference", "mutant")]


def test_reference_holds() -> None:
    class Machine(LinearMachine):
        adapter = "reference"

    run_state_machine_as_test(Machine, settings=QUICK)


def test_a_planted_fault_is_found() -> None:
    class Machine(LinearMachine):
        adapter = "mutant"
        options: ClassVar[Mapping[str, str]] = {"fault": "ForkIgnore"}

    with pytest.raises(Violated, match="fork"):
        run_state_machine_as_test(Machine, settings=settings(QUICK, max_examples=300))


@pytest.mark.parametrize("name", REAL)
def test_real_target(name: str) -> None:
    class Machine(LinearMachine):
        adapter = name

    try:
        run_state_machine_as_test(Machine, settings=QUICK)
    except Violated as violated:
        assert "expected:" in str(violated) and "observed:" in str(violated)
        assert violated.violation.expected
