"""What reaches a file or a pipe: whole, readable by those that the user lets read, and text whatever a framework says."""

import os
import stat

import msgspec
import pytest
import report_samples

from fuzzresume.campaign.store import write_whole
from fuzzresume.harness.calls import ended_by
from fuzzresume.report.sentence import sentence


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_file_has_the_permissions_of_any_other_new_file(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "report.json", b"{}")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == mode


def test_a_file_that_cannot_be_replaced_is_left_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    write_whole(path, b"before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"after")
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"] and path.read_bytes() == b"before"


def test_half_a_surrogate_pair_in_an_error_can_be_written():
    message = ended_by(ValueError("no key \ud83d here")).message
    assert message == r"no key \ud83d here" and msgspec.json.encode(message)


def test_what_is_seen_only_sometimes_is_not_said_to_be_violated():
    words = sentence(report_samples.whole())
    assert "RS violated" not in words and "RS unexercised" in words
