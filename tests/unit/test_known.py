"""Baseline files: findings that a team knows of."""

from dataclasses import replace

import msgspec
import pytest

from fuzzresume.campaign.gallery import gallery
from fuzzresume.campaign.known import BaselineFileError, added, read_baseline, write_baseline

FORK, OTHER = (next(trace for trace in gallery() if trace.found.id == name) for name in ("FD-2dc830", "CO-ee6042"))


def test_a_file_is_read_as_it_was_written_whatever_the_order(tmp_path):
    path = tmp_path / "baseline.json"
    path.write_bytes(write_baseline([FORK, OTHER]))
    assert read_baseline(path) == [OTHER, FORK]
    assert write_baseline([OTHER, FORK]) == path.read_bytes()


def test_a_finding_is_added_once_and_by_its_shortest_trace():
    longer = replace(FORK, commands=(*FORK.commands, FORK.commands[-1]), words=(*FORK.words, FORK.words[-1]), seen=())
    assert added([], [longer, FORK, longer]) == [FORK]
    assert added([longer], [FORK, OTHER]) == [OTHER]


def test_the_same_id_of_another_target_is_another_finding():
    assert added([FORK], [replace(FORK, target="toy")]) == [replace(FORK, target="toy")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "not JSON"),
        (b"[]", "schema: None"),
        (b'{"schema": "fuzzresume.baseline/2", "findings": []}', "'fuzzresume.baseline/2', and this fuzzresume reads"),
        (b'{"schema": "fuzzresume.baseline/1"}', "findings: not a list"),
        (b'{"schema": "fuzzresume.baseline/1", "findings": [{}]}', r"findings\[0\]: schema"),
        (write_baseline([replace(FORK, found=None)]), r"findings\[0\]: does not say what was found"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_is_wrong(tmp_path, content, words):
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    with pytest.raises(BaselineFileError, match=words):
        read_baseline(path)


def test_a_file_that_is_not_there_says_how_one_is_made(tmp_path):
    with pytest.raises(BaselineFileError, match="baseline update"):
        read_baseline(tmp_path / "none.json")


def test_a_broken_trace_inside_names_its_place(tmp_path):
    path = tmp_path / "baseline.json"
    document = msgspec.json.decode(write_baseline([FORK]))
    document["findings"][0]["commands"][0]["op"] = "leap"
    path.write_bytes(msgspec.json.encode(document))
    with pytest.raises(BaselineFileError, match=r"findings\[0\]: commands\[0\].*leap"):
        read_baseline(path)
