"""Findings by their ids, and reports by their names."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fuzzresume.campaign.corpus.database import Corpus
from fuzzresume.campaign.gallery import gallery, reports
from fuzzresume.campaign.lookup import DATABASE, UnknownFinding, alike, find
from fuzzresume.cli_files import traces_of
from fuzzresume.contract.trace import dumps

FORK, OTHER = (next(trace for trace in gallery() if trace.found.id == name) for name in ("FD-2dc830", "LV-1bb6a5"))


def test_what_a_campaign_wrote_here_comes_before_what_ships(tmp_path):
    assert find("FD-2dc830", tmp_path) == FORK
    (tmp_path / "mutant").mkdir()
    (tmp_path / "mutant" / "FD-2dc830.json").write_bytes(dumps(OTHER))
    assert find("FD-2dc830", tmp_path) == OTHER


def test_the_database_is_asked_where_there_is_no_file(tmp_path):
    with Corpus(tmp_path / DATABASE, clock=lambda: datetime(2020, 1, 1, tzinfo=UTC)) as corpus:
        corpus.add_trace(OTHER)
    assert find("LV-1bb6a5", tmp_path) == OTHER and find("FD-2dc830", tmp_path) == FORK


def test_an_id_that_several_have_or_nobody_says_so(tmp_path):
    for target in ("one", "two"):
        (tmp_path / target).mkdir()
        (tmp_path / target / "FD-2dc830.json").write_bytes(dumps(FORK))
    with pytest.raises(UnknownFinding, match=r"more than once, name one of .*one.*two"):
        find("FD-2dc830", tmp_path)
    with pytest.raises(UnknownFinding, match="no finding is called FD-000000"):
        find("FD-000000", tmp_path)


def test_reports_have_names_and_are_found_beside_what_they_are_like(tmp_path):
    assert find("langgraph-6663", tmp_path) == reports()["langgraph-6663"]
    assert "langgraph-6663" in alike(FORK) and alike(OTHER) == ["pydantic-graph-killed-node"]
    assert alike(reports()["langgraph-6663"]) == []


def test_all_reports_have_one_word_unless_a_folder_is_called_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert traces_of([Path("reports"), Path("FD-2dc830")]) == [*reports().values(), FORK]
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "mine.json").write_bytes(dumps(OTHER))
    assert traces_of([Path("reports")]) == [OTHER]
