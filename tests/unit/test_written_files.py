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


def test_a_link_stays_and_a_pipe_is_written_to_as_it_is(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "there.json")
    (tmp_path / "there.json").write_bytes(b"before")
    write_whole(tmp_path / "link.json", b"after")
    assert (tmp_path / "link.json").is_symlink() and (tmp_path / "there.json").read_bytes() == b"after"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", b"after")
    assert os.read(reader, 100) == b"after" and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    os.close(reader)


def test_half_a_surrogate_pair_in_an_error_can_be_written():
    message = ended_by(ValueError("no key \ud83d here")).message
    assert message == r"no key \ud83d here" and msgspec.json.encode(message)


def test_what_is_seen_only_sometimes_is_not_said_to_be_violated():
    words = sentence(report_samples.whole())
    assert "RS violated" not in words and "RS unexercised" in words
