"""The conformance kit: whether an adapter translates its framework faithfully (docs/DESIGN.md, *What an adapter is*).

It judges the translation and never the framework: a fork that is served wrongly is a finding, for `fuzzresume fuzz`, and an
adapter that shows it as it is conforms. So every check looks where a right engine and a wrong one behave alike: a run that
nobody disturbs, one store seen in two ways, one trace executed twice. In a test-suite of yours:

    from fuzzresume.testing import assert_conforms

    def test_the_adapter_conforms():
        assert_conforms(ADAPTER)
"""

from fuzzresume.testing.kit import CHECKS, assert_conforms, check_adapter
from fuzzresume.testing.result import NotConforming, Report, Result, Status

__all__ = ["CHECKS", "NotConforming", "Report", "Result", "Status", "assert_conforms", "check_adapter"]
