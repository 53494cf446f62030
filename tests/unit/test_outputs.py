"""The files of a command: all of them are written, whatever becomes of one, and none over another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from report_samples import conforming

from fuzzresume.cli_campaign import prepare
from fuzzresume.cli_outputs import Outputs, known_files
from fuzzresume.report.account import Account
from fuzzresume.report.exit_codes import Exit
from fuzzresume.report.plain_words import printable

ACCOUNT = Account(5, [conforming()], Exit.OK)


def test_one_that_fails_costs_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").mkdir()
    outputs = Outputs(tmp_path / "events", junit=tmp_path / "taken", sarif=tmp_path / "a.sarif", summary=None)
    (listener,) = outputs.begin(5)
    assert hasattr(listener, "handle")

    def broken() -> bytes:
        raise ValueError("surrogates not allowed")

    with pytest.raises(typer.Exit) as raised:
        outputs.write(ACCOUNT, (tmp_path / "campaign.json", broken), (None, broken))
    assert raised.value.exit_code == Exit.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{tmp_path / 'campaign.json'}: surrogates not allowed; {tmp_path / 'taken'}: " in line
    assert json.loads((tmp_path / "a.sarif").read_text())["version"] == "2.1.0"
    assert json.loads((tmp_path / "events").read_text().splitlines()[-1])["event"] == "ended"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sarif", "events", "taken"]


def test_what_was_not_asked_for_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outputs = Outputs(None, junit=None, sarif=None, summary=None)
    assert outputs.begin(5) == [] and outputs.paths == []
    outputs.write(ACCOUNT, (None, lambda: b""))
    assert not list(tmp_path.iterdir())


def test_events_that_cannot_begin_end_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as raised:
        Outputs(Path("/dev/full")).begin(5)
    assert raised.value.exit_code == Exit.USAGE and capsys.readouterr().err == (
        "fuzzresume: /dev/full: No space left on device\n"
    )


def test_two_reports_in_one_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = Outputs(tmp_path / "x", junit=tmp_path / "x").paths
    with pytest.raises(typer.Exit):
        prepare(tmp_path / "out", both, False, None, None)
    assert capsys.readouterr().err.endswith("x: two reports cannot be written to one file\n")


def test_known_findings_are_found_by_the_names_of_their_files(tmp_path: Path) -> None:
    (tmp_path / "known").mkdir()
    one, two = tmp_path / "known" / "FD-2dc830.json", tmp_path / "EO-604a57.json"
    for path in (one, two):
        path.touch()
    assert known_files([tmp_path / "known", two, Path("IN-0000ab")]) == {"FD-2dc830": one, "EO-604a57": two}


def test_what_cannot_be_printed_is_written_out() -> None:
    assert printable("a\x00\x1b[31m\x9b\r\n\ud800\ufffe\t é 😀") == "a\\x00\\x1b[31m\\x9b\\r\n\\ud800\\ufffe\t é 😀"
