"""TLC's word on a campaign's findings, and what a contradiction does."""

import pytest
from campaigns import campaign

from fuzzresume.campaign.second_opinion import SecondOpinion
from fuzzresume.formal.toolchain import TlcError, TlcMissing, Toolchain
from fuzzresume.report.exit_codes import Exit, exit_code


@pytest.fixture
def report():
    found, _ = campaign("mutant", {"fault": "SkipTask"}, seed=0, runs=30)
    assert len(found.findings) == 1
    return found


def test_what_is_right_is_confirmed(report):
    assert SecondOpinion().give(report.findings) == []
    assert [finding.tlc for finding in report.findings] == ["confirmed"]
    assert exit_code([report]) is Exit.VIOLATED


def test_a_wrong_explanation_is_contradicted_and_nothing_can_be_trusted(report):
    (finding,) = report.findings
    finding.explained_by = (("Misroute",),)
    (trouble,) = SecondOpinion().give(report.findings)
    assert finding.id in trouble and "bug of fuzzresume" in trouble and "not by Misroute" in trouble
    assert finding.tlc == "contradicted"
    assert exit_code([report]) is Exit.UNDETERMINED


def test_a_tlc_that_breaks_is_a_trouble_and_no_opinion(report, monkeypatch):
    def broken(self, *args, **named):
        raise TlcError("TLC ended with code 255")

    monkeypatch.setattr(Toolchain, "run", broken)
    (trouble,) = SecondOpinion().give(report.findings)
    assert "code 255" in trouble and [finding.tlc for finding in report.findings] == ["not run"]


def test_no_tlc_here_is_said_and_a_wrong_path_is_an_error(report, monkeypatch, tmp_path):
    with pytest.raises(TlcMissing, match="there is no Java"):
        SecondOpinion(java=tmp_path / "java")

    def missing(*args):
        raise TlcMissing("TLC is not installed")

    monkeypatch.setattr(Toolchain, "find", missing)
    opinion = SecondOpinion()
    assert opinion.missing == "TLC is not installed" and opinion.give(report.findings) == []
